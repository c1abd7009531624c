"""The designs of randomized response, with their probabilities as exact fractions.

A response is determined by a uniform integer below a public total, without floating-point arithmetic. Each design is
described by one rational number, the ratio e^epsilon, rounded down from the requested value: the largest ratio between
the probabilities of any response given two answers. Estimation does not belong here (estimates).

Sources: Warner 1965 (JASA 60); Boruch 1971 (forced response); Kairouz, Bonawitz, Ramage 2016 (k-ary randomized
response); Wang, Blocki, Li, Jha 2017, section 4.3 (optimized unary encoding, OUE).
"""

from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from itertools import product
from math import inf, nextafter
from typing import Final, Literal, TypeAlias, get_args

from deniable.foundation.errors import InvalidInput
from deniable.foundation.exact_probabilities import exp_probability
from deniable.foundation.keys import WordStream
from deniable.foundation.uniform import uniform_integer

Kind = Literal["warner", "forced", "k_rr", "oue"]
Response: TypeAlias = tuple[int, ...]
"""The code of a value, or one bit per value (OUE)."""

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
SMALLEST_EPSILON, LARGEST_EPSILON = Fraction(1, 1000), Fraction(20)
MOST_VALUES = 1000
_CONTEXT = Context(prec=50)
_STEPS = 1 << 20
_MOST_RATIO = 1 << 40
_GUARD_BITS = 64


def log_above(ratio: Fraction) -> float:
    """The natural logarithm of a ratio of at least 1, rounded up.

    It is computed to 50 digits: near 1, rounding the ratio first would make the logarithm too small by more than its
    last digit.
    """
    exact = _CONTEXT.ln(_CONTEXT.divide(Decimal(ratio.numerator), Decimal(ratio.denominator)))
    return nextafter(float(exact), inf) if exact > 0 else 0.0


def ratio_of(epsilon: Fraction) -> Fraction:
    """The largest multiple of 2^-20 that is at most e^epsilon, the ratio of a design with this epsilon.

    Args:
        epsilon: from 0.001 to 20.

    Raises:
        InvalidInput: epsilon is outside this range.
    """
    if not SMALLEST_EPSILON <= epsilon <= LARGEST_EPSILON:
        raise InvalidInput(
            f"epsilon must be from {float(SMALLEST_EPSILON):g} to {float(LARGEST_EPSILON):g}, got {float(epsilon):g}; "
            "at 0 a response says nothing, and no share can be estimated."
        )
    bits = _GUARD_BITS + 2 * int(epsilon)
    above = exp_probability(epsilon, bits) + 1
    return Fraction((_STEPS << bits) // above, _STEPS)


@dataclass(frozen=True)
class Design:
    """The randomization of one question.

    Attributes:
        kind: `warner`, `forced`, `k_rr` or `oue`.
        values: number of possible answers, k; 2 for `warner` and `forced`.
        ratio: e^epsilon, exactly.

    Raises:
        InvalidInput: the design is undefined for these numbers.
    """

    kind: Kind
    values: int
    ratio: Fraction

    def __post_init__(self) -> None:
        """Refuse an undefined design."""
        if self.kind not in KINDS:
            raise InvalidInput(f"the design must be one of {', '.join(KINDS)}, got {self.kind}.")
        if not 2 <= self.values <= MOST_VALUES:
            raise InvalidInput(
                f"a question must have 2 to {MOST_VALUES:,} possible answers, got {self.values}; "
                "leave out a question whose answer is known beforehand."
            )
        if self.kind in {"warner", "forced"} and self.values != 2:
            raise InvalidInput(f"{self.kind} needs 2 possible answers, got {self.values}; use k_rr or oue.")
        if not 1 < self.ratio <= _MOST_RATIO or self.ratio.denominator > _MOST_RATIO:
            raise InvalidInput(
                f"e^epsilon must be above 1 and at most 2^40, as a fraction with a denominator of at most 2^40, "
                f"got {self.ratio}; at 1 a response says nothing."
            )

    @property
    def epsilon(self) -> float:
        """Epsilon of local differential privacy of one response, ln(ratio), rounded up."""
        return log_above(self.ratio)

    @property
    def forced(self) -> Fraction:
        """Probability f of a forced response, in `forced`: epsilon = ln((2 - f) / f)."""
        return 2 / (1 + self.ratio)

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        """Probabilities that a response supports a value: p if the value is the answer, q if not."""
        if self.kind == "oue":
            return Fraction(1, 2), 1 / (1 + self.ratio)
        q = 1 / (self.ratio + self.values - 1)
        return self.ratio * q, q

    def respond(self, answer: int, stream: WordStream) -> Response:
        """Draw the response to an answer.

        Args:
            answer: its code, 0..values-1. Confidential.
            stream: words of the respondent's key, used for this response only.
        """
        a, b = self.ratio.numerator, self.ratio.denominator
        if self.kind == "warner":
            # The true answer with probability a / (a + b), otherwise the other one.
            return (answer if uniform_integer(stream, a + b) < a else 1 - answer,)
        if self.kind == "forced":
            # With probability f = 2b / (a + b) one of the two answers, each equally probable; otherwise the true one.
            ticket = uniform_integer(stream, a + b)
            return (answer if ticket >= 2 * b else int(ticket < b),)
        if self.kind == "k_rr":
            ticket = uniform_integer(stream, a + b * (self.values - 1))
            other = ticket // b
            return (other + (other >= answer) if ticket < b * (self.values - 1) else answer,)
        # Each bit takes the same number of words for every answer, apart from rejections, which do not depend on it.
        return tuple(
            int(uniform_integer(stream, 2 * (a + b)) < (a + b if value == answer else 2 * b))
            for value in range(self.values)
        )

    def probability(self, response: Response, answer: int) -> Fraction:
        """Exact probability of a response given an answer."""
        if self.kind == "oue":
            held, other = self.support
            chance = Fraction(1)
            for value, bit in enumerate(response):
                one = held if value == answer else other
                chance *= one if bit else 1 - one
            return chance
        p, q = self.support
        return p if response == (answer,) else q

    def responses(self) -> tuple[Response, ...]:
        """All possible responses; `oue` has 2^values of them, so only for small numbers of values."""
        if self.kind == "oue":
            return tuple(product((0, 1), repeat=self.values))
        return tuple((value,) for value in range(self.values))

    @property
    def zero_variance(self) -> float:
        """Variance of the estimated share of a value that nobody has, times the number of respondents."""
        p, q = self.support
        return float(q * (1 - q) / (p - q) ** 2)


def better_at_zero(values: int, ratio: Fraction) -> Kind:
    """The design with the smaller variance at share 0: `k_rr` if and only if k < 3 e^epsilon + 2.

    Source: Wang, Blocki, Li, Jha 2017, section 4.4.
    """
    return "k_rr" if values < 3 * ratio + 2 else "oue"
