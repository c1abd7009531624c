"""The tables behind Figures 5 to 7 and 9, and what was measured of them: made once, for all of these figures."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import chain, pairwise
from math import isclose

from deniable.learners.mapped import MODELS, diverse, imputation
from deniable.samplers.mapped import GUARANTEES
from papers.bindschaedler.people import People
from papers.findings import Table
from papers.park.choices import (
    BLOCKS,
    DIVERSITIES,
    FROM_MARGINALS,
    KEY_CELLS,
    PEGS,
    POLYA,
    WHOLE,
    Sizes,
    all_ways,
    drawing,
    real_table,
)
from papers.park.orders import by_information
from papers.running import note
from reports.figures.confidentiality_map import ConfidentialityMap, MapPoint
from tasks.mapping.points import (
    baselines,
    points_of_guarantees,
    points_of_models,
    points_of_ways,
    points_without_privacy,
)

BOOTSTRAP, INDEPENDENT = "bootstrap", "independent"
DRAWN = (PEGS, BLOCKS, POLYA, PEGS + FROM_MARGINALS, BLOCKS + FROM_MARGINALS, "PMI")
"""The curves of pictures; tables have all."""
SEEDED = tuple(guarantee.curve for guarantee in GUARANTEES)
"""Records that start from seeds: of a histogram, of Poisson attempts, and tested."""
MODELLED = ("log-linear", "Bayesian network", "PeGS with noisy tables", *SEEDED)


@lru_cache(maxsize=2)
def mapped(people: People, sizes: Sizes = WHOLE) -> ConfidentialityMap:
    """All points, with all that is measured.

    Args:
        people: the real people.
        sizes: how much is run.
    """
    real, draw, records, keys = real_table(people), drawing(people), sizes.records, sizes.keys
    orders = by_information(people.domain, people.codes)
    some = (*all_ways(people), imputation(sizes.fit_rows))
    exact = {f"{each:g}-diverse": diverse(people.domain, each, KEY_CELLS, orders=orders) for each in DIVERSITIES}
    points: list[MapPoint] = []
    left_out: list[str] = []
    for each in chain(
        points_of_ways(real, draw, some, sizes.epsilons, records, keys),
        points_of_models(real, draw, MODELS, sizes.totals, records, sizes.keys_of_models),
        points_of_guarantees(real, draw, sizes.totals, records, sizes.keys_of_models, left_out.append),
        baselines(real, draw, records, keys),
        points_without_privacy(real, draw, exact, records, keys),
    ):
        if not points or points[-1].curve != each.curve:
            note(f"{each.curve}: marginal distance {each.figures[0]:.3f} ...")
        points.append(each)
    return ConfidentialityMap("ACS 2013", real.measures, keys, points, left_out)


def pictured(found: ConfidentialityMap, *measures: str) -> ConfidentialityMap:
    """The map of some measures, with the curves that are drawn."""
    some = found.measured(*measures)
    kept = [
        point
        for point in some.points
        if point.total is None or point.curve in (MODELLED if point.per_record is None else DRAWN)
    ]
    return ConfidentialityMap(some.title, some.measures, some.keys, kept)


def table_of(found: ConfidentialityMap, *measures: str) -> Table:
    """The figures of some measures, with their standard deviations over the keys."""
    some = found.measured(*measures)
    return Table(
        ("records by", "ε of one record", "ε in total", "records", *measures),
        tuple(
            (
                point.curve,
                "" if point.per_record is None else f"{point.per_record:g}",
                "no DP" if point.total is None else f"{point.total:,.6g}",
                f"{point.records:,}",
                *(f"{figure:.3f} ± {spread:.3f}" for figure, spread in zip(point.figures, point.spreads, strict=True)),
            )
            for point in some.points
        ),
    )


class Figures:
    """The figures of one measure.

    Args:
        found: the map.
        measure: the measure.
    """

    def __init__(self, found: ConfidentialityMap, measure: str) -> None:
        self._points: list[MapPoint] = list(found.measured(measure).points)

    def at(self, curve: str, epsilon: float) -> float:
        """The figure of records at an epsilon of one record."""
        return next(point.figures[0] for point in self._points if point.curve == curve and point.per_record == epsilon)

    def of(self, curve: str, total: float | None = None) -> float:
        """The figure of a model at a total, or of a table without differential privacy."""
        return next(
            point.figures[0]
            for point in self._points
            if point.curve == curve and point.per_record is None and _same(point.total, total)
        )

    def total(self, curve: str) -> float:
        """The total of a curve that has one point."""
        (total,) = [point.total for point in self._points if point.curve == curve]
        return total or 0.0

    def least_total(self, curve: str) -> float:
        """The smallest total of a curve."""
        return min(point.total or 0.0 for point in self._points if point.curve == curve)

    def along(self, curve: str) -> list[float]:
        """The figures of a curve, in the order of the epsilons."""
        return [point.figures[0] for point in self._points if point.curve == curve]

    def rises(self, curve: str) -> Iterator[float]:
        """How much the figure rises from each epsilon to the next."""
        return (later - earlier for earlier, later in pairwise(self.along(curve)))


def _same(total: float | None, wanted: float | None) -> bool:
    """Whether a total is the requested one; noise in integers may cost a little less."""
    return total is wanted if total is None or wanted is None else isclose(total, wanted, rel_tol=1e-3)
