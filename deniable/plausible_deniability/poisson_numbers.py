"""Exact Poisson draws from the words of a keyed stream, in integers only.

Drawn by inversion: with U uniform on [0, 1), the number of j >= 1 with U < Pr[N >= j] is a Poisson number N. The digits
of U and of the probabilities never end; the first 64 of each decide unless they agree, and a tie is broken by further
words and digits. A large mean is divided among several draws, whose sum is Poisson with their total mean.
"""

from fractions import Fraction
from functools import lru_cache
from math import ceil

import numpy as np

from deniable.foundation.errors import InvalidInput
from deniable.foundation.exact_probabilities import poisson_tail_probabilities
from deniable.foundation.keys import WordStream

LARGEST_MEAN = 1 << 30
"""Largest mean of one number, which takes about twice as many words."""

_BITS = 64
_BITS_32 = np.uint64(32)
_AT_A_TIME = 1 << 16


def draw_poisson(mean: Fraction, stream: WordStream) -> int:
    """Draw one Poisson number, exactly.

    Args:
        mean: its mean, above 0 and at most 2^30.
        stream: the words; two for each unit of the mean, and further ones in a tie.

    Raises:
        InvalidInput: the mean is not within these bounds.
    """
    if not isinstance(mean, Fraction) or not 0 < mean <= LARGEST_MEAN:
        raise InvalidInput(f"the mean of a Poisson number must be a Fraction above 0 and at most 2^30, got {mean!r}.")
    parts = ceil(mean)
    return sum(
        _sum_of_draws(mean / parts, stream, min(_AT_A_TIME, parts - start)) for start in range(0, parts, _AT_A_TIME)
    )


def _sum_of_draws(mean: Fraction, stream: WordStream, size: int) -> int:
    """The sum of several draws with a mean of at most 1; ties are resolved after all others, in their order."""
    thresholds = np.asarray(_tails(mean, _BITS)[::-1], np.uint64)
    words = stream.take(2 * size).astype(np.uint64)
    uniform = words[::2] << _BITS_32 | words[1::2]
    below = np.searchsorted(thresholds, uniform, side="left")
    ties = uniform[thresholds[np.minimum(below, len(thresholds) - 1)] == uniform]
    above = len(thresholds) - np.searchsorted(thresholds, uniform, side="right")
    resolved = sum(_resolve(mean, int(each), stream) for each in ties)
    return int(above.sum()) - int((len(thresholds) - np.searchsorted(thresholds, ties, side="right")).sum()) + resolved


def _resolve(mean: Fraction, uniform: int, stream: WordStream) -> int:
    """One draw, given the leading digits of its uniform number: takes words until its digits decide."""
    bits = _BITS
    while uniform in _tails(mean, bits):
        uniform, bits = uniform << 32 | int(stream.take(1)[0]), bits + 32
    return sum(threshold > uniform for threshold in _tails(mean, bits))


@lru_cache(maxsize=64)
def _tails(mean: Fraction, bits: int) -> tuple[int, ...]:
    return tuple(poisson_tail_probabilities(mean, bits))
