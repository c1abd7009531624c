"""Structural zeros that nobody declared, as noisy tables show them.

A cell counts as empty if independent attributes would have many records there, and its noisy count is likelier if there
are none than if any number up to that many were as likely as any other. What single cells cannot show, a whole row may:
if one or two of its cells hold all of its records by the same measure, the others are empty, however small each of them
is. So skip patterns, copies and recodings are found, which share a few large cells. Shrinkage alone leaves a few
records in each such cell, and many in all.

Only noisy counts are used: this is post-processing. What rules declare does not belong here (structural_zeros).
"""

from math import log, pi, sqrt

import numpy as np
from numpy.typing import NDArray

from deniable.measurements.noisy_tables import Cells

_MISSED = 8.0
"""Fewest records, in deviations of the noise, that independent attributes would have in cells that are to be empty."""
_LARGEST_CELLS = 2
"""Largest number of cells that may hold all records of a row."""


def occupied(noisy: Cells, deviation: float, rows: Cells, columns: Cells) -> NDArray[np.bool_]:
    """The cells of a table of two attributes that may hold records.

    Args:
        noisy: noisy counts whose sums are the margins, shape (buckets of the first, buckets of the second).
        deviation: standard deviation of the noise of a cell, above 0.
        rows: counts of the first attribute's buckets.
        columns: counts of the second attribute's buckets; the same sum.

    Returns:
        Shape of `noisy`; false where the noisy counts show a zero.
    """
    independent = np.multiply.outer(rows, columns) / max(float(rows.sum()), 1.0)
    empty = np.zeros(noisy.shape, np.bool_)
    for cell in np.argwhere(independent >= _MISSED * deviation):
        at = tuple(cell)
        empty[at] = _is_zero(noisy[at], independent[at], deviation)
    empty |= _rest_of_rows(noisy, independent, deviation)
    empty |= _rest_of_rows(noisy.T, independent.T, deviation).T
    return np.asarray(~empty)


def _rest_of_rows(noisy: Cells, independent: Cells, deviation: float) -> NDArray[np.bool_]:
    """The cells of those rows whose records are all in one or two other cells."""
    empty = np.zeros(noisy.shape, np.bool_)
    size = noisy.shape[1]
    for row, order in enumerate(np.argsort(-noisy, axis=1, kind="stable")):
        for cells in range(1, min(_LARGEST_CELLS, size - 1) + 1):
            rest = order[cells:]
            # The sum of a row is known, so that its rest has the noise of the fewer cells of the two.
            noise = deviation * sqrt(min(cells, size - cells))
            if _is_zero(noisy[row, rest].sum(), independent[row, rest].sum(), noise):
                empty[row, rest] = True
                break
    return empty


def _is_zero(noisy: float, independent: float, noise: float) -> bool:
    """Whether a noisy count is likelier at zero than under an even law of counts up to that of independence."""
    if independent < _MISSED * noise:
        return False
    return bool(noisy <= noise * sqrt(2 * log(independent / (noise * sqrt(2 * pi)))))
