"""The exponential mechanism on integer scores, drawn exactly: Pr[i] proportional to exp(-epsilon (q_max - q_i) / 2s).

With s the largest change of any score it costs epsilon, and its bounded range is epsilon too. No floating-point number
stands between the scores and the draw. What is scored does not belong here.

A candidate is proposed with a weight 2^-l that is at least its own and at most a little more than twice it, an exact
whole number in units of the least, and is accepted with the ratio of the two: so the law is exact and few proposals are
refused.

Source: McSherry, Talwar 2007.
"""

from collections.abc import Sequence
from fractions import Fraction

from deniable.foundation.errors import InvalidInput
from deniable.foundation.exact_probabilities import exp_probability
from deniable.foundation.keys import WordStream

# Below 1 / ln 2, so that 2^-floor(1.4426 x) is never below exp(-x).
_LOG2_E = Fraction(14426, 10000)
# Proposals are made as if no candidate were further behind than this; those that are are refused as often as it takes.
_DEEPEST = 256


def choose(scores: Sequence[int], *, sensitivity: int, epsilon: Fraction, stream: WordStream) -> int:
    """Draw the number of a candidate.

    Args:
        scores: the candidates' scores, whole numbers.
        sensitivity: largest change of a score by one row.
        epsilon: epsilon of the choice.
        stream: fresh words.

    Raises:
        InvalidInput: there is nothing to choose from, or a score is no whole number.
    """
    if not scores or not all(isinstance(score, int) for score in scores):
        msg = f"a choice must be among whole numbers, at least one, got {len(scores)}; round the scores."
        raise InvalidInput(msg)
    best = max(scores)
    rate = epsilon / (2 * sensitivity)
    bound = rate * _LOG2_E
    levels = [min(_DEEPEST, (best - score) * bound.numerator // bound.denominator) for score in scores]
    weights = [1 << (_DEEPEST - level) for level in levels]
    total = sum(weights)
    while True:
        ticket = _uniform_below(stream, total)
        picked = 0
        while ticket >= weights[picked]:
            ticket -= weights[picked]
            picked += 1
        if _accepted(stream, (best - scores[picked]) * rate, levels[picked]):
            return picked


def _uniform_below(stream: WordStream, bound: int) -> int:
    """A uniform whole number below a bound of any length."""
    words = -(-bound.bit_length() // 32)
    while True:
        uniform = 0
        for word in stream.take(words).tolist():
            uniform = uniform << 32 | word
        uniform >>= 32 * words - bound.bit_length()
        if uniform < bound:
            return uniform


def _accepted(stream: WordStream, exponent: Fraction, level: int) -> bool:
    """True with probability 2^level exp(-exponent), which is at most 1."""
    uniform, bits = 0, 0
    while True:
        uniform = uniform << 32 | int(stream.take(1)[0])
        bits += 32
        threshold = exp_probability(exponent, bits + level)
        if uniform != threshold:
            return uniform < threshold
