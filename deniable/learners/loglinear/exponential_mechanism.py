"""The exponential mechanism on integer scores, drawn exactly: Pr[i] proportional to exp(-epsilon (q_max - q_i) / 2s).

With s the sensitivity of the scores it costs epsilon, and it also has epsilon-bounded range. There is no
floating-point arithmetic between the scores and the draw. The scores do not belong here.

Rejection sampling: a candidate is proposed with a weight 2^-l that is at least its own weight and at most slightly more
than twice that, an integer in units of the smallest; it is accepted with probability equal to the ratio of the two.
Thus the distribution is exact, and few proposals are rejected.

Source: McSherry, Talwar 2007.
"""

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate

from deniable.foundation.errors import InvalidInput
from deniable.foundation.exact_probabilities import exp_probability
from deniable.foundation.keys import WordStream
from deniable.foundation.uniform import uniform_integer

# Below 1 / ln 2, so that 2^-floor(1.4426 x) is never below exp(-x).
_LOG2_E = Fraction(14426, 10000)
# The proposal weight is at least 2^-256; candidates further behind are rejected more often instead.
_DEEPEST = 256
_PROPOSALS = [1 << (_DEEPEST - level) for level in range(_DEEPEST + 1)]
"""Proposal weight of each level."""


def choose(scores: Sequence[int], *, sensitivity: int, epsilon: Fraction, stream: WordStream) -> int:
    """Draw the number of a candidate.

    Args:
        scores: the candidates' scores, integers.
        sensitivity: largest change of a score by one row.
        epsilon: epsilon of the choice.
        stream: fresh words.

    Raises:
        InvalidInput: there are no candidates, or a score is not an integer.
    """
    if not scores or not all(issubclass(kind, int) for kind in set(map(type, scores))):
        msg = f"a choice needs at least one score, all of them integers, got {len(scores)}; round the scores."
        raise InvalidInput(msg)
    best = max(scores)
    rate = epsilon / (2 * sensitivity)
    bound = rate * _LOG2_E
    up, down = bound.numerator, bound.denominator
    behind = [best - score for score in scores]
    # Candidates at least this far behind have the deepest level.
    far = -(-_DEEPEST * down // up)
    weights = [_PROPOSALS[gap * up // down] if gap < far else 1 for gap in behind]
    running = list(accumulate(weights))
    while True:
        picked = bisect_right(running, uniform_integer(stream, running[-1]))
        if _accepted(stream, behind[picked] * rate, _DEEPEST - weights[picked].bit_length() + 1):
            return picked


def _accepted(stream: WordStream, exponent: Fraction, level: int) -> bool:
    """Draw True with probability 2^level exp(-exponent), which is at most 1."""
    uniform, bits = 0, 0
    while True:
        uniform = uniform << 32 | int(stream.take(1)[0])
        bits += 32
        threshold = exp_probability(exponent, bits + level)
        if uniform != threshold:
            return uniform < threshold
