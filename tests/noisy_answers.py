"""Noisy counts for broken twins, from NumPy's generators, which the project itself may not use."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Records = NDArray[np.int64]
"""Codes of records, shape (rows, attributes)."""


class Answer(NamedTuple):
    """A published table.

    Attributes:
        attributes: its attributes.
        scale: the scale of its noise according to the published code.
        counts: its noisy counts, one axis for each attribute.
    """

    attributes: tuple[int, ...]
    scale: float
    counts: NDArray[Any]


Release = Callable[[Records, tuple[int, ...], float, bytes], list[Answer]]
"""What a mechanism publishes, given records, the attributes' numbers of values, the epsilon it claims, and a secret."""


def counted(records: Records, sizes: tuple[int, ...], attributes: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the exact counts of some attributes, one axis for each."""
    shape = tuple(sizes[i] for i in attributes)
    cells = np.ravel_multi_index(tuple(records[:, i] for i in attributes), shape)
    return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape)


def generator(secret: bytes) -> np.random.Generator:
    """Return a generator that is unknown without the secret."""
    return np.random.default_rng(list(secret))


def noisy(counts: NDArray[np.int64], scale: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return counts with discrete Laplace noise, the difference of two geometric numbers."""
    stop = -np.expm1(-1 / scale)
    return np.asarray(counts + rng.geometric(stop, counts.shape) - rng.geometric(stop, counts.shape))
