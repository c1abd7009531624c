"""A data-independent grid of numbers, and the range of a column implied by noisy counts on the grid.

A bucket holds the numbers that agree in sign, power of ten and first two digits: 1.2 to 1.3, 3,400 to 3,500, -75 to
-76. There are 90 buckets for each power of ten from 10^-6 to 10^15 and each sign, and one for what is nearer to zero;
numbers beyond the grid count in its outermost buckets. Each number is in one bucket, and each has a number of decimals,
from 0 to 6.

The range follows from the noisy counts alone. On either side it extends to the outermost bucket whose noisy count
reaches a public threshold, the outermost ten buckets with the same first digit whose sum does, or the outermost power
of ten whose sum does, whichever is farthest: tails are long, and their buckets hold few records each. The probability
that noise alone makes any of them reach its threshold is at most 1/1000 in total. All are integers.
"""

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

FIRST_POWER, LAST_POWER = -6, 15
"""Powers of ten of the smallest and the largest numbers of the grid."""
MOST_DECIMALS = 6
FALSE_ALARM = 1e-3
"""Probability that noise alone extends any range beyond its records."""

_PER_POWER = 90
_GROUPS = (1, 10, _PER_POWER)  # numbers of buckets per group: one, those of one first digit, those of one power of ten
_SIDE = (LAST_POWER - FIRST_POWER + 1) * _PER_POWER
BUCKETS = 2 * _SIDE + 1
_UNIT = 1 - FIRST_POWER  # edges of buckets are integers in units of 10^-7
_LONGEST = 64
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d{1,4})?", re.ASCII)
_LARGEST = 2**53
_SLOPES = 64

Counts = NDArray[np.int64]


def place_of(text: str) -> tuple[int, int] | None:
    """The bucket of a number and its decimals; None if the text is not a number.

    Args:
        text: the number as a file writes it.

    Returns:
        The index of the bucket, 0 to BUCKETS - 1 in ascending order, and the number of decimals, 0 to MOST_DECIMALS.
    """
    if len(text) > _LONGEST or not _NUMBER.fullmatch(text):
        return None
    number = Decimal(text)
    sign, digits, exponent = number.as_tuple()
    shown = "".join(map(str, digits)).rstrip("0")
    if not shown or not isinstance(exponent, int):
        return _SIDE, 0
    decimals = min(max(0, len(shown) - len(digits) - exponent), MOST_DECIMALS)
    power = number.adjusted()
    if power < FIRST_POWER:
        return _SIDE, decimals
    place = _SIDE - 1
    if power <= LAST_POWER:
        place = (power - FIRST_POWER) * _PER_POWER + int(shown[:2].ljust(2, "0")) - 10
    return (_SIDE - 1 - place if sign else _SIDE + 1 + place), decimals


@dataclass(frozen=True)
class Range:
    """A proposed range of numbers, in steps of 10^-decimals.

    Attributes:
        low: the smallest number, in steps.
        high: the largest number, in steps.
        decimals: decimals of a step.
    """

    low: int
    high: int
    decimals: int

    def written(self) -> tuple[str, str, str]:
        """The smallest and the largest number and the step, as decimal numbers."""
        low, high, step = (f"{Decimal(steps).scaleb(-self.decimals):f}" for steps in (self.low, self.high, 1))
        return low, high, step


