"""Counts of small tables over a partition of the attributes' values, the only access of learning to the rows.

A row adds 1 to one cell of every table. The choice of tables and noise does not belong here.
"""

# numba infers the types of kernels
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, disallow-untyped-decorators=False

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Codes, Domain
from deniable.foundation.tables import Counts
from deniable.kernels import kernel
from deniable.models.loglinear.flat_tables import Attributes, strides_of

A_PAIR = 2
_AT_A_TIME = 4096
"""Number of rows counted per batch."""
_MOST_KEPT = 4_000_000
"""Largest number of cells of all tables kept, 32 MB."""
_SMALL = 1024
"""Largest number of cells of a table that is counted in two copies."""


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
        """The same partition, but with one bucket per value for one attribute."""
        return self.having(attribute, np.arange(len(self.buckets[attribute]), dtype=np.uint16))

    def having(self, attribute: int, buckets: Codes) -> "Partition":
        """The same partition, but with other buckets for one attribute."""
        return Partition((*self.buckets[:attribute], buckets, *self.buckets[attribute + 1 :]))

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


class _Tables(NamedTuple):
    """Tables as flat arrays for compiled code.

    Attributes:
        used: column number of each counted attribute.
        bucket_start: start of each one's buckets in `bucket`.
        bucket: bucket of each value.
        member_start: start of each table's attributes in `member` and `stride`, shape (tables + 1,).
        member: the tables' attributes, by their number in `used`.
        stride: stride of each of them.
        table_start: start of each table, shape (tables + 1,).
    """

    used: NDArray[np.int64]
    bucket_start: NDArray[np.int64]
    bucket: NDArray[np.int32]
    member_start: NDArray[np.int64]
    member: NDArray[np.int64]
    stride: NDArray[np.int64]
    table_start: NDArray[np.int64]


@kernel
def _add(codes, tables, counts):  # noqa: C901, PLR0912 - one kernel
    """Add rows to all tables, in batches whose buckets stay in the processor's cache; return whether all were valid.

    An invalid code ends the count, because compiled code would write outside the table. If a table is small, every
    other row is counted in a second copy: neighbouring rows are often in the same cell, and increments then need not
    wait for each other.
    """
    used, bucket, bucket_start = tables.used, tables.bucket, tables.bucket_start
    member, stride, member_start = tables.member, tables.stride, tables.member_start
    table_start = tables.table_start
    buckets = np.empty((len(used), _AT_A_TIME), np.int32)
    cells = np.empty(_AT_A_TIME, np.int64)
    second = np.zeros(_SMALL, np.int64)
    for begun in range(0, len(codes), _AT_A_TIME):
        some = min(len(codes) - begun, _AT_A_TIME)
        for r in range(some):
            for j in range(len(used)):
                at = bucket_start[j] + np.int64(codes[begun + r, used[j]])
                if at >= bucket_start[j + 1]:
                    return False
                buckets[j, r] = bucket[at]
        for table in range(len(table_start) - 1):
            cells[:some] = 0
            for place in range(member_start[table], member_start[table + 1]):
                own, by = buckets[member[place]], stride[place]
                for r in range(some):
                    cells[r] += own[r] * by
            first = counts[table_start[table] : table_start[table + 1]]
            if len(first) <= _SMALL:
                half = some // 2
                for r in range(half):
                    first[np.uint64(cells[r])] += 1
                    second[np.uint64(cells[half + r])] += 1
                for r in range(2 * half, some):
                    first[np.uint64(cells[r])] += 1
                for cell in range(len(first)):
                    first[cell] += second[cell]
                    second[cell] = 0
            else:
                for r in range(some):
                    first[np.uint64(cells[r])] += 1
    return True


@dataclass(frozen=True, eq=False)
class RowCounter:
    """A counter that reads the rows chunk by chunk, once per round of queries.

    Attributes:
        chunks: opens a new pass over the rows: value codes, shape (rows of a chunk, m).
    """

    chunks: Callable[[], Iterable[Codes]]

    def tables(self, partition: Partition, wanted: Sequence[Attributes]) -> list[Counts]:
        """Count several tables; see `Counter`.

        Raises:
            IndexError: a row lacks an attribute, or has an invalid code.
        """
        shapes = [partition.shape(attributes) for attributes in wanted]
        used = sorted({attribute for attributes in wanted for attribute in attributes})
        number = {attribute: j for j, attribute in enumerate(used)}
        starts = np.cumsum([0, *(prod(shape) for shape in shapes)]).astype(np.int64)
        tables = _Tables(
            used=np.asarray(used, np.int64),
            bucket_start=np.cumsum([0, *(len(partition.buckets[i]) for i in used)]).astype(np.int64),
            bucket=np.concatenate([np.zeros(0, np.int32), *(partition.buckets[i] for i in used)]).astype(np.int32),
            member_start=np.cumsum([0, *map(len, wanted)]).astype(np.int64),
            member=np.asarray([number[i] for attributes in wanted for i in attributes], np.int64),
            stride=np.asarray([stride for shape in shapes for stride in strides_of(shape).tolist()], np.int64),
            table_start=starts,
        )
        counts = np.zeros(starts[-1], np.int64)
        for codes in self.chunks():
            if used and used[-1] >= codes.shape[1]:
                raise IndexError(f"rows must have {used[-1] + 1} attributes at least, got {codes.shape[1]}.")
            if not _add(np.ascontiguousarray(codes, np.uint16), tables, counts):
                raise IndexError("codes of values must be below the number of their attribute's values, got others.")
        return [counts[a:b].reshape(shape) for a, b, shape in zip(starts, starts[1:], shapes, strict=False)]


class CountedOnce:
    """A counter that keeps what another has counted, so that most tables are counted once in several rounds.

    Args:
        counter: the other one.
        most_cells: largest number of cells kept, in tables over all partitions; further tables are counted each time.
    """

    def __init__(self, counter: Counter, most_cells: int = _MOST_KEPT) -> None:
        self._counter, self._left = counter, most_cells
        self._kept: dict[tuple[Partition, Attributes], Counts] = {}

    def tables(self, partition: Partition, wanted: Sequence[Attributes]) -> list[Counts]:
        """Count several tables; see `Counter`. No rows are read if all are kept for this object `partition`."""
        unknown = [those for those in dict.fromkeys(wanted) if (partition, those) not in self._kept]
        counted = dict(zip(unknown, self._counter.tables(partition, unknown), strict=True)) if unknown else {}
        for those, table in counted.items():
            if table.size <= self._left:
                self._left -= table.size
                # Nobody who gets a table may change what others get later.
                table.setflags(write=False)
                self._kept[partition, those] = table
        return [counted[those] if those in counted else self._kept[partition, those] for those in wanted]


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
        """The counts, as named arrays to be stored."""
        return {str(i): table for i, table in enumerate(self.tables)}

    def restore(self, arrays: Mapping[str, Counts]) -> None:
        """Restore the counts from the stored arrays."""
        self.tables = [arrays[str(i)] for i in range(len(self._wanted))]

    def _join(self, tables: Sequence[Counts]) -> None:
        for table, more in zip(self.tables, tables, strict=True):
            np.add(table, more, out=table)
