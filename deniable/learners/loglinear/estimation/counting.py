"""Counts of small tables over a partition of the attributes' values: the only view of the rows that learning has.

A row adds one to one cell of every table. Which tables are measured, and with what noise, does not belong here.
"""

# numba infers the types of kernels
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, disallow-untyped-decorators=False

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numba
import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Codes, Domain
from deniable.foundation.tables import Counts
from deniable.models.loglinear.flat_tables import Attributes, strides_of

A_PAIR = 2


@dataclass(frozen=True, eq=False)
class Partition:
    """The bucket of each value of each attribute.

    Attributes:
        buckets: bucket of each code, numbered 0, 1, 2 ..., shape (cardinality,) for each attribute.
    """

    buckets: tuple[Codes, ...]

    @classmethod
    def finest(cls, domain: Domain) -> "Partition":
        """The partition with one bucket per value."""
        return cls(tuple(np.arange(size, dtype=np.uint16) for size in domain.cardinalities))

    def by_values(self, attribute: int) -> "Partition":
        """The same partition, except for one attribute, which has one bucket per value."""
        finest = np.arange(len(self.buckets[attribute]), dtype=np.uint16)
        return Partition((*self.buckets[:attribute], finest, *self.buckets[attribute + 1 :]))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of buckets of each attribute."""
        return tuple(int(bucket.max()) + 1 for bucket in self.buckets)

    def shape(self, attributes: Attributes) -> tuple[int, ...]:
        """Shape of a table of some attributes."""
        return tuple(self.sizes[attribute] for attribute in attributes)


class Counter(Protocol):
    """Counts tables of the confidential rows, and gives no other access to them."""

    def tables(self, partition: Partition, wanted: Sequence[Attributes]) -> list[Counts]:
        """Count several tables in one pass, each of the shape given by `partition.shape`."""


@numba.njit(nogil=True, cache=True)
def _add(columns, strides, counts):
    """Add rows to one table, whose cell is the sum of its attributes' codes times their strides."""
    if len(columns) == 1:
        for r in range(columns.shape[1]):
            counts[columns[0, r]] += 1
    elif len(columns) == 2:
        for r in range(columns.shape[1]):
            counts[columns[0, r] * strides[0] + columns[1, r]] += 1
    else:
        for r in range(columns.shape[1]):
            cell = 0
            for j in range(len(columns)):
                cell += columns[j, r] * strides[j]
            counts[cell] += 1


def count(columns: NDArray[np.int32], shape: Sequence[int]) -> Counts:
    """Count rows into one table.

    Args:
        columns: bucket codes of the table's attributes, shape (attributes, rows).
        shape: the table's shape.
    """
    counts = np.zeros(int(np.prod(shape, dtype=np.int64)), np.int64)
    _add(columns, strides_of(shape), counts)
    return counts.reshape(shape)


@dataclass(frozen=True, eq=False)
class RowCounter:
    """A counter that reads the rows chunk by chunk, once for each round of queries.

    Attributes:
        chunks: opens a new pass over the rows: value codes, shape (rows of a chunk, m).
    """

    chunks: Callable[[], Iterable[Codes]]

    def tables(self, partition: Partition, wanted: Sequence[Attributes]) -> list[Counts]:
        """Count several tables; see `Counter`."""
        found = [np.zeros(partition.shape(attributes), np.int64) for attributes in wanted]
        used = sorted({attribute for attributes in wanted for attribute in attributes})
        places = [[used.index(attribute) for attribute in attributes] for attributes in wanted]
        buckets = [partition.buckets[i].astype(np.int32) for i in used]
        for codes in self.chunks():
            columns = np.stack([bucket[codes[:, i]] for bucket, i in zip(buckets, used, strict=True)])
            for table, place in zip(found, places, strict=True):
                _add(columns[place], strides_of(table.shape), table.reshape(-1))
        return found


class SmallTables:
    """Counts of several tables over a partition.

    Args:
        partition: the buckets of the attributes.
        wanted: column numbers of each table's attributes.
    """

    def __init__(self, partition: Partition, wanted: Sequence[Attributes]) -> None:
        self._partition, self._wanted = partition, wanted
        self.tables: list[Counts] = [np.zeros(partition.shape(attributes), np.int64) for attributes in wanted]

    def add(self, codes: Codes) -> None:
        """Count more rows, value codes of shape (rows, m)."""
        self._join(RowCounter(lambda: [codes]).tables(self._partition, self._wanted))

    def merge(self, other: "SmallTables") -> None:
        """Add the counts of other rows of the same table."""
        self._join(other.tables)

    @property
    def arrays(self) -> dict[str, Counts]:
        """The counts, to be stored by name."""
        return {str(i): table for i, table in enumerate(self.tables)}

    def restore(self, arrays: Mapping[str, Counts]) -> None:
        """Restore the counts from what was stored."""
        self.tables = [arrays[str(i)] for i in range(len(self._wanted))]

    def _join(self, tables: Sequence[Counts]) -> None:
        for table, more in zip(self.tables, tables, strict=True):
            np.add(table, more, out=table)
