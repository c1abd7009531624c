"""Files of Stata, SPSS and SAS, read by pyreadstat in chunks.

What the programs call missing is missing: system-missing, Stata's and SAS's .a to .z, SPSS's declared codes. Days and
moments are read as ISO text. The labels in such a file make a codebook, which does not belong here.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from schemas.statistics_programs.description import DescribedColumn, described_columns, read_of_program
from stores.tables.sources.contract import reading, require_different

_TYPES: Final = {
    "string": pa.string(),
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    # Stata's usual type, whose 9.6 is the float nearest to 9.6
    "float": pa.float32(),
}


class StatisticsFile:
    """A file of a statistics program.

    Args:
        path: its path.
        name: its name in messages.
        encoding: how its characters are encoded; None if the file says so itself.
    """

    malformed_rows = empty_rows = 0

    def __init__(self, path: Path, name: str, *, encoding: str | None = None) -> None:
        self.name = name
        self._path, self._encoding = path, encoding
        with reading(name):
            described = described_columns(path, f"the source {name}", encoding)
        require_different(name, [column.name for column in described])
        self._described = {column.name: column for column in described}
        self.types = {column.name: _type_of(column) for column in described}

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Read some columns, so many rows at a time."""
        # The reader needs a column to count rows.
        wanted = list(columns) or list(self.types)[:1]
        begin, count = 0, rows
        while count == rows:
            with reading(self.name):
                chunk, _ = read_of_program(
                    self._path,
                    f"the source {self.name}",
                    self._encoding,
                    usecols=wanted,
                    row_offset=begin,
                    row_limit=rows,
                )
            count = len(chunk[wanted[0]])
            begin += count
            if count:
                arrays = [self._array(name, chunk[name]) for name in wanted]
                yield pa.RecordBatch.from_arrays(arrays, names=wanted).select(list(columns))

    def _array(self, name: str, values: Sequence[Any]) -> pa.Array:
        clock = self._described[name].clock
        if clock is not None:
            counted = np.array([np.nan if value is None else value for value in values], np.float64)
            return pa.array(clock.written(counted), pa.string())
        return pa.array(values, self.types[name])


def _type_of(column: DescribedColumn) -> pa.DataType:
    return pa.string() if column.clock is not None else _TYPES.get(column.type, pa.float64())
