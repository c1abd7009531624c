"""Exact noise: discrete Laplace and discrete Gaussian draws from the words of a keyed stream.

The amount of noise that a mechanism needs, and its privacy cost, do not belong here.

No floating-point arithmetic is used between words and draw: floating-point noise can disclose the value that it should
hide (Mironov 2012). Noise is drawn by inversion. Let T_1 >= T_2 >= ... be the probabilities Pr[M >= j] of a magnitude
M, and U the number in [0, 1) whose binary digits are the bits of the words. Then the number of j with U < T_j has the
distribution of M, since it is at least j exactly if U < T_j. The digits of U and of the T_j never end, but 63 of each
give the same decision as all, unless U agrees with some T_j in all 63. Such a tie is broken by as many further words
and digits as needed, so the distribution is exact. A kernel does not break ties: it returns the draw, which is then
repeated in Python's integers from its first word.

A wide geometric distribution is drawn by base-64 digits. If M = sum_i 64^i D_i, r^M = prod_i (r^(64^i))^D_i: the digits
of a geometric M are independent, each geometric and, except for the leading one, truncated at 64.

Noise Z is a magnitude with a random sign; a negative zero is rejected and drawn again: then Pr[Z = z] is proportional
to Pr[M = |z|] for every z, including zero.

A wide Gaussian distribution has too many thresholds. It is drawn by rejection from a discrete Laplace distribution, and
acceptance with probability exp(-x) is decided by as many digits as needed (Canonne, Kamath, Steinke 2020, algorithm 3).
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from deniable.foundation.errors import InvalidInput
from deniable.foundation.exact_probabilities import exp_probability, tail_probabilities
from deniable.foundation.keys import WordStream
from deniable.kernels import kernel

Draws = NDArray[np.int64]

OUT_OF_WORDS = -1
"""Position that a kernel returns if the words run out; the draw is then repeated with more words."""
TIE = -2
"""Position that a kernel returns if 63 digits do not decide (at most once in 2^47 draws): `sample` resolves it."""

MAX_SCALE = 1 << 50
"""Largest scale of a discrete Laplace distribution, whose draws then fit in 64 bits."""
MAX_SIGMA_SQUARED = 1 << 100
"""Upper bound on sigma squared of a discrete Gaussian, which is drawn via a discrete Laplace of about its width."""

_BASE = 64
# The bits of two words, less one for the sign.
_BITS = 63
# A table has 10 thresholds for each unit of sigma.
_MAX_INVERTED_SIGMA_SQUARED = 1 << 24
# Above this, sum over the integers and integral agree to float precision: they differ by exp(-2 pi^2 sigma^2).
_SMOOTH_SIGMA_SQUARED = 4

# The guide is indexed by the 8 leading bits.
_GUIDE_SHIFT = _BITS - 8
# Number of draws per batch, so that their words stay in the processor's cache.
_DRAWS_A_BLOCK = 1 << 15
_LOW_32 = np.uint64(0xFFFFFFFF)
_TWO_TO_32 = np.uint64(1 << 32)
_BITS_32 = np.uint64(32)
_ONE_BIT = np.uint64(1)


class Thresholds(NamedTuple):
    """A symmetric distribution on the integers, tabulated: thresholds Pr[digit >= j] for each digit of its magnitude.

    Attributes:
        leading: leading 63 bits of each threshold, leading digit first, and for each digit in order of j = 1, 2 ...,
            hence descending; shape (thresholds,).
        starts: where the thresholds of each digit begin, shape (digits + 1,).
        guide: number of thresholds above all numbers with the given 8 leading bits, shape (digits, 256).
    """

    leading: NDArray[np.int64]
    starts: NDArray[np.int64]
    guide: NDArray[np.int64]


# Each kernel has a single return: with several, Numba counts references to the arrays, which takes ten times as long as
# the draw itself. Functions that other kernels call for single draws are inlined by the compiler, not by Numba, which
# would again count references.
@numba.njit(nogil=True, cache=True, forceinline=True)
def uniform_below(words, position, bound):
    """Draw an integer uniformly from 0..bound-1, from one word if the bound is at most 2^32, otherwise from two.

    Let w be uniform on the W possible values of the words; the result is the integer part of w * bound / W. Each result
    corresponds to floor(W / bound) values of w or to one more. If (w * bound) mod W < W mod bound, the draw is
    repeated: this removes one w from each result that has one more, so that all are equally likely.

    Args:
        words: words of a stream, shape (n,).
        position: index of the draw's first word.
        bound: number of values, 1 to 2^63.

    Returns:
        The value as a signed 64-bit integer, and the position after the draw or `OUT_OF_WORDS`.

    Source: Lemire 2019, "Fast random integer generation in an interval".
    """
    bound = np.uint64(bound)
    bound_low, bound_high = bound & _LOW_32, bound >> _BITS_32
    width = 1 if bound <= _TWO_TO_32 else 2
    value = np.uint64(0)
    drawn = False
    while not drawn and position >= 0:
        if position + width > len(words):
            position = OUT_OF_WORDS
        elif width == 1:
            product = np.uint64(words[position]) * bound
            value, rest = product >> _BITS_32, product & _LOW_32
            # The first comparison avoids the division in nearly all draws.
            drawn = rest >= bound or rest >= (_TWO_TO_32 - bound) % bound
            position += 1
        else:
            high, low = np.uint64(words[position]), np.uint64(words[position + 1])
            # The upper and lower halves of the 128-bit product.
            high_low, low_high = high * bound_low, low * bound_high
            middle = (low * bound_low >> _BITS_32) + (high_low & _LOW_32) + (low_high & _LOW_32)
            value = high * bound_high + (high_low >> _BITS_32) + (low_high >> _BITS_32) + (middle >> _BITS_32)
            rest = ((high << _BITS_32) | low) * bound
            drawn = rest >= bound or rest >= (np.uint64(0) - bound) % bound
            position += 2
    return np.int64(value), position


@kernel
def draw_noise(words, position, thresholds):
    """Draw an integer from a symmetric distribution, from two words for each digit of its thresholds.

    The two words form a 64-bit number, the first word above the second. The lowest bit is the sign in a magnitude's
    leading digit and unused in the others; the rest is compared with the thresholds.

    Args:
        words: words of a stream, shape (n,).
        position: index of the draw's first word.
        thresholds: the distribution, such as `DiscreteLaplace.thresholds`.

    Returns:
        The draw as a signed 64-bit integer, and the position after it, `OUT_OF_WORDS` or `TIE`.
    """
    negative = False
    magnitude = np.int64(0)
    digit = 0
    while position >= 0 and digit < len(thresholds.guide):
        if position + 2 > len(words):
            position = OUT_OF_WORDS
        else:
            pair = (np.uint64(words[position]) << _BITS_32) | np.uint64(words[position + 1])
            uniform = np.int64(pair >> _ONE_BIT)
            start, stop = thresholds.starts[digit], thresholds.starts[digit + 1]
            above = start + thresholds.guide[digit, uniform >> _GUIDE_SHIFT]
            while above < stop and thresholds.leading[above] > uniform:
                above += 1
            if above < stop and thresholds.leading[above] == uniform:
                position = TIE
            else:
                position += 2
                if digit == 0:
                    negative = (pair & _ONE_BIT) != 0
                    magnitude = np.int64(0)
                magnitude = magnitude * _BASE + (above - start)
                digit += 1
                if digit == len(thresholds.guide) and negative and magnitude == 0:
                    digit = 0
    return -magnitude if negative else magnitude, position


@kernel
def _fill(words, thresholds, draws):
    """Fill `draws` as far as the words suffice; return the numbers of draws and words used, and the last position."""
    # Zero by itself would be a type of its own, for which the draw is compiled too.
    position = np.int64(0)
    for index in range(len(draws)):
        draw, after = draw_noise(words, position, thresholds)
        if after < 0:
            return index, position, after
        draws[index] = draw
        position = after
    return len(draws), position, position


@dataclass(frozen=True)
class DiscreteLaplace:
    """The discrete Laplace distribution, Pr[z] proportional to exp(-|z| / scale).

    On integer queries of L1 sensitivity 1 it gives pure differential privacy with epsilon = 1 / scale.

    Attributes:
        scale: above 0, at most 2^50.

    Raises:
        InvalidInput: the scale is not an exact fraction within these bounds.

    Source: Ghosh, Roughgarden, Sundararajan 2009; Canonne, Kamath, Steinke 2020, algorithm 2.
    """

    scale: Fraction

    def __post_init__(self) -> None:
        """Refuse a scale that is not exact or not within bounds."""
        if not isinstance(self.scale, Fraction) or not 0 < self.scale <= MAX_SCALE:
            msg = f"scale must be a Fraction above 0 and at most 2^50, got {self.scale!r}; count in other units."
            raise InvalidInput(msg)

    @property
    def thresholds(self) -> Thresholds:
        """The table from which `draw_noise` draws; computed once and cached."""
        return _tabulate(self)

    def sample(self, stream: WordStream, size: int) -> Draws:
        """Draw `size` values and consume their words; shape (size,)."""
        return _sample_by_inversion(self, stream, size)

    @property
    def variance(self) -> float:
        """Variance of one draw."""
        epsilon = float(1 / self.scale)
        return 2 * math.exp(-epsilon) / math.expm1(-epsilon) ** 2

    def probability(self, z: int) -> float:
        """Probability of drawing z."""
        epsilon = float(1 / self.scale)
        return math.tanh(epsilon / 2) * math.exp(-abs(z) * epsilon)

    def tail(self, z: int) -> float:
        """Probability of drawing z or more."""
        epsilon = float(1 / self.scale)
        if z > 0:
            return math.exp(-z * epsilon) / (1 + math.exp(-epsilon))
        return 1 - math.exp((z - 1) * epsilon) / (1 + math.exp(-epsilon))


@dataclass(frozen=True)
class DiscreteGaussian:
    """The discrete Gaussian distribution, Pr[z] proportional to exp(-z^2 / (2 sigma^2)).

    On integer queries of L2 sensitivity 1 it satisfies rho-zCDP with rho = 1 / (2 sigma^2).

    Attributes:
        sigma_squared: above 0, below 2^100; slightly above the variance, by less than 10^-6 of it if above 1.

    Raises:
        InvalidInput: sigma squared is not an exact fraction within these bounds.

    Source: Canonne, Kamath, Steinke 2020, definition 1, theorem 4 and algorithm 3.
    """

    sigma_squared: Fraction

    def __post_init__(self) -> None:
        """Refuse a sigma squared that is not exact or not within bounds."""
        if not isinstance(self.sigma_squared, Fraction) or not 0 < self.sigma_squared < MAX_SIGMA_SQUARED:
            msg = (
                "sigma_squared must be a Fraction above 0 and below 2^100, "
                f"got {self.sigma_squared!r}; count in other units."
            )
            raise InvalidInput(msg)

    @property
    def thresholds(self) -> Thresholds:
        """The table from which `draw_noise` draws; computed once and cached.

        Raises:
            InvalidInput: the distribution is so wide that only `sample` can draw from it.
        """
        if self.sigma_squared > _MAX_INVERTED_SIGMA_SQUARED:
            msg = "sigma_squared must be at most 2^24 for a table of thresholds, got more; draw with sample."
            raise InvalidInput(msg)
        return _tabulate(self)

    def sample(self, stream: WordStream, size: int) -> Draws:
        """Draw `size` values and consume their words; shape (size,)."""
        if self.sigma_squared > _MAX_INVERTED_SIGMA_SQUARED:
            return _sample_by_rejection(self.sigma_squared, stream, size)
        return _sample_by_inversion(self, stream, size)

    @property
    def variance(self) -> float:
        """Variance of one draw."""
        if self.sigma_squared > _SMOOTH_SIGMA_SQUARED:
            return float(self.sigma_squared)
        z = self._half_line(1)
        return float(2 * (z**2 * self._density(z)).sum())

    def probability(self, z: int) -> float:
        """Probability of drawing z."""
        return float(self._density(np.float64(z)))

    def tail(self, z: int) -> float:
        """Probability of drawing z or more, to within 10^-9 if a table would be too long to sum."""
        if z <= 0:
            return 1 - self.tail(1 - z)
        if self.sigma_squared > _MAX_INVERTED_SIGMA_SQUARED:
            return math.erfc((z - 0.5) / math.sqrt(2 * self.sigma_squared)) / 2
        return float(self._density(self._half_line(z)).sum())

    def _half_line(self, first: int) -> NDArray[np.float64]:
        """Integers from `first` on, up to where their probabilities become negligible."""
        return np.arange(first, first + 2 + 40 * math.sqrt(self.sigma_squared))

    def _density(self, z: "NDArray[np.float64] | np.float64") -> NDArray[np.float64]:
        """Probability of each of several values."""
        twice = 2 * float(self.sigma_squared)
        if self.sigma_squared > _SMOOTH_SIGMA_SQUARED:
            total = math.sqrt(math.pi * twice)
        else:
            total = 1 + 2 * float(np.exp(-(self._half_line(1) ** 2) / twice).sum())
        return np.asarray(np.exp(-(z**2) / twice) / total)


Law = DiscreteLaplace | DiscreteGaussian


def bernoulli_exp(stream: WordStream, exponent: Fraction) -> bool:
    """Draw True with probability exp(-exponent), exactly: from one word of the stream, or more in a tie.

    Args:
        stream: the words.
        exponent: 0 or more.

    Returns:
        Whether the uniform number formed by the words is below exp(-exponent).
    """
    uniform, bits = 0, 0
    while True:
        uniform = uniform << 32 | int(stream.take(1)[0])
        bits += 32
        threshold = exp_probability(exponent, bits)
        if uniform != threshold:
            return uniform < threshold


def _sample_by_inversion(law: Law, stream: WordStream, size: int) -> Draws:
    """Draw by thresholds, taking more words when they run out and more digits in a tie."""
    thresholds = law.thresholds
    draws = np.empty(size, np.int64)
    done, spare = 0, 64
    while done < size:
        block = draws[done : done + _DRAWS_A_BLOCK]
        words = stream.peek(2 * len(thresholds.guide) * len(block) + spare)
        made, used, end = _fill(words, thresholds, block)
        stream.skip(used)
        done += made
        if end == TIE:
            draws[done] = _draw_by_digits(law, stream)
            done += 1
        # The number of words of a draw is unbounded.
        spare = 64 if made else 2 * spare
    return draws


def _draw_by_digits(law: Law, stream: WordStream) -> int:
    """Draw the same value as `draw_noise`, and resolve ties."""
    while True:
        negative, magnitude = False, 0
        for digit in range(len(_levels(law, _BITS))):
            high, low = (int(word) for word in stream.take(2))
            if digit == 0:
                negative = bool(low & 1)
            uniform, bits = (high << 32 | low) >> 1, _BITS
            while uniform in _levels(law, bits)[digit]:
                uniform, bits = uniform << 32 | int(stream.take(1)[0]), bits + 32
            magnitude = magnitude * _BASE + sum(threshold > uniform for threshold in _levels(law, bits)[digit])
        if magnitude or not negative:
            return -magnitude if negative else magnitude


def _sample_by_rejection(sigma_squared: Fraction, stream: WordStream, size: int) -> Draws:
    """Draw wide Gaussian noise: propose discrete Laplace noise of about its width, accept by likelihood ratio."""
    scale = Fraction(math.isqrt(math.floor(sigma_squared)) + 1)
    proposals = DiscreteLaplace(scale)
    draws: list[int] = []
    while len(draws) < size:
        proposal = int(proposals.sample(stream, 1)[0])
        if bernoulli_exp(stream, (abs(proposal) - sigma_squared / scale) ** 2 / (2 * sigma_squared)):
            draws.append(proposal)
    return np.asarray(draws, np.int64)


@lru_cache(maxsize=64)
def _tabulate(law: Law) -> Thresholds:
    """Tabulate the thresholds of a distribution for the kernels."""
    levels = [np.asarray(level, np.int64) for level in _levels(law, _BITS)]
    last_of_slot = (np.arange(256) << _GUIDE_SHIFT) + (1 << _GUIDE_SHIFT) - 1
    return Thresholds(
        leading=np.concatenate(levels),
        starts=np.cumsum([0, *(len(level) for level in levels)]),
        guide=np.stack([len(level) - np.searchsorted(level[::-1], last_of_slot, "right") for level in levels]),
    )


@lru_cache(maxsize=64)
def _levels(law: Law, bits: int) -> list[list[int]]:
    """Thresholds of each digit of a distribution's magnitude, leading digit first, to a given number of bits."""
    if isinstance(law, DiscreteGaussian):
        return [tail_probabilities(Fraction(0), 1 / (2 * law.sigma_squared), bits)]
    scale, levels = law.scale, []
    while scale > _BASE:
        levels.append(tail_probabilities(1 / scale, Fraction(0), bits, cut_off=_BASE))
        scale /= _BASE
    return [tail_probabilities(1 / scale, Fraction(0), bits), *reversed(levels)]
