"""Tables of several attributes, written flat: which attributes they have, and where a cell lies."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Attributes = tuple[int, ...]
"""Column numbers of a table's attributes, rising."""


def strides_of(shape: Sequence[int]) -> NDArray[np.int64]:
    """What a code of each axis counts for in a flat table, the last axis running fastest."""
    return np.concatenate([np.cumprod(np.asarray(shape[:0:-1], np.int64))[::-1], [1]]).astype(np.int64)
