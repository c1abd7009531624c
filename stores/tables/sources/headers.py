"""The names of a table's columns, and nothing else in the table."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from deniable.foundation.errors import InvalidInput
from schemas.regular_files import require_regular
from schemas.spec.source_kinds import SPREADSHEET, TEXT, is_of
from stores.tables.sources.contract import require_readable
from stores.tables.sources.dialects import Seen, head_of, seen_in, usual_dialect
from stores.tables.sources.kinds import open_file
from stores.tables.sources.spreadsheets import seen_in_sheets
from stores.tables.sources.zip_files import unpacked


@dataclass(frozen=True)
class Header:
    """The columns of a table.

    Attributes:
        names: their names.
        entries: the entries of a spec's source that declare how the table is written, if that must be declared.
        words: what was seen in its first lines, in words; empty if nothing must be declared.
    """

    names: tuple[str, ...]
    entries: dict[str, str | int]
    words: str = ""


def read_header(path: Path, state: Path, wanted: Sequence[str] = ()) -> Header:
    """Read the names of the columns: the line of a text or the row of a sheet that names them, or a file's description.

    Args:
        path: the table; compressed or not.
        state: the state folder, in which a ZIP file is unpacked.
        wanted: names of columns, by which the line that names them is found. Without them it is the first line.

    Raises:
        InvalidInput: there is no such file, or it is not a table.
    """
    require_regular(path, "the source")
    require_readable(path, str(path))
    with unpacked(path, state) as table:
        if is_of(SPREADSHEET, table.name):
            return _header_of_sheets(table, str(path), wanted)
        if not is_of(TEXT, table.name):
            return Header(tuple(open_file(table, str(path)).types), {})
        return _header_of_text(table, str(path), wanted)


def _header_of_sheets(path: Path, name: str, wanted: Sequence[str]) -> Header:
    """The names in the row of a spreadsheet that names the most of the wanted columns."""
    seen = seen_in_sheets(path, name, wanted)
    if seen is None:
        return Header(tuple(open_file(path, name).types), {})
    return Header(seen.names, dict(seen.entries), seen.words if seen.entries else "")


def _header_of_text(path: Path, name: str, wanted: Sequence[str]) -> Header:
    """The names in the line of a text that names the most of the wanted columns."""
    usual = usual_dialect(path)
    head = head_of(path)
    seen = seen_in(head, wanted, usual) or seen_in(head, (), usual)
    if seen is None or not any(seen.names):
        raise InvalidInput(f"the source must begin with a row that names its columns, and {name} does not; check it.")
    return Header(seen.names, _entries(seen, path), "" if seen.dialect == usual else seen.words)


def _entries(seen: Seen, path: Path) -> dict[str, str | int]:
    """The entries that declare what differs from what is usual for a file of that name."""
    usual = usual_dialect(path)
    entries = seen.dialect.entries
    return {name: value for name, value in entries.items() if getattr(usual, name) != value}
