"""Writes a schema and a spec from a public codebook."""

import argparse
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from deniable.command_names import command_line
from deniable.console import show
from deniable.foundation.errors import InvalidInput
from flows.cli.contract import StateCommand
from flows.cli.table.drafting import (
    counted_as,
    described_in_database,
    describes_itself,
    has_records,
    header_lines,
    is_file,
    places_in_lines,
    read_header_of,
    require_other,
    said_of_descriptions,
    sheet_of_records,
    wanted_columns,
    write_draft,
)
from flows.cli.table.drafts import read_epsilon, relative_source, require_name

if TYPE_CHECKING:
    from schemas.codebooks.drafting import Draft

DONE = 0
_MOST_SHOWN = 40
_NOT_SHOWN = (
    "Nothing that is in the sheets is shown here, because they are in the file of the records; save them in a file of "
    "their own to see it."
)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "codebooks", type=Path, nargs="*", metavar="CODEBOOK", help="the codebook; later files complete earlier ones"
    )
    parser.add_argument(
        "--database",
        metavar="URL",
        help="the database of the table, whose description of the columns is the first codebook: its URL, or the "
        "environment variable or Prefect's Secret block that holds it",
    )
    parser.add_argument("--table", metavar="NAME", help="the table or view in it")
    parser.add_argument("--name", help="name of the release, and of the two files (default: that of the codebook)")
    parser.add_argument(
        "--format", choices=_formats(), help="format of the codebook (default: by its name and content)"
    )
    parser.add_argument(
        "--sheet",
        metavar="NAMES",
        help="the sheets of a spreadsheet that describe the table, separated by commas, where its records may be in "
        "another (default: the first sheet)",
    )
    parser.add_argument(
        "--columns", metavar="NAMES", help="the variables to include, separated by commas, or a file with their names"
    )
    parser.add_argument(
        "--source", metavar="PATH", help="the table, for the spec; it is not opened (default: NAME.csv)"
    )
    parser.add_argument(
        "--check-header",
        action="store_true",
        help="compare the column names of the source with the codebook; nothing else in it is read",
    )
    parser.add_argument("--epsilon", default="1", metavar="E", help="what a release may cost (default: 1)")
    parser.add_argument("--title", default="", help="what the release is, for readers (default: the name)")
    parser.add_argument(
        "--to", type=Path, default=Path(), metavar="DIR", help="folder for the two files (default: the current one)"
    )
    parser.add_argument("--replace", action="store_true", help="replace files of an earlier draft")


def _formats() -> tuple[str, ...]:
    from schemas.codebooks.reading import FORMATS  # noqa: PLC0415 - other commands do without it

    return FORMATS


def _run(asked: argparse.Namespace, state: Path) -> int:
    if asked.database is not None:
        return _draft_of_database(asked)
    if asked.table is not None or not asked.codebooks:
        raise InvalidInput(
            "a draft must have a codebook, or a table in a database: name its file, or --database URL and --table NAME."
        )
    return _draft_of_file(asked, state)


def _draft_of_database(asked: argparse.Namespace) -> int:
    """Draft from the description of a table in a database, and from codebooks that complete it."""
    from deniable.foundation.domain import Person  # noqa: PLC0415 - as above
    from schemas.codebooks.drafting import draft_of  # noqa: PLC0415 - as above
    from schemas.codebooks.reading import read_codebooks  # noqa: PLC0415

    if asked.table is None or asked.source is not None or asked.check_header:
        raise InvalidInput(
            "a draft from a database must name its table with --table, and has no other source or header; state "
            "--database URL --table NAME alone."
        )
    name = asked.name or re.sub(r"[^a-z0-9_-]+", "_", asked.table.rpartition(".")[2].lower()).strip("_-")
    require_name(name)
    codebook, entries = described_in_database(asked.database, asked.table, asked.to)
    if asked.codebooks:
        further = read_codebooks(asked.codebooks, asked.format)
        codebook.complete(further.variables[each] for each in further.variables if each in codebook.variables)
        codebook.faults += further.faults
    what = f"of the table {asked.table}"
    draft = draft_of(codebook, what, wanted_columns(asked.columns))
    files = write_draft(
        draft,
        name=name,
        folder=asked.to,
        sources=[f"the table {asked.table}", *(path.name for path in asked.codebooks)],
        source="",
        database=entries,
        epsilon=read_epsilon(asked.epsilon),
        title=asked.title,
        person=None if draft.person is None else Person(draft.person),
        replace=asked.replace,
    )
    _say(*_drafted(draft, files, quoting=True))
    _say(
        f"Of the table {asked.table}, only types, comments and constraints of the columns were read, and no record.",
        "They are taken as public. An enumeration that was made from the values of the records discloses them: remove "
        "it from the schema.",
        _next(files),
    )
    return DONE


def _next(files: tuple[Path, Path]) -> str:
    return (
        f"Next: read {files[0]}, then run `{command_line('table check')} {files[1]}` and "
        f"`{command_line('release plan')} {files[1]}`."
    )


