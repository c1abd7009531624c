"""How costs are rounded, as they are shown and as they are charged: up where something is spent, down where it is left.

Costs are shown in four digits. A float is first read as the number of twelve digits that is nearest to it, so that 0.1
is shown as 0.1: what is shown may fall below a float by half a unit of its twelfth digit, and by no more. What is
charged has twelve digits, rounded up from all of a float's (`claimed`): an entry of a ledger never states less than was
spent. Sums of charges are exact, or rounded up
(deniable.ledger.budget). How a page sets a number does not belong here
(reports.figures.numbers).
"""

from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from math import inf, isfinite, nextafter

DIGITS = 4
"""Digits of a cost as readers see it."""

_CLAIMED = Context(prec=12, rounding=ROUND_CEILING)
# What has four digits anyway must not be taken for a little more by a float's last bit.
_OF_A_FLOAT = Context(prec=12, rounding=ROUND_HALF_EVEN)


def rounded_up(value: Fraction | float) -> str:
    """A cost that is spent or asked, in four digits, never less than its first twelve digits."""
    return _written(value, ROUND_CEILING)


def rounded_down(value: Fraction | float) -> str:
    """A cost that is left, in four digits, never more than its first twelve digits."""
    return _written(value, ROUND_FLOOR)


def rounded(value: Fraction | float) -> str:
    """A number that a spec or a policy states, in four digits, to the nearest."""
    return _written(value, ROUND_HALF_EVEN)


def digits_up(value: Fraction | float) -> Decimal:
    """A finite cost in four digits, never less than its first twelve digits."""
    return _digits(value, ROUND_CEILING)


def claimed(value: float) -> Fraction:
    """A cost as it is charged: the decimal number it is written in, or a little above where that has more digits."""
    return Fraction(_CLAIMED.create_decimal(repr(float(value))))


def float_above(value: Fraction) -> float:
    """A float that is not below an exact cost."""
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
