"""Factors of a log-linear distribution: tables of logarithms, and their merging into fewer tables.

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
