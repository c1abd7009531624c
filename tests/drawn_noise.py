"""Helpers for tests of noise distributions: many draws in little time, and a test of their independence."""

import math

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.keys import Parameter, ReleaseKey, WordStream

# Among independent columns, one pair in 10^11 has a correlation this far from 0.
_FAR = 7


class OneStream:
    """Opens one stream repeatedly, at the word where the last draw ended: many runs of a step in little time."""

    def __init__(self, name: str) -> None:
        key = ReleaseKey(bytes(range(32)))
        self._stream = key.stream(step="test", mechanism=name, inputs="", parameters={})

    def __call__(self, *, mechanism: str, parameters: dict[str, Parameter]) -> WordStream:  # noqa: ARG002
        return self._stream


def each_is_on_its_own(noise: NDArray[np.float64]) -> bool:
    """Whether all columns, and their magnitudes, are pairwise uncorrelated; shape (runs, columns)."""
    for table in (noise, np.abs(noise)):
        between = np.corrcoef(table, rowvar=False)[np.triu_indices(noise.shape[1], 1)]
        if not (np.isfinite(between).all() and np.abs(between).max() < _FAR / math.sqrt(len(noise))):
            return False
    return True
