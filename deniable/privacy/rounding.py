"""Rounding of costs for display and for charges: spent budget is rounded up, remaining budget down.

Costs are displayed with four digits. A float is first rounded to the nearest number with twelve digits, so that 0.1 is
displayed as 0.1: a displayed cost is below the float by at most half a unit of its twelfth digit. A charge has twelve
digits, rounded up from all digits of the float (`claimed`): a ledger entry never states less than was spent. Sums of
charges are exact, or rounded up (deniable.ledger.budget). Typesetting of numbers does not belong here
(reports.figures.numbers).
"""

from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from math import inf, isfinite, nextafter

DIGITS = 4
"""Digits of a displayed cost."""

_CLAIMED = Context(prec=12, rounding=ROUND_CEILING)
# A number with four digits must not be rounded up because of a float's last bit.
_OF_A_FLOAT = Context(prec=12, rounding=ROUND_HALF_EVEN)


def rounded_up(value: Fraction | float) -> str:
    """A spent or requested cost, with four digits, never less than its first twelve digits."""
    return _written(value, ROUND_CEILING)


def rounded_down(value: Fraction | float) -> str:
    """A remaining budget, with four digits, never more than its first twelve digits."""
    return _written(value, ROUND_FLOOR)


def rounded(value: Fraction | float) -> str:
    """A number from a spec or a policy, rounded to the nearest with four digits."""
    return _written(value, ROUND_HALF_EVEN)


def digits_up(value: Fraction | float) -> Decimal:
    """A finite cost with four digits, never less than its first twelve digits."""
    return _digits(value, ROUND_CEILING)


def claimed(value: float) -> Fraction:
    """A cost as charged: its decimal literal, rounded up if that has more than twelve digits."""
    return Fraction(_CLAIMED.create_decimal(repr(float(value))))


def float_above(value: Fraction) -> float:
    """A float that is at least an exact cost."""
    return nextafter(float(value), inf)


def _written(value: Fraction | float, rounding: str) -> str:
    if isinstance(value, float) and not isfinite(value):
        return f"{value:g}"
    number = _digits(value, rounding)
    plain = number == 0 or -5 < number.adjusted() < 7
    return f"{number.normalize():f}" if plain else f"{number.normalize():e}"


def _digits(value: Fraction | float, rounding: str) -> Decimal:
    context = Context(prec=DIGITS, rounding=rounding)
    if isinstance(value, float):
        return context.create_decimal(_OF_A_FLOAT.create_decimal(repr(value)))
    exact = Fraction(value)
    return context.divide(Decimal(exact.numerator), Decimal(exact.denominator))
