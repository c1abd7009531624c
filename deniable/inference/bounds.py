"""Bounds on the count of several conditions together, from the counts of some of them (Frechet, Bonferroni).

They hold for every table, whatever its dependences. The counts have noise: each is taken at the end of an interval, at
a level at which all of them cover together.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from deniable.inference.intervals import Interval

Subset = tuple[int, ...]


@dataclass(frozen=True)
class MeasuredCount:
    """A count of some of the conditions.

    Attributes:
        estimate: its estimate.
        interval: an interval, at the common level.
    """

    estimate: float
    interval: Interval


def count_bounds(attributes: Sequence[int], counts: Mapping[Subset, MeasuredCount]) -> tuple[Interval, float]:
    """Bounds on the count of all conditions.

    Args:
        attributes: one condition for each.
        counts: of subsets of the attributes, the count of records that satisfy their conditions; with the empty one.

    Returns:
        The bounds, and the centre of those that the estimates alone would give.

    Source: |A and B| >= |A| + |B| - |C| if both are subsets of C (Bonferroni), and at most each of them.
    """
    whole = tuple(sorted(attributes))
    low, high = _closed(whole, counts, lambda each: each.interval.low, lambda each: each.interval.high)
    inner = _closed(whole, counts, lambda each: each.estimate, lambda each: each.estimate)
    return Interval(max(0.0, low), max(0.0, high)), max(0.0, (max(inner[0], 0.0) + max(inner[1], 0.0)) / 2)


_End = Callable[[MeasuredCount], float]


def _closed(whole: Subset, counts: Mapping[Subset, MeasuredCount], low: _End, high: _End) -> tuple[float, float]:
    """The bounds of all subsets, small ones first; those of the whole."""
    lower: dict[Subset, float] = {}
    upper: dict[Subset, float] = {}
    for size in range(len(whole) + 1):
        for subset in combinations(whole, size):
            below = [upper[part] for part in combinations(subset, size - 1)] if size else []
            above = [0.0]
            if subset in counts:
                below.append(max(high(counts[subset]), 0.0))
                above.append(low(counts[subset]))
            parts = [part for less in range(1, size) for part in combinations(subset, less)]
            for one in parts:
                for other in parts:
                    if set(one) | set(other) == set(subset):
                        both = tuple(i for i in one if i in other)
                        above.append(lower[one] + lower[other] - upper[both])
            lower[subset], upper[subset] = max(above), min(below)
    return lower[whole], upper[whole]
