"""Checks a released table against the public domain: order of columns, values, and number of records.

The table is read once, batch by batch, so memory does not grow with its size. The domain itself, and the table's
digest, do not belong here (deniable.verification.release). No content of the table is quoted, because values outside
the domain may be confidential.
"""

import csv
import importlib
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.csv_text import CsvText
from deniable.foundation.domain import Attribute, Domain, Value

_BATCH_ROWS = 20_000
# No line of a valid table is this long.
_LONGEST_LINE = 1 << 20
# No number of a bin is longer.
_LONGEST_NUMBER = 40


@dataclass(frozen=True)
class TableFindings:
    """The findings on a table.

    Attributes:
        records: number of records read.
        faults: its faults; reading stops after the first.
    """

    records: int
    faults: tuple[str, ...] = ()


class _InBins:
    """The texts of the numbers of an attribute with bins, with the interface of a set.

    Args:
        attribute: the attribute.
    """

    def __init__(self, attribute: Attribute) -> None:
        self._attribute = attribute

    def __contains__(self, text: str) -> bool:
        """Whether a text is one of them."""
        return self.issuperset([text])

    def issuperset(self, texts: Iterable[str]) -> bool:
        """Whether all texts are among them."""
        return bool((codes_of_texts(self._attribute, list(texts)) >= 0).all())


class _TypedInBins:
    """The numbers of an attribute with bins, each with its type, with the interface of a set.

    Args:
        attribute: the attribute.
    """

    def __init__(self, attribute: Attribute) -> None:
        self._texts = _InBins(attribute)
        self._type = type(attribute.values[0])
        self._may_be_missing = attribute.missing is not None

    def issuperset(self, values: Iterable[tuple[type, Value | None]]) -> bool:
        """Whether all values are among them."""
        listed = [value for value in values if not (self._may_be_missing and value[1] is None)]
        return all(kind is self._type for kind, _ in listed) and self._texts.issuperset(str(each) for _, each in listed)


def codes_of_texts(attribute: Attribute, texts: Sequence[str]) -> NDArray[np.int64]:
    """The code of each text of a released table, -1 for texts that no value has.

    Args:
        attribute: the attribute.
        texts: the fields of its column.
    """
    known = {text: code for code, text in enumerate(attribute.written)}
    if attribute.bins is None:
        return np.asarray([known.get(text, -1) for text in texts], np.int64)
    codes = attribute.bins_of_texts(texts)
    if attribute.missing is not None:
        # A missing number is an empty field, and never the number that stands for it in the model.
        missing = attribute.values.index(attribute.missing)
        codes[codes == missing] = -1
        codes[np.asarray([text == "" for text in texts], bool)] = missing
    return codes


def check_csv(file: BinaryIO, domain: Domain) -> TableFindings:
    """Read a CSV table in UTF-8 (RFC 4180).

    Args:
        file: the table, at its beginning.
        domain: the public domain; values are written as Python writes them.
    """
    allowed = [
        frozenset(attribute.written) if attribute.bins is None else _InBins(attribute)
        for attribute in domain.attributes
    ]
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
        return TableFindings(records, (f"it is not CSV after record {records}",))
    return TableFindings(records)


def parquet_reader() -> Any | None:
    """The module that reads Parquet, if it is installed: pyarrow, an optional dependency of verification."""
    try:
        return importlib.import_module("pyarrow.parquet")
    except ImportError:
        return None


def in_batches(table: Any, rows: int) -> Iterator[Any]:
    """Read a Parquet table in batches, as Arrow's record batches.

    It reads by row group: reading a whole table at once, the reader would keep everything in memory until the end.

    Args:
        table: an open `pyarrow.parquet.ParquetFile`.
        rows: largest number of rows in a batch.
    """
    for group in range(table.num_row_groups):
        yield from table.iter_batches(rows, row_groups=[group])


def check_parquet(file: BinaryIO, domain: Domain, reader: Any, most: int | None = None) -> TableFindings:
    """Read a Parquet table.

    Args:
        file: the table.
        domain: the public domain, which determines the types of values.
        reader: `parquet_reader()`.
        most: largest permitted number of records; a table that claims more, which takes only a few bytes, is not read.
    """
    allowed = [
        frozenset(_typed(attribute.stored)) if attribute.bins is None else _TypedInBins(attribute)
        for attribute in domain.attributes
    ]
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
    # A damaged file makes a reader raise errors of many kinds, which may quote it.
    except Exception:  # noqa: BLE001
        return TableFindings(records, (f"it cannot be read as Parquet after record {records}",))
    return TableFindings(records)


