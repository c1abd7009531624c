r"""Records as CSV text: each value as Python's csv module writes it, and every line terminated by \n.

Tables are written and verified with this module, so that a table can be compared with its text byte by byte. Arrow
joins the fields; it is passed as an argument because nothing else in `deniable` needs it. Files do not belong here.
"""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from deniable.foundation.domain import Attribute, Domain, Value


class CsvText:
    """Writes records of a domain as text.

    Args:
        domain: the public domain.
        arrow: `pyarrow`, with `pyarrow.compute` imported.

    Attributes:
        header: the header line.
    """

    def __init__(self, domain: Domain, arrow: Any) -> None:
        self.header = _line(domain.names).encode()
        self._arrow = arrow
        self._attributes = domain.attributes
        self._codes: list[dict[str | None, int]] = [
            {_text(value): code for code, value in enumerate(each.stored)} for each in domain.attributes
        ]
        self._fields = [
            self._array(self._written(attribute.written, j)) for j, attribute in enumerate(domain.attributes)
        ]

    def of_codes(self, columns: Sequence[Any]) -> memoryview:
        """The lines of some records, in UTF-8.

        Args:
            columns: for each attribute an Arrow array of codes or, if it has bins, of numbers; equal lengths, no
                nulls.
        """
        if len(columns[0]) == 0:
            return memoryview(b"")
        fields = [
            values.take(column) if self._attributes[number].bins is None else self._numbers(column, number)
            for number, (values, column) in enumerate(zip(self._fields, columns, strict=True))
        ]
        joined = self._arrow.compute.binary_join_element_wise(*fields, self._array([b""])[0])
        return memoryview(joined.buffers()[2]).cast("B")

    def of_values(self, columns: Sequence[Any]) -> memoryview | None:
        """The lines of some records, in UTF-8; None if a value is missing or is not written as the domain writes it.

        Args:
            columns: for each attribute an Arrow array of values; equal lengths.
        """
        columns = [
            self._coded(column, codes) if attribute.bins is None else self._in_bins(column, attribute)
            for attribute, column, codes in zip(self._attributes, columns, self._codes, strict=True)
        ]
        return None if any(column.null_count for column in columns) else self.of_codes(columns)

    def _coded(self, column: Any, codes: dict[str | None, int]) -> Any:
        """The codes of a column's values; null for a value without a code."""
        arrow = self._arrow
        if arrow.types.is_floating(column.type):
            # 0.0 and -0.0 are equal but are written differently.
            encoded = column.cast(arrow.float64()).view(arrow.int64()).dictionary_encode("encode")
            values = encoded.dictionary.view(arrow.float64()).to_pylist()
        else:
            encoded = column.dictionary_encode("encode")
            values = encoded.dictionary.to_pylist()
        return self._integers([codes.get(_text(value)) for value in values]).take(encoded.indices)

    def _in_bins(self, column: Any, attribute: Attribute) -> Any:
        """A column of numbers; null for a number that is in no bin or is written differently."""
        arrow = self._arrow
        is_float = isinstance(attribute.values[0], float)
        if attribute.missing is not None and column.type != arrow.null():
            column = column.fill_null(attribute.missing)
        if column.null_count or not (arrow.types.is_floating if is_float else arrow.types.is_integer)(column.type):
            return arrow.nulls(len(column))
        numbers = column.to_numpy(zero_copy_only=False)
        # 0.0 and -0.0 are equal but are written differently.
        outside = (attribute.bins_of(numbers.astype(np.float64)) < 0) | (np.signbit(numbers) & (numbers == 0))
        return arrow.array(numbers, column.type, mask=outside)

    def _numbers(self, column: Any, number: int) -> Any:
        """Numbers as text."""
        encoded = column.dictionary_encode()
        missing = self._attributes[number].missing
        numbers = ["" if value == missing else value for value in encoded.dictionary.to_pylist()]
        return self._array(self._written(numbers, number)).take(encoded.indices)

    def _written(self, values: Sequence[Value], number: int) -> list[bytes]:
        """Values of an attribute as text, with what follows them."""
        return _fields(values, first=number == 0, last=number == len(self._attributes) - 1)

    # Built from buffers: Arrow's `array` imports pandas to test its argument, which takes half a second.
    def _array(self, fields: Iterable[bytes]) -> Any:
        """Strings of Arrow's large type: those of many records may have more than 2^31 bytes."""
        texts = list(fields)
        ends = np.cumsum([0, *map(len, texts)], dtype=np.int64)
        return self._made_of(self._arrow.large_binary(), len(texts), None, ends.tobytes(), b"".join(texts))

    def _integers(self, values: Sequence[int | None]) -> Any:
        """32-bit integers, null where there is none."""
        there = np.packbits([value is not None for value in values], bitorder="little")
        numbers = np.array([value or 0 for value in values], np.int32)
        return self._made_of(self._arrow.int32(), len(values), there.tobytes(), numbers.tobytes())

    def _made_of(self, kind: Any, length: int, *buffers: bytes | None) -> Any:
        arrow = self._arrow
        return arrow.Array.from_buffers(
            kind, length, [None if each is None else arrow.py_buffer(each) for each in buffers]
        )


def _text(value: Value | None) -> str | None:
    """A stored value as text, by which it is found again; null stays null."""
    return None if value is None else str(value)


def _fields(values: Sequence[Value], *, first: bool, last: bool) -> list[bytes]:
    """Each value as written, with the comma or line end that follows it."""
    if first and last:
        # A line with a single empty field would be an empty line.
        return [_line([value]).encode() for value in values]
    end = "\n" if last else ","
    return [(_line([value, ""]).removesuffix(",\n") + end).encode() for value in values]


def _line(values: Iterable[Value]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(values)
    return text.getvalue()
