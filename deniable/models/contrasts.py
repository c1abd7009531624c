"""What is asked of a table: where an attribute has two buckets, only the difference of the two.

The sum of the two is a table of fewer attributes, which is asked for anyway; with both, a cell would have noise for two
numbers of which one is known. One row changes one entry by one, up or down: each entry has the sensitivity of a count,
and noise that is even around 0 costs the same either way. So a table of differences is charged as a table of counts.

For an attribute of two buckets this is the residual query of Xiao, He, Zhang, Kifer 2023 (ResidualPlanner),
whose general form changes several entries at once. How the answer is denoised does not belong here.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.tables import Counts
from deniable.models.noisy_marginals import Cells

_TWO = 2


def contrast_shape(shape: Sequence[int]) -> tuple[int, ...]:
    """Shape of what is asked of a table of some shape: axes of two shrink to one."""
    return tuple(1 if size == _TWO else size for size in shape)


def contrast_counts(counts: Counts) -> Counts:
    """What is asked of a table of counts: the second minus the first along each axis of two."""
    return np.asarray(_differences(counts), np.int64)


def contrast(table: Cells) -> Cells:
    """The same of any table, such as what is expected of one."""
    return np.asarray(_differences(table), np.float64)


def _differences(table: NDArray[np.generic]) -> NDArray[np.generic]:
    for axis, size in enumerate(table.shape):
        if size == _TWO:
            table = np.diff(table, axis=axis)
    return table


def completed(released: Cells, expected: Cells, deviation: float) -> tuple[Cells, float]:
    """Noisy counts of all cells from what was released of a table and what is known besides.

    Each axis of the gap between the two is known to add up to 0, for the table's sums over one attribute are known
    better from elsewhere: taking its means out takes out the noise that would contradict them.

    Args:
        released: the noisy answer, shape `contrast_shape(expected.shape)`.
        expected: counts whose sums over any one attribute are those that are known.
        deviation: standard deviation of the noise of an entry.

    Returns:
        Noisy counts, in the shape of `expected`, and the standard deviation of the noise that is left in each.
    """
    gap = released - contrast(expected)
    for axis, size in enumerate(gap.shape):
        if size > 1:
            gap = gap - gap.mean(axis=axis, keepdims=True)
            deviation *= np.sqrt(1 - 1 / size)
    twos = expected.shape.count(_TWO)
    return expected + _spread(gap, expected.shape), float(deviation / 2**twos)


def with_contrast(table: Cells, released: Cells) -> Cells:
    """A table with other differences and the same sums of two buckets."""
    return np.asarray(table + _spread(released - contrast(table), table.shape))


def _spread(differences: Cells, shape: Sequence[int]) -> Cells:
    """The cells, adding up to 0 along each axis of two, that have these differences."""
    for axis, size in enumerate(shape):
        if size == _TWO:
            differences = np.concatenate([-differences, differences], axis=axis) / 2
    return differences
