"""Ways to draw origins, and the mean commutes of each destination's synthetic and real workers."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from deniable.evaluation.commutes import miles
from deniable.foundation.keys import WordStream
from deniable.foundation.noise import DiscreteLaplace
from deniable.learners.origin_destination.draws import draw_origins, kept_at
from deniable.learners.origin_destination.plan import KEPT_UNIT, FlowsPlan, kept_probability
from deniable.learners.origin_destination.spec import SamplingByDistance
from deniable.privacy.urn_costs import UNIT
from papers.chance import KEY, Floats, Integers, uniforms
from papers.onthemap.published import DELTA, EPSILON, KEPT, QUANTILES
from papers.onthemap.states import State

SAMPLED: Final = "theorem O, domain sampling"
SAMPLED_BY_4_4: Final = "theorem 4.4, domain sampling"
NEAR: Final = "theorem O, domain sampling by distance"
AREAS: Final = "theorem O, areas"
METHODS: Final = {
    "pure, origins": (Fraction(0), "theorem_O", False, False),
    "theorem 4.4, origins": (DELTA, "theorem_4_4", False, False),
    "theorem O, origins": (DELTA, "theorem_O", False, False),
    SAMPLED_BY_4_4: (DELTA, "theorem_4_4", True, False),
    SAMPLED: (DELTA, "theorem_O", True, False),
    NEAR: (DELTA, "theorem_O", True, False),
    "pure, areas": (Fraction(0), "theorem_O", False, True),
    "theorem 4.4, areas": (DELTA, "theorem_4_4", False, True),
    AREAS: (DELTA, "theorem_O", False, True),
}
"""Delta, bound, whether the domain is sampled, and whether areas are drawn instead of origins."""
NOISY: Final = "two-sided geometric, areas"
"""The baseline: noise on the counts of areas."""
COPY: Final = "the workers themselves"
"""A control: the real origins, as if they were a release."""
LEAST: Final = int(kept_probability(KEPT) * KEPT_UNIT)
"""The probability that is charged, in units of 2^-32."""
BY_DISTANCE: Final = SamplingByDistance.model_validate(
    {"within": list(zip(QUANTILES.values(), (1, 0.5, 0.3), strict=True)), "places": {}}
)
"""Origins without workers stay by the paper's printed quantiles of commutes, which are public.

