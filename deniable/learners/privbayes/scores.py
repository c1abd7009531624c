"""Distance of an attribute from independence of its parents, on counts and in integers.

Source: the R score of Zhang et al. 2017, section 4.3, times 2 n; its sensitivity is derived in README.md.
"""

import numpy as np

from deniable.foundation.tables import Counts

# Largest number of rows n for which no sum overflows: sums of absolute values are below 2 n^2.
_SAFE_ROWS = 1 << 30


def dependence(table: Counts) -> int:
    """The sum of |T - r c / n| over all cells, rounded down; its sensitivity to one record is at most 4.

    Args:
        table: counts T of n records, shape (configurations, values).
    """
    rows = int(table.sum())
    if rows == 0:
        return 0
    counts = table if rows <= _SAFE_ROWS else table.astype(object)
    margins = np.multiply.outer(counts.sum(axis=1), counts.sum(axis=0))
    return int(np.abs(rows * counts - margins).sum()) // rows
