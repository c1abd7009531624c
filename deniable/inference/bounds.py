"""Bounds on the count of several conditions together, from the counts of some of them (Frechet, Bonferroni).

The bounds hold for every table, whatever its dependences. The counts are noisy: each is replaced by the ends of an
interval from a simultaneous family. The bounds also use counts of complements: the records that satisfy some
conditions are those that satisfy one more condition, and those that do not.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import inf

import numpy as np

from deniable.inference.intervals import Interval
from deniable.measurements.noisy_tables import Cells

Subset = tuple[int, ...]
_MOST_ROUNDS = 50
_ROUNDING = 1e-9
"""Relative change of an end that counts as no change."""


def count_bounds(attributes: Sequence[int], counts: Mapping[Subset, Interval]) -> Interval:
    """Bounds on the count of records that satisfy all conditions; no point between them is likelier than another.

    Args:
        attributes: the attributes, one condition on each.
        counts: for subsets of the attributes, including the empty one, the interval of the count of records that
            satisfy their conditions, from a simultaneous family.

    Source: |A and B| >= |A| + |B| - |C| if both are subsets of C (Bonferroni), and at most each of them. The same
    holds for complements, such as |A and B and C| <= |all| - |A| - |B| - |C| + |A and B| + |A and C| + |B and C|.
    """
    whole = tuple(sorted(attributes))
    counts = {subset: own for subset, own in counts.items() if set(subset) <= set(whole)}
    low, high = _closed(whole, counts)
    implied = _propagated(whole, counts)
    if implied is not None:
        low, high = max(low, implied.low), min(high, implied.high)
    return Interval(max(0.0, low), max(0.0, high))


def _propagated(whole: Subset, counts: Mapping[Subset, Interval]) -> Interval | None:
    """Tighten bounds by dividing each count by one more condition, until nothing changes.

    Returns:
        None if no table is compatible with all intervals.
    """
    # Along the axis of an attribute: all records, those that satisfy its condition, and those that do not.
    low, high = np.zeros((3,) * len(whole)), np.full((3,) * len(whole), inf)
    for subset, own in counts.items():
        place = tuple(int(i in subset) for i in whole)
        low[place], high[place] = max(own.low, 0.0), own.high
    for _ in range(_MOST_ROUNDS):
        before = low.copy(), high.copy()
        for axis in range(len(whole)):
            _divide(np.moveaxis(low, axis, 0), np.moveaxis(high, axis, 0))
        if (low > high + _ROUNDING * (1 + low)).any():
            return None
        if np.allclose(low, before[0], rtol=_ROUNDING) and np.allclose(high, before[1], rtol=_ROUNDING):
            break
    place = (1,) * len(whole)
    return Interval(float(low[place]), float(high[place]))


def _divide(low: Cells, high: Cells) -> None:
    """Tighten the bounds on a total and its two parts, each from those on the other two."""
    for one, other in ((1, 2), (2, 1)):
        low[one] = np.maximum(low[one], low[0] - high[other])
        high[one] = np.minimum(high[one], high[0] - low[other])
    low[0] = np.maximum(low[0], low[1] + low[2])
    high[0] = np.minimum(high[0], high[1] + high[2])


def _closed(whole: Subset, counts: Mapping[Subset, Interval]) -> tuple[float, float]:
    """Bounds for all subsets, in order of size; return those for the whole set."""
    lower: dict[Subset, float] = {}
    upper: dict[Subset, float] = {}
    for size in range(len(whole) + 1):
        for subset in combinations(whole, size):
            below = [upper[part] for part in combinations(subset, size - 1)] if size else []
            above = [0.0]
            if subset in counts:
                below.append(max(counts[subset].high, 0.0))
                above.append(counts[subset].low)
            parts = [part for less in range(1, size) for part in combinations(subset, less)]
            for one in parts:
                for other in parts:
                    if set(one) | set(other) == set(subset):
                        both = tuple(i for i in one if i in other)
                        above.append(lower[one] + lower[other] - upper[both])
            lower[subset], upper[subset] = max(above), min(below)
    return lower[whole], upper[whole]
