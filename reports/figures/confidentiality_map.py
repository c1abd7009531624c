"""The points of an R-U confidentiality map: what tables cost, and what was measured of them beside the real one."""

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

_DIGITS = 6


@dataclass(frozen=True)
class Measure:
    """What is measured of a table.

    Attributes:
        name: its name, such as `marginal`.
        title: its title above a panel.
        note: what it is, in a line.
    """

    name: str
    title: str
    note: str


@dataclass(frozen=True)
class MapPoint:
    """A table, or several tables made in the same way under different keys.

    Attributes:
        curve: how it was made.
        total: epsilon of the whole table; None for a table without differential privacy.
        records: number of records.
        figures: mean over the keys of each measure, in their order.
        spreads: their standard deviations.
        per_record: epsilon of one record as the paper states it; None where records have no cost of their own.
    """

    curve: str
    total: float | None
    records: int
    figures: tuple[float, ...]
    spreads: tuple[float, ...]
    per_record: float | None = None


@dataclass(frozen=True)
class ConfidentialityMap:
    """A map.

    Attributes:
        title: the table.
        measures: what was measured.
        keys: number of keys behind each point.
        points: the tables.
        notes: remarks for its readers.
    """

    title: str
    measures: Sequence[Measure]
    keys: int
    points: Sequence[MapPoint]
    notes: Sequence[str] = field(default=())

    @property
    def curves(self) -> dict[str, list[MapPoint]]:
        """The points of tables charged by the record, by how they were made."""
        return self._of(lambda point: point.per_record is not None)

    @property
    def models(self) -> dict[str, list[MapPoint]]:
        """The points of tables charged as a whole."""
        return self._of(lambda point: point.per_record is None and point.total is not None)

    @property
    def baselines(self) -> dict[str, list[MapPoint]]:
        """The tables without differential privacy."""
        return self._of(lambda point: point.total is None)

    def measured(self, *names: str) -> "ConfidentialityMap":
        """The map with some of its measures alone."""
        places = [[measure.name for measure in self.measures].index(name) for name in names]
        points = [
            MapPoint(
                point.curve,
                point.total,
                point.records,
                tuple(point.figures[place] for place in places),
                tuple(point.spreads[place] for place in places),
                point.per_record,
            )
            for point in self.points
        ]
        return ConfidentialityMap(self.title, [self.measures[place] for place in places], self.keys, points, self.notes)

    def _of(self, wanted: Callable[[MapPoint], bool]) -> dict[str, list[MapPoint]]:
        found: dict[str, list[MapPoint]] = {}
        for point in self.points:
            if wanted(point):
                found.setdefault(point.curve, []).append(point)
        return found


def as_csv(shown: ConfidentialityMap) -> str:
    """Return the points as CSV: one line each, with epsilon per record next to the total."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = [measure.name for measure in shown.measures]
    spreads = [f"{name}_sd" for name in names]
    writer.writerow(["curve", "epsilon_per_record", "epsilon_total", "records", *names, *spreads])
    for point in shown.points:
        costs = ["" if cost is None else f"{cost:g}" for cost in (point.per_record, point.total)]
        figures = [f"{figure:.{_DIGITS}f}" for figure in (*point.figures, *point.spreads)]
        writer.writerow([point.curve, *costs, point.records, *figures])
    return text.getvalue()
