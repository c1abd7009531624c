"""The commands for schemas, `python -m flows schema`: draft CODEBOOK, check SPEC, discover SPEC, import-sgf CONFIG.

A draft is made from a codebook, which is public; of the confidential table it compares the column names at most. A
check reads the table, and its output is internal. Discoveries are in the module discover, and
imports from SGF in the module import_sgf.
"""

import argparse
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from deniable.console import show
from deniable.foundation.errors import InvalidInput
from flows.cli.spinner import at_work
from flows.cli.subcommands import Subcommands
from flows.cli.tables.discover import add_discover_command, run_discover_command
from flows.cli.tables.drafts import (
    files_of_draft,
    read_epsilon,
    relative_source,
    require_name,
    write_and_load,
)
from flows.cli.tables.import_sgf import add_import_command, run_import_command

if TYPE_CHECKING:
    from deniable.foundation.domain import Person
    from schemas.codebooks.codebook import Codebook
    from schemas.codebooks.drafting import Draft
    from schemas.spec.release_spec import ReleaseSpec
    from tasks.data.fit import Fit

OK, DOES_NOT_FIT = 0, 1
_MOST_SHOWN = 40
_LONGEST_LIST = 1 << 20


def add_schema_commands(subparsers: Subcommands, parents: Sequence[argparse.ArgumentParser] = ()) -> None:
    """Add the command `schema` and its own commands to a parser.

    Args:
        subparsers: the commands of the parser, as `add_subparsers` returns them.
        parents: parsers of the options that all commands share.
    """
    schema = subparsers.add_parser("schema", help="draft a schema from a codebook, and check how a table fits one")
    commands = schema.add_subparsers(dest="schema_command", required=True, metavar="COMMAND")
    draft = commands.add_parser(
        "draft",
        parents=parents,
        help="write a schema and a spec from a public codebook",
        description="Write NAME.py and NAME.yaml from a codebook: CSV, Frictionless, SDV or dpsynth metadata, DDI "
        "Codebook, the header of an ARFF file, labels of SPSS or Stata, or AHRQ's codebook form. The table is not "
        "read.",
    )
    draft.add_argument(
        "codebooks", type=Path, nargs="+", metavar="CODEBOOK", help="the codebook; later files complete earlier ones"
    )
    draft.add_argument("--name", help="name of the release, and of the two files (default: that of the codebook)")
    draft.add_argument("--format", choices=_formats(), help="format of the codebook (default: by its name and content)")
    draft.add_argument(
        "--columns", metavar="NAMES", help="the variables to include, separated by commas, or a file with their names"
    )
    draft.add_argument("--source", metavar="PATH", help="the table, for the spec; it is not opened (default: NAME.csv)")
    draft.add_argument(
        "--check-header",
        action="store_true",
        help="compare the column names of the source with the codebook; nothing else in it is read",
    )
    draft.add_argument("--epsilon", default="1", metavar="E", help="what a release may cost (default: 1)")
    draft.add_argument("--title", default="", help="what the release is, for readers (default: the name)")
    draft.add_argument(
        "--to", type=Path, default=Path(), metavar="DIR", help="folder for the two files (default: the current one)"
    )
    draft.add_argument("--replace", action="store_true", help="replace files of an earlier draft")
    check = commands.add_parser(
        "check",
        parents=parents,
        help="count what does not fit a schema; nothing is drawn, charged or published",
        description="Count, without noise and for this console alone, what of the source of a spec does not fit its "
        "schema. Examples go to the vault.",
    )
    check.add_argument("spec", type=Path, metavar="SPEC", help="a release spec")
    add_discover_command(commands, parents)
    add_import_command(commands, parents)


def run_schema_command(asked: argparse.Namespace, state: Path) -> int:
    """Carry out one command of `schema`.

    Args:
        asked: the parsed arguments.
        state: the state folder.

    Returns:
        0; 1 if a release of the checked table, or a planned discovery, would be refused.

    Raises:
        InvalidInput: the codebook, the spec or the source is at fault.
    """
    if asked.schema_command == "discover":
        return run_discover_command(asked, state)
    if asked.schema_command == "import-sgf":
        return run_import_command(asked)
    return _check(asked, state) if asked.schema_command == "check" else _draft(asked)


def _formats() -> tuple[str, ...]:
    from schemas.codebooks.reading import FORMATS  # noqa: PLC0415 - other commands do without it

    return FORMATS


