"""Tables of several attributes as flat arrays: their attributes, and the position of a cell."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Attributes = tuple[int, ...]
"""Column numbers of a table's attributes, in ascending order."""


def strides_of(shape: Sequence[int]) -> NDArray[np.int64]:
    """Stride of each axis in a flat table; the last axis varies fastest."""
    strides = [1]
    for size in shape[:0:-1]:
        strides.append(strides[-1] * int(size))
    return np.asarray(strides[::-1], np.int64)
