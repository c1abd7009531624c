"""The number of plausible seeds among those that are scored, drawn from the number among all seeds.

Each seed is scored with probability p = t / 2^32, independently of the others (`sampled_tests`). Among c plausible
seeds the number of scored ones is therefore binomial (c, p), whichever seeds they are, so that it may be drawn from c,
which an index gives at once, instead of scoring seeds one by one. The law, and hence the cost, is the same.

The draw is exact, in integers. A seed is scored if a uniform number U of 32 bits is below t. Bits of all U are drawn
from the highest on, for those alone that agree with t so far: where t has a 1, those with a 0 are below t; where it has
a 0, those with a 1 are above. About half of them are decided by each bit, so that c seeds take about 2 c bits.
"""

# numba infers the types of kernels
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, disallow-untyped-decorators=False

from fractions import Fraction

import numba
import numpy as np
from numpy.typing import NDArray

from deniable.foundation.keys import WordStream
from deniable.kernels import kernel
from deniable.privacy.common_events import WORDS

_BITS = 32
_WORDS_AHEAD = 4096
# Words by which a peek exceeds the expected need of the counts: a few for each bit of each count.
_WORDS_EACH = 40


@numba.njit(nogil=True, cache=True, inline="always")
def _ones(word):
    """Number of ones in a word."""
    word = word - ((word >> np.uint32(1)) & np.uint32(0x55555555))
    word = (word & np.uint32(0x33333333)) + ((word >> np.uint32(2)) & np.uint32(0x33333333))
    word = (word + (word >> np.uint32(4))) & np.uint32(0x0F0F0F0F)
    # The product has 64 bits in compiled code; the sum of the four bytes is in the highest of the lower 32.
    return np.int64((word * np.uint32(0x01010101)) >> np.uint32(24)) & 0xFF


@kernel
def _draw_scored(counts, below, first, words):
    """Replace counts by the numbers scored, from the first on, until the words run out.

    Args:
        counts: numbers of plausible seeds, shape (n,); changed.
        below: t, from 1 to 2^32 - 1.
        first: the first count to replace.
        words: words of a stream.

    Returns:
        Number of the first count that was not replaced, and number of words used for the others.
    """
    last_bit = 0
    while (below >> last_bit) & 1 == 0:
        last_bit += 1
    used = 0
    at = first
    while at < len(counts):
        position = used
        undecided, scored = counts[at], 0
        bit = _BITS - 1
        while bit >= last_bit and undecided > 0 and position >= 0:
            needed = (undecided + _BITS - 1) // _BITS
            if position + needed > len(words):
                position = -1
            else:
                ones = 0
                for w in range(needed - 1):
                    ones += _ones(words[position + w])
                left = undecided - _BITS * (needed - 1)
                mask = np.uint32(0xFFFFFFFF) >> np.uint32(_BITS - left)
                ones += _ones(words[position + needed - 1] & mask)
                position += needed
                if (below >> bit) & 1:
                    scored += undecided - ones
                    undecided = ones
                else:
                    undecided -= ones
                bit -= 1
        if position < 0:
            break
        counts[at] = scored
        used = position
        at += 1
    return at, used


def draw_scored(counts: NDArray[np.int64], probability: Fraction, stream: WordStream) -> None:
    """Replace numbers of plausible seeds by the numbers among the scored ones.

    Args:
        counts: at least 0, shape (n,); changed. Each is drawn with words of its own, in order.
        probability: of scoring a seed, a multiple of 2^-32 in (0, 1].
        stream: fresh words.
    """
    below = int(probability * WORDS)
    if below == WORDS:
        return
    at, more = 0, _WORDS_AHEAD
    while at < len(counts):
        room = int(counts[at:].sum()) // (_BITS // 2) + _WORDS_EACH * (len(counts) - at) + more
        at, used = _draw_scored(counts, below, at, stream.peek(room))
        stream.skip(used)
        more *= 2
