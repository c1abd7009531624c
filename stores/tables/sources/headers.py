"""The names of a table's columns, and nothing else in the table."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from deniable.foundation.errors import InvalidInput
from schemas.regular_files import require_regular
from schemas.spec.release_spec import is_text_table
from stores.tables.sources.dialects import Seen, head_of, seen_in, usual_dialect
from stores.tables.sources.kinds import open_file


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


def read_header(path: Path, wanted: Sequence[str] = ()) -> Header:
    """Read the names of the columns: the line of a text that names them, or the description in a file of another kind.

    Args:
        path: the table; compressed or not.
        wanted: names of columns, by which the line that names them is found. Without them it is the first line.

    Raises:
        InvalidInput: there is no such file, or it is not a table.
    """
    require_regular(path, "the source")
    if not path.is_file():
        raise InvalidInput(f"the source must be a file, and {path} does not exist; correct its path.")
    if not is_text_table(path.name):
        return Header(tuple(open_file(path).types), {})
    usual = usual_dialect(path)
    head = head_of(path)
    seen = seen_in(head, wanted, usual) or seen_in(head, (), usual)
    if seen is None or not any(seen.names):
        raise InvalidInput(f"the source must begin with a row that names its columns, and {path} does not; check it.")
    return Header(seen.names, _entries(seen, path), "" if seen.dialect == usual else seen.words)


def _entries(seen: Seen, path: Path) -> dict[str, str | int]:
    """The entries that declare what differs from what is usual for a file of that name."""
    usual = usual_dialect(path)
    entries = seen.dialect.entries
    return {name: value for name, value in entries.items() if getattr(usual, name) != value}
