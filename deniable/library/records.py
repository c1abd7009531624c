"""Synthetic records, as columns that every data frame library can take."""

import csv
import importlib
import io
from collections.abc import Iterator, Mapping

from deniable.foundation.domain import Codes, Domain, Value
from deniable.foundation.keys import ReleaseKey
from deniable.samplers.within_bins import WithinBins


class Records(Mapping[str, list[Value | None]]):
    """Synthetic records: a mapping from the name of each column to its values.

    `pandas.DataFrame(dict(records))` and the same of polars make frames of them; with pyarrow, every library that reads
    Arrow takes them as they are.

    Args:
        domain: the public domain.
        codes: the records, shape (records, m).
        key: draws the numbers within bins; used once.
    """

    def __init__(self, domain: Domain, codes: Codes, key: ReleaseKey) -> None:
        numbers = WithinBins(domain, key, "").numbers(codes, 0)
        self._columns: dict[str, list[Value | None]] = {}
        self._texts: list[list[str]] = []
        for number, (attribute, own) in enumerate(zip(domain.attributes, codes.T, strict=True)):
            drawn = numbers.get(number)
            if drawn is None:
                self._columns[attribute.name] = [attribute.stored[code] for code in own]
                self._texts.append([attribute.written[code] for code in own])
            else:
                values = [None if each == attribute.missing else each for each in drawn.tolist()]
                self._columns[attribute.name] = values
                self._texts.append(["" if each is None else str(each) for each in values])
        self._rows = len(codes)

    def __getitem__(self, name: str) -> list[Value | None]:
        """The values of a column."""
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        """The names of the columns."""
        return iter(self._columns)

    def __len__(self) -> int:
        """The number of columns."""
        return len(self._columns)

    @property
    def rows(self) -> int:
        """The number of records."""
        return self._rows

    @property
    def csv_text(self) -> str:
        """The records as CSV, as a release's `synthetic.csv`."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self._columns)
        writer.writerows(zip(*self._texts, strict=True))
        return text.getvalue()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The records as a stream of Arrow; needs pyarrow."""
        return importlib.import_module("pyarrow").table(self._columns).__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        """The number of records and the columns."""
        return f"Records({self._rows:,} of {', '.join(self._columns)})"
