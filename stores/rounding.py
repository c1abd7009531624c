"""Rounds costs as readers are shown them: up, so that none is stated to be less than it is."""

import math

DIGITS = 4


def rounded_up(value: float) -> str:
    """A cost in four digits, never less than it is."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    unit = 10.0 ** (math.floor(math.log10(value)) + 1 - DIGITS)
    # A value that has four digits anyway must not be taken for a little more by the division's last bit.
    return f"{math.ceil(round(value / unit, 9)) * unit:.{DIGITS}g}"
