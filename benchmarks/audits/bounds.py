"""Lower bounds on epsilon: from exact privacy losses, from weighted runs, and from counting alone.

Each bound exceeds the epsilon of the audited mechanism, at its delta, with probability at most ALARM.
"""

from collections.abc import Callable, Iterable, Sequence
from math import exp, inf, log

import numpy as np
from numpy.typing import NDArray
from scipy import signal, stats

from benchmarks.audits.tracing import Integers, Law, log_probabilities

Floats = NDArray[np.float64]

ALARM = 1e-6
"""Probability with which a bound may be too large."""

_GRID = 1e-4
_TAIL = 1e-13
_LARGEST = 60.0
_TIGHT = 1e-6
_SAME = 1e-9
"""Losses that differ by less are the same but for rounding."""
_CUTS = (2.0, 5.0, 10.0, 30.0, 100.0, 1000.0, 10_000.0)
"""Bounds on one run's estimate that are tried in a pilot, in units of delta."""


def epsilon_of_shifts(shifts: Iterable[tuple[Law, int, int]], delta: float) -> float:
    """Return the smallest epsilon at delta of independent noise on integers that differ by given shifts.

    The privacy loss of each integer is rounded down to a grid, and the far tails are left out, so that the result is a
    lower bound, which is exact up to a ten-thousandth for each integer.

    Args:
        shifts: law, number of summed draws and difference of each integer that differs.
        delta: the delta; at 0 the largest possible loss is returned.
    """
    start, masses = 0, np.ones(1)
    largest = 0.0
    for law, copies, shift in shifts:
        reach = _reach(law, copies) + abs(shift)
        z = np.arange(-reach, reach + 1)
        here = log_probabilities(law, copies, z)
        there = log_probabilities(law, copies, z + shift)
        losses = here - there
        largest += float(losses.max()) if _is_bounded(law) else inf
        if delta == 0:
            continue
        places = np.floor(losses / _GRID).astype(np.int64)
        mass = np.zeros(int(places.max() - places.min()) + 1)
        np.add.at(mass, places - places.min(), np.exp(here))
        masses = np.maximum(signal.fftconvolve(masses, mass), 0) if len(masses) > 1 else mass
        start += int(places.min())
        kept = np.flatnonzero(masses > 0)
        start, masses = start + int(kept[0]), masses[kept[0] : kept[-1] + 1]
    if delta == 0:
        return largest
    losses = (start + np.arange(len(masses))) * _GRID

    def curve(epsilon: float) -> float:
        above = losses > epsilon
        return float((masses[above] * -np.expm1(epsilon - losses[above])).sum()) - _TAIL

    return _largest(lambda epsilon: curve(epsilon) > delta)


def _reach(law: Law, copies: int) -> int:
    """A magnitude that is exceeded with a probability below 1e-14."""
    deviation = law.variance**0.5
    far = 24 + 8 * copies**0.5 if _is_bounded(law) else 8.5 * copies**0.5
    return int(np.ceil(deviation * far)) + 2


def _is_bounded(law: Law) -> bool:
    """Whether a shift has a largest privacy loss, as for Laplace noise."""
    return hasattr(law, "scale")


def _largest(holds: Callable[[float], bool]) -> float:
    """Return the largest epsilon at which a condition holds that holds below it; 0 if it holds nowhere."""
    if not holds(0.0):
        return 0.0
    low, high = 0.0, _LARGEST
    if holds(high):
        return inf
    while high - low > _TIGHT:
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def excesses(losses: Floats, weights: Floats, epsilon: float) -> Floats:
    """Return unbiased estimates of the hockey-stick divergence at epsilon, one of each run.

    Args:
        losses: log ratios of the probabilities of each output under the two tables.
        weights: log ratios of its probability under the first table and under the table that was run.
        epsilon: epsilon.
    """
    above = losses > epsilon
    found = np.zeros(len(losses))
    found[above] = np.exp(weights[above]) * -np.expm1(epsilon - losses[above])
    return found


