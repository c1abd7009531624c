"""The scale of a line on a page: where a value lies on it, and which round numbers are written below it.

How a line is drawn does not belong here.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Final

_MARGIN: Final = 0.04
"""Share of a line that is left free at its end, so that what lies there is not cut."""
_STEPS: Final = (1, 2, 5)
_MOST_TICKS: Final = 5
_SMALLEST: Final = 1e-6


@dataclass(frozen=True)
class Tick:
    """A round number on a line.

    Attributes:
        place: where it lies, in percent of the line.
        text: the number.
    """

    place: float
    text: str


@dataclass(frozen=True)
class LineScale:
    """The scale of a line.

    Attributes:
        least: the value where it begins.
        most: the value where it ends.
    """

    least: float
    most: float

    def place(self, value: float) -> float:
        """Where a value lies, in percent of the line."""
        return round(100 * (value - self.least) / (self.most - self.least), 2)

    @property
    def ticks(self) -> tuple[Tick, ...]:
        """Two to six round numbers on the line."""
        step = _round_step((self.most - self.least) / _MOST_TICKS)
        digits = max(0, -floor(log10(step)))
        first, last = ceil(self.least / step - _SMALLEST), floor(self.most / step + _SMALLEST)
        return tuple(
            Tick(self.place(number * step), f"{number * step:.{digits}f}") for number in range(first, last + 1)
        )


def scale_of(values: Iterable[float], *, least: float = 0.0) -> LineScale:
    """The scale of a line that holds all of some values.

    Args:
        values: what is shown on it.
        least: a value where it begins, or to the right of that.

    Returns:
        The scale; it has some length, whatever the values are.
    """
    held = [least, *values]
    low, high = min(held), max(held)
    high = max(high, low + _SMALLEST)
    return LineScale(low, high + _MARGIN * (high - low))


def _round_step(least: float) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that is not below a number."""
    power = 10.0 ** floor(log10(least))
    return next(step * power for step in (*_STEPS, 10) if step * power >= least * (1 - _SMALLEST))
