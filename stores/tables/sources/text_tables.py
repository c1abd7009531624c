"""Tables as text: CSV and its dialects, compressed or not. All cells are text."""

import codecs
import csv
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from threading import Lock

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from deniable.foundation.errors import InvalidInput
from schemas.written_forms import with_separators
from stores.tables.sources.contract import BLOCK_BYTES, reading, regrouped, require_different
from stores.tables.sources.dialects import USUAL, UTF_8, Dialect

_LIMIT_OF_FIELDS = Lock()
_LONGEST_EMPTY_ROW = 1 << 16


class CsvTable:
    """A table as text, possibly compressed, with a row that names its columns. All cells are text.

    Args:
        path: its path.
        name: its name in messages.
        dialect: how it is written; by default in UTF-8, with commas, the columns named in the first row.
        numbers: columns of numbers, whose separators are those of the dialect.
    """

    def __init__(
        self,
        path: Path,
        name: str,
        dialect: Dialect = USUAL,
        numbers: Collection[str] = (),
    ) -> None:
        self.name = name
        self.malformed_rows = self.empty_rows = 0
        self._path, self._dialect = path, dialect
        self._numbers = frozenset(numbers)
        with reading(name):
            self._has_empty_rows = _require_text(path, name, dialect)
        with reading(name), _opened_csv(path, dialect, lambda _: "skip") as reader:
            self._header: list[str] = reader.schema.names
        # In a table of one column an empty line is a record whose only field is empty.
        self._skips_empty_lines = len(self._header) > 1
        # Spaces may surround the names, and quotes may follow a space, which Arrow treats as part of the name.
        names = [written.strip().strip('"') for written in self._header]
        require_different(name, names)
        self._written = dict(zip(names, self._header, strict=True))
        self.types = dict.fromkeys(names, pa.string())

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Read some columns, so many rows at a time."""
        return regrouped(self._blocks(columns), rows)

    def _blocks(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read some columns, one block of the file at a time."""
        written = [self._written[name] for name in columns]
        places = [self._header.index(name) for name in written]
        repaired: list[list[str]] = []

        def second_look(row: arrow_csv.InvalidRow) -> str:
            # Arrow does not recognize that a quote after a space opens a field; Python's reader does. This function
            # must not raise an error, because Arrow would print it.
            fields = _fields_of(row.text, self._dialect)
            if len(fields) == len(self._header):
                repaired.append(fields)
            else:
                # A quote that is never closed swallows the lines that follow.
                self.malformed_rows += 1 + row.text.count("\n")
            return "skip"

        # A row is empty if all of its fields are, not only those that are read.
        opened = self._header if self._has_empty_rows else written
        with (
            reading(self.name),
            _opened_csv(
                self._path, self._dialect, second_look, opened, skips_empty_lines=self._skips_empty_lines
            ) as reader,
        ):
            for batch in map(self._without_empty_rows, reader) if self._has_empty_rows else reader:
                read = batch.select(written).rename_columns(list(columns))
                yield with_plain_numbers(read, self._numbers, self._dialect)
                arrays = [pa.array([fields[place] for fields in repaired], pa.string()) for place in places]
                repaired.clear()
                read = pa.RecordBatch.from_arrays(arrays, names=list(columns))
                yield with_plain_numbers(read, self._numbers, self._dialect)

    def _without_empty_rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows with any content; the others are counted."""
        kept = pa.array(np.zeros(len(batch), bool))
        for column in batch.columns:
            kept = pc.or_(kept, pc.fill_null(pc.not_equal(pc.utf8_trim_whitespace(column), ""), fill_value=False))
        self.empty_rows += pc.sum(pc.invert(kept)).as_py() or 0
        return batch.filter(kept)


def with_plain_numbers(batch: pa.RecordBatch, numbers: Collection[str], dialect: Dialect) -> pa.RecordBatch:
    """Rows of text, with numbers as a program writes them.

    Args:
        batch: the rows.
        numbers: the columns of numbers.
        dialect: what separates decimals and thousands there.
    """
    if dialect.decimal == "." and not dialect.thousands:
        return batch
    plain = with_separators(dialect.thousands, dialect.decimal)
    for place, name in enumerate(batch.schema.names):
        if name in numbers:
            encoded = batch.column(place).dictionary_encode()
            texts = [plain(text.strip()) for text in encoded.dictionary.to_pylist()]
            batch = batch.set_column(place, name, pa.array(texts, pa.string()).take(encoded.indices))
    return batch


def decoded_blocks(path: Path, name: str, dialect: Dialect) -> Iterator[str]:
    """The text of a file, compressed or not, a block at a time.

    Raises:
        InvalidInput: it has bytes that are not of its encoding, which Arrow would print.
    """
    codec = "utf-8-sig" if dialect.encoding == UTF_8 else dialect.encoding
    try:
        decoded = codecs.getincrementaldecoder(codec)()
        with pa.input_stream(str(path)) as stream:
            while block := stream.read(BLOCK_BYTES):
                yield decoded.decode(block)
            yield decoded.decode(b"", final=True)
    except UnicodeDecodeError:
        raise InvalidInput(_not_of(dialect, name)) from None


def _fields_of(row: str, dialect: Dialect = USUAL) -> list[str]:
    """The fields of a row, which may be as long as Arrow's; none if a quote in it is never closed."""
    # The limit is one for all threads, and two tables may be read at the same time.
    with _LIMIT_OF_FIELDS:
        usual = csv.field_size_limit(BLOCK_BYTES)
        try:
            return next(
                csv.reader([row], delimiter=dialect.delimiter, quotechar=dialect.quote, skipinitialspace=True), []
            )
        except csv.Error:
            return []
        finally:
            csv.field_size_limit(usual)


