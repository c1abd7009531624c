"""A table as vectors of norm at most 1, by a public bound, whose sums are sums over counts of values.

Source: Bindschaedler, Shokri, Gunter 2017, section 6.3, for the encoding.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.evaluation.linear.losses import Floats
from deniable.foundation.domain import Attribute, Codes


@dataclass(frozen=True, eq=False)
class Records:
    """Records as d numbers of norm at most 1 by a public bound, and labels.

    Categories are one number for each value, numeric attributes one number in [0, 1], and a constant is added; all are
    divided by the root of the number of attributes. The numbers of an attribute follow from its value, so that sums
    over records are sums over counts of values, and of pairs of values.

    Attributes:
        columns: the value of each attribute, a constant first, shapes (n,).
        numbers: for each of them the numbers of each value, shape (values, numbers): one column, or a multiple of the
            unit matrix.
        labels: -1 or 1, shape (n,).
    """

    columns: tuple[NDArray[np.int64], ...]
    numbers: tuple[Floats, ...]
    labels: Floats

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        """Where the numbers of each attribute end."""
        return np.cumsum([each.shape[1] for each in self.numbers])

    @property
    def size(self) -> int:
        """The number of numbers, d."""
        return int(self.ends[-1])

    def __len__(self) -> int:
        """The number of records, n."""
        return len(self.labels)

    def products(self, w: Floats) -> Floats:
        """The product of each record with a vector, shape (n,)."""
        found = np.zeros(len(self))
        for column, numbers, own in zip(self.columns, self.numbers, np.split(w, self.ends[:-1]), strict=True):
            found += _product(numbers, own)[column]
        return found

    def weighted(self, weights: Floats) -> Floats:
        """The sum of all records, each times its weight, shape (d,)."""
        return np.concatenate([
            _product(numbers.T, np.bincount(column, weights, len(numbers)))
            for column, numbers in zip(self.columns, self.numbers, strict=True)
        ])  # fmt: skip

    def squares(self, weights: Floats) -> Floats:
        """The sum of the outer products of all records with themselves, each times its weight, shape (d, d)."""
        found = np.empty((self.size, self.size))
        places = [slice(end - each.shape[1], end) for end, each in zip(self.ends, self.numbers, strict=True)]
        for (i, j), cells in self._cells.items():
            one, other = self.numbers[i], self.numbers[j]
            table = np.bincount(cells, weights, len(one) * len(other)).reshape(len(one), len(other))
            found[places[i], places[j]] = _product(other.T, _product(one.T, table).T).T
            found[places[j], places[i]] = found[places[i], places[j]].T
        return found

    @cached_property
    def _cells(self) -> dict[tuple[int, int], NDArray[np.int64]]:
        """The pair of values of each record, by pair of attributes."""
        return {
            (i, j): self.columns[i] * len(self.numbers[j]) + self.columns[j]
            for i, j in combinations_with_replacement(range(len(self.columns)), 2)
        }


def _product(numbers: Floats, values: NDArray[Any]) -> Floats:
    """The product of a matrix and a vector or a matrix, in an order that does not depend on the machine.

    Args:
        numbers: a row, a column, or a multiple of the unit matrix.
        values: shape (columns of `numbers`, ...).
    """
    if numbers.shape[0] == numbers.shape[1]:
        return np.asarray(numbers[0, 0] * values)
    return np.asarray(np.einsum("ij,j...->i...", numbers, values), np.float64)


def encoded(attributes: Sequence[Attribute], codes: Codes, labels: NDArray[np.bool_]) -> Records:
    """A table as records of numbers.

    Args:
        attributes: the attributes from which the label is predicted.
        codes: their values, shape (n, m).
        labels: whether the label is 1, shape (n,).
    """
    root = np.sqrt(len(attributes) + 1)
    columns, numbers = [np.zeros(len(codes), np.int64)], [np.ones((1, 1)) / root]
    for column, attribute in zip(codes.T, attributes, strict=True):
        size = attribute.cardinality
        columns.append(column.astype(np.int64))
        numeric = attribute.kind == "numeric"
        numbers.append((np.arange(size)[:, None] / max(size - 1, 1) if numeric else np.eye(size)) / root)
    return Records(tuple(columns), tuple(numbers), np.where(labels, 1.0, -1.0))