Up to the first, all stay. Beyond, shares fall as 25 % and 15 % of workers are to the nearest 50 %, and after the last
quantile the probability that is charged holds.
"""


@dataclass(frozen=True, eq=False)
class Drawn:
    """Synthetic workers of some destinations beside the real ones.

    Attributes:
        workers: number of workers of each destination, shape (destinations,).
        real: their mean commute in miles.
        synthetic: that of as many synthetic workers; NaN where there are none.
        prior: mean number of prior workers of a destination.
        overlaps: share of synthetic workers at origins, or in areas, of real ones, shape (destinations,).
    """

    workers: Integers
    real: Floats
    synthetic: Floats
    prior: float
    overlaps: Floats

    def of(self, some: NDArray[np.bool_]) -> "Drawn":
        """Some of the destinations."""
        return Drawn(self.workers[some], self.real[some], self.synthetic[some], self.prior, self.overlaps[some])

    @property
    def errors(self) -> Floats:
        """Errors of the mean commutes, of destinations that have synthetic workers."""
        found = self.synthetic - self.real
        return found[np.isfinite(found)]

    @property
    def bias(self) -> float:
        """Mean error in miles."""
        return float(self.errors.mean())

    @property
    def deviation(self) -> float:
        """Standard error of the bias over destinations."""
        return float(self.errors.std() / np.sqrt(len(self.errors)))

    @property
    def error(self) -> float:
        """Root mean squared error in miles."""
        return float(np.sqrt((self.errors**2).mean()))

    @property
    def overlap(self) -> float:
        """Mean share of synthetic workers at origins, or in areas, of real ones."""
        return float(self.overlaps.mean())

    @property
    def deviation_of_overlap(self) -> float:
        """Standard error of that mean over destinations."""
        return float(self.overlaps.std() / np.sqrt(len(self.overlaps)))

    @property
    def deviation_of_error(self) -> float:
        """Standard error of the root mean squared error over destinations, to first order."""
        squares = self.errors**2
        return float(squares.std() / np.sqrt(len(squares)) / (2 * max(self.error, 1e-9)))

    @property
    def larger(self) -> "Drawn":
        """The larger half of the destinations."""
        return self.of(self.workers >= np.median(self.workers))


def plan_of(state: State, method: str) -> FlowsPlan:
    """The plan of a way to draw origins."""
    delta, bound, is_sampled, is_coarse = METHODS[method]
    origins = state.areas if is_coarse else len(state.area)
    kept = kept_probability(KEPT) if is_sampled else None
    return FlowsPlan(len(state.totals), origins, EPSILON, delta, bound, kept, totals=state.totals)


def drawn(state: State, destinations: Integers, method: str) -> Drawn:
    """Draw as many synthetic workers for destinations as there are real ones.

    If areas are drawn, a worker's origin is drawn in the area, with equal probabilities.

    Args:
        state: the state.
        destinations: the destinations.
        method: one of `METHODS`, `NOISY` or `COPY`.
    """
    plan = None if method in (NOISY, COPY) else plan_of(state, method)
    is_coarse = method == NOISY or (plan is not None and METHODS[method][3])
    draw = _copied if method == COPY else _by_noise(state) if plan is None else _by_urns(plan)
    by_area = np.argsort(state.area, kind="stable")
    starts = np.searchsorted(state.area[by_area], np.arange(state.areas + 1))
    workers, real, synthetic, overlaps, priors = [], [], [], [], []
    for place in destinations.tolist():
        own = state.destination == place
        cells = state.area[state.origin[own]] if is_coarse else state.origin[own]
        occupied, where = np.unique(cells, return_inverse=True)
        numbers = np.zeros(len(occupied), np.int64)
        np.add.at(numbers, where, state.workers[own])
        people = int(numbers.sum())
        stream = KEY.stream(step="benchmark", mechanism="flows", inputs=method, parameters={"destination": place})
        distance = miles(state.destination_place[[place]], state.origin_place)
        stays = kept_at(BY_DISTANCE, distance, LEAST) if method == NEAR else None
        found = draw(stream, occupied, numbers, stays)
        times = np.bincount(np.searchsorted(occupied, found[np.isin(found, occupied)]), minlength=len(occupied))
        overlaps.append(float(np.minimum(times, numbers).sum() / people))
        if is_coarse:
            spread = (starts[found + 1] - starts[found]) * uniforms(stream, len(found))
            found = by_area[starts[found] + spread.astype(np.int64)]
        real.append(float(distance[state.origin[own]] @ state.workers[own]) / people)
        synthetic.append(float(distance[found].mean()) if len(found) else np.nan)
        workers.append(people)
        priors.append(0.0 if plan is None else _prior_workers(plan, people, occupied, stays))
    return Drawn(
        np.array(workers),
        np.array(real),
        np.array(synthetic),
        float(np.mean(priors)),
        np.array(overlaps),
    )


_Draw = Callable[[WordStream, Integers, Integers, Integers | None], Integers]


def _copied(_: WordStream, occupied: Integers, numbers: Integers, __: Integers | None) -> Integers:
    return np.repeat(occupied, numbers)


def _by_urns(plan: FlowsPlan) -> _Draw:
    def draw(stream: WordStream, occupied: Integers, numbers: Integers, stays: Integers | None) -> Integers:
        return draw_origins(stream, plan, occupied, numbers, draws=int(numbers.sum()), stays=stays)

    return draw


def _by_noise(state: State) -> _Draw:
    """Counts of areas with two-sided geometric noise, truncated at 0 and scaled to the total."""

    def draw(stream: WordStream, occupied: Integers, numbers: Integers, _: Integers | None) -> Integers:
        counts = np.zeros(state.areas, np.int64)
        counts[occupied] = numbers
        # A worker who moves changes two counts.
        counts = np.maximum(counts + DiscreteLaplace(2 / EPSILON).sample(stream, state.areas), 0)
        if not counts.any():
            return np.empty(0, np.int64)
        sums = np.cumsum(counts)
        places = (uniforms(stream, int(numbers.sum())) * sums[-1]).astype(np.int64)
        return np.asarray(np.searchsorted(sums, places, side="right"), np.int64)

    return draw


def _prior_workers(plan: FlowsPlan, people: int, occupied: Integers, stays: Integers | None) -> float:
    """Expected number of prior workers of a destination."""
    empty = (plan.origins - len(occupied)) * (1.0 if plan.kept is None else float(plan.kept))
    if stays is not None:
        empty = float(np.delete(stays, occupied).sum()) / KEPT_UNIT
    return plan.prior(people, people) / UNIT * (len(occupied) + empty)
