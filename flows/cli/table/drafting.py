"""Drafts a schema and a spec from a codebook; `draft` and `new` share it.

A draft is made from a codebook, which is public; of the confidential table it compares the column names at most.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from deniable.foundation.errors import InvalidInput
from flows.cli.table.drafts import files_of_draft, relative_source, write_and_load

if TYPE_CHECKING:
    from deniable.foundation.domain import Person
    from schemas.codebooks.codebook import Codebook, Place
    from schemas.codebooks.drafting import Draft
    from stores.tables.sources.headers import Header

_LONGEST_LIST = 1 << 20


def require_other(documents: Sequence[Path], source: Path, what: str = "codebook") -> None:
    """Refuse the confidential table as a codebook, or as a list of names, unless its description is apart from records.

    Args:
        documents: files to be read as public files.
        source: the table.
        what: what the files are.

    Raises:
        InvalidInput: one of them is the table.
    """
    for path in documents:
        if describes_itself(path):
            continue
        if path.exists() and source.exists() and path.samefile(source):
            raise InvalidInput(
                f"the {what} must be a public document, and {path} is the source itself; a schema that depends on "
                f"the records discloses them."
            )


def describes_itself(path: Path) -> bool:
    """Whether a file describes its columns at its head, so that it is a codebook of which no record is read."""
    from schemas.statistics_programs.description import is_of_a_statistics_program  # noqa: PLC0415 - imports numpy

    return is_of_a_statistics_program(path)


def has_records(path: Path, sheets: Sequence[str]) -> bool:
    """Whether a file is a spreadsheet with a sheet beside those that describe the table, if any are named."""
    from schemas.codebooks.reading import names_of_sheets  # noqa: PLC0415 - as above

    return bool(sheets) and any(name not in sheets for name in names_of_sheets(path))


def sheet_of_records(documents: Sequence[Path], source: Path, sheets: Sequence[str]) -> "dict[str, str | int] | None":
    """The entries of the spec for a table whose description is in other sheets of the same file.

    Args:
        documents: the codebooks.
        source: the table.
        sheets: the sheets that describe it.

    Returns:
        The entries: none if the records are in the first sheet; None if the table is not among the codebooks.

    Raises:
        InvalidInput: all sheets describe the table.
    """
    from schemas.codebooks.reading import names_of_sheets  # noqa: PLC0415 - as above

    if not sheets or not any(path.exists() and source.exists() and path.samefile(source) for path in documents):
        return None
    there = names_of_sheets(source)
    left = [name for name in there if name not in sheets]
    if not left:
        raise InvalidInput(f"the records must be in a sheet that --sheet does not name, and {source} has no other.")
    return {} if left[0] == there[0] else {"sheet": left[0]}


def said_of_descriptions(documents: Sequence[Path]) -> Iterator[str]:
    """Say what was read of files that describe themselves, and what their labels may disclose."""
    read = [str(path) for path in documents if describes_itself(path)]
    if read:
        yield f"Of {' and '.join(read)}, only the description of the columns was read, and no record."
        yield (
            "Its labels are taken as public. Labels that a program made from the values of the records, as Stata's "
            "encode and SPSS's AUTORECODE do, disclose them: remove those from the schema."
        )


def described_in_database(stated: str, table: str, folder: Path) -> "tuple[Codebook, dict[str, str]]":
    """Read the description of a table in a database, and return it with the entries of the spec's source.

    Args:
        stated: the URL of the database, or the environment variable or Secret block of Prefect that holds it.
        table: the table or view.
        folder: folder of the spec, from which paths of files are counted there.

    Raises:
        InvalidInput: the URL is not allowed in a spec, or the database does not answer.
    """
    from schemas.spec.release_spec import database_source  # noqa: PLC0415 - here and below: slow to import
    from stores.tables.described_databases import description_of  # noqa: PLC0415
    from stores.tables.sources.databases import place_of  # noqa: PLC0415

    what = "url" if "://" in stated else "connection"
    book = description_of(place_of(database_source({what: stated, "table": table}), Path()))
    kind, is_of_file, path = stated.partition(":///")
    if is_of_file and kind in {"sqlite", "duckdb"}:
        stated = f"{kind}:///{relative_source(path, folder)}"
    return book, {what: stated, "table": table}


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
    dialect: "Mapping[str, str | int] | None" = None,
    places: "Mapping[str, Place] | None" = None,
    database: "Mapping[str, str] | None" = None,
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
        dialect: the entries that declare how the table is written, if that must be declared.
        places: where its columns are in a line, if it is text without separators.
        database: the entries of the source instead, if it is a table in a database.
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
        spec_text(
            name,
            schema=files[0].name,
            source=source,
            epsilon=epsilon,
            title=title,
            dialect=dialect,
            places=places,
            database=database,
        ),
    )
    write_and_load(files, texts, sources=sources, quoting=quoting)
    return files


def counted_as(count: int, noun: str) -> str:
    """Return a number of things, in words."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def places_in_lines(codebook: "Codebook", draft: "Draft", source: str) -> "dict[str, Place]":
    """Return where the columns of a table of text without separators are in a line; nothing for any other table.

    Args:
        codebook: the codebook.
        draft: what was drafted from it.
        source: the table, by whose name it is recognised.
    """
    from schemas.spec.source_kinds import FIXED_WIDTH  # noqa: PLC0415 - as above

    if not source.lower().removesuffix(".gz").endswith((*FIXED_WIDTH, ".txt")):
        return {}
    found = {column.name: codebook.variables[column.name].place for column in draft.columns}
    known = {name: place for name, place in found.items() if place is not None}
    return known if len(known) == len(found) else {}


def read_header_of(codebook: "Codebook", source: Path, state: Path) -> "Header":
    """Read the column names of a table, which are in the line that names variables of a codebook."""
    from stores.tables.sources.headers import read_header  # noqa: PLC0415 - imports pyarrow

    return read_header(source, state, list(codebook.variables))


def header_lines(codebook: "Codebook", draft: "Draft", source: Path, header: "Header") -> Iterator[str]:
    """Compare the column names of a table with a codebook. Names that are not in the codebook are not printed.

    Args:
        codebook: the codebook.
        draft: what was drafted from it.
        source: the table.
        header: its column names.
    """
    names = header.names
    drafted = [column.name for column in draft.columns]
    missing = [name for name in drafted if name not in names]
    yield f"Only the column names of {source} were read; {len(drafted) - len(missing)} of {len(drafted)} are in it."
    if header.words:
        yield f"  {header.words}; the spec states it"
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
