"""The cost of draws from urns: a draw with weights b n_j + a_j, where n_j counts records, costs ln(1 + b / a).

Prior weights a are integers, rounded up so that the cost never exceeds the budget, and costs are rational upper bounds
on logarithms: charges and records follow from exact integer arithmetic. Draws are made by models.urns.

Theorem. Draw r values from an urn with weights b n_j + a_j, j = 1..C, and after each draw add b to the weight of the
drawn value (a Polya urn; r = 1 is a single draw). For tables that differ by one record, added or removed, the
probabilities of any r values differ by at most the factor 1 + r b / a, where a is the smallest a_j.

Proof. Let S be the sum of the weights, and add a record with value j. The probability of r values, of which s equal j,
is the product of s factors (b (n_j + u) + a_j), u = 0..s-1, of factors of the other values, which do not change, and
of 1 / (S + b u), u = 0..r-1. With the record, the first product grows by the factor (b (n_j + s) + a_j) / (b n_j +
a_j), at most 1 + s b / a_j at n_j = 0, and the second changes by the factor S / (S + r b), which is between 1 / (1 + r
b / a) and 1. So the ratio is at most 1 + r b / a_j <= 1 + r b / a, and at least 1 / (1 + r b / a). The upper bound is
approached for n_j = 0 as S grows, so the factor is tight.

Source: McClure, Reiter 2012; Park, Ghosh, Shankar 2013 (r = 1); the case r > 1 is derived here.
"""

from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import lru_cache

from deniable.foundation.errors import InvalidInput

UNIT = 1 << 20
"""b, the weight of one counted record; prior weights are multiples of 1 / 2^20 records."""

LARGEST_MASS = 1 << 62
"""Largest sum of an urn's weights: draws use 64-bit integers, and a larger sum would overflow."""

_MOST_RECORDS = 10**10
_REMEMBERED = 4096
_DIGITS = 20
# Decimal arithmetic is correctly rounded, and the same on all machines; rounding errors are far below the margin.
_CONTEXT = Context(prec=80)
_MARGIN = Decimal(10) ** -60
_LARGEST_PRIOR = 1 << 60


@lru_cache(_REMEMBERED)
def urn_epsilon(prior: int, draws: int = 1) -> Fraction:
    """Upper bound on ln(1 + draws b / prior), the cost of draws from one urn, to 20 decimals.

    Args:
        prior: smallest prior weight of a value, in units of 1 / b records, at least 1.
        draws: number of draws r from the urn, each of which adds b to the weight of the drawn value.

    Raises:
        InvalidInput: an argument is below 1.
    """
    if prior < 1 or draws < 1:
        raise InvalidInput(f"an urn must have a prior weight and draws of at least 1, got {prior} and {draws}.")
    ratio = _CONTEXT.add(1, _CONTEXT.divide(Decimal(draws * UNIT), Decimal(prior)))
    above = _CONTEXT.add(_CONTEXT.ln(ratio), _MARGIN)
    return Fraction(above.quantize(Decimal(10) ** -_DIGITS, rounding=ROUND_CEILING, context=_CONTEXT))


@lru_cache(_REMEMBERED)
def prior_for(epsilon: Fraction, draws: int = 1) -> int:
    """Smallest prior weight, in units of 1 / b records, at which draws from one urn cost at most epsilon.

    Without rounding it is b draws / (e^epsilon - 1).

    Args:
        epsilon: the budget, above 0.
        draws: number of draws r from the urn.

    Raises:
        InvalidInput: epsilon is not above 0, or so small that no prior weight below 2^60 suffices.
    """
    if epsilon <= 0:
        raise InvalidInput(f"the epsilon of draws must be above 0, got {float(epsilon):g}.")
    exponent = _CONTEXT.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator))
    growth = _CONTEXT.subtract(_CONTEXT.exp(exponent), 1)
    about = _CONTEXT.divide(Decimal(draws * UNIT), growth) if growth > 0 else Decimal(2 * _LARGEST_PRIOR)
    if about >= _LARGEST_PRIOR:
        raise InvalidInput(
            f"the epsilon of draws must leave a prior weight below 2^40 records, got {float(epsilon):g}; raise epsilon."
        )
    prior = max(int(about) - 1, 1)
    while urn_epsilon(prior, draws) > epsilon:
        prior += 1
    return prior


def require_mass(prior: int, values: int, draws: int) -> None:
    """Refuse an urn whose weights might overflow 64 bits for some countable number of records.

    A sum that overflowed could be small: actual records would then be drawn at the cost of a large prior. The decision
    depends on public numbers only.

    Args:
        prior: prior weight of each value, in units of 1 / b records.
        values: number of values.
        draws: number of draws from the urn.

    Raises:
        InvalidInput: they might overflow.
    """
    if prior * values + UNIT * (_MOST_RECORDS + draws) > LARGEST_MASS:
        raise InvalidInput(
            "the weights of an urn must fit into 64 bits, and may exceed them; raise epsilon, or draw fewer records or "
            "from fewer values."
        )