def _draft(asked: argparse.Namespace) -> int:
    from deniable.foundation.domain import Person  # noqa: PLC0415 - as above
    from schemas.codebooks.drafting import draft_of  # noqa: PLC0415 - as above
    from schemas.codebooks.reading import read_codebooks  # noqa: PLC0415

    name = asked.name or re.sub(r"[^a-z0-9_-]+", "_", asked.codebooks[0].stem.lower()).strip("_-")
    require_name(name)
    source = asked.source or str(_default_source(asked.to, name, asked.codebooks))
    require_other(asked.codebooks, Path(source))
    if asked.columns and is_file(asked.columns):
        require_other([Path(asked.columns)], Path(source), what="list of names")
    # If the location of the table is unknown, any file may be the table, so its contents are not shown.
    quoting = asked.source is not None or Path(source).exists()
    codebook = read_codebooks(asked.codebooks, asked.format)
    what = " and ".join(map(str, asked.codebooks))
    draft = draft_of(codebook, what, wanted_columns(asked.columns), quoting=quoting)
    files = write_draft(
        draft,
        name=name,
        folder=asked.to,
        sources=[path.name for path in asked.codebooks],
        source=relative_source(source, asked.to),
        epsilon=read_epsilon(asked.epsilon),
        title=asked.title,
        person=None if draft.person is None else Person(draft.person),
        replace=asked.replace,
        quoting=quoting,
    )
    _say(*_drafted(draft, files, quoting=quoting))
    if asked.check_header:
        _say(*header_lines(codebook, draft, Path(source)))
    else:
        _say("Only the codebook was read. Use --check-header to compare the column names of the table with it.")
    spec = files[1]
    _say(f"Next: read {files[0]}, then run `python -m flows schema check {spec}` and `python -m flows plan {spec}`.")
    return OK


def _default_source(folder: Path, name: str, codebooks: Sequence[Path]) -> Path:
    """Return the default path of the table: a file with the name of the release, unless that is the codebook."""
    usual = folder / f"{name}.csv"
    is_codebook = any(path.absolute() == usual.absolute() for path in codebooks)
    return folder / f"{name}_records.csv" if is_codebook else usual


def require_other(documents: Sequence[Path], source: Path, what: str = "codebook") -> None:
    """Refuse the confidential table as a codebook, or as a list of names.

    Args:
        documents: files to be read as public files.
        source: the table.
        what: what the files are.

    Raises:
        InvalidInput: one of them is the table.
    """
    for path in documents:
        if path.exists() and source.exists() and path.samefile(source):
            raise InvalidInput(
                f"the {what} must be a public document, and {path} is the source itself; a schema that depends on "
                f"the records discloses them."
            )


def is_file(stated: str) -> bool:
    """Whether a text is the path of a file, and not a long list of names."""
    try:
        return Path(stated).is_file()
    except (OSError, ValueError):
        return False


def wanted_columns(stated: str | None) -> list[str]:
    """Return the names given by `--columns`, or listed in the file that it names."""
    if not stated:
        return []
    from schemas.regular_files import read_regular  # noqa: PLC0415 - as above

    if is_file(stated):
        content = read_regular(Path(stated), "the list of names", _LONGEST_LIST)
        stated = content.decode("utf-8-sig", errors="replace").replace("\n", ",")
    names = [name.strip() for name in stated.split(",") if name.strip()]
    return list(dict.fromkeys(names))


def write_draft(
    draft: "Draft",
    *,
    name: str,
    folder: Path,
    sources: Sequence[str],
    source: str,
    epsilon: str,
    title: str = "",
    person: "Person | None" = None,
    replace: bool = False,
    quoting: bool = True,
) -> tuple[Path, Path]:
    """Write the schema and the spec of a draft, and load both.

    Args:
        draft: the draft.
        name: name of the release and of the files.
        folder: their folder.
        sources: names of the codebook's files.
        source: the table, relative to the folder.
        epsilon: what the release may cost.
        title: what it is.
        person: what distinguishes people, if they may have several records, and how many of each are used.
        replace: whether existing files may be replaced.
        quoting: whether messages may quote the codebook.

    Returns:
        The two files.

    Raises:
        InvalidInput: the files exist, the draft has no attribute, or a text in it cannot be used.
    """
    from schemas.codebooks.drafting import schema_text, spec_text  # noqa: PLC0415 - as above
    from schemas.codebooks.settling import MISSING  # noqa: PLC0415

    if not draft.attributes:
        reasons = "; ".join(f"{each.name}: {each.reason}" for each in draft.left_out[:3])
        shown = f" ({reasons})" if quoting else ""
        raise InvalidInput(
            f"a schema must have an attribute, and none could be described from this codebook{shown}; complete it "
            f"by a second codebook in CSV with the columns variable, type and values."
        )
    files = files_of_draft(folder, name, replace=replace)
    texts = (
        schema_text(draft, sources=sources, description=title, person=person, missing_as=MISSING),
        spec_text(name, schema=files[0].name, source=source, epsilon=epsilon, title=title),
    )
    write_and_load(files, texts, sources=sources, quoting=quoting)
    return files


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
            "The schema declares these columns open where values or a range are missing; `python -m flows schema "
            f"discover {files[1]} --epsilon E --write` proposes them and completes the schema, at a separate cost."
        )


