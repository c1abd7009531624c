"""Prepares the distribution of every attribute for display: labelled bars for few values, otherwise a curve.

All bars have the same scale, and values are in the order of the schema. There is one series (one table) or two (two
tables side by side). Which tables they are does not belong here.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from deniable.foundation.domain import Attribute, Domain
from deniable.record.released_table import in_batches
from reports.figures.value_groups import label_of, written_value
from schemas.spec.release_spec import ReleaseSpec
from stores.tables.tables import codes_of_column

Shares = Sequence[float]
Band = tuple[Shares, Shares]
"""Lower and upper ends of intervals, one for each value."""

_FEW_VALUES = 12
_MOST_BARS = 30
_SHOWN_OF_MANY = 20
_CURVE_POINTS = 100
_ROWS_AT_A_TIME = 100_000
_WIDTH, _HEIGHT = 100.0, 40.0


@dataclass(frozen=True)
class DescribedTable:
    """A table's attributes, with the meanings of the attributes and of their values.

    Attributes:
        domain: the attributes.
        titles: description of each attribute, by its name.
        labels: meaning of each value, by attribute and by value as text.
    """

    domain: Domain
    titles: Mapping[str, str]
    labels: Mapping[str, Mapping[str, str]]

    @classmethod
    def of(cls, spec: ReleaseSpec) -> "DescribedTable":
        """The table of a release."""
        return cls(spec.domain, spec.titles, spec.labels)


@dataclass(frozen=True)
class ValueRow:
    """One value, or all remaining values.

    Attributes:
        label: the value in words.
        shares: its share in each table.
        lengths: lengths of the bars in percent of a bar for all records.
        rest: whether the row stands for all values that are not shown.
        band: ends of an interval for the share, in percent of a bar for all records.
        interval: the same interval as shares.
    """

    label: str
    shares: tuple[float, ...]
    lengths: tuple[float, ...]
    rest: bool = False
    band: tuple[float, float] | None = None
    interval: tuple[float, float] | None = None


@dataclass(frozen=True)
class Curve:
    """A distribution over many ordered values, as SVG paths in a box of 100 by 40.

    Attributes:
        paths: the outline of each table's distribution.
        least: the first value.
        most: the last value.
        highest: the largest share, at the top of the box.
        band: the area between the ends of the intervals, if there are any.
    """

    paths: tuple[str, ...]
    least: str
    most: str
    highest: float
    band: str = ""


@dataclass(frozen=True)
class Panel:
    """An attribute.

    Attributes:
        name: its name.
        title: its description; may be empty.
        rows: its values, if they are shown one by one.
        curve: the distribution, if they are not.
        words: a description of the curve, for readers who cannot see it.
        distance: total variation distance between the two tables, if there are two.
    """

    name: str
    title: str
    rows: tuple[ValueRow, ...]
    curve: Curve | None
    words: str
    distance: float | None


def shares_of(table: Path, domain: Domain) -> dict[str, tuple[float, ...]]:
    """Share of each value of each attribute in a published table.

    Args:
        table: the table, Parquet, in the format of the input.
        domain: its domain.

    Returns:
        The shares in the order of the values, by attribute.

    Raises:
        InvalidInput: a value lies outside the domain.
    """
    counts = {attribute.name: np.zeros(attribute.cardinality, np.int64) for attribute in domain.attributes}
    with pq.ParquetFile(table) as file:
        for batch in in_batches(file, _ROWS_AT_A_TIME):
            for attribute in domain.attributes:
                codes = codes_of_column(batch.column(attribute.name), attribute)
                counts[attribute.name] += np.bincount(codes, minlength=attribute.cardinality)
    return {name: tuple((count / max(count.sum(), 1)).tolist()) for name, count in counts.items()}


def panels(
    table: DescribedTable,
    tables: Sequence[Mapping[str, Shares]],
    distances: Mapping[str, float] | None = None,
    bands: Mapping[str, Band] | None = None,
) -> list[Panel]:
    """Prepare a panel for each attribute.

    Args:
        table: the attributes, with the meanings of the attributes and of their values.
        tables: the shares by attribute of one table or of two tables; for an attribute with very many values, these
            may be the shares of equal runs of neighbouring values.
        distances: by attribute, the distance between the two tables.
        bands: by attribute, an interval for the share of each value, if there are any.

    Returns:
        The panels, in the order of the attributes.
    """
    return [
        _panel(
            attribute,
            table.titles.get(attribute.name, ""),
            table.labels.get(attribute.name, {}),
            [shares[attribute.name] for shares in tables],
            distances[attribute.name] if distances is not None else None,
            (bands or {}).get(attribute.name),
        )
        for attribute in table.domain.attributes
    ]


def distance(one: Shares, other: Shares) -> float:
    """Total variation distance between two distributions over the same values."""
    return sum(abs(a - b) for a, b in zip(one, other, strict=True)) / 2


def _panel(
    attribute: Attribute,
    title: str,
    labels: Mapping[str, str],
    tables: Sequence[Shares],
    apart: float | None,
    band: Band | None,
) -> Panel:
    """One attribute's panel."""
    one_by_one = len(tables[0]) == attribute.cardinality
    if one_by_one and (attribute.cardinality <= _FEW_VALUES or attribute.kind == "nominal"):
        rows = _rows([label_of(value, labels) for value in attribute.values], tables, band)
        return Panel(attribute.name, title, rows, None, "", apart)
    curve = _curve(attribute, tables, band if one_by_one else None)
    return Panel(attribute.name, title, (), curve, _in_words(attribute, tables[-1]), apart)