def mean_at_least(mean: float, values: float, alarm: float) -> float:
    """Return a lower bound on the expectation of independent values in [0, 1] (Hoeffding 1963, Theorem 1).

    Args:
        mean: their mean.
        values: their number.
        alarm: probability of a bound that is too large.
    """
    rate = log(1 / alarm) / values

    def divergence(p: float) -> float:
        found = mean * log(mean / p)
        return found if mean >= 1 else found + (1 - mean) * log((1 - mean) / (1 - p))

    if mean <= 0:
        return 0.0
    low, high = 0.0, mean
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if middle <= 0 or divergence(middle) > rate else (low, middle)
    return low


def epsilon_of_runs(losses: Floats, weights: Floats, delta: float, largest: float, runs: float = 0) -> float:
    """Return a lower bound on epsilon at delta from runs on a third table.

    The estimate of each run is cut at a bound, which makes their mean smaller, and so is a lower bound of it. It
    decreases in epsilon, and so does the bound: the result is too large with the probability of one test.

    Args:
        losses: see `excesses`.
        weights: see `excesses`.
        delta: the delta, above 0.
        largest: the bound on one run's estimate, fixed before these runs were made.
        runs: number of runs for which the bound is predicted from these; their own number by default.
    """

    def exceeds(epsilon: float) -> bool:
        cut = np.minimum(excesses(losses, weights, epsilon), largest) / largest
        return largest * mean_at_least(float(cut.mean()), runs or len(losses), ALARM) > delta

    return _largest(exceeds)


def predicted(losses: Floats, weights: Floats, delta: float, runs: int) -> tuple[float, float]:
    """Return the largest bound that so many runs like these would give, and the bound on one run's estimate for it."""
    bounds = [(epsilon_of_runs(losses, weights, delta, delta * cut, runs), -delta * cut) for cut in _CUTS]
    best, cut = max(bounds)
    return best, -cut


def epsilon_by_counting(
    there: Sequence[bool] | NDArray[np.bool_],
    elsewhere: Sequence[bool] | NDArray[np.bool_],
    delta: float,
    alarm: float = ALARM,
) -> float:
    """Return a lower bound on epsilon from how often an event happens under two tables; 0 if there is none.

    Args:
        there: for each run on the first table, whether the event happened.
        elsewhere: the same for the second.
        delta: the delta.
        alarm: probability of a bound that is too large; it is divided between two bounds of Clopper and Pearson.
    """
    hits, cases = int(np.sum(there)), len(there)
    others, of = int(np.sum(elsewhere)), len(elsewhere)
    low = float(stats.beta.ppf(alarm / 2, hits, cases - hits + 1)) if hits else 0.0
    high = float(stats.beta.isf(alarm / 2, others + 1, of - others)) if others < of else 1.0
    return max(0.0, log(max(low - delta, 1e-300) / high))


def threshold_of(there: Floats, elsewhere: Floats, delta: float, runs: int) -> float:
    """Return the threshold on the loss that would give the largest bound, from runs that are not used for the bound.

    Args:
        there: losses of runs on the first table.
        elsewhere: losses of runs on the second table.
        delta: the delta.
        runs: number of runs with which the bound will be computed.
    """
    best, found = -1.0, 0.0
    for threshold in np.unique(np.quantile(np.concatenate([there, elsewhere]), np.linspace(0, 0.999, 120))):
        shares = [(own >= threshold - _SAME).mean() for own in (there, elsewhere)]
        hits = [np.arange(runs) < share * runs for share in shares]
        bound = epsilon_by_counting(hits[0], hits[1], delta)
        if bound > best:
            best, found = bound, float(threshold)
    return found - _SAME


def kullback_leibler(first: Floats, second: Floats) -> float:
    """Return the divergence of log probabilities over the same outcomes."""
    return float((np.exp(first) * (first - second)).sum())


def divergence_of_shift(law: Law, shift: Integers) -> float:
    """Return about the Kullback-Leibler divergence of noise from the same noise shifted, summed over integers."""
    if _is_bounded(law):
        rates = np.abs(shift) / float(law.scale)  # type: ignore[union-attr]
        return float((rates - 1 + np.exp(-rates)).sum())
    return float((shift.astype(np.float64) ** 2).sum()) / (2 * exp(log(law.variance)))
