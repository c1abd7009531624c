"""Exponentials and logarithms with the same digits on every processor.

On processors with wider registers, NumPy uses other routines, with other last digits. Here both functions consist of
additions, multiplications and divisions, whose rounding IEEE 754 determines.

Source: Cody and Waite 1980, chapters 5 and 6.
"""

from math import factorial, sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

Cells = NDArray[np.float64]

_LOG2_E: Final = 1.4426950408889634
# ln 2 in two parts; products of the first with integers of up to 20 bits are exact.
_LN2_HIGH: Final = 0.693147180369123816490
_LN2_LOW: Final = 1.90821492927058770002e-10
_SMALLEST: Final = -708.0
_LARGEST: Final = 709.0
_TERMS: Final = [1 / factorial(n) for n in range(14)]
_ODD: Final = [2 / n for n in range(1, 24, 2)]
_BIAS, _MANTISSA = 1023, 52
# Blocks of this length stay in the processor's cache between the operations.
_BLOCK: Final = 1 << 14


def exponential(exponents: Cells) -> Cells:
    """Exponentials, to about 1e-15; 0 below e^-708.

    Args:
        exponents: numbers of at most 709, or minus infinity, in any shape.
    """
    found = np.empty(exponents.shape, np.float64)
    flat, source = found.reshape(-1), np.ascontiguousarray(exponents, np.float64).reshape(-1)
    for start in range(0, source.size, _BLOCK):
        flat[start : start + _BLOCK] = _exponential(source[start : start + _BLOCK])
    return found


def _exponential(exponents: Cells) -> Cells:
    inside = np.minimum(np.maximum(exponents, _SMALLEST), _LARGEST)
    doublings = np.rint(inside * _LOG2_E)
    rest = inside - doublings * _LN2_HIGH
    rest -= doublings * _LN2_LOW
    found = np.full_like(rest, _TERMS[-1])
    for term in reversed(_TERMS[:-1]):
        found *= rest
        found += term
    found *= ((doublings.astype(np.int64) + _BIAS) << _MANTISSA).view(np.float64)
    found *= exponents > _SMALLEST
    return found


def logarithm(numbers: Cells) -> Cells:
    """The natural logarithm of each number, to about 1e-15; minus infinity for 0.

    Args:
        numbers: numbers of at least 0, in any shape.
    """
    mantissa, exponent = np.frexp(numbers)
    low = mantissa < sqrt(0.5)
    mantissa = np.where(low, mantissa * 2, mantissa)
    exponent = exponent - low
    ratio = (mantissa - 1) / (mantissa + 1)
    square = ratio * ratio
    found = np.full_like(ratio, _ODD[-1])
    for term in reversed(_ODD[:-1]):
        found *= square
        found += term
    found *= ratio
    found += exponent * _LN2_LOW
    found += exponent * _LN2_HIGH
    return np.where(numbers > 0, found, -np.inf)