def is_text_of(text: BinaryIO, parquet: BinaryIO, domain: Domain, reader: Any) -> bool:
    """Whether the CSV form of a table is, byte for byte, its Parquet form written as CSV.

    This takes a tenth of the time of reading both. A text that differs may still have equal values, quoted
    differently.

    Args:
        text: the CSV table, at its beginning.
        parquet: the Parquet table, in which `check_parquet` found no faults.
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
    """Number of the first record that differs between the two forms of a table, from 1; None if there is none.

    Args:
        text: the CSV table, in which `check_csv` found no faults.
        parquet: the Parquet table, in which `check_parquet` found no faults.
        reader: `parquet_reader()`.
    """
    rows = csv.reader(_lines(text), strict=True)
    next(rows)
    before = 0
    for batch in in_batches(reader.ParquetFile(parquet), _BATCH_ROWS):
        columns = [[_as_text(value) for value in column.to_pylist()] for column in batch.columns]
        typed, written = list(map(list, zip(*columns, strict=True))), list(islice(rows, batch.num_rows))
        if typed != written:
            pairs = enumerate(zip(typed, written, strict=False), before + 1)
            return next((number for number, (one, other) in pairs if one != other), before + len(written) + 1)
        before += batch.num_rows
    return None if next(rows, None) is None else before + 1


def check_rules(file: BinaryIO, domain: Domain) -> Iterator[str]:
    """Faults where a record of a CSV table violates a rule of the domain: the first such record for each rule.

    Args:
        file: the table, at its beginning; records with values outside the domain, which `check_csv` reports, are
            skipped.
        domain: the public domain.
    """
    rows = _rows(file, _longest_line(domain))
    left = dict(enumerate(domain.rules, 1))
    before = 0
    if tuple(next(rows, [])) != domain.names:
        yield "its columns are not those of the domain"
        return
    while left and (batch := list(islice(rows, _BATCH_ROWS))):
        if any(len(row) != len(domain) for row in batch):
            yield f"its records do not have {len(domain)} values each"
            return
        found = [
            codes_of_texts(attribute, column)
            for attribute, column in zip(domain.attributes, zip(*batch, strict=True), strict=True)
        ]
        coded = np.asarray(found, np.int64).T
        known = np.flatnonzero((coded >= 0).all(axis=1))
        for number, rule in list(left.items()):
            broken = known[~rule.holds(domain, coded[known].astype(domain.code_type))]
            if len(broken):
                yield f"record {before + int(broken[0]) + 1} breaks rule {number}: {rule.sentence}"
                del left[number]
        before += len(batch)


def _rows(file: BinaryIO, longest: int) -> Iterator[list[str]]:
    """The rows of a text, each of bounded length: a quote that is never closed has no end."""
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
    """Length of the longest possible row of a domain in characters: every character escaped, every field quoted."""
    texts = [
        max(
            len(attribute.name),
            *map(len, attribute.written),
            0 if attribute.bins is None else _LONGEST_NUMBER,
        )
        for attribute in domain.attributes
    ]
    return sum(2 * length + len('"",') for length in texts) + len("\r\n")


def _lines(file: BinaryIO, longest: int = _LONGEST_LINE) -> Iterator[str]:
    """The lines of a text, each of bounded length."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    try:
        while line := text.readline(longest):
            yield line
    finally:
        # The caller opened the file, and closes it.
        text.detach()


def _columns_fault(columns: Sequence[str], domain: Domain) -> str | None:
    if tuple(columns) == domain.names:
        return None
    if sorted(columns) == sorted(domain.names):
        return "its columns are not in the order of the domain"
    return f"its columns are not those of the domain, {', '.join(domain.names)}"


def _batch_fault(
    batch: Sequence[Sequence[str]], names: Sequence[str], allowed: Sequence[frozenset[str] | _InBins], *, first: int
) -> str | None:
    """The first fault in some records, given the number of the first; None if none."""
    widths = {len(row) for row in batch}
    if widths != {len(names)}:
        number = next(number for number, row in enumerate(batch, first) if len(row) != len(names))
        return f"record {number} does not have {len(names)} values"
    for name, values, column in zip(names, allowed, zip(*batch, strict=True), strict=True):
        if not values.issuperset(column):
            number = next(number for number, value in enumerate(column, first) if value not in values)
            return f"record {number}: {name} has a value that is not in its public domain"
    return None


def _as_text(value: Value | None) -> str:
    """A stored value as CSV has it."""
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _typed(values: Sequence[Value | None]) -> list[tuple[type, Value | None]]:
    """Values paired with their types, because in Python True == 1 and 1 == 1.0."""
    return [(type(value), value) for value in values]
