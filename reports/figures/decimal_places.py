"""In how many decimal places a figure is written: as many as chance leaves it.

How figures are written does not belong here (reports.pages.pages).
"""

from math import floor, log10
from typing import Final

_SECOND_DIGIT_COUNTS: Final = 2


def digits_of(reach: float) -> int:
    """Decimal places of a figure: two digits of half its interval if the first of them is 1, else one.

    Args:
        reach: half of the interval, above 0.
    """
    place = -floor(log10(reach))
    return max(0, place + (reach * 10.0**place < _SECOND_DIGIT_COUNTS))
