"""Reads and writes Parquet while rows are computed: pyarrow needs no interpreter's lock to encode and decode.

What the rows are does not belong here.
"""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

_Read = TypeVar("_Read")


def ahead(chunks: Iterator[_Read]) -> Iterator[_Read]:
    """Yield chunks, the next of which is read by a thread meanwhile; an error of the thread is raised in its place."""
    with ThreadPoolExecutor(1) as thread:
        following = thread.submit(next, chunks, None)
        while (chunk := following.result()) is not None:
            following = thread.submit(next, chunks, None)
            yield chunk


class ParquetBehind:
    """A Parquet file whose record batches are written by a thread, in order and one at a time.

    An error of the thread is raised by the next call. The file is the one that pyarrow's own writer makes.

    Args:
        path: path of the file.
        schema: its columns.
        options: options of pyarrow's writer.
    """

    def __init__(self, path: Path, schema: pa.Schema, **options: Any) -> None:
        self._writer = pq.ParquetWriter(path, schema, **options)
        self._thread = ThreadPoolExecutor(1)
        self._last: Future[None] | None = None

    def __enter__(self) -> Self:
        """Start writing."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write what remains, and close the file."""
        with self._thread:
            try:
                if self._last is not None and (failed := self._last.exception()) is not None and kind is None:
                    raise failed
            finally:
                self._writer.close()

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Write a row group, once the one before has been written."""
        self._wait()
        self._last = self._thread.submit(self._writer.write_batch, batch)

    def add_key_value_metadata(self, metadata: dict[bytes, str]) -> None:
        """Add entries to the footer."""
        self._wait()
        self._writer.add_key_value_metadata(metadata)

    def _wait(self) -> None:
        if self._last is not None:
            self._last.result()
