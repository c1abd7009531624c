"""Lower bounds on epsilon: from exact privacy losses, and from counting alone; and tests that draws follow their laws.

A bound from losses is computed from the probabilities of all outputs, and does not depend on chance. One from counting
exceeds the epsilon of the audited mechanism, at its delta, with probability at most ALARM. A test finds a difference
where there is none with probability at most FALSE_ALARM.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from math import exp, inf, log, log1p, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy import signal, stats

from benchmarks.audits.tracing import Chosen, Integers, Law, Noised, Untraceable, log_probabilities
from deniable.foundation.noise import DiscreteGaussian, DiscreteLaplace

Floats = NDArray[np.float64]
Shift = tuple[Law, int, int]
Losses = tuple[Floats, Floats]

ALARM = 1e-6
"""Probability with which a bound from counting may be too large."""
FALSE_ALARM = 1e-9
"""Probability with which all tests of one audit together may reject draws that follow their laws."""

_GRID = 1e-4
_TAIL = 1e-13
_LARGEST = 60.0
_TIGHT = 1e-6
_SAME = 1e-9
"""Losses that differ by less are the same but for rounding."""
_NARROWEST = 4
"""Variance from which a discrete Gaussian differs from a Gaussian by less than float precision (e^(-8 pi^2))."""
_STANDARD = 10**8
_WIDE = 10**6
"""Variance from which probabilities are computed from the normal distribution."""
_MOST_WIDE = 10**4
"""Standard deviation beyond which noise is computed in larger units."""
_DEVIATIONS = 0.2, 0.7, 1.5
_FEWEST_DRAWS = 40


def epsilon_of_shifts(shifts: Iterable[Shift], delta: float) -> float:
    """Return the smallest epsilon at delta of independent noise on integers that differ by given shifts.

    Args:
        shifts: law, number of summed draws and difference of each integer that differs.
        delta: the delta; at 0 the largest possible loss is returned.
    """
    found, largest = [], 0.0
    for law, copies, shift in map(_in_larger_units, shifts):
        reach = _reach(law, copies) + abs(shift)
        z = np.arange(-reach, reach + 1)
        here = log_probabilities(law, copies, z)
        losses = here - log_probabilities(law, copies, z + shift)
        largest += float(losses.max()) if _is_bounded(law) else inf
        found.append((losses, np.exp(here)))
    return epsilon_of_losses(found, delta) if delta else largest


def epsilon_of_losses(parts: Iterable[Losses], delta: float) -> float:
    """Return the smallest epsilon at delta of an output that consists of independent parts.

    The privacy loss of each part is rounded down to a grid, so that the result is a lower bound, which is exact up to a
    ten-thousandth for each part.

    Args:
        parts: for each part, the log ratio of the probabilities of each outcome under the two tables, and its
            probability under the first; probabilities of outcomes that are left out must be below 1e-13.
        delta: the delta; at 0 the largest loss is returned.
    """
    start, masses, finite, largest = 0, np.ones(1), 1.0, 0.0
    for losses, chances in parts:
        there = chances > 0
        largest += float(losses[there].max(initial=0.0))
        bounded = there & np.isfinite(losses)
        finite *= 1 - float(chances[there & ~bounded].sum())
        if delta == 0 or not bounded.any():
            continue
        places = np.floor(losses[bounded] / _GRID).astype(np.int64)
        mass = np.zeros(int(places.max() - places.min()) + 1)
        np.add.at(mass, places - places.min(), chances[bounded])
        masses = np.maximum(signal.fftconvolve(masses, mass), 0) if len(masses) > 1 else masses[0] * mass
        start += int(places.min())
        kept = np.flatnonzero(masses > 0)
        start, masses = start + int(kept[0]), masses[kept[0] : kept[-1] + 1]
    if delta == 0:
        return largest
    losses = (start + np.arange(len(masses))) * _GRID

    def curve(epsilon: float) -> float:
        above = losses > epsilon
        return 1 - finite + float((masses[above] * -np.expm1(epsilon - losses[above])).sum()) - _TAIL

    return _largest(lambda epsilon: curve(epsilon) > delta)


def weakest(runs: Sequence[Sequence[Shift]]) -> list[Shift]:
    """Return shifts from which no more can be learnt than from those of any of several runs of one mechanism.

    What a run measures may depend on its earlier answers. If all runs differ in the same integers, these are returned.
    Otherwise, for Laplace noise, the smallest shift at each place, relative to the noise: wider Laplace noise is
    narrower noise plus independent noise. For Gaussian noise, the smallest sum over all integers of the squared shift
    over the variance: the law of the loss of Gaussian measurements, each of which may depend on the answers before,
    depends on this sum alone if it is fixed (it is a Brownian motion at that time), and a run with a larger sum can be
    stopped there.

    Raises:
        Untraceable: sums of different numbers of Laplace draws are not compared, nor is narrow Gaussian noise.
    """
    # The noise is symmetric: it makes no difference in which of the two tables a count is larger.
    alike = {tuple(sorted(((law, copies, abs(shift)) for law, copies, shift in run), key=str)) for run in runs}
    if len(alike) == 1:
        return list(alike.pop())
    found: list[Shift] = []
    for those in zip(*([shift for shift in run if _is_bounded(shift[0])] for run in runs), strict=False):
        if len({copies for _, copies, _ in those}) > 1:
            raise Untraceable("runs sum different numbers of draws of Laplace noise.")
        found.append(min(((law, copies, abs(shift)) for law, copies, shift in those), key=_strength))
    gaussian = [[shift for shift in run if not _is_bounded(shift[0])] for run in runs]
    if any(copies * law.variance < _NARROWEST for run in gaussian for law, copies, _ in run):
        raise Untraceable("runs ask different questions with Gaussian noise of a variance below 4.")
    information = min(sum(_strength(shift) ** 2 for shift in run) for run in gaussian)
    whole = int(sqrt(information * _STANDARD))
    return [*found, (DiscreteGaussian(Fraction(_STANDARD)), 1, whole)] if whole else found


def _strength(shift: Shift) -> float:
    """A shift in standard deviations of its noise."""
    law, copies, amount = shift
    return abs(amount) / sqrt(copies * law.variance)


def _in_larger_units(shift: Shift) -> Shift:
    """The same noise and a shift that is no larger, in units in which wide noise takes few integers."""
    law, copies, amount = shift
    unit = int(law.variance**0.5 / _MOST_WIDE)
    if unit < 2:
        return shift
    rounded = abs(amount) // unit
    if isinstance(law, DiscreteLaplace):
        return DiscreteLaplace(law.scale / unit), copies, rounded
    return DiscreteGaussian(law.sigma_squared / unit**2), copies, rounded


def _reach(law: Law, copies: int) -> int:
    """A magnitude that is exceeded with a probability below 1e-14."""
    deviation = law.variance**0.5
    far = 24 + 8 * copies**0.5 if _is_bounded(law) else 8.5 * copies**0.5
    return int(np.ceil(deviation * far)) + 2


def _is_bounded(law: Law) -> bool:
    """Whether a shift has a largest privacy loss, as for Laplace noise."""
    return isinstance(law, DiscreteLaplace)


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


def threshold_of(there: Floats, elsewhere: Floats, delta: float, runs: int, alarm: float = ALARM) -> float:
    """Return the threshold on the loss that would give the largest bound, from runs that are not used for the bound.

    Args:
        there: losses of runs on the first table.
        elsewhere: losses of runs on the second table.
        delta: the delta.
        runs: number of runs with which the bound will be computed.
        alarm: the probability of a bound that is too large, as in `epsilon_by_counting`.
    """
    best, found = -1.0, 0.0
    for threshold in np.unique(np.quantile(np.concatenate([there, elsewhere]), np.linspace(0, 0.999, 120))):
        shares = [(own >= threshold - _SAME).mean() for own in (there, elsewhere)]
        hits = [np.arange(runs) < share * runs for share in shares]
        bound = epsilon_by_counting(hits[0], hits[1], delta, alarm)
        if bound > best:
            best, found = bound, float(threshold)
    return found - _SAME


def misfit_of_counts(events: Mapping[str, tuple[int, int, float]]) -> str:
    """Return the event that happened too often or too rarely for its probability; empty if there is none.

    Args:
        events: for each event, how often it happened, in how many runs, and its probability.
    """
    for name, (hits, cases, chance) in events.items():
        share = min(max(chance, 0.0), 1.0)
        rarer = stats.binom.cdf(hits, cases, share), stats.binom.sf(hits - 1, cases, share)
        if min(rarer) < FALSE_ALARM / (2 * len(events)):
            return f"{name}, {hits:,} times of {cases:,}, with a probability of {chance:.3g}"
    return ""


def misfit_of_noise(answers: Iterable[Noised]) -> str:
    """Return how draws of noise differ from their stated laws; empty if they do not."""
    drawn: dict[tuple[Law, int], list[Integers]] = {}
    for answer in answers:
        drawn.setdefault((answer.law, answer.copies), []).append((answer.released - answer.exact).ravel())
    events = {}
    for (law, copies), found in drawn.items():
        z = np.concatenate(found)
        if len(z) < _FEWEST_DRAWS:
            continue
        deviation = sqrt(copies * law.variance)
        for factor in _DEVIATIONS:
            within = int(factor * deviation)
            name = f"noise of variance {copies * law.variance:.4g} within {within}"
            events[name] = int((np.abs(z) <= within).sum()), len(z), chance_within(law, copies, within)
        above = (1 - chance_within(law, copies, 0)) / 2
        events[f"noise of variance {copies * law.variance:.4g} above 0"] = int((z > 0).sum()), len(z), above
    return misfit_of_counts(events)


def chance_within(law: Law, copies: int, within: int) -> float:
    """Return the probability that the sum of some draws is no farther from 0 than an integer."""
    if copies == 1 and _is_bounded(law):
        rate = float(1 / law.scale)  # type: ignore[union-attr]
        return -float(np.expm1(log(2) - rate * (within + 1) - log1p(exp(-rate))))
    if copies * law.variance > _WIDE and not _is_bounded(law):
        return float(2 * stats.norm.cdf((within + 0.5) / sqrt(copies * law.variance)) - 1)
    return float(np.exp(log_probabilities(law, copies, np.arange(-within, within + 1))).sum())


def misfit_of_choices(answers: Iterable[Chosen]) -> str:
    """Return how choices differ from their stated laws; empty if they do not (Hoeffding 1963, Theorem 1)."""
    hits, expected, number = 0, 0.0, 0
    for answer in answers:
        best = int(np.argmax(answer.weights))
        hits += answer.picked == best
        expected += float(np.exp(answer.weights[best] - np.logaddexp.reduce(answer.weights)))
        number += 1
    if number and abs(hits - expected) > sqrt(number * log(2 / FALSE_ALARM) / 2):
        return f"the likeliest candidate was chosen in {hits:,} of {number:,} choices, and {expected:.0f} were expected"
    return ""


def ratio_of_choices(one: Chosen, other: Chosen) -> float:
    """Return the largest log ratio of the probabilities of a candidate under two tables."""
    first, second = (each.weights - np.logaddexp.reduce(each.weights) for each in (one, other))
    return float(np.abs(first - second).max())


def kullback_leibler(first: Floats, second: Floats) -> float:
    """Return the divergence of log probabilities over the same outcomes."""
    return float((np.exp(first) * (first - second)).sum())


def divergence_of_shift(law: Law, shift: Integers) -> float:
    """Return about the Kullback-Leibler divergence of noise from the same noise shifted, summed over integers."""
    if _is_bounded(law):
        rates = np.abs(shift) / float(law.scale)  # type: ignore[union-attr]
        return float((rates - 1 + np.exp(-rates)).sum())
    return float((shift.astype(np.float64) ** 2).sum()) / (2 * exp(log(law.variance)))
