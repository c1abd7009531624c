"""Confidence intervals for counts, shares and ratios whose estimates have noise of known law.

Each is the set of values not rejected by a test that uses the variance implied by the value (score intervals): for a
share without noise, Wilson's interval; for a ratio, Fieller's. The estimation does not belong here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, floor, isnan, lgamma, log, log1p, sqrt

import numpy as np

from deniable.inference.laws import ErrorLaw
from deniable.measurements.noisy_tables import Cells

SMALL = 30.0
"""Largest count for which intervals use the exact binomial law, unless noise dominates it."""
LOUD = 100.0
"""Noise variance of a count from which its normal law dominates the binomial law of so few records."""
_BISECTIONS = 60


@dataclass(frozen=True)
class Interval:
    """An interval.

    Attributes:
        low: its lower end.
        high: its upper end.
    """

    low: float
    high: float

    def cut(self, low: float, high: float) -> "Interval":
        """The part of the interval within bounds; the nearer bound if there is none."""
        return Interval(min(max(self.low, low), high), max(min(self.high, high), low))

    def nearest(self, value: float) -> float:
        """The point of the interval that is nearest to a value; NaN for NaN."""
        return value if isnan(value) else min(max(value, self.low), self.high)


@dataclass(frozen=True)
class Quadratic:
    """A quadratic function of a ratio r: constant + linear r + square r^2."""

    constant: float
    linear: float
    square: float

    def at(self, ratio: float) -> float:
        """Its value."""
        return self.constant + self.linear * ratio + self.square * ratio**2

    def plus(self, other: "Quadratic", factor: float = 1.0) -> "Quadratic":
        """The sum with another, times a factor."""
        return Quadratic(
            self.constant + factor * other.constant,
            self.linear + factor * other.linear,
            self.square + factor * other.square,
        )


class Unbounded(ValueError):
    """The interval is unbounded: a denominator cannot be distinguished from 0."""


def score_interval(share: float, noise: float, records: float, z: float) -> Interval:
    """The shares p with (share - p)^2 <= z^2 (noise + p (1 - p) / records); see `share_interval`.

    Args:
        share: the estimate.
        noise: variance of its noise.
        records: number of independent records; infinite if there is no sampling error.
        z: critical value, in standard deviations.

    Source: Wilson 1927, without noise; here the noise is added to the variance.
    """
    return share_interval(share, 1.0, Quadratic(noise, 1 / records, -1 / records), z)


def share_interval(count: float, records: float, variance: Quadratic, z: float) -> Interval:
    """The shares p with (count - p records)^2 <= z^2 variance(p).

    Args:
        count: its estimate.
        records: the estimated number of records in the denominator.
        variance: variance of count - p records, as a function of p.
        z: critical value, in standard deviations.

    Returns:
        The interval, in [0, 1]; if no share there is compatible, z standard deviations of the noise at the nearer end.

    Raises:
        Unbounded: the number of records cannot be distinguished from 0.
    """
    found = ratio_interval(count, records, variance, z)
    if found.high < 0:
        return Interval(0.0, min(1.0, z * sqrt(max(variance.at(0.0), 0.0)) / records))
    if found.low > 1:
        return Interval(max(0.0, 1 - z * sqrt(max(variance.at(1.0), 0.0)) / records), 1.0)
    return found.cut(0.0, 1.0)


def share_intervals(
    counts: Cells, records: float, noise: tuple[Cells, Cells, float], factor: float, z: Cells | float
) -> tuple[Cells, Cells]:
    """`share_interval` for many counts of the same records.

    Args:
        counts: their estimates.
        records: the estimated number of records.
        noise: variances of the counts, their covariances with the number of records, and its variance.
        factor: factor of the binomial variance (design effect).
        z: critical value, in standard deviations.

    Returns:
        Lower and upper ends, in the shape of the counts.
    """
    own, shared, whole = noise
    constant, linear, square = own, -2 * shared + factor * records, whole - factor * records
    a = records**2 - z * z * square
    b = -2 * counts * records - z * z * linear
    c = counts**2 - z * z * constant
    root = b * b - 4 * a * c
    half = np.sqrt(np.maximum(root, 0.0))
    low, high = (-b - half) / (2 * a), (-b + half) / (2 * a)
    empty, full = (root < 0) | (high < 0), (root >= 0) & (low > 1)
    at_0, at_1 = (z * np.sqrt(np.maximum(each, 0.0)) / records for each in (constant, constant + linear + square))
    low = np.where(empty, 0.0, np.where(full, np.maximum(1 - at_1, 0.0), np.clip(low, 0.0, 1.0)))
    high = np.where(empty, np.minimum(at_0, 1.0), np.where(full, 1.0, np.clip(high, 0.0, 1.0)))
    return np.asarray(low), np.asarray(high)


def ratio_interval(numerator: float, denominator: float, variance: Quadratic, z: float) -> Interval:
    """The ratios r with (numerator - r denominator)^2 <= z^2 variance(r).

    Args:
        numerator: its estimate.
        denominator: its estimate, above 0.
        variance: variance of numerator - r denominator, as a function of r.
        z: critical value, in standard deviations.

    Raises:
        Unbounded: the interval would contain arbitrarily large ratios.

    Source: Fieller 1954.
    """
    square = Quadratic(numerator**2, -2 * numerator * denominator, denominator**2).plus(variance, -z * z)
    if square.square <= 0:
        raise Unbounded
    root = square.linear**2 - 4 * square.square * square.constant
    if root < 0:
        spread = z * sqrt(max(variance.at(0.0), 0.0)) / denominator
        return Interval(min(numerator / denominator, 0.0), spread)
    half = sqrt(root)
    return Interval(*((-square.linear + side * half) / (2 * square.square) for side in (-1, 1)))


def exact_share_interval(count: float, records: float, law: ErrorLaw, level: float) -> Interval:
    """The population shares that a noisy binomial count does not reject.

    Args:
        count: the estimated number of records.
        records: number of all records.
        law: law of the noise of the count.
        level: confidence level.

    Returns:
        The equal-tailed interval; without noise, that of Clopper and Pearson.

    Source: the law is the convolution P(z | p) = sum over x of Bin(x; n, p) f(z - x) (Charest 2010, equation 3).
    """
    trials = max(1, round(records))
    most = min(trials, ceil(max(count, 0.0) + 12 * sqrt(max(count, 1.0)) + 12 * sqrt(law.variance)) + 60)
    x = np.arange(most + 1, dtype=np.float64)
    at_least, at_most = 1 - law.below(count - x - _JUST), law.below(count - x + _JUST)
    choose = np.asarray([lgamma(trials + 1) - lgamma(k + 1) - lgamma(trials - k + 1) for k in range(most + 1)])

    def law_of(p: float) -> Cells:
        if p <= 0:
            return np.asarray(x == 0, np.float64)
        if p >= 1:
            return np.asarray(x == trials, np.float64)
        return np.asarray(np.exp(choose + x * log(p) + (trials - x) * log1p(-p)), np.float64)

    tail = (1 - level) / 2
    top = min(1.0, most / trials)
    low = _root(lambda p: float((law_of(p) * at_least).sum()) - tail, 0.0, top)
    high = _root(lambda p: tail - float((law_of(p) * at_most).sum()), 0.0, top)
    return Interval(low, high)


_JUST = 1e-6
"""Tolerance for rounding when integers are compared with estimates."""


def whole_numbers(count: float, reach: float) -> Interval:
    """The whole numbers of 0 or more within a distance of an estimate; those next to it if none is."""
    low, high = ceil(count - reach - _JUST), floor(count + reach + _JUST)
    if low > high:
        low, high = floor(count), ceil(count)
    return Interval(float(max(low, 0)), float(max(high, 0)))


def exact_count_interval(count: float, kept: float, law: ErrorLaw, level: float) -> Interval:
    """The integers X not rejected by a noisy count, if each record was counted with some probability.

    Args:
        count: the estimated number of counted records.
        kept: probability with which a record was counted.
        law: law of the noise of the count.
        level: confidence level.
    """
    if kept >= 1:
        return whole_numbers(count, law.reach(level))
    tail = (1 - level) / 2
    most = ceil((max(count, 0.0) + 12 * sqrt(max(count, 1.0)) + 12 * sqrt(law.variance)) / kept) + 60
    x = np.arange(most + 1)
    gaps = np.asarray(count - x, np.float64)
    at_least, at_most = 1 - law.below(gaps - _JUST), law.below(gaps + _JUST)
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, most + 1)))])

    def tail_of(side: Cells, total: int) -> float:
        """The probability of at least, or of at most, the observed count, given the number of records."""
        k = x[: total + 1]
        mass = np.exp(logs[total] - logs[k] - logs[total - k] + k * log(kept) + (total - k) * log1p(-kept))
        return float((mass * side[: total + 1]).sum())

    low = _first_of(lambda total: tail_of(at_least, total) > tail, most)
    high = _first_of(lambda total: tail_of(at_most, total) <= tail, most) - 1
    return Interval(float(low), float(max(low, high)))


def _first_of(holds: Callable[[int], bool], most: int) -> int:
    """The smallest integer that satisfies a monotone predicate; the last if none does."""
    low, high = 0, most
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """The zero of an increasing function; an end if there is none."""
    if function(low) >= 0:
        return low
    if function(high) <= 0:
        return high
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) < 0 else (low, middle)
    return (low + high) / 2
