"""Prepares the intervals of measured tables for display, from `intervals.csv` alone.

deniable.inference computes the intervals.
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path

_MOST_ATTRIBUTES = 2
_MOST_SHOWN, _MOST_CELLS = 10, 40
_MOST_IN_A_TABLE, _MOST_TOGETHER = 2_000, 30_000


@dataclass(frozen=True)
class MeasuredCell:
    """One cell of a table.

    Attributes:
        values: its value, or the values of its bucket, of each attribute.
        count: estimate of its number of records in the confidential table, and the ends of its interval.
        share: the same of its share.
    """

    values: tuple[str, ...]
    count: tuple[float, float, float]
    share: tuple[float, float, float]


@dataclass(frozen=True)
class IntervalTable:
    """A measured table of one or two attributes.

    Attributes:
        attributes: their names.
        cells: the cells; the last attribute varies fastest.
        level: level of the intervals.
    """

    attributes: tuple[str, ...]
    cells: tuple[MeasuredCell, ...]
    level: float

    @property
    def longest(self) -> float:
        """The largest upper end of a share."""
        return max((cell.share[2] for cell in self.cells), default=1.0) or 1.0

    def labels(self, axis: int) -> list[str]:
        """Names of the cells along an attribute."""
        return list(dict.fromkeys(cell.values[axis] for cell in self.cells))


def read_intervals(file: Path, labels: Mapping[str, Mapping[str, str]]) -> dict[tuple[str, ...], IntervalTable]:
    """Read the tables of one and of two attributes.

    Args:
        file: `intervals.csv`; it does not exist if nothing was measured.
        labels: meaning of each value, by attribute and by value as text.

    Returns:
        The tables by their attributes, in the order of the file.
    """
    if not file.exists():
        return {}
    with file.open(encoding="utf-8", newline="") as text:
        heads, *lines = csv.reader(text)
    found = {}
    for _, own in groupby(lines, key=itemgetter(heads.index("table"))):
        cells = list(own)
        named = {
            cells[0][place]: heads.index(head.replace("attribute", "values"))
            for place, head in enumerate(heads)
            if head.startswith("attribute_") and cells[0][place]
        }
        if len(named) <= _MOST_ATTRIBUTES:
            level = float(cells[0][heads.index("level")])
            found[tuple(named)] = IntervalTable(tuple(named), _cells(heads, cells, named, labels), level)
    return found


def _cells(
    heads: Sequence[str],
    lines: Sequence[Sequence[str]],
    named: Mapping[str, int],
    labels: Mapping[str, Mapping[str, str]],
) -> tuple[MeasuredCell, ...]:
    """Return the cells of one table.

    Args:
        heads: the columns' names.
        lines: the lines of the table.
        named: the column of the values of each attribute.
        labels: meaning of each value, by attribute and by value as text.
    """
    meanings = [(place, labels.get(name, {})) for name, place in named.items()]
    numbers = itemgetter(*(heads.index(f"{kind}{end}") for kind in ("count", "share") for end in ("", "_low", "_high")))
    found = []
    for line in lines:
        count, least, most, share, lowest, highest = map(float, numbers(line))
        shown = tuple([meaning.get(line[place]) or line[place] for place, meaning in meanings])
        found.append(MeasuredCell(shown, (count, least, most), (share, lowest, highest)))
    return tuple(found)


def strongest_tables(
    tables: Mapping[tuple[str, ...], IntervalTable], order: Sequence[tuple[str, ...]]
) -> list[IntervalTable]:
    """The tables of two attributes to show: the strongest that are not too large.

    Args:
        tables: all tables.
        order: attributes of tables, the strongest first.
    """
    pairs = [tables[names] for names in order if len(names) == _MOST_ATTRIBUTES and names in tables]
    return [table for table in pairs if len(table.cells) <= _MOST_CELLS][:_MOST_SHOWN]


def tables_to_pick_from(tables: Mapping[tuple[str, ...], IntervalTable]) -> list[IntervalTable]:
    """Return the tables for a page: as many as it has room for, small ones first."""
    found: list[IntervalTable] = []
    room = _MOST_TOGETHER
    for table in sorted(tables.values(), key=lambda each: len(each.cells)):
        if len(table.cells) <= min(room, _MOST_IN_A_TABLE):
            found.append(table)
            room -= len(table.cells)
    return found
