"""Uniform integers of any size, drawn exactly from the words of a keyed stream, without compiled code."""

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.keys import WordStream


def uniform_integer(stream: WordStream, bound: int) -> int:
    """A uniform integer in [0, bound), by rejection: as many bits as the bound has, redrawn until they are below it.

    Args:
        stream: the words.
        bound: number of values, 1 or more, of any size.
    """
    words = -(-bound.bit_length() // 32)
    while True:
        uniform = 0
        for word in stream.take(words).tolist():
            uniform = uniform << 32 | word
        uniform >>= 32 * words - bound.bit_length()
        if uniform < bound:
            return uniform


def uniform_below(stream: WordStream, bounds: NDArray[np.uint64]) -> NDArray[np.int64]:
    """A uniform integer below each of some bounds, exactly.

    A 64-bit word below b floor(2^64 / b) is uniform over that many words, and its quotient by floor(2^64 / b) is
    uniform over 0..b-1; any other word is redrawn, from the words after those of all bounds.

    Args:
        stream: the words.
        bounds: numbers of values, 1 to 2^53, shape (draws,).
    """
    largest = np.uint64(2**64 - 1)
    # floor((2^64 - 1) / b) is floor(2^64 / b) unless b divides 2^64; it is then 1 less, and some words are drawn again.
    each = largest // bounds
    words = words_of_64_bits(stream, len(bounds))
    while (unusable := np.flatnonzero(words >= each * bounds)).size:
        words[unusable] = words_of_64_bits(stream, len(unusable))
    return (words // each).astype(np.int64)


def words_of_64_bits(stream: WordStream, count: int) -> NDArray[np.uint64]:
    """Take 64-bit words, each formed of two words of the stream, the more significant first.

    Args:
        stream: the words.
        count: number of 64-bit words.

    Returns:
        The words, shape (count,).
    """
    high, low = stream.take(2 * count).reshape(count, 2).T.astype(np.uint64)
    return (high << np.uint64(32)) | low
