"""What every source of records is: a table whose columns are named, read in chunks.

A kind of file is a module of this room with a class of this form, and a line in `kinds`. How a source is found, which
columns of it are read, and how their cells are tidied do not belong here.
"""

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from deniable.foundation.errors import InvalidInput

BLOCK_BYTES = 4 << 20
ENDLESS_ROW = "straddling object"
"""Arrow's word for a row that is longer than a block."""


class WrittenOtherwise(InvalidInput):
    """A file is written in another form than the spec's source states.

    Args:
        message: the sentence.
        words: what its first lines show.
        entries: the entries of the spec's source that declare it.
    """

    def __init__(self, message: str, words: str, entries: Mapping[str, str | int]) -> None:
        super().__init__(message)
        self.words, self.entries = words, dict(entries)


class TableFile(Protocol):
    """A file that contains a table.

    Attributes:
        name: name of the file in messages.
        types: type of each column.
    """

    name: str
    types: dict[str, pa.DataType]

    @property
    def malformed_rows(self) -> int:
        """Rows read so far with too few or too many fields; they are left out."""

    @property
    def empty_rows(self) -> int:
        """Rows met so far whose every field is empty; they are no records."""

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Read some columns, in batches of about a given number of rows."""


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Describe a fault of a file without quoting a row of it, as Arrow's messages would."""
    try:
        yield
    except FileNotFoundError:
        raise InvalidInput(f"the source must be a file, and {name} does not exist; correct its path.") from None
    except PermissionError:
        raise InvalidInput(f"the source must be readable by this user, and {name} is not; check who owns it.") from None
    except (pa.ArrowException, OSError, EOFError, zlib.error, UnicodeError) as error:
        if ENDLESS_ROW in str(error):
            raise InvalidInput(
                f"the rows of the source {name} must each be shorter than {BLOCK_BYTES >> 20} MiB, and one is not; "
                f"check whether a quote in it is never closed."
            ) from None
        raise InvalidInput(
            f"the source {name} must be a complete file of the kind that its name says, and is not; get it again, or "
            f"save it again."
        ) from None


def require_readable(path: Path, name: str) -> None:
    """Refuse a file that is not there, or that this user may not read; libraries differ in their messages."""
    with reading(name), path.open("rb"):
        pass


def require_different(table: str, names: Sequence[str]) -> None:
    """Refuse a table with duplicate column names."""
    named = [name for name in names if name]
    if len(set(named)) != len(named):
        raise InvalidInput(f"the columns of the source {table} must have different names, and do not; rename one.")


def regrouped(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of a given size; the last one may be smaller."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(map(len, waiting)) >= rows:
            held = pa.Table.from_batches(waiting).combine_chunks()
            full = len(held) - len(held) % rows
            for start in range(0, full, rows):
                yield from held.slice(start, rows).to_batches()
            waiting = held.slice(full).to_batches()
    if waiting:
        yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()
