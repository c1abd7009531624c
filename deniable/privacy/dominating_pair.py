"""Cost of many runs of mechanisms, given a bound on their privacy curves.

The mechanisms themselves and the source of the bounds do not belong here (seed_accounting, loss_laws).

The privacy curve of two distributions P and Q is E_a(P || Q) = sum of max(P - a Q, 0), a function of a = e^epsilon. A
pair of distributions whose curve is nowhere below that of a mechanism dominates it, and T-fold products of the pair
dominate T-fold adaptive composition (Zhu, Dong, Wang 2022, Theorem 10).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import ceil, exp, expm1, fsum, inf, log, log1p, sqrt
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.privacy.composition import require_delta

Reals: TypeAlias = NDArray[np.float64]

# Relative rounding error of a float, times its amplification by the steps of a Fourier transform.
_ROUNDING = 64 * 2.0**-53
# Probability outside the window of the composed loss, on each side.
_LEFT_OUT = 1e-15
# Longest window that is transformed; for longer ones the Chernoff bound is returned.
_LONGEST_WINDOW = 1 << 23
# The search for the smallest value of a function at many places begins with every 64th.
_STRIDE = 64
# How far below the moment bound epsilon is searched, in units of 1 / order.
_REACH_BELOW = 60.0
# Above this the rounding error of a sum near -1 would matter.
_MOST = 0.999
# e to this power is representable as a float.
_LARGEST_EXPONENT = 500.0
# e to minus this power, times any weight that matters, is representable as a float.
_BLOCK_EXPONENT = 200.0


@dataclass(frozen=True)
class DominatingPair:
    """A pair of distributions, represented by the distribution of the privacy loss ln P / Q under P.

    Attributes:
        step: the losses are multiples of this.
        losses: possible finite losses in steps, ascending, shape (losses,).
        probabilities: probability of each under P, shape (losses,).
        infinity_mass: probability under P of an outcome that is impossible under Q.
    """

    step: float
    losses: NDArray[np.int64]
    probabilities: Reals
    infinity_mass: float

    @cached_property
    def finite_losses(self) -> Reals:
        """Possible finite losses, ascending, shape (losses,)."""
        return self.losses.astype(np.float64) * self.step

    def log_moment(self, order: float) -> float:
        """Logarithm of the mean of e^(order * loss) over finite losses; infinite if it is too large for a float."""
        losses = self.finite_losses
        if losses.size and max(order * losses[0], order * losses[-1]) > _LARGEST_EXPONENT:
            return inf
        exponents = order * losses
        # Most of the mass is near loss 0, so differences from 1 are summed, except where hardly any mass remains.
        change = _mean(self.probabilities, np.expm1(exponents)) - self.infinity_mass
        if change < -_MOST:
            return log(max(_mean(self.probabilities, np.exp(exponents)), np.finfo(np.float64).tiny))
        return log1p(change)


Runs: TypeAlias = Sequence[tuple[DominatingPair, int]]
"""Pairs whose losses are multiples of one step, each with its number of runs."""


def connect_the_dots(step: float, forward: Reals, backward: Reals) -> DominatingPair:
    """The pair whose curve interpolates linearly between bounds at equally spaced epsilons.

    True curves are convex and non-increasing, so the convex hull of the bounds is also a bound, and so are the line
    segments between its corners. A change of slope by q at a corner a corresponds to an outcome with mass q under Q
    and a q under P. For a < 1, E_a(P || Q) = 1 - a + a E_(1/a)(Q || P). The curve of two equal distributions, max(1 -
    a, 0), is handled separately throughout, so that differences from it are not lost in rounding.

    Args:
        step: spacing of the epsilons.
        forward: bounds on E_(e^epsilon)(P || Q) at epsilon = 0, step, 2 step ..., non-increasing, shape (points,).
        backward: the same on E_(e^epsilon)(Q || P).

    Source: Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022, Algorithm 1.
    """
    epsilons = np.arange(1, len(forward)) * step
    left = np.exp(-epsilons) * np.minimum(backward[1:], 1)
    lowest_left = (left - np.expm1(-epsilons)).min(initial=1.0)
    right = np.minimum.accumulate(np.append(min(forward[0], backward[0], lowest_left), forward[1:]))
    places = np.concatenate(([0.0], np.exp(-epsilons[::-1]), [1.0], np.exp(epsilons)))
    heights = np.concatenate(([0.0], left[::-1], right))
    corners = _lower_hull(places, heights)
    slopes = np.array([_slopes(places, heights, i, j) for i, j in pairwise(corners)])
    bends = np.diff(np.vstack((slopes, np.zeros(2))), axis=0).sum(axis=1)
    kept = np.array(corners[1:])
    masses = np.maximum(0.0, places[kept] * bends)
    kept, masses = kept[masses > 0], masses[masses > 0]
    return DominatingPair(
        step=step,
        losses=kept - len(forward),  # position 0 precedes that of loss -(points - 1)
        probabilities=masses,
        infinity_mass=float(heights[-1]),
    )


def composed_epsilon(pair: DominatingPair, *, times: int, delta: float) -> float:
    """An upper bound on the smallest epsilon of `times` independent copies of a pair at a delta.

    Args:
        pair: the pair of one run.
        times: number of runs.
        delta: in (0, 1).

    Returns:
        Epsilon, or infinity if the mass of infinite losses exceeds delta.
    """
    return epsilon_of_runs([(pair, times)], delta)


def epsilon_of_runs(runs: Runs, delta: float) -> float:
    """An upper bound on the smallest epsilon of independent runs of several pairs at a delta.

    The distribution of the summed loss is computed by Fourier transform after tilting by e^(order * loss), which moves
    the losses near epsilon to its centre: otherwise rounding errors near 1e-16 * times swamp tails of delta = 1e-10.
    The remaining rounding error, and the tails outside the transform's window, are bounded and charged.

    Args:
        runs: the pairs, at least one, and the number of times that each is run.
        delta: in (0, 1).

    Returns:
        Epsilon, or infinity if the mass of infinite losses exceeds delta.
    """
    require_delta(delta)
    spare = delta + expm1(fsum(times * log1p(-pair.infinity_mass) for pair, times in runs))
    if spare <= 0:
        return inf
    pair, step = runs[0][0], runs[0][0].step
    if len(runs) == 1 and runs[0][1] == 1:
        first, last = int(pair.losses[0]), int(pair.losses[-1])
        law = np.zeros(last - first + 1)
        law[pair.losses - first] = pair.probabilities
        losses = np.arange(first, last + 1, dtype=np.float64) * step
        return _first_within(losses, law, spare, order=0.0, error=0.0, shift=0.0)
    order, ceiling = _chernoff(runs, spare)
    if ceiling <= 0:
        return 0.0
    composed = _compose_tilted(runs, order)
    if composed is None:
        return ceiling
    losses, probabilities, error = composed
    # The moment bound exceeds epsilon by a few multiples of 1 / order; smaller losses would overflow.
    near = losses >= max(-step / 2, ceiling - _REACH_BELOW / order - step)
    log_scale = _log_moment(runs, order)
    found = _first_within(
        losses[near] - ceiling,
        probabilities[near],
        spare * exp(order * ceiling - log_scale),
        order=order,
        error=error,
        shift=ceiling,
    )
    return min(ceiling, found)


def _first_within(
    losses: Reals, probabilities: Reals, target: float, *, order: float, error: float, shift: float
) -> float:
    """Smallest epsilon >= 0 with sum over losses L > epsilon of p e^(-order L) (1 - e^(epsilon - L)) <= target.

    Losses are equally spaced, relative to `shift`, which is added to the result. `error` is the probability that may be
    misplaced; it is charged at the largest possible value of the summand, e^(-order epsilon) order^order / (1 +
    order)^(1 + order).
    """
    weights = probabilities * np.exp(-order * losses)
    upper = np.cumsum(weights[::-1])[::-1]
    decay = exp(losses[0] - losses[1]) if len(losses) > 1 else 0.0
    lower = _decayed_sums(weights[::-1], decay)[::-1]
    peak = error * exp(_log_peak(order))
    exceeding = upper - lower + peak * np.exp(-order * losses) > target
    first = int(np.count_nonzero(exceeding))  # the left side decreases, so it exceeds the target at first
    if first == len(losses):
        return inf
    if first == 0:
        return max(0.0, shift + float(losses[0]))
    # Between two losses the sum is upper - e^(epsilon - loss) lower; the charge is largest at the lower loss.
    excess = float(upper[first]) + peak * exp(-order * losses[first - 1]) - target
    # Unless `lower` is larger, epsilon is the loss itself; also if `lower` is 0 and only the charge exceeds the target.
    below = log(excess / lower[first]) if excess < lower[first] else 0.0
    return max(0.0, shift + float(losses[first]) + below)


def _log_moment(runs: Runs, order: float) -> float:
    """Logarithm of the mean of e^(order * summed loss) over finite losses."""
    return fsum(times * pair.log_moment(order) for pair, times in runs)


def _chernoff(runs: Runs, delta: float) -> tuple[float, float]:
    """The order of the best moment bound on epsilon at a delta, and that bound.

    max(0, 1 - e^-z) <= e^(s z) s^s / (1 + s)^(1 + s) for all z, hence delta(epsilon) is at most that factor times
    e^(log_moment(s) - s epsilon).
    """

    def bound(order: float) -> float:
        return (_log_moment(runs, order) - log(delta) + _log_peak(order)) / order

    # The bound is valid at any order; an order within a few per cent of the best costs almost nothing.
    orders = np.geomspace(1e-4, 1e6, 401)
    best, least = _least(bound, orders)
    return float(orders[best]), least


def _least(function: Callable[[float], float], places: Reals) -> tuple[int, float]:
    """Where the first smallest value of a quasi-convex function is among ascending places, and that value.

    A convex function divided by its argument is quasi-convex: it decreases up to its minimum, and then increases. Few
    places suffice: first those far apart, then those around the best of them.

    Args:
        function: the function; it may be infinite from some place on.
        places: ascending, at least one.
    """
    found: dict[int, float] = {}

    def value(index: int) -> float:
        if index not in found:
            found[index] = function(float(places[index]))
        return found[index]

    low, high, stride = 0, len(places) - 1, _STRIDE
    while True:
        best = min([*range(low, high, stride), high], key=value)
        if stride == 1:
            return best, value(best)
        low, high, stride = max(best - stride, 0), min(best + stride, len(places) - 1), stride // 4


def _compose_tilted(runs: Runs, order: float) -> tuple[Reals, Reals, float] | None:
    """Distribution of the sum of all tilted losses: losses, probabilities, and the largest misplaced probability."""
    step, scale = runs[0][0].step, _log_moment(runs, order)
    tilted = [pair.probabilities * np.exp(order * pair.finite_losses - pair.log_moment(order)) for pair, _ in runs]
    variance = 0.0
    for (pair, times), law in zip(runs, tilted, strict=True):
        losses = pair.finite_losses
        variance += times * _mean(law, (losses - _mean(law, losses)) ** 2)
    deviation = max(step, sqrt(variance))
    reach = np.geomspace(1 / 64, 64, 49) * sqrt(-2 * log(_LEFT_OUT)) / deviation

    def reached(side: int) -> float:
        """Bound on the sums above (side 1), or on their negatives, that keep all but a small probability."""
        most = sum(times * max(side * int(end) for end in pair.losses[[0, -1]]) for pair, times in runs) * step

        def bound(order_beyond: float) -> float:
            return (_log_moment(runs, order + side * order_beyond) - scale - log(_LEFT_OUT)) / order_beyond

        # No sum exceeds that of the extreme losses, which may be tighter than the moment bound.
        return min(most, _least(bound, reach)[1])

    above, below = reached(1), -reached(-1)
    if not above - below < _LONGEST_WINDOW * step:
        return None
    first = int(below // step)
    length = _fast_length(ceil(above / step) - first + 1)

    log_size, angle, relative = np.zeros((3, length // 2 + 1))
    for (pair, times), law in zip(runs, tilted, strict=True):
        # The transform of the tilted distribution minus 1: the difference preserves small values.
        moved = np.where(pair.losses == 0, 0.0, law)
        circle = np.zeros(length)
        np.add.at(circle, pair.losses % length, moved)
        circle[0] -= moved.sum()
        change = np.fft.rfft(circle)
        with np.errstate(divide="ignore"):
            log_one = 0.5 * np.log1p(2 * change.real + change.real**2 + change.imag**2)
        turn = np.arctan2(change.imag, 1 + change.real)
        log_size += times * log_one
        angle += times * turn
        relative += times * (2 * float(moved.sum()) * np.exp(-log_one) + np.abs(turn) + np.abs(log_one))
    spectrum = np.exp(log_size + 1j * angle)
    probabilities = np.roll(np.fft.irfft(spectrum, length), -(first % length))

    with np.errstate(invalid="ignore"):
        misplaced = np.where(np.abs(spectrum) > 0, np.abs(spectrum) * _ROUNDING * (relative + 1), 0.0)
    misplaced += _ROUNDING * 2.0**-3
    error = sqrt(2 * float(np.square(misplaced).sum())) + 4 * _LEFT_OUT
    sums = np.arange(first, first + length, dtype=np.float64) * step
    return sums, np.maximum(probabilities, 0.0).astype(np.float64), error


def _mean(law: Reals, values: Reals) -> float:
    """Mean of values under a distribution; not by BLAS, whose sums depend on the processor and number of threads."""
    return float((law * values).sum())


def _decayed_sums(values: Reals, decay: float) -> Reals:
    """Running sums in which each value is multiplied by `decay` for every step back.

    Args:
        values: at least 0, shape (values,).
        decay: in [0, 1).
    """
    # Within a block, powers of the decay stay well above the smallest float.
    block = max(1, min(len(values), int(_BLOCK_EXPONENT / -log(decay)))) if decay > 0 else 1
    powers = decay ** np.arange(block, dtype=np.float64)
    sums, carried = np.empty_like(values), 0.0
    for start in range(0, len(values), block):
        part = values[start : start + block]
        shrink = powers[: len(part)]
        sums[start : start + block] = shrink * (np.cumsum(part / shrink) + carried * decay)
        carried = float(sums[start + len(part) - 1])
    return sums


def _fast_length(least: int) -> int:
    """The smallest integer from a given one on without prime factors above 5, at which the transform is fast."""
    best = 1 << (least - 1).bit_length()
    five = 1
    while five < best:
        three = five
        while three < best:
            rest = -(-least // three)
            best = min(best, three << (rest - 1).bit_length())
            three *= 3
        five *= 5
    return best


def _log_peak(order: float) -> float:
    """Logarithm of the largest value of (1 - e^-z) e^(-order z)."""
    return order * log(order) - (1 + order) * log1p(order) if order > 0 else 0.0


def _lower_hull(places: Reals, heights: Reals) -> list[int]:
    """Indices of the corners of the lower convex hull of the curve max(1 - place, 0) + height."""
    corners: list[int] = []
    for index in range(len(places)):
        while (
            len(corners) > 1
            and sum(
                before - after
                for before, after in zip(
                    _slopes(places, heights, corners[-2], corners[-1]),
                    _slopes(places, heights, corners[-1], index),
                    strict=True,
                )
            )
            >= 0
        ):
            corners.pop()
        corners.append(index)
    return corners


def _slopes(places: Reals, heights: Reals, i: int, j: int) -> tuple[float, float]:
    """Slopes between two points, of the heights and of max(1 - place, 0) separately."""
    run = float(places[j] - places[i])
    equal_laws = max(0.0, 1 - float(places[j])) - max(0.0, 1 - float(places[i]))
    same_side = places[j] <= 1 or places[i] >= 1
    return float(heights[j] - heights[i]) / run, (-float(places[j] <= 1) if same_side else equal_laws / run)
