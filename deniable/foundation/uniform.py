"""Uniform integers of any size, drawn exactly from the words of a keyed stream, without compiled code."""

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.keys import WordStream


def uniform_integer(stream: WordStream, bound: int) -> int:
    """A uniform integer in [0, bound), by rejection: as many leading bits as bound has, until they are below it.

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


def words_of_64_bits(stream: WordStream, count: int) -> NDArray[np.uint64]:
    """Take 64-bit words, each of two words of the stream, the first the more significant.

    Args:
        stream: the words.
        count: number of 64-bit words.

    Returns:
        The words, shape (count,).
    """
    high, low = stream.take(2 * count).reshape(count, 2).T.astype(np.uint64)
    return (high << np.uint64(32)) | low
