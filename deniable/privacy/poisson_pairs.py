"""Privacy curves of pairs of Poisson distributions, rounded up: the effect of one row on a number of released records.

The mechanism whose curves these are does not belong here (plausible_deniability.poisson_attempts), nor the sum of
losses (dominating_pair).

With a pair (a, b) of means, 0 <= a <= b, the number released is Poisson(a) without the row and Poisson(b) with it. The
likelihood ratio (b / a)^j e^(a - b) rises with the number j, so for every real epsilon

    E_(e^epsilon)(Poisson(b) || Poisson(a)) = max over t >= -1 of Pr[Poisson(b) > t] - e^epsilon Pr[Poisson(a) > t],
    E_(e^epsilon)(Poisson(a) || Poisson(b)) = max over t >= -1 of Pr[Poisson(a) <= t] - e^epsilon Pr[Poisson(b) <= t].

Three facts about pairs follow, on which searches and bounds rely:

1. *Both curves rise with b.* In each maximum only one term depends on b, and it rises with b for every t.
2. *Both curves fall if the same amount is added to both means.* Adding an independent Poisson(s) to the number turns
   (a, b) into (a + s, b + s), and is post-processing.
3. *The largest b whose curves stay below a bound rises with a, by at least as much.* By 2, (a + s, b + s) stays below.
"""

from fractions import Fraction
from itertools import pairwise
from math import ceil, floor, inf, log, sqrt
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.errors import InvalidInput
from deniable.privacy.dominating_pair import DominatingPair, connect_the_dots
from deniable.privacy.loss import PASSES_OUT_OF

Reals: TypeAlias = NDArray[np.float64]

# Tails are raised and lowered by this relative amount for each number that is summed, and for a few more.
_ROUNDING, _FEW = 2.0**-50, 16
# Probability beyond the numbers that are summed, on either side, is below this; it is charged.
_LEFT_OUT = 1e-35
_LARGEST_MEAN = 1e9
# The envelope is computed at this many points about, up to this epsilon, or to where it falls by less than this.
_MOST_POINTS, _LARGEST_EPSILON, _NEGLIGIBLE = 1500, 40.0, 1e-16
# Interpolation rounds by less than this relative amount.
_INTERPOLATED = 2.0**-45


def poisson_curves(a: float, b: float, epsilons: Reals) -> tuple[Reals, Reals]:
    """Upper bounds on the privacy curves of a pair of Poisson distributions.

    Args:
        a: mean without the row, at least 0.
        b: mean with it, at least `a`.
        epsilons: any real numbers, shape (points,).

    Returns:
        Bounds on E_(e^epsilon)(Poisson(b) || Poisson(a)), for adding a row, and on the converse, for removing one, each
        of shape (points,).

    Raises:
        InvalidInput: the means are not in order, or too large for the sums.
    """
    if not 0 <= a <= b <= _LARGEST_MEAN:
        raise InvalidInput(f"means must satisfy 0 <= a <= b <= {_LARGEST_MEAN:g}, got {a} and {b}.")
    excess = np.exp(epsilons)
    least = np.maximum(0.0, 1 - excess)
    if a == b:
        return least, least.copy()
    low, high = _window(a, b)
    above_a, upto_a = _tails(a, low, high)
    above_b, upto_b = _tails(b, low, high)
    added, removed = least, least.copy()
    # Any t gives at most the maximum, so the neighbours of the best t, found in floats, are tried as well.
    spread = log(b / a) if a > 0 else inf
    up, down = 1 + _ROUNDING * (high - low + _FEW), 1 - _ROUNDING * (high - low + _FEW)
    place = np.floor(np.clip((epsilons + (b - a)) / spread, low - 2, high + 1)).astype(np.int64)
    other = np.floor(np.clip(((b - a) - epsilons) / spread, low - 2, high + 1)).astype(np.int64)
    for shift in (-1, 0, 1):
        t = np.clip(place + shift, low - 1, high) - (low - 1)
        added = np.maximum(added, above_b[t] * up - excess * above_a[t] * down)
        t = np.clip(other + shift, low - 1, high) - (low - 1)
        removed = np.maximum(removed, upto_a[t] * up - excess * upto_b[t] * down)
    return np.minimum(1.0, added + _LEFT_OUT), np.minimum(1.0, removed + _LEFT_OUT)