def _draft_of_file(asked: argparse.Namespace, state: Path) -> int:
    """Draft from codebooks, for a table in a file."""
    from deniable.foundation.domain import Person  # noqa: PLC0415 - as above
    from schemas.codebooks.drafting import draft_of  # noqa: PLC0415 - as above
    from schemas.codebooks.reading import read_codebooks  # noqa: PLC0415

    name = asked.name or re.sub(r"[^a-z0-9_-]+", "_", asked.codebooks[0].stem.lower()).strip("_-")
    require_name(name)
    sheets = tuple(each.strip() for each in (asked.sheet or "").split(",") if each.strip())
    source = asked.source or str(_default_source(asked.to, name, asked.codebooks, sheets))
    of_records = sheet_of_records(asked.codebooks, Path(source), sheets)
    require_other(asked.codebooks if of_records is None else [], Path(source))
    if asked.columns and is_file(asked.columns):
        require_other([Path(asked.columns)], Path(source), what="list of names")
    # If the location of the table is unknown, any file may be the table, so its contents are not shown. Nor are sheets
    # beside the records, because the sheet of the records may be named by mistake.
    quoting = of_records is None and (asked.source is not None or Path(source).exists())
    codebook = read_codebooks(asked.codebooks, asked.format, sheets)
    what = " and ".join(map(str, asked.codebooks))
    with _told_of_sheets(beside=of_records is not None):
        draft = draft_of(codebook, what, wanted_columns(asked.columns), quoting=quoting)
    places = places_in_lines(codebook, draft, source)
    header = read_header_of(codebook, Path(source), state) if asked.check_header and not places else None
    files = write_draft(
        draft,
        name=name,
        folder=asked.to,
        sources=[path.name for path in asked.codebooks],
        dialect={**(of_records or {}), **({} if header is None else header.entries)},
        places=places,
        source=relative_source(source, asked.to),
        epsilon=read_epsilon(asked.epsilon),
        title=asked.title,
        person=None if draft.person is None else Person(draft.person),
        replace=asked.replace,
        quoting=quoting,
    )
    _say(*_drafted(draft, files, quoting=quoting))
    _say(*said_of_descriptions(asked.codebooks))
    if of_records is not None:
        read = f"the sheet {sheets[0]} was" if len(sheets) == 1 else f"the sheets {' and '.join(sheets)} were"
        _say(f"Of {source}, only {read} read, and no record. {_NOT_SHOWN}")
    if header is not None:
        _say(*header_lines(codebook, draft, Path(source), header))
    elif places:
        _say(f"{source} names no columns: the spec states where they are, as the codebook does. No record was read.")
    elif of_records is None and not any(map(describes_itself, asked.codebooks)):
        _say("Only the codebook was read. Use --check-header to compare the column names of the table with it.")
    _say(_next(files))
    return DONE


@contextmanager
def _told_of_sheets(*, beside: bool) -> Iterator[None]:
    """Say how to see what is wrong in sheets that are beside the records."""
    try:
        yield
    except InvalidInput as error:
        if not beside:
            raise
        raise InvalidInput(f"{error}\n  {_NOT_SHOWN}") from None


def _default_source(folder: Path, name: str, codebooks: Sequence[Path], sheets: Sequence[str]) -> Path:
    """Return the default path of the table: a codebook that describes itself, or a file with the release's name."""
    described = next((path for path in codebooks if describes_itself(path) or has_records(path, sheets)), None)
    if described is not None:
        return described
    usual = folder / f"{name}.csv"
    is_codebook = any(path.absolute() == usual.absolute() for path in codebooks)
    return folder / f"{name}_records.csv" if is_codebook else usual


def _drafted(draft: "Draft", files: tuple[Path, Path], *, quoting: bool) -> Iterator[str]:
    from schemas.codebooks.drafting import described_in_words  # noqa: PLC0415 - as above

    counted = ", ".join(f"{count} {form}" for form, count in described_in_words(draft).items())
    yield f"{files[0]}: {counted_as(len(draft.columns), 'column')} ({counted})"
    yield f"{files[1]}: what is to be released; everything else has a default, which the plan prints"
    remarks = [column for column in draft.columns if column.remark]
    if not quoting:
        left_out = counted_as(len(draft.left_out), "variable")
        yield f"{files[0]} has {counted_as(len(remarks), 'remark')}, and lists {left_out} that were left out;"
        yield "say where the table is with --source PATH to see them here"
        return
    if remarks:
        yield "To look at:"
        yield from (f"  {column.name}: {column.remark}" for column in remarks)
    if draft.left_out:
        yield f"Left out, {counted_as(len(draft.left_out), 'variable')}:"
        yield from (f"  {each.name}: {each.reason}" for each in draft.left_out[:_MOST_SHOWN])
        if len(draft.left_out) > _MOST_SHOWN:
            yield f"  and {len(draft.left_out) - _MOST_SHOWN:,} more, which {files[0]} lists"
    if draft.open_categories or draft.open_numbers:
        yield (
            "The schema declares these columns open where values or a range are missing; "
            f"`{command_line('table discover')} {files[1]} --epsilon E --write` proposes them and completes the "
            "schema, at a separate cost."
        )


def _say(*lines: str) -> None:
    show(lines)


COMMAND = StateCommand(
    arguments=_add_arguments,
    run=_run,
    description="Write NAME.py and NAME.yaml from a codebook: CSV or a spreadsheet, Frictionless, SDV or dpsynth "
    "metadata, DDI Codebook, the header of an ARFF file, labels of SPSS or Stata, AHRQ's codebook form, the "
    "description in a .dta, .sav or .sas7bdat file, or that of a table in a database. No record of the table is read.",
)
