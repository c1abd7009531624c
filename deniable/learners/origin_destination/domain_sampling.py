"""The epsilon that domain sampling adds, in decimals that are rounded up; README.md states and proves it.

Needs no data, and no compiled code, because verification derives the same.
"""

from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from math import ceil

from deniable.privacy.urn_costs import UNIT

_CONTEXT = Context(prec=80)
_MARGIN = Decimal(10) ** -60
_DIGITS = Decimal(10) ** -20
_FACTORS = 64
"""Number of factors that are multiplied; the logarithms of the others are bounded by an integral."""


def log_above(number: Fraction | Decimal) -> Fraction:
    """The natural logarithm of a number of 1 or more, rounded up to 20 decimals."""
    value = number if isinstance(number, Decimal) else _quotient(number)
    above = _CONTEXT.add(_CONTEXT.ln(value), _MARGIN)
    return max(Fraction(above.quantize(_DIGITS, rounding=ROUND_CEILING, context=_CONTEXT)), Fraction(0))


def added_by_theorem_5_2(kept: Fraction, prior: int) -> Fraction:
    """Ln(1/f) + ceil(alpha) ln 2, for as many draws as workers.

    Args:
        kept: smallest probability f with which an empty origin stays in the domain.
        prior: largest prior weight alpha, in units of 1 / 2^20 workers.

    Source: the paper, theorem 5.2.
    """
    return log_above(1 / kept) + ceil(Fraction(prior, UNIT)) * log_above(Fraction(2))


def added_by_theorem_d(people: int, origins: int, kept: Fraction, prior: int) -> Fraction:
    """The largest logarithm of a ratio that domain sampling adds for one destination, for as many draws as workers.

    With c(s) the product of 1 + alpha / (n + s alpha + t) over t < n, it is ln(1 + (1/f - 1) c(1)) for one worker. For
    several, it is the logarithm of the largest of 1/f, f + (1 - f) c(1) and, for three origins or more,
    1 + (1/f - 1) c(2).

    Args:
        people: number of workers n, at least 1, which is also that of draws.
        origins: number of origins k, at least 2.
        kept: smallest probability f with which an empty origin stays in the domain.
        prior: prior weight alpha of each origin, in units of 1 / 2^20 workers.

    Source: README.md, theorem D.
    """
    odds, share, rest = _quotient(1 / kept - 1), _quotient(kept), _quotient(1 - kept)
    alone = _growth(people, 1, prior)
    both = _CONTEXT.fma(odds, alone if people == 1 else _growth(people, 2, prior), 1)
    if people == 1:
        return log_above(both)
    others = [_quotient(1 / kept), _CONTEXT.fma(rest, alone, share)]
    return log_above(max(others if origins == 2 else [*others, both]))


def _growth(people: int, weights: int, prior: int) -> Decimal:
    """The product of 1 + alpha / (n + s alpha + t) over t < n, rounded up.

    The logarithm of a factor is a convex function of t, hence at most its mean over t - 1/2 to t + 1/2.

    Args:
        people: number of workers n.
        weights: number s of prior weights in the sum of the weights.
        prior: prior weight alpha, in units of 1 / 2^20 workers.
    """
    alpha = _quotient(Fraction(prior, UNIT))
    total = _CONTEXT.fma(alpha, weights, people)
    few, product = min(people, _FACTORS), Decimal(1)
    for number in range(few):
        weight = _CONTEXT.add(total, number)
        product = _CONTEXT.multiply(product, _CONTEXT.divide(_CONTEXT.add(weight, alpha), weight))
    half = Decimal("0.5")
    last = _integral(_CONTEXT.add(total, people - half), alpha)
    beyond = _CONTEXT.subtract(last, _integral(_CONTEXT.add(total, few - half), alpha))
    return _CONTEXT.multiply(product, _CONTEXT.exp(_CONTEXT.add(beyond, _MARGIN)))


def _integral(end: Decimal, alpha: Decimal) -> Decimal:
    """An antiderivative of ln(1 + alpha / x) at x: (x + alpha) ln(x + alpha) - x ln x."""
    above = _CONTEXT.add(end, alpha)
    return _CONTEXT.subtract(_CONTEXT.multiply(above, _CONTEXT.ln(above)), _CONTEXT.multiply(end, _CONTEXT.ln(end)))


def _quotient(number: Fraction) -> Decimal:
    return _CONTEXT.divide(Decimal(number.numerator), Decimal(number.denominator))
