"""Tables of text without separators: each column has its place in every line. All cells are text."""

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from deniable.foundation.errors import InvalidInput
from schemas.spec.source_kinds import FixedColumn
from stores.tables.sources.contract import BLOCK_BYTES, reading, regrouped, require_different
from stores.tables.sources.dialects import UTF_8, Dialect
from stores.tables.sources.text_tables import decoded_blocks, with_plain_numbers

_LINE: Final = "line"
# A character that separates fields in no text. A line that has it is counted as malformed.
_NOTHING: Final = "\x1f"
_END_OF_FILE: Final = "\x1a"
"""The last character of files from some old programs."""


class FixedWidthTable:
    """A table of text in which each column has its place in every line.

    Args:
        path: its path; compressed or not.
        name: its name in messages.
        columns: the columns, in any order; they may overlap, and positions may be left out.
        dialect: its encoding, the number of lines above the records, and the separators in numbers.
        numbers: columns of numbers, whose separators are those of the dialect.
    """

    def __init__(
        self, path: Path, name: str, columns: Sequence[FixedColumn], dialect: Dialect, numbers: Collection[str] = ()
    ) -> None:
        self.name = name
        self.malformed_rows = self.empty_rows = 0
        self._path, self._dialect, self._numbers = path, dialect, frozenset(numbers)
        self._columns = {column.name: column for column in columns}
        require_different(name, [column.name for column in columns])
        self.types = dict.fromkeys(self._columns, pa.string())
        with reading(name):
            blocks = decoded_blocks(path, name, dialect)
            longest = max((len(line) for block in blocks for line in block.splitlines()), default=0)
        for column in columns:
            if column.start > longest:
                raise InvalidInput(
                    f"the lines of the source {name} must reach position {column.start}, where `columns` has "
                    f"{column.name}, and the longest has {longest} characters; correct `columns` in the spec's source."
                )

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Read some columns, so many rows at a time."""
        return regrouped(self._blocks(columns), rows)

    def _blocks(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        places = [self._columns[name] for name in columns]

        def count(_: arrow_csv.InvalidRow) -> str:
            self.malformed_rows += 1
            return "skip"

        with reading(self.name), self._opened(count) as reader:
            for batch in reader:
                lines = self._without_empty_lines(batch.column(_LINE))
                cells = [_cells(lines, place) for place in places]
                read = pa.RecordBatch.from_arrays(cells, names=list(columns))
                yield with_plain_numbers(read, self._numbers, self._dialect)

    def _opened(self, on_malformed: Callable[[arrow_csv.InvalidRow], str]) -> arrow_csv.CSVStreamingReader:
        """Open the file as a table of one column, which is the whole line."""
        return arrow_csv.open_csv(
            str(self._path),
            read_options=arrow_csv.ReadOptions(
                use_threads=False,
                block_size=BLOCK_BYTES,
                encoding="utf8" if self._dialect.encoding == UTF_8 else self._dialect.encoding,
                skip_rows=self._dialect.skip_rows,
                column_names=[_LINE],
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=_NOTHING, quote_char=False, invalid_row_handler=on_malformed, ignore_empty_lines=False
            ),
            convert_options=arrow_csv.ConvertOptions(column_types={_LINE: pa.string()}, null_values=[]),
        )

    def _without_empty_lines(self, lines: pa.Array) -> pa.Array:
        """The lines with any content; the others are counted."""
        trimmed = pc.utf8_trim(lines, f" \t{_END_OF_FILE}")
        is_empty = np.asarray(pc.equal(trimmed, ""))
        self.empty_rows += int(is_empty.sum())
        return lines.filter(pa.array(~is_empty)) if is_empty.any() else lines


def _cells(lines: pa.Array, place: FixedColumn) -> pa.Array:
    """The cells of a column, with the decimal point that its digits imply."""
    cells = pc.utf8_slice_codeunits(lines, place.start - 1, place.start - 1 + place.width)
    if not place.decimals:
        return cells
    encoded = cells.dictionary_encode()
    written = [_with_point(text.strip(), place.decimals) for text in encoded.dictionary.to_pylist()]
    return pa.array(written, pa.string()).take(encoded.indices)


def _with_point(text: str, decimals: int) -> str:
    """A number with the decimal point that is implied; any other text, or a number with a point, as it is."""
    digits = text.lstrip("+-")
    if not (digits.isascii() and digits.isdecimal()):
        return text
    padded = digits.zfill(decimals + 1)
    return f"{text[: len(text) - len(digits)]}{padded[:-decimals]}.{padded[-decimals:]}"
