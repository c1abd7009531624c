"""Numbers records such that two have the same number if and only if they are equal.

Records of any domain become integers that sort, search and count quickly. Uses of the numbers do not belong here.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Codes
from deniable.foundation.errors import InvalidInput

Numbers = NDArray[np.int64]

_PACKED_LIMIT = 2**62


def assign_record_keys(tables: Sequence[Codes], cardinalities: Sequence[int]) -> tuple[Numbers, ...]:
    """Number the records of several tables consistently.

    Args:
        tables: value codes, shapes (rows, c).
        cardinalities: number of values of each of the c columns.

    Returns:
        Numbers of the records of each table, shapes (rows,).

    Raises:
        InvalidInput: a code is not in its column's domain.
    """
    rows = np.concatenate(tables)
    if len(rows) and (rows.max(axis=0, initial=0) >= np.asarray(cardinalities)).any():
        msg = "every code must be in its attribute's domain, got a larger one; encode the tables with one domain."
        raise InvalidInput(msg)
    numbers = np.zeros(len(rows), np.int64)
    span = 1
    for column, cardinality in enumerate(cardinalities):
        if span * cardinality > _PACKED_LIMIT:
            # Renumbering the distinct prefixes 0, 1, 2 ... leaves room for more attributes.
            distinct, numbers = np.unique(numbers, return_inverse=True)
            span = max(len(distinct), 1)
        numbers = numbers * cardinality + rows[:, column]
        span *= cardinality
    return tuple(np.split(numbers, np.cumsum([len(table) for table in tables])[:-1]))


def number_of_distinct(numbers: Numbers) -> int:
    """The count of distinct numbers.

    Numbers are sorted, here and in `those_among`: NumPy's `unique` and `isin` use hash tables, which takes thirty
    times as long for a million numbers or more.
    """
    ordered = np.sort(numbers)
    return int(np.count_nonzero(ordered[1:] != ordered[:-1])) + bool(len(ordered))


def those_among(numbers: Numbers, others: Numbers) -> Numbers:
    """The numbers that occur in another array, in ascending order, each as often as it occurs.

    Args:
        numbers: shape (rows,).
        others: the other array, shape (others,).
    """
    ordered = np.sort(numbers)
    found: Numbers = ordered[occur_in(ordered, np.sort(others))]
    return found


def occur_in(numbers: Numbers, known: Numbers) -> NDArray[np.bool_]:
    """Which numbers occur in another array.

    Args:
        numbers: shape (rows,).
        known: the other array, ascending, shape (known,).

    Returns:
        Whether each does, shape (rows,).
    """
    if not len(known):
        return np.zeros(len(numbers), bool)
    found: NDArray[np.bool_] = known[np.minimum(np.searchsorted(known, numbers), len(known) - 1)] == numbers
    return found
