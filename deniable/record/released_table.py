"""Holds a released table against the public domain: the columns in order, no value from outside, and how many records.

The table is read once, a batch at a time, so that memory does not grow with it. What the domain is, and whether the
table is the one that was signed, does not belong here (deniable.verification.release). Nothing that stands in the table
is quoted: what does not belong there may be confidential.
"""

import csv
import importlib
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, BinaryIO

from deniable.foundation.csv_text import CsvText
from deniable.foundation.domain import Domain, Value

_BATCH_ROWS = 20_000
# No line of a table is as long as this; one that is belongs to no table.
_LONGEST_LINE = 1 << 20


@dataclass(frozen=True)
class TableFindings:
    """What a table was found to be.

    Attributes:
        records: how many records it has, as far as it was read.
        faults: what is wrong with it; nothing is read on after the first.
    """

    records: int
    faults: tuple[str, ...] = ()


def check_csv(file: BinaryIO, domain: Domain) -> TableFindings:
    """Read a CSV table, as RFC 4180 has it, in UTF-8.

    Args:
        file: the table, at its beginning.
        domain: the public domain; a value is written as Python writes it.
    """
    allowed = [frozenset(str(value) for value in attribute.values) for attribute in domain.attributes]
    records = 0
    rows = _rows(file, _longest_line(domain))
    try:
        if (fault := _columns_fault(next(rows, []), domain)) is not None:
            return TableFindings(0, (fault,))
        while batch := list(islice(rows, _BATCH_ROWS)):
            fault = _batch_fault(batch, domain.names, allowed, first=records + 1)
            if fault is not None:
                return TableFindings(records, (fault,))
            records += len(batch)
    except UnicodeDecodeError:
        return TableFindings(records, (f"it is not written in UTF-8 after record {records}",))
    except csv.Error:
        return TableFindings(records, (f"it is no CSV after record {records}",))
    return TableFindings(records)


def parquet_reader() -> Any | None:
    """The module that reads Parquet, if it is installed: pyarrow, which verification does not depend on."""
    try:
        return importlib.import_module("pyarrow.parquet")
    except ImportError:
        return None


def in_batches(table: Any, rows: int) -> Iterator[Any]:
    """Read a Parquet table some rows at a time, as Arrow's record batches.

    Of a whole table the reader would keep what it has read of the file until it is at the end; of a row group it does
    not.

    Args:
        table: an open `pyarrow.parquet.ParquetFile`.
        rows: rows of a batch at most.
    """
    for group in range(table.num_row_groups):
        yield from table.iter_batches(rows, row_groups=[group])


def check_parquet(file: BinaryIO, domain: Domain, reader: Any, most: int | None = None) -> TableFindings:
    """Read a Parquet table.

    Args:
        file: the table.
        domain: the public domain; a value has the type that it has there.
        reader: `parquet_reader()`.
        most: records that it should have at most; of a table that says that it has more, which a few bytes can say,
            nothing is read.
    """
    allowed = [frozenset(_typed(attribute.values)) for attribute in domain.attributes]
    records = 0
    try:
        table = reader.ParquetFile(file)
        if (fault := _columns_fault(list(table.schema_arrow.names), domain)) is not None:
            return TableFindings(0, (fault,))
        if most is not None and table.metadata.num_rows > most:
            return TableFindings(table.metadata.num_rows)
        for batch in in_batches(table, _BATCH_ROWS):
            for name, values, column in zip(domain.names, allowed, batch.columns, strict=True):
                if not values.issuperset(_typed(column.unique().to_pylist())):
                    fault = f"after record {records}: {name} has a value that is not in its public domain"
                    return TableFindings(records, (fault,))
            records += batch.num_rows
    # What a damaged file makes a reader raise is of many kinds, and may quote it.
    except Exception:  # noqa: BLE001
        return TableFindings(records, (f"it cannot be read as Parquet after record {records}",))
    return TableFindings(records)


