"""Exact intervals for the share of some categories among the rows of an urn, from records drawn from it.

Let an urn have x of n rows in the categories, and prior weights a for these and b for the others. A record drawn from
it is in the categories with probability (x + a) / (n + a + b), and then adds 1 to their weight: the number S of such
records among m is beta-binomial (Polya). Several urns with the same rows give independent numbers. S is stochastically
increasing in x, so the interval of all x for which neither tail of the observed S is below (1 - level) / 2 covers x
with at least the level (Clopper, Pearson 1934). No prior on x is used. The interval for the share p in a population of
which the rows are a sample follows in the same way from the law of S given p: x is then binomial.

If n is known only within bounds, the interval for the rows holds for all n within them. The interval for the
population is the union over some n; between these its ends move little.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import ceil, floor, lgamma, sqrt

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.errors import Refused
from deniable.inference.intervals import Interval
from deniable.inference.others.asking import Found

Floats = NDArray[np.float64]
MOST_WORK = 40_000_000
_SURE = 1e-12
_MOST_POINTS = 160
_STEPS = 50
_POINTS_OF_ROWS = 12


@dataclass(frozen=True)
class UrnDraws:
    """Records drawn from urns with the same rows.

    Attributes:
        drawn: number of records in the categories, from all urns.
        trials: number of records from each urn.
        urns: number of urns.
        inside: prior weight of the categories, above 0.
        outside: prior weight of the others, above 0.
        rows: bounds on the number of rows in an urn, n; equal if n is known.
    """

    drawn: int
    trials: int
    urns: int
    inside: float
    outside: float
    rows: tuple[int, int]

    def share(self, level: float, *, of_population: bool = False) -> Found:
        """The share of the categories among the rows, or in the population of which the rows are a sample.

        Args:
            level: confidence level.
            of_population: whether the estimand is the population.

        Raises:
            Refused: there are no rows, or too many to invert their law.
        """
        low, high = self.rows
        if low < 1:
            raise Refused("there must be rows in the group for a share, and there may be none.")
        if self.trials * self.urns * _MOST_POINTS > MOST_WORK * 10 or high > MOST_WORK // 10:
            raise Refused("the release is too large for exact intervals of its draws; draw fewer records.")
        centre = (low + high) // 2
        points = sorted({round(each) for each in np.linspace(low, high, _POINTS_OF_ROWS)})
        if of_population:
            ends = [_OfRows(self, rows).of_population(level) for rows in points]
            interval = Interval(min(end.low for end in ends), max(end.high for end in ends))
        else:
            # Both ends, as numbers of rows, increase with n: between two values of n they lie between theirs.
            numbers = [_OfRows(self, rows).of_rows(level) for rows in points]
            later = [*points[1:], points[-1]]
            lows = [number.low / rows for number, rows in zip(numbers, later, strict=True)]
            highs = [number.high / rows for number, rows in zip(numbers, [points[0], *points[:-1]], strict=True)]
            interval = Interval(min(lows), min(max(highs), 1.0))
        weight = self.inside + self.outside
        drawn = self.drawn / (self.trials * self.urns)
        estimate = (drawn * (centre + weight) - self.inside) / centre
        chance = min(max(drawn, 0.0), 1.0)
        spread = chance * (1 - chance) * (1 + (self.trials - 1) / (centre + weight + 1)) / (self.trials * self.urns)
        held = min(max(estimate, 0.0), 1.0)
        return Found(
            estimate=estimate,
            interval=interval,
            noise=spread * ((centre + weight) / centre) ** 2,
            sampling=held * (1 - held) / centre if of_population else 0.0,
        )


class _OfRows:
    """The law of the number of records, given the number of rows in the categories."""

    def __init__(self, draws: UrnDraws, rows: int) -> None:
        self._draws, self._rows = draws, rows

    @cached_property
    def _logs(self) -> tuple[Floats, Floats, Floats]:
        """Logarithms of the rising factorials of both weights, and of binomial coefficients."""
        own, m = self._draws, self._draws.trials
        inside, outside = (
            np.array([lgamma(j + weight) for j in range(self._rows + m + 1)]) for weight in (own.inside, own.outside)
        )
        factorials = np.array([lgamma(j + 1.0) for j in range(m + 1)])
        return inside, outside, factorials[m] - factorials - factorials[::-1]

    def tails(self, x: int) -> tuple[float, float]:
        """Lower and upper tail probabilities of the observed number of records, given x."""
        own, m = self._draws, self._draws.trials
        inside, outside, ways = self._logs
        numbers = np.arange(m + 1)
        rest = self._rows - x
        logs = ways + inside[x + numbers] - inside[x] + outside[rest + m - numbers] - outside[rest]
        law = np.exp(logs - logs.max())
        law /= law.sum()
        total = law
        if own.urns > 1:
            size = own.urns * m + 1
            # The rounding error of the transform is below the tails that matter.
            total = np.maximum(np.fft.irfft(np.fft.rfft(law, 2 * size) ** own.urns, 2 * size)[:size], 0.0)
        return float(total[: own.drawn + 1].sum()), float(total[own.drawn :].sum())

    def of_rows(self, level: float) -> Interval:
        """The interval for the number of rows in the categories."""
        least = (1 - level) / 2
        low = _first(self._rows, lambda x: self.tails(x)[1] > least)
        high = _first(self._rows, lambda x: self.tails(x)[0] <= least) - 1
        return Interval(float(low), float(max(high, low)))

    def of_population(self, level: float) -> Interval:
        """The interval for the share in the population; between grid points, the larger tail is used."""
        least = (1 - level) / 2
        rows = self._rows
        begin = max(0, _first(rows, lambda x: self.tails(x)[1] > _SURE) - 1)
        end = min(rows, _first(rows, lambda x: self.tails(x)[0] <= _SURE))
        points = np.unique(np.linspace(begin, end, min(_MOST_POINTS, end - begin + 1)).round().astype(int))
        below, above = (np.array(each) for each in zip(*(self.tails(int(x)) for x in points), strict=True))
        x = np.arange(rows + 1)
        # The upper tail increases with x: between two points, the tail at the next one bounds it.
        place = np.searchsorted(points, x)
        upper = np.where(x > end, 1.0, above[np.minimum(place, len(points) - 1)])
        place = np.searchsorted(points, x, side="right") - 1
        lower = np.where(x < begin, 1.0, below[np.maximum(place, 0)])
        ways = np.array([lgamma(j + 1.0) for j in range(rows + 1)])
        ways = ways[rows] - ways - ways[::-1]

        def tail(p: float, own: Floats) -> float:
            law = np.zeros(rows + 1)
            reach = 12 * sqrt(rows * p * (1 - p)) + 40
            first, last = max(0, floor(rows * p - reach)), min(rows, ceil(rows * p + reach))
            near = x[first : last + 1]
            logs = ways[near] + near * np.log(p) + (rows - near) * np.log1p(-p)
            law[near] = np.exp(logs)
            return float((law * own).sum())

        low = _edge(lambda p: tail(p, upper) > least)
        high = _edge(lambda p: tail(p, lower) <= least)
        return Interval(low, high)


def _first(most: int, holds: Callable[[int], bool]) -> int:
    """The smallest integer from 0 to most that satisfies a monotone predicate; most + 1 if none does."""
    low, high = 0, most + 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def _edge(holds: Callable[[float], bool]) -> float:
    """The point in [0, 1] where a monotone predicate becomes true."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high if low > 0 else 0.0


def binomial_bounds(number: int, probability: float, miss: float) -> tuple[int, int]:
    """Bounds on the number of rows in a part of a split, with a bounded error probability (Hoeffding)."""
    if probability >= 1:
        return number, number
    reach = sqrt(number * np.log(2 / miss) / 2)
    return max(0, floor(number * probability - reach)), min(number, ceil(number * probability + reach))
