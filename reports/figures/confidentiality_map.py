"""The points of an R-U confidentiality map: the costs of tables, and their distances from the real one."""

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

DISTANCES = ("marginal", "conditional", "logistic", "linear")
"""The distances of a point, in the order of its figures."""
_DIGITS = 6


@dataclass(frozen=True)
class MapPoint:
    """A table, or several tables made in the same way under different keys.

    Attributes:
        curve: how it was made.
        total: epsilon of the whole table; None for a table without differential privacy.
        records: number of records.
        distances: mean over the keys of each of DISTANCES.
        spreads: their standard deviations.
        per_record: epsilon of one record as the paper states it; None where records have no cost of their own.
    """

    curve: str
    total: float | None
    records: int
    distances: tuple[float, ...]
    spreads: tuple[float, ...]
    per_record: float | None = None


@dataclass(frozen=True)
class ConfidentialityMap:
    """A map.

    Attributes:
        title: the table.
        given: the attribute of the conditional distance.
        targets: the attributes that the two regressions explain.
        keys: number of keys behind each point.
        points: the tables.
        notes: remarks for its readers.
    """

    title: str
    given: str
    targets: tuple[str, str]
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
    spreads = [f"{name}_sd" for name in DISTANCES]
    writer.writerow(["curve", "epsilon_per_record", "epsilon_total", "records", *DISTANCES, *spreads])
    for point in shown.points:
        costs = ["" if cost is None else f"{cost:g}" for cost in (point.per_record, point.total)]
        figures = [f"{figure:.{_DIGITS}f}" for figure in (*point.distances, *point.spreads)]
        writer.writerow([point.curve, *costs, point.records, *figures])
    return text.getvalue()