def _window(a: float, b: float) -> tuple[int, int]:
    """Numbers outside which both distributions have less than the probability that is charged for them."""

    def reach(mean: float) -> float:
        # Pr[|X - mean| >= x] <= 2 exp(-x^2 / (2 (mean + x / 3))); x^2 = 2 L (mean + x / 3), L = 83 > ln(2 / 1e-35).
        return 83 / 3 + sqrt((83 / 3) ** 2 + 2 * 83 * mean)

    return max(0, floor(a - reach(a))), ceil(b + reach(b)) + 1


def _tails(mean: float, low: int, high: int) -> tuple[Reals, Reals]:
    """Pr[X > t] and Pr[X <= t] for t = low - 1 ... high, each summed from its small end, of shape (high - low + 2,)."""
    numbers = np.arange(low, high + 1, dtype=np.float64)
    mode = min(max(floor(mean), low), high)
    weights = np.ones(len(numbers))
    if mean == 0:
        weights[numbers > 0] = 0.0
    else:
        up, down = numbers[mode - low + 1 :], numbers[1 : mode - low + 1]
        weights[mode - low + 1 :] = np.cumprod(mean / up)
        weights[: mode - low] = np.cumprod(down[::-1] / mean)[::-1]
        weights /= weights.sum()
    above = np.append(np.cumsum(weights[::-1])[::-1], 0.0)
    upto = np.insert(np.cumsum(weights), 0, 0.0)
    return above, upto


def worst_curves(rates: Reals, epsilons: Reals) -> tuple[Reals, Reals]:
    """Upper bounds on the envelope of the curves of all neighbouring means: their largest value at each epsilon.

    Args:
        rates: the means at successive numbers of rows, ascending, shape (counts,); beyond the last, the mean grows by
            the last step for each row. The curves of later pairs are then no larger, by fact 2.
        epsilons: any real numbers, shape (points,).

    Returns:
        Bounds for adding and for removing a row, each of shape (points,).
    """
    added = np.maximum(0.0, 1 - np.exp(epsilons))
    removed = added.copy()
    for a, b in pairwise(rates.tolist()):
        if b > a:
            more, less = poisson_curves(a, b, epsilons)
            added, removed = np.maximum(added, more), np.maximum(removed, less)
    return added, removed


def envelope_pair(rates: Reals, step: float) -> DominatingPair:
    """A pair on a grid of losses that dominates every neighbouring pair of means, in both directions.

    Every curve is convex in e^epsilon, and so is the largest of several. The straight line, in e^epsilon, between two
    of its points is therefore nowhere below it, and the curve need not be computed at every point of a fine grid.

    Args:
        rates: see `worst_curves`.
        step: step of the grid of losses.
    """
    last = _where_flat(rates)
    points = ceil(last / step) + 1
    stride = max(1, points // _MOST_POINTS)
    coarse = np.arange(0, ceil(points / stride) * stride + 1, stride, dtype=np.float64) * step
    curve = np.maximum(*worst_curves(rates, coarse))
    fine = np.arange(round(coarse[-1] / step) + 1, dtype=np.float64) * step
    curve = np.interp(np.expm1(fine), np.expm1(coarse), curve) * (1 + _INTERPOLATED)
    return connect_the_dots(step, curve, curve)


def _where_flat(rates: Reals) -> float:
    """An epsilon beyond which the envelope falls by no more than a negligible amount."""
    tries = np.geomspace(1 / 64, _LARGEST_EPSILON, 64)
    curve = np.maximum(*worst_curves(rates, tries))
    flat = curve <= curve[-1] * (1 + 1e-6) + _NEGLIGIBLE
    return float(tries[int(np.argmax(flat))])


def released_rates(attempts_per_row: Fraction, plausible: int, law: tuple[int, ...]) -> Reals:
    """Mean numbers of released records of a prefix, tau c q(c), by the number c of rows that have it.

    Args:
        attempts_per_row: tau.
        plausible: the floor, below which q(c) = 0.
        law: q(c) out of 2^64 from the floor on; for every larger c, q(c) = 1.

    Returns:
        Rates from c = plausible - 1 to the second c with q(c) = 1, shape (counts,).
    """
    tau = float(attempts_per_row)
    counts = plausible + np.arange(len(law) + 2, dtype=np.float64)
    passes = np.asarray([*law, PASSES_OUT_OF, PASSES_OUT_OF], np.float64) / PASSES_OUT_OF
    return np.concatenate([[0.0], tau * counts * passes])