def _opened_csv(
    path: Path,
    dialect: Dialect,
    on_malformed: Callable[[arrow_csv.InvalidRow], str],
    columns: Sequence[str] = (),
    *,
    skips_empty_lines: bool = True,
) -> arrow_csv.CSVStreamingReader:
    """Open a table of text, compressed or not; all columns if none are named."""
    return arrow_csv.open_csv(
        str(path),
        read_options=arrow_csv.ReadOptions(
            use_threads=False,
            block_size=BLOCK_BYTES,
            encoding="utf8" if dialect.encoding == UTF_8 else dialect.encoding,
            skip_rows=dialect.skip_rows,
            skip_rows_after_names=dialect.unit_rows,
        ),
        parse_options=arrow_csv.ParseOptions(
            delimiter=dialect.delimiter,
            quote_char=dialect.quote,
            newlines_in_values=True,
            invalid_row_handler=on_malformed,
            ignore_empty_lines=skips_empty_lines,
        ),
        convert_options=arrow_csv.ConvertOptions(
            include_columns=list(columns), column_types=dict.fromkeys(columns, pa.string()), null_values=[""]
        ),
    )


def _require_text(path: Path, name: str, dialect: Dialect) -> bool:
    """Refuse a table without records, or with bytes that are not of its encoding.

    Returns:
        Whether it may have rows whose every field is empty.
    """
    has_rows = has_empty_rows = False
    ending, lines = "", 0
    empty_row = _empty_row(dialect)
    for text in decoded_blocks(path, name, dialect):
        if not has_rows:
            lines += len(text.lstrip().splitlines())
            has_rows = lines > 1 + dialect.skip_rows + dialect.unit_rows
        has_empty_rows = has_empty_rows or empty_row.search(ending + text) is not None
        ending = text[-_LONGEST_EMPTY_ROW:]
    has_empty_rows = has_empty_rows or empty_row.search(ending + "\n") is not None
    if not has_rows:
        raise InvalidInput(
            f"the source {name} must have a row that names the columns and records below it, and has no record; "
            f"check that it is the right file, and that it is complete."
        )
    return has_empty_rows


def _not_of(dialect: Dialect, name: str) -> str:
    """Say that a file is not of its encoding."""
    if dialect.encoding == UTF_8:
        return (
            f"the source {name} must be text in UTF-8, and has bytes that are not; save it again in UTF-8, or state "
            f"`encoding: latin-1`, `encoding: windows-1252` or `encoding: utf-16` in the spec's source if it is one of "
            f"them."
        )
    return (
        f"the source {name} must be text in {dialect.encoding}, as its spec states, and has bytes that are not; "
        f"correct `encoding` in the spec's source."
    )


def _empty_row(dialect: Dialect) -> re.Pattern[str]:
    """A line of delimiters, blanks and quotes alone."""
    delimiter = re.escape(dialect.delimiter)
    other = re.escape(" " + dialect.quote) + ("" if dialect.delimiter == "\t" else r"\t")
    return re.compile(rf"\n[{other}]*{delimiter}[{other}{delimiter}]*\r?\n")
