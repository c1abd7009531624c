"""The number of decimal places of a figure: as many as its sampling error supports.

The format of figures does not belong here (reports.figures.numbers).
"""

from math import floor, log10
from typing import Final

_SECOND_DIGIT_COUNTS: Final = 2


def digits_of(reach: float) -> int:
    """Decimal places of a figure: two digits of half its interval if the first digit is 1, otherwise one.

    Args:
        reach: half the width of the interval, above 0.
    """
    place = -floor(log10(reach))
    return max(0, place + (reach * 10.0**place < _SECOND_DIGIT_COUNTS))
