"""The numbers of a column: low, low + step ..., exactly, whatever a program stores in their place."""

from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from deniable.foundation.errors import InvalidInput

# How many units in the last place a number computed in 64 bits may be off, as by .1 + .2.
_COMPUTED_ULPS = 4


@dataclass(frozen=True)
class Grid:
    """The numbers of a column: low, low + step ...

    Attributes:
        low: the first.
        step: the distance between them.
        count: their number.
        whole: whether they are integers; otherwise they are floats.
    """

    low: Fraction
    step: Fraction
    count: int
    whole: bool

    @classmethod
    def of(cls, low: float, high: float, step: float) -> "Grid":
        """The numbers from low to high.

        Raises:
            InvalidInput: they do not go from low to high in whole steps.
        """
        first, last, unit = as_written(low), as_written(high), as_written(step)
        if not (last >= first and unit > 0 and (last - first) % unit == 0):
            raise InvalidInput(
                f"a numeric column must go from low to high in whole steps, got {low} to {high} in {step}."
            )
        return cls(first, unit, int((last - first) / unit) + 1, is_whole(low) and is_whole(step))

    @property
    def number_step(self) -> float:
        """The step, of the type of the numbers."""
        return int(self.step) if self.whole else float(self.step)

    def number(self, place: int) -> float:
        """A number of the grid: an integer, or the nearest float."""
        exact = self.low + self.step * place
        return int(exact) if self.whole else float(exact)

    def numbers(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """Numbers of the grid, as floats: a quotient of integers below 2^53 is the nearest float."""
        scale = lcm(self.low.denominator, self.step.denominator)
        return np.asarray((places * int(self.step * scale) + int(self.low * scale)) / scale, np.float64)

    def nearest(self, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
        """Place of the nearest number of the grid; of two that are equally near, the upper one."""
        with np.errstate(invalid="ignore"):
            near = np.clip(np.nan_to_num((numbers - float(self.low)) / float(self.step)), 0, self.count - 1)
            lower = np.floor(near).astype(np.int64)
            upper = np.minimum(lower + 1, self.count - 1)
            is_lower = numbers - self.numbers(lower) < self.numbers(upper) - numbers
        return np.asarray(np.where(is_lower, lower, upper), np.int64)

    def as_meant(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """The number of the grid for each number that is one as programs store it; all others as they are.

        A program may have stored it in 32 bits, or computed it in 64, which leaves errors in the last digits.
        """
        if self.whole or not numbers.size:
            return numbers
        near = self.numbers(self.nearest(numbers))
        with np.errstate(over="ignore", invalid="ignore"):
            stored = near.astype(np.float32).astype(np.float64) == numbers
            computed = np.abs(numbers - near) <= _COMPUTED_ULPS * np.spacing(np.abs(near))
        return np.where(stored | computed, near, numbers)

    def reaches(self, numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether numbers are between the first and the last."""
        return np.asarray((numbers >= self.number(0)) & (numbers <= self.number(self.count - 1)), bool)

    def holds(self, column: pd.Series) -> pd.Series:
        """Whether numbers are on the grid; non-numbers, and numbers beyond it, are left to other checks."""
        numbers = column.to_numpy(np.float64, na_value=np.nan)
        if self.low.denominator == self.step.denominator == 1:
            with np.errstate(invalid="ignore"):
                on_grid = ~np.isfinite(numbers) | ((numbers - int(self.low)) % int(self.step) == 0)
        else:
            on_grid = ~self.reaches(numbers) | (self.numbers(self.nearest(numbers)) == numbers)
        return pd.Series(on_grid, column.index)


def as_written(number: float) -> Fraction:
    """A number as written: .1 is a tenth."""
    return Fraction(str(number))


def is_whole(number: object) -> bool:
    """Whether a number is an integer by its type."""
    return isinstance(number, int | np.integer) and not isinstance(number, bool)
