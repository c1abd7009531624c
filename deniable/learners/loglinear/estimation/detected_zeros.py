"""Undeclared structural zeros, inferred from noisy tables.

A cell is taken as empty if independent attributes would have many records there, and its noisy count is more likely
under a count of 0 than under a uniform distribution of counts up to that number. Whole rows are tested as well: if, by
the same criterion, one or two cells hold all records of a row, the others are empty, however small their expected
counts. This detects skip patterns, copies and recodings, which concentrate on a few large cells. Shrinkage alone would
leave a few records in each such cell, and many in total.

Only noisy counts are used: this is post-processing. Declared rules do not belong here (structural_zeros).
"""

from math import log, pi, sqrt

import numpy as np
from numpy.typing import NDArray

from deniable.measurements.noisy_tables import Cells

_MISSED = 8.0
"""Smallest expected count under independence, in noise deviations, of cells that may be taken as empty."""
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
        Shape of `noisy`; False where a zero is inferred.
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
    """The empty cells of rows whose records are all in one or two other cells."""
    empty = np.zeros(noisy.shape, np.bool_)
    size = noisy.shape[1]
    order = np.argsort(-noisy, axis=1, kind="stable")
    found, expected = (np.take_along_axis(table, order, axis=1) for table in (noisy, independent))
    for cells in range(min(_LARGEST_CELLS, size - 1), 0, -1):
        # The row sum is known, so the rest of the row has the noise of the smaller group of cells.
        noise = deviation * sqrt(min(cells, size - cells))
        rests = zip(_rests(found, cells), _rests(expected, cells), strict=True)
        for row in [row for row, (own, independently) in enumerate(rests) if _is_zero(own, independently, noise)]:
            empty[row, order[row, cells:]] = True
    return empty


def _rests(table: Cells, cells: int) -> list[float]:
    """Sums of a table's rows without their first cells."""
    sums: list[float] = table[:, cells:].sum(axis=1).tolist()
    return sums


def _is_zero(noisy: float, independent: float, noise: float) -> bool:
    """Whether a noisy count is likelier at 0 than under uniform counts up to the one under independence."""
    if independent < _MISSED * noise:
        return False
    return bool(noisy <= noise * sqrt(2 * log(independent / (noise * sqrt(2 * pi)))))
