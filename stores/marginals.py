"""Prepares the distribution of every attribute to be looked at: labelled bars where values are few, a curve elsewhere.

One series (a table alone) or two (one table beside another). Whose tables they are does not belong here.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from deniable.domain import Attribute, Domain
from deniable.released_table import in_batches
from schemas.release_spec import ReleaseSpec
from stores.tables import encode

Shares = Sequence[float]

_FEW_VALUES = 12
_SHOWN_OF_MANY = 9
_CURVE_POINTS = 100
_ROWS_AT_A_TIME = 100_000
_WIDTH, _HEIGHT = 100.0, 40.0


@dataclass(frozen=True)
class DescribedTable:
    """A table's attributes, and what they and their values mean.

    Attributes:
        domain: the attributes.
        titles: what an attribute is, in words, by its name.
        labels: what a value stands for, by attribute and by value as text.
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
    """One value, or the rest of them.

    Attributes:
        label: the value in words.
        shares: its share in each table.
        lengths: lengths of the bars in percent of the longest in the panel.
        rest: whether it stands for all values that are not shown.
    """

    label: str
    shares: tuple[float, ...]
    lengths: tuple[float, ...]
    rest: bool = False


@dataclass(frozen=True)
class Curve:
    """A distribution over many values in their order, as lines of SVG in a box of 100 by 40.

    Attributes:
        paths: the outline of each table's distribution.
        least: the first value.
        most: the last value.
        highest: the largest share, at the top of the box.
    """

    paths: tuple[str, ...]
    least: str
    most: str
    highest: float


@dataclass(frozen=True)
class Panel:
    """An attribute.

    Attributes:
        name: its name.
        title: what it is, in words; may be empty.
        rows: its values, where they are shown one by one.
        curve: the distribution, where they are not.
        words: what is to be seen, for those who cannot see the curve.
        distance: total variation distance between the two tables, where there are two.
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
                column = batch.column(attribute.name).dictionary_encode()
                distinct = encode(column.dictionary.to_pandas().to_frame(attribute.name), Domain((attribute,)))[:, 0]
                counts[attribute.name][distinct] += np.bincount(column.indices, minlength=len(distinct))
    return {name: tuple((count / max(count.sum(), 1)).tolist()) for name, count in counts.items()}


def panels(
    table: DescribedTable, tables: Sequence[Mapping[str, Shares]], distances: Mapping[str, float] | None = None
) -> list[Panel]:
    """Prepare a panel for each attribute.

    Args:
        table: the attributes, and what they and their values mean.
        tables: one table's shares by attribute, or two tables'; of an attribute with very many values they may be the
            shares of equal runs of neighbouring values.
        distances: by attribute, the distance between the two tables.

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
        )
        for attribute in table.domain.attributes
    ]


def distance(one: Shares, other: Shares) -> float:
    """Total variation distance between two distributions over the same values."""
    return sum(abs(a - b) for a, b in zip(one, other, strict=True)) / 2


def _panel(
    attribute: Attribute, title: str, labels: Mapping[str, str], tables: Sequence[Shares], apart: float | None
) -> Panel:
    """One attribute's panel."""
    one_by_one = len(tables[0]) == attribute.cardinality
    if one_by_one and (attribute.cardinality <= _FEW_VALUES or attribute.kind == "nominal"):
        rows = _rows([_label(value, labels) for value in attribute.values], tables)
        return Panel(attribute.name, title, rows, None, "", apart)
    curve = _curve(attribute, tables)
    return Panel(attribute.name, title, (), curve, _in_words(attribute, tables[-1]), apart)


def _label(value: object, labels: Mapping[str, str]) -> str:
    """A value as it is written, and what it stands for."""
    written = _written(value)
    meaning = labels.get(str(value), "")
    return f"{written} {meaning}" if meaning else written


def _written(value: object) -> str:
    """A value without needless digits; an empty text is still something to see."""
    return f"{value:g}" if isinstance(value, float) else str(value) or "(empty)"


def _rows(labels: Sequence[str], tables: Sequence[Shares]) -> tuple[ValueRow, ...]:
    """The values in their public order; of many, the commonest in the last table, and then the rest together."""
    named = list(zip(labels, zip(*tables, strict=True), strict=True))
    rest: list[tuple[float, ...]] = []
    if len(named) > _FEW_VALUES:
        named.sort(key=lambda row: -row[1][-1])
        rest = [share for _, share in named[_SHOWN_OF_MANY:]]
        named = [*named[:_SHOWN_OF_MANY], (f"{len(rest)} other values", tuple(map(sum, zip(*rest, strict=True))))]
    longest = max(max(share) for _, share in named) or 1.0
    return tuple(
        ValueRow(
            label,
            share,
            lengths=tuple(round(100 * part / longest, 2) for part in share),
            rest=bool(rest) and number == _SHOWN_OF_MANY,
        )
        for number, (label, share) in enumerate(named)
    )


def _curve(attribute: Attribute, tables: Sequence[Shares]) -> Curve:
    """The distributions of a numeric attribute, or of one with very many values."""
    run = ceil(len(tables[0]) / _CURVE_POINTS)
    grouped = [[sum(shares[start : start + run]) for start in range(0, len(shares), run)] for shares in tables]
    highest = max(max(shares) for shares in grouped) or 1.0
    return Curve(
        paths=tuple(_outline(shares, highest) for shares in grouped),
        least=_written(attribute.values[0]),
        most=_written(attribute.values[-1]),
        highest=highest,
    )


def _outline(shares: Sequence[float], highest: float) -> str:
    """A staircase over the shares, closed along the ground."""
    width = _WIDTH / len(shares)
    steps = " ".join(
        f"V{_HEIGHT * (1 - share / highest):.2f} H{width * (number + 1):.2f}" for number, share in enumerate(shares)
    )
    return f"M0,{_HEIGHT:g} {steps} V{_HEIGHT:g} Z"


def _in_words(attribute: Attribute, shares: Shares) -> str:
    """Where the values of the last table lie."""
    if attribute.kind == "nominal":
        return f"Shares of {attribute.cardinality:,} values."
    low, middle, high = (_written(value) for value in _quantiles(attribute, shares))
    return (
        f"From {_written(attribute.values[0])} to {_written(attribute.values[-1])}; "
        f"half of the records lie from {low} to {high}, the middle one at {middle}."
    )


def _quantiles(attribute: Attribute, shares: Shares) -> Iterator[object]:
    """Quartiles; where values stand in runs, the first of a run stands for it."""
    run = ceil(attribute.cardinality / len(shares))
    reached = np.cumsum(shares)
    for quantile in (0.25, 0.5, 0.75):
        yield attribute.values[run * int(np.searchsorted(reached, quantile * reached[-1]))]
