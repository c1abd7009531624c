"""Parquet files."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from stores.tables.sources.contract import reading, require_different


class ParquetTable:
    """A Parquet file.

    Args:
        path: its path.
        name: its name in messages.
    """

    malformed_rows = empty_rows = 0

    def __init__(self, path: Path, name: str) -> None:
        self.name = name
        self._path = path
        with reading(name):
            schema = pq.read_schema(path)
        require_different(name, schema.names)
        self.types = {field.name: field.type for field in schema}

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Read some columns, so many rows at a time."""
        # Without pre_buffer a row group, which may be the whole file, is not held in memory.
        with reading(self.name), pq.ParquetFile(self._path, pre_buffer=False) as file:
            yield from file.iter_batches(rows, columns=list(columns), use_threads=False)