def counted_as(count: int, noun: str) -> str:
    """Return a number of things, in words."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def header_lines(codebook: "Codebook", draft: "Draft", source: Path) -> Iterator[str]:
    """Compare the column names of a table with a codebook. Names that are not in the codebook are not printed.

    Args:
        codebook: the codebook.
        draft: what was drafted from it.
        source: the table.

    Raises:
        InvalidInput: the table cannot be read.
    """
    from stores.tables.headers import column_names  # noqa: PLC0415 - imports pyarrow

    names = column_names(source)
    drafted = [column.name for column in draft.columns]
    missing = [name for name in drafted if name not in names]
    yield f"Only the column names of {source} were read; {len(drafted) - len(missing)} of {len(drafted)} are in it."
    folded = {name.casefold(): name for name in names}
    for name in missing:
        # The name differs from the codebook's in case alone.
        hint = f"; it has {folded[name.casefold()]}" if name.casefold() in folded else ""
        yield f"  {name}: not a column of the table{hint}"
    known = {name.casefold() for name in codebook.variables}
    others = sum(name.casefold() not in known for name in names)
    if others and len(missing) < len(drafted):
        yield f"  not in the codebook, and never read: {counted_as(others, 'column')} of the table"
    elif others:
        yield "  none is in it; check that the first row of the table names its columns"


def _check(asked: argparse.Namespace, state: Path) -> int:
    from schemas.spec.release_spec import load_spec  # noqa: PLC0415 - as above

    spec = load_spec(asked.spec)
    from tasks.data.fit import fit_of, forget_examples, write_examples  # noqa: PLC0415 - imports pandas

    forget_examples(state / "vault", spec.name)
    with at_work("Reading the table"):
        fit = fit_of(spec, state / "cache", state / "vault")
    _say(*fit_lines(spec, fit))
    if fit.examples:
        place = write_examples(fit, state / "vault", spec.name)
        _say(f"Values that do not fit: {place} (restricted; delete it when you have seen it)")
    _say("Nothing was drawn, charged or published.")
    return OK if fits(spec, fit) else DOES_NOT_FIT


def fits(spec: "ReleaseSpec", fit: "Fit") -> bool:
    """Return whether a release of this table would pass validation."""
    return fit.valid > 0 and all(share <= allowed for share, allowed, _ in _limits(spec, fit))


def _limits(spec: "ReleaseSpec", fit: "Fit") -> Iterator[tuple[float, float, str]]:
    """Yield the shares of rows that the spec limits, with their limits and the entries that set them."""
    if spec.max_invalid_share is not None:
        yield float(fit.share_invalid), float(spec.max_invalid_share), "max_invalid_share"
    if spec.max_dropped_share is not None:
        yield float(fit.share_dropped), float(spec.max_dropped_share), "max_dropped_share"


def fit_lines(spec: "ReleaseSpec", fit: "Fit") -> Iterator[str]:
    """Yield lines on how a table fits its schema; internal.

    Args:
        spec: the spec.
        fit: what was found.
    """
    yield f"How the table fits {spec.dataset} (internal: exact counts of real records, for this console alone)"
    left_out = fit.rows - fit.out_of_universe + fit.malformed - fit.valid
    scope = f", {fit.out_of_universe:,} of them out of scope" if fit.out_of_universe else ""
    yield f"{fit.rows + fit.malformed:,} rows{scope}: {fit.valid:,} kept, {left_out:,} left out"
    if fit.empty:
        yield f"{fit.empty:,} empty lines are no rows, and were ignored"
    if fit.malformed:
        yield f"{fit.malformed:,} rows have too few or too many fields"
    if (person := spec.domain.person) is not None:
        rows = "1 row" if person.most_records == 1 else f"at most {person.most_records} rows"
        yield f"a release uses {rows} for each {person.column}, chosen at random from the rows kept"
    for share, allowed, entry in _limits(spec, fit):
        verdict = "at most" if share <= allowed else "TOO MANY: more than"
        what = "left out" if entry == "max_dropped_share" else "invalid"
        yield f"{share:.2%} {what}, {verdict} the {allowed:.2%} of {entry}"
    found = fit.by_finding
    if found:
        yield ""
        yield from _table(found, fit)
    names = [name for name in spec.schema.columns if name not in found]
    if names:
        yield ""
        every = len(spec.schema.columns)
        yield f"{len(names)} of {every} columns fit in every row" if found else f"All {every} columns fit in every row"


def _table(found: dict[str, dict[str, int]], fit: "Fit") -> Iterator[str]:
    """Yield a line for each column that does not fit, with its findings."""
    kinds = list(dict.fromkeys(name for counts in found.values() for name in counts))
    usual = ["missing", "not a number", "out of domain", "out of range", "off grid"]
    heads = [name for name in usual if name in kinds]
    rules = [name for name in kinds if name not in usual]
    rows = [["column", *heads, "left out for it alone"]]
    rows += [
        [column, *(f"{counts.get(head, 0):,}" for head in heads), f"{fit.lost_by[column]:,}"]
        for column, counts in found.items()
        if any(head in counts for head in heads)
    ]
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    for row in rows:
        first, *rest = (
            cell.ljust(width) if not place else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join([first, *rest])
    for name in rules:
        yield f"{sum(counts.get(name, 0) for counts in found.values()):,} rows break {name}"


def _say(*lines: str) -> None:
    show(lines)