def is_text_of(text: BinaryIO, parquet: BinaryIO, domain: Domain, reader: Any) -> bool:
    """Whether the CSV form of a table is, byte for byte, what its Parquet form is written as.

    It takes a tenth of the time of reading both. A text that differs may still say the same, with other quotes.

    Args:
        text: the CSV table, at its beginning.
        parquet: the Parquet table, which `check_parquet` found nothing wrong with.
        domain: the public domain.
        reader: `parquet_reader()`.
    """
    importlib.import_module("pyarrow.compute")
    written = CsvText(domain, importlib.import_module("pyarrow"))
    if text.read(len(written.header)) != written.header:
        return False
    for batch in in_batches(reader.ParquetFile(parquet), _BATCH_ROWS):
        lines = written.of_values(batch.columns)
        if lines is None or text.read(len(lines)) != lines:
            return False
    return text.read(1) == b""


def first_difference(text: BinaryIO, parquet: BinaryIO, reader: Any) -> int | None:
    """Number of the first record that the two forms of a table do not share, counted from 1; None if there is none.

    Args:
        text: the CSV table, which `check_csv` found nothing wrong with.
        parquet: the Parquet table, which `check_parquet` found nothing wrong with.
        reader: `parquet_reader()`.
    """
    rows = csv.reader(_lines(text), strict=True)
    next(rows)
    before = 0
    for batch in in_batches(reader.ParquetFile(parquet), _BATCH_ROWS):
        columns = [[str(value) for value in column.to_pylist()] for column in batch.columns]
        typed, written = list(map(list, zip(*columns, strict=True))), list(islice(rows, batch.num_rows))
        if typed != written:
            pairs = enumerate(zip(typed, written, strict=False), before + 1)
            return next((number for number, (one, other) in pairs if one != other), before + len(written) + 1)
        before += batch.num_rows
    return None if next(rows, None) is None else before + 1


def _rows(file: BinaryIO, longest: int) -> Iterator[list[str]]:
    """The rows of a text, none of which has more characters than some: a quote that is never closed has no end."""
    since = 0

    def lines() -> Iterator[str]:
        nonlocal since
        for line in _lines(file, longest + 1):
            since += len(line)
            if since > longest:
                raise csv.Error("a row that is too long")
            yield line

    for row in csv.reader(lines(), strict=True):
        yield row
        since = 0


def _longest_line(domain: Domain) -> int:
    """Characters of the longest row that a table of a domain can have: every one quoted, every field in quotes."""
    texts = [
        max(len(attribute.name), *(len(str(value)) for value in attribute.values)) for attribute in domain.attributes
    ]
    return sum(2 * length + len('"",') for length in texts) + len("\r\n")


def _lines(file: BinaryIO, longest: int = _LONGEST_LINE) -> Iterator[str]:
    """The lines of a text, each of bounded length."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    try:
        while line := text.readline(longest):
            yield line
    finally:
        # Whoever opened the file closes it.
        text.detach()


def _columns_fault(columns: Sequence[str], domain: Domain) -> str | None:
    if tuple(columns) == domain.names:
        return None
    if sorted(columns) == sorted(domain.names):
        return "its columns are not in the order of the domain"
    return f"its columns are not those of the domain, {', '.join(domain.names)}"


def _batch_fault(
    batch: Sequence[Sequence[str]], names: Sequence[str], allowed: Sequence[frozenset[str]], *, first: int
) -> str | None:
    """What is wrong with some records, the first of which has a number; None if nothing is."""
    widths = {len(row) for row in batch}
    if widths != {len(names)}:
        number = next(number for number, row in enumerate(batch, first) if len(row) != len(names))
        return f"record {number} does not have {len(names)} values"
    for name, values, column in zip(names, allowed, zip(*batch, strict=True), strict=True):
        if not values.issuperset(column):
            number = next(number for number, value in enumerate(column, first) if value not in values)
            return f"record {number}: {name} has a value that is not in its public domain"
    return None


def _typed(values: Sequence[Value | None]) -> list[tuple[type, Value | None]]:
    """Values with their types: Python takes True for 1, and 1 for 1.0."""
    return [(type(value), value) for value in values]