def _rows(labels: Sequence[str], tables: Sequence[Shares], band: Band | None) -> tuple[ValueRow, ...]:
    """The values in their public order; of many, the commonest in the last table, and then the rest together."""
    shares = list(zip(*tables, strict=True))
    shown = list(range(len(labels)))
    if len(labels) > _MOST_BARS:
        shown = sorted(sorted(shown, key=lambda number: -shares[number][-1])[:_SHOWN_OF_MANY])
    rows = [
        ValueRow(
            labels[number],
            shares[number],
            lengths=_lengths(shares[number]),
            band=_scaled(_ends(band, number)),
            interval=_ends(band, number),
        )
        for number in shown
    ]
    rest = [shares[number] for number in sorted(set(range(len(labels))) - set(shown))]
    if rest:
        together = tuple(map(sum, zip(*rest, strict=True)))
        rows.append(ValueRow(f"{len(rest)} other values", together, lengths=_lengths(together), rest=True))
    return tuple(rows)


def _ends(band: Band | None, number: int) -> tuple[float, float] | None:
    """Ends of one value's interval."""
    return None if band is None else (band[0][number], band[1][number])


def _scaled(ends: tuple[float, float] | None) -> tuple[float, float] | None:
    """Ends of an interval, in percent of a bar for all records."""
    return None if ends is None else (round(100 * ends[0], 2), round(100 * ends[1], 2))


def _lengths(shares: tuple[float, ...]) -> tuple[float, ...]:
    """Shares as lengths of bars: the whole length is all records, in every panel of every page."""
    return tuple(round(100 * share, 2) for share in shares)


def _curve(attribute: Attribute, tables: Sequence[Shares], band: Band | None) -> Curve:
    """The distributions of a numeric attribute, or of one with very many values."""
    run = ceil(len(tables[0]) / _CURVE_POINTS)
    grouped = [[sum(shares[start : start + run]) for start in range(0, len(shares), run)] for shares in tables]
    # The intervals of a sum of values are not the sums of their intervals.
    ends = band if run == 1 else None
    highest = max(max(shares) for shares in [*grouped, *(ends or ())[1:]]) or 1.0
    return Curve(
        paths=tuple(_outline(shares, highest) for shares in grouped),
        least=written_value(attribute.values[0]),
        most=written_value(attribute.values[-1]),
        highest=highest,
        band=_area(ends, highest) if ends else "",
    )


def _area(band: Band, highest: float) -> str:
    """The area between two step functions."""
    lower, upper = band
    width = _WIDTH / len(lower)

    def place(share: float) -> str:
        return f"{_HEIGHT * (1 - share / highest):.2f}"

    there = " ".join(f"V{place(share)} H{width * (number + 1):.2f}" for number, share in enumerate(upper))
    back = " ".join(
        f"V{place(share)} H{width * (len(lower) - number - 1):.2f}" for number, share in enumerate(reversed(lower))
    )
    return f"M0,{place(lower[0])} {there} {back} Z"


def _outline(shares: Sequence[float], highest: float) -> str:
    """A step function of the shares, closed along the base line."""
    width = _WIDTH / len(shares)
    steps = " ".join(
        f"V{_HEIGHT * (1 - share / highest):.2f} H{width * (number + 1):.2f}" for number, share in enumerate(shares)
    )
    return f"M0,{_HEIGHT:g} {steps} V{_HEIGHT:g} Z"


def _in_words(attribute: Attribute, shares: Shares) -> str:
    """A description of the distribution in the last table."""
    if attribute.kind == "nominal":
        return f"Shares of {attribute.cardinality:,} values."
    low, middle, high = (written_value(value) for value in _quantiles(attribute, shares))
    return (
        f"From {written_value(attribute.values[0])} to {written_value(attribute.values[-1])}; "
        f"half of the records lie between {low} and {high}; the median is {middle}."
    )


def _quantiles(attribute: Attribute, shares: Shares) -> Iterator[object]:
    """Quartiles; if values are in runs, the first value of a run represents it."""
    run = ceil(attribute.cardinality / len(shares))
    reached = np.cumsum(shares)
    for quantile in (0.25, 0.5, 0.75):
        yield attribute.values[run * int(np.searchsorted(reached, quantile * reached[-1]))]
