"""Contrasts of a table: for an attribute with two buckets, only the difference of the two is measured.

Their sum belongs to a table of fewer attributes, which is measured anyway; measuring both cells would spend budget on
a known number. One row changes one entry by 1, up or down: each entry has the sensitivity of a count, and symmetric
noise costs the same in both directions. A table of differences is therefore charged like a table of counts.

For an attribute of two buckets this is the residual query of Xiao, He, Zhang, Kifer 2023 (ResidualPlanner),
whose general form changes several entries at once. Further denoising of the answers does not belong here.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.tables import Counts
from deniable.measurements.noisy_tables import Cells

_TWO = 2


def contrast_shape(shape: Sequence[int]) -> tuple[int, ...]:
    """Shape of the contrasts of a table: axes of length two shrink to one."""
    return tuple(1 if size == _TWO else size for size in shape)


def contrast_counts(counts: Counts) -> Counts:
    """Contrasts of a table of counts: second minus first along each axis of length two."""
    return np.asarray(_differences(counts), np.int64)


def contrast(table: Cells) -> Cells:
    """Contrasts of a table of real numbers, such as expected counts."""
    return np.asarray(_differences(table), np.float64)


def _differences(table: NDArray[np.generic]) -> NDArray[np.generic]:
    for axis, size in enumerate(table.shape):
        if size == _TWO:
            table = np.diff(table, axis=axis)
    return table


def completed(
    released: Cells, expected: Cells, deviation: float, possible: NDArray[np.bool_] | None = None
) -> tuple[Cells, float]:
    """Noisy counts of all cells from a table's released entries and its known marginals.

    The difference between released and expected entries must sum to 0 along each axis, because the table's sums over
    one attribute are known more precisely from other tables: subtracting the means removes noise that would contradict
    them.

    Args:
        released: the noisy entries, shape `contrast_shape(expected.shape)`.
        expected: counts with the known sums over any one attribute.
        deviation: standard deviation of the noise of an entry.
        possible: where the table may have records, in the shape of `expected`, if known; entries that involve other
            cells follow from the marginals.

    Returns:
        Noisy counts, in the shape of `expected`, and the standard deviation of the remaining noise in each.
    """
    gap = released - contrast(expected)
    if possible is not None:
        free = possible
        for axis, size in enumerate(expected.shape):
            if size == _TWO:
                free = np.asarray(free.all(axis=axis, keepdims=True))
        gap = np.where(free, gap, 0.0)
        for axis, size in enumerate(gap.shape):
            if size > 1:
                gap = gap - free * gap.sum(axis=axis, keepdims=True) / np.maximum(free.sum(axis=axis, keepdims=True), 1)
                deviation *= np.sqrt(1 - 1 / size)
        return expected + _spread(gap, expected.shape), float(deviation / 2 ** expected.shape.count(_TWO))
    for axis, size in enumerate(gap.shape):
        if size > 1:
            gap = gap - gap.mean(axis=axis, keepdims=True)
            deviation *= np.sqrt(1 - 1 / size)
    twos = expected.shape.count(_TWO)
    return expected + _spread(gap, expected.shape), float(deviation / 2**twos)


def with_contrast(table: Cells, released: Cells) -> Cells:
    """The table with the released differences, and sums of two buckets unchanged."""
    return np.asarray(table + _spread(released - contrast(table), table.shape))


def _spread(differences: Cells, shape: Sequence[int]) -> Cells:
    """The cells with these differences that sum to 0 along each axis of length two."""
    for axis, size in enumerate(shape):
        if size == _TWO:
            differences = np.concatenate([-differences, differences], axis=axis) / 2
    return differences
