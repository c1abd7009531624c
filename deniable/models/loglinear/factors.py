"""Factors of a log-linear distribution: tables of logarithms, their merging into fewer tables, and weights of values.

Drawing values does not belong here (kernels).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from deniable.models.loglinear.flat_tables import Attributes

# Factors are summed in advance if their table stays in the processor's cache.
_MERGED_CELLS = 1 << 15

Logs = NDArray[np.int32]
Weights = NDArray[np.int64]

STEPS = 4096
"""Logarithms are multiples of 1 / 4096 bit."""
WITHIN = 1 << 30
"""Sum of the weights of the values in one bucket."""
_TOTAL_BITS = 30
LEADING = np.rint(2.0 ** (_TOTAL_BITS - np.arange(STEPS) / STEPS)).astype(np.int32)
"""2^30 times 2^(-k / 4096)."""


@dataclass(frozen=True, eq=False)
class LogTable:
    """One factor: its contribution to an attribute's log-odds, in integer multiples of 2^-12 bit.

    Attributes:
        parents: the attributes it depends on, by column number.
        logs: shape (buckets of each parent ..., buckets of the attribute).
    """

    parents: Attributes
    logs: Logs


def merged(factors: Sequence[LogTable], sizes: Sequence[int], most: int) -> list[LogTable]:
    """The same distribution from fewer tables: from one of at most so many cells, or as few as stay in the cache.

    Tables are summed two at a time, the smallest sum first.
    """
    groups = list(factors)
    parents = {parent for factor in groups for parent in factor.parents}
    most = most if prod((sizes[p] for p in parents), start=groups[0].logs.shape[-1]) <= most else _MERGED_CELLS
    while len(groups) > 1:
        cells = [
            (int(np.prod([float(sizes[p]) for p in {*a.parents, *b.parents}], initial=a.logs.shape[-1])), i, j)
            for j, b in enumerate(groups)
            for i, a in enumerate(groups[:j])
        ]
        least, i, j = min(cells)
        if least > most:
            break
        groups[i] = _added(groups[i], groups.pop(j), sizes)
    return groups


def _added(a: LogTable, b: LogTable, sizes: Sequence[int]) -> LogTable:
    """The sum of two tables."""
    parents = tuple(sorted({*a.parents, *b.parents}))
    total = np.zeros((*(sizes[p] for p in parents), a.logs.shape[-1]), np.int32)
    for table in (a, b):
        ascending = np.argsort(table.parents).tolist()
        logs = table.logs.transpose(*ascending, len(ascending))
        total += logs.reshape([*(sizes[p] if p in table.parents else 1 for p in parents), -1])
    return LogTable(parents, total)


def running_within(
    bucket: NDArray[np.uint16], within: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Cumulative weights within each bucket, excluding and including each value, row by row.

    Args:
        bucket: bucket of each value, shape (values,).
        within: weights of the values, shape (rows, values).

    Returns:
        Both as flat arrays, shape (rows * values,).
    """
    order = np.argsort(bucket, kind="stable")
    running = np.cumsum(within[:, order], axis=1)
    begun = np.concatenate([[0], np.cumsum(np.bincount(bucket))[:-1]])
    before = np.concatenate([np.zeros((len(within), 1), np.int64), running], axis=1)[:, begun]
    high = np.empty_like(within)
    high[:, order] = running - before[:, bucket[order]]
    return (high - within).ravel(), high.ravel()
