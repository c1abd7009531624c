"""Files of Arrow: Feather and the IPC formats."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from stores.tables.sources.contract import reading, regrouped, require_different


class ArrowFile:
    """A file of Arrow's IPC format, in its form for files (Feather) or for streams.

    Args:
        path: its path.
        name: its name in messages.
    """

    malformed_rows = empty_rows = 0

    def __init__(self, path: Path, name: str) -> None:
        self.name = name
        self._path = path
        with reading(name), self._opened() as (schema, _):
            require_different(name, schema.names)
            self.types = {field.name: field.type for field in schema}

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Read some columns, so many rows at a time."""
        with reading(self.name), self._opened() as (_, batches):
            yield from regrouped((_plain(batch.select(list(columns))) for batch in batches), rows)

    @contextmanager
    def _opened(self) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
        with pa.memory_map(str(self._path)) as file:
            opened: Any
            try:
                opened = pa.ipc.open_file(file)
                batches = (opened.get_batch(number) for number in range(opened.num_record_batches))
            except pa.ArrowInvalid:
                file.seek(0)
                opened = batches = pa.ipc.open_stream(file)
            yield opened.schema, batches


def _plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch without dictionaries, which may differ from batch to batch."""
    arrays = [column.dictionary_decode() if pa.types.is_dictionary(column.type) else column for column in batch.columns]
    return pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)
