"""JSON lines: an object on each line, whose names are the columns. Compressed or not. All cells are text.

A file has no header: its columns are those of the first lines, and a row may lack some of them.
"""

import gzip
import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from deniable.foundation.errors import InvalidInput
from stores.tables.sources.contract import BLOCK_BYTES, reading

_LOOKED_AT: Final = 10_000


class JsonLines:
    """A file of JSON lines.

    Args:
        path: its path.
        name: its name in messages.
    """

    empty_rows = 0

    def __init__(self, path: Path, name: str) -> None:
        self.name = name
        self.malformed_rows = 0
        self._path = path
        names = dict.fromkeys(key for row in islice(self._objects(), _LOOKED_AT) if row for key in row)
        if not names:
            raise InvalidInput(
                f"the source {name} must have an object such as {{...}} on each line, and its first lines have none; "
                "save it as JSON lines."
            )
        self.types = dict.fromkeys(names, pa.string())

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Read some columns, so many rows at a time."""
        objects = self._objects()
        while batch := list(islice(objects, rows)):
            held = [row for row in batch if row is not None]
            self.malformed_rows += len(batch) - len(held)
            yield pa.RecordBatch.from_pydict(
                {name: pa.array([_text(row.get(name)) for row in held], pa.string()) for name in columns}
            )

    def _objects(self) -> Iterator[dict[str, Any] | None]:
        """The object on each line that is not blank; None for a line that has none."""
        opened = gzip.open if self._path.suffix == ".gz" else open
        with reading(self.name), opened(self._path, "rt", encoding="utf-8-sig") as file:
            while line := file.readline(BLOCK_BYTES):
                if line.strip():
                    yield _object(line)


def _object(line: str) -> dict[str, Any] | None:
    try:
        # Numbers stay as they are written; NaN is no JSON, and is written for a missing number.
        found = json.loads(line, parse_float=str, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _text(value: object) -> str | None:
    """A value as text; an object or a list is written as JSON."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value) if isinstance(value, dict | list) else str(value)
