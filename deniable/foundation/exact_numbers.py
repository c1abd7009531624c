"""Reads exact numbers from text of bounded length: `1e999999999` has eleven characters and a gigabyte of digits.

The ranges permitted for particular parameters do not belong here.
"""

import re
from fractions import Fraction

from deniable.foundation.errors import InvalidInput

LONGEST_NUMBER = 1000
"""Largest number of characters of a number, and its largest power of ten."""

_EXPONENT = re.compile(r"e([-+]?\d+)\s*\Z", re.IGNORECASE)
_SHOWN = 40


def exact_number(written: str) -> Fraction:
    """Read a number: an integer, a decimal such as `1e-6`, or a fraction such as `1/3`.

    Args:
        written: the number.

    Raises:
        InvalidInput: it is not a number, or has more than `LONGEST_NUMBER` digits or decimals.
    """
    shown = f"{written[:_SHOWN]!r}{'...' if len(written) > _SHOWN else ''}"
    if is_too_long(written):
        raise InvalidInput(
            f"a number must have at most {LONGEST_NUMBER:,} digits and decimals, got {shown}; write a rounder one."
        )
    try:
        return Fraction(written)
    except (ValueError, ZeroDivisionError):
        raise InvalidInput(f"a number must be written like 0.5, 1e-6 or 1/3, got {shown}; correct it.") from None


def is_too_long(written: str) -> bool:
    """Whether a number has more digits or decimals than are accepted."""
    if len(written) > LONGEST_NUMBER:
        return True
    exponent = _EXPONENT.search(written.replace("_", ""))
    return exponent is not None and abs(int(exponent[1])) > LONGEST_NUMBER
