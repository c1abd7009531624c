"""Compiled loops over whole tables: counts and sums in the cells of marginals, and distances to the nearest records."""

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Codes
from deniable.kernels import kernel


@kernel
def count_cells(
    columns: Codes,
    attributes: NDArray[np.int64],
    strides: NDArray[np.int64],
    starts: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:  # pragma: no cover
    """Add the rows of a chunk to each marginal's cells, one marginal at a time, so that its cells stay in cache."""
    marginals, width = attributes.shape
    for k in range(marginals):
        for r in range(columns.shape[1]):
            cell = starts[k]
            for j in range(width):
                cell += strides[k, j] * columns[attributes[k, j], r]
            counts[cell] += 1


@kernel
def sum_of_cells(
    columns: Codes,
    attributes: NDArray[np.int64],
    strides: NDArray[np.int64],
    starts: NDArray[np.int64],
    values: NDArray[np.float64],
) -> NDArray[np.float64]:  # pragma: no cover
    """For each row, the sum of the values of its cells, in the order of the marginals."""
    marginals, width = attributes.shape
    sums = np.zeros(columns.shape[1])
    for k in range(marginals):
        for r in range(columns.shape[1]):
            cell = starts[k]
            for j in range(width):
                cell += strides[k, j] * columns[attributes[k, j], r]
            sums[r] += values[cell]
    return sums


@kernel
def nearest(records: Codes, others: Codes) -> NDArray[np.int64]:  # pragma: no cover
    """Hamming distance from each record to the nearest of the others."""
    rows, m = records.shape
    distances = np.empty(rows, np.int64)
    # By columns, so that many of the others are compared at a time.
    columns = np.ascontiguousarray(others.T)
    differ = np.empty(len(others), np.uint16)
    for r in range(rows):
        differ[:] = 0
        for j in range(m):
            column, value = columns[j], records[r, j]
            for s in range(len(column)):
                differ[s] += column[s] != value
        distances[r] = min(m, differ.min()) if len(differ) else m
    return distances