def thresholds(epsilon: Fraction) -> tuple[int, ...]:
    """Thresholds that noise alone rarely reaches, for sums over one bucket, ten buckets and a power of ten.

    Args:
        epsilon: epsilon of the counts, whose noise has the scale 1 / epsilon.
    """
    return tuple(least_sum(epsilon, size, FALSE_ALARM / len(_GROUPS) / (BUCKETS // size)) for size in _GROUPS)


def decimals_threshold(epsilon: Fraction) -> int:
    """The threshold that noise alone rarely reaches, for the count of numbers by decimals.

    Args:
        epsilon: epsilon of the counts.
    """
    return least_sum(epsilon, 1, FALSE_ALARM / (MOST_DECIMALS + 1))


def least_sum(epsilon: Fraction, draws: int, probability: float) -> int:
    """A number that the sum of independent discrete Laplace draws reaches with at most a given probability.

    For one draw, Pr[Z >= z] = e^(-epsilon z) / (1 + e^-epsilon) exactly. For several, Chernoff's bound is used: Pr[sum
    >= z] <= E[e^(tZ)]^draws e^(-tz) for every t in (0, epsilon), and with q = e^-epsilon the expectation is (1 - q)^2
    / ((1 - q e^t) (1 - q e^-t)). No data are involved, so floating-point arithmetic is safe.

    Args:
        epsilon: the draws have the scale 1 / epsilon.
        draws: number of draws.
        probability: above 0.
    """
    rate = float(epsilon)
    if draws == 1:
        return max(1, math.ceil(-(math.log(probability) + math.log1p(math.exp(-rate))) / rate))
    least = math.inf
    for part in range(1, _SLOPES):
        slope = rate * part / _SLOPES
        moment = 2 * math.log1p(-math.exp(-rate))
        moment -= math.log1p(-math.exp(slope - rate)) + math.log1p(-math.exp(-slope - rate))
        least = min(least, (draws * moment - math.log(probability)) / slope)
    return max(1, math.ceil(least))


def range_shown(counts: Counts, decimals: Counts, needed: tuple[int, ...], needed_decimals: int) -> Range | None:
    """The range implied by noisy counts, by post-processing; None if there is none.

    Args:
        counts: noisy counts of the buckets, shape (BUCKETS,).
        decimals: noisy counts of numbers by their decimals, shape (MOST_DECIMALS + 1,).
        needed: the thresholds of one bucket, of ten, and of a power of ten.
        needed_decimals: the threshold of a number of decimals.
    """
    first, last = _first(counts, needed), _first(counts[::-1], needed)
    if first is None or last is None:
        return None
    many = [place for place, count in enumerate(decimals.tolist()) if count >= needed_decimals]
    shown = max(many, default=0)
    limit = _LARGEST * 10**shown
    low = max(_bounds(first, shown)[0], -limit)
    high = min(_bounds(BUCKETS - 1 - last, shown)[1], limit)
    return Range(low, high, shown)


def _first(counts: Counts, needed: tuple[int, ...]) -> int | None:
    """The bucket where the numbers begin, in order from the first; None if nothing reaches its threshold.

    A larger group counts only if it lies entirely before the smaller groups that reach their thresholds: one that
    contains such a bucket is no evidence of numbers beyond it.
    """
    place: int | None = None
    for size, least in zip(_GROUPS, needed, strict=True):
        sums = ((start, int(counts[start : start + _length(start, size)].sum())) for start in _starts(size))
        reached = next((start for start, total in sums if total >= least), None)
        if reached is not None and (place is None or reached + _length(reached, size) <= place):
            place = reached
    return place


def _starts(size: int) -> list[int]:
    """Indices at which groups of a size begin: on each side of zero, and zero itself."""
    return [*range(0, _SIDE, size), _SIDE, *range(_SIDE + 1, BUCKETS, size)]


def _length(start: int, size: int) -> int:
    """Number of buckets of the group that begins at an index."""
    return 1 if start == _SIDE else size


def _bounds(place: int, decimals: int) -> tuple[int, int]:
    """The smallest and the largest number of a bucket, in steps of 10^-decimals; both rounded towards zero."""
    if place == _SIDE:
        return 0, 0
    number = abs(place - _SIDE) - 1
    power, digits = divmod(number, _PER_POWER)
    scale, step = 10**power, 10 ** (_UNIT - decimals)
    near, far = (digits + 10) * scale // step, ((digits + 11) * scale - 1) // step
    return (near, far) if place > _SIDE else (-far, -near)
