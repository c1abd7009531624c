"""The scale of a line on a page: the positions of values, and the round numbers written below it.

How a line is drawn does not belong here.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Final

_MARGIN: Final = 0.04
"""Share of a line that is left free at its end, so that points there are not cut off."""
_STEPS: Final = (1, 2, 5)
_MOST_TICKS: Final = 5
_SMALLEST: Final = 1e-6


@dataclass(frozen=True)
class Tick:
    """A round number on a line.

    Attributes:
        place: its position, in percent of the line.
        text: the number.
    """

    place: float
    text: str


@dataclass(frozen=True)
class LineScale:
    """The scale of a line.

    Attributes:
        least: the value at its start.
        most: the value at its end.
    """

    least: float
    most: float

    def place(self, value: float) -> float:
        """Position of a value, in percent of the line."""
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
    """The scale of a line that contains all given values.

    Args:
        values: the values shown on the line.
        least: the line starts at this value or below it.

    Returns:
        The scale; its length is positive, whatever the values are.
    """
    held = [least, *values]
    low, high = min(held), max(held)
    high = max(high, low + _SMALLEST)
    return LineScale(low, high + _MARGIN * (high - low))


def _round_step(least: float) -> float:
    """The smallest number of the form 1, 2 or 5 times a power of ten that is not below a number."""
    power = 10.0 ** floor(log10(least))
    return next(step * power for step in (*_STEPS, 10) if step * power >= least * (1 - _SMALLEST))
