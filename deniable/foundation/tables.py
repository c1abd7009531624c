"""Contingency tables: the additive sufficient statistics from which all models are learnt.

The counts of chunks sum to the counts of the table, so the table is never needed as a whole. Noise, entropies and
models do not belong here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Codes, Domain, Parents
from deniable.kernels import kernel

Counts = NDArray[np.int64]


class Tally(Protocol):
    """Counts of rows, updated chunk by chunk; tallies of other rows can be merged into it."""

    def add(self, codes: Codes) -> None:
        """Count more rows, value codes of shape (rows, m)."""

    def merge(self, other: Self) -> None:
        """Add the counts of other rows of the same table."""

    @property
    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """The counts so far, as named arrays to be stored."""

    def restore(self, arrays: Mapping[str, Counts]) -> None:
        """Restore the counts from the stored arrays."""


@kernel
def _count_pairs(codes, cardinalities, starts, ones, pairs):
    """Add rows to all one-way and two-way tables; a row adds 1 to one cell of each table."""
    rows, m = codes.shape
    one_starts = np.zeros(m, np.int64)
    for i in range(1, m):
        one_starts[i] = one_starts[i - 1] + cardinalities[i - 1]
    for r in range(rows):
        pair = 0
        for i in range(m):
            x = np.int64(codes[r, i])
            ones[one_starts[i] + x] += 1
            for j in range(i + 1, m):
                pairs[starts[pair] + x * cardinalities[j] + codes[r, j]] += 1
                pair += 1


@dataclass
class PairCounts:
    """All one-way and two-way counts of a table, without bucketization.

    Attributes:
        domain: the table's domain, m attributes.
        rows: number of rows counted, n.
        ones: the one-way tables, one after the other.
        pairs: the two-way tables of i < j, one after the other.
    """

    domain: Domain
    rows: int = 0
    ones: Counts = field(init=False, repr=False)
    pairs: Counts = field(init=False, repr=False)
    _starts: Counts = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Make empty tables."""
        sizes = self.domain.cardinalities
        m = len(sizes)
        areas = [sizes[i] * sizes[j] for i in range(m) for j in range(i + 1, m)]
        self._starts = np.concatenate(([0], np.cumsum(areas, dtype=np.int64))).astype(np.int64)
        self.ones = np.zeros(sum(sizes), np.int64)
        self.pairs = np.zeros(self._starts[-1], np.int64)

    def add(self, codes: Codes) -> None:
        """Count more rows.

        Args:
            codes: value codes, shape (rows, m).
        """
        _count_pairs(codes, np.asarray(self.domain.cardinalities, np.int64), self._starts, self.ones, self.pairs)
        self.rows += len(codes)

    def merge(self, other: "PairCounts") -> None:
        """Add the counts of other rows of the same table."""
        self.ones += other.ones
        self.pairs += other.pairs
        self.rows += other.rows

    @property
    def arrays(self) -> dict[str, Counts]:
        """The counts so far, as named arrays to be stored."""
        return {"rows": np.asarray([self.rows]), "ones": self.ones, "pairs": self.pairs}

    def restore(self, arrays: Mapping[str, Counts]) -> None:
        """Restore the counts from the stored arrays."""
        self.rows, self.ones, self.pairs = int(arrays["rows"][0]), arrays["ones"], arrays["pairs"]

    def one(self, i: int) -> Counts:
        """Counts of attribute i, shape (|x_i|,)."""
        start = sum(self.domain.cardinalities[:i])
        return self.ones[start : start + self.domain.cardinalities[i]]

    def pair(self, i: int, j: int) -> Counts:
        """Counts of attributes i and j, shape (|x_i|, |x_j|)."""
        if i > j:
            return self.pair(j, i).T
        m = len(self.domain)
        number = i * m - i * (i + 1) // 2 + j - i - 1
        sizes = self.domain.cardinalities
        return self.pairs[self._starts[number] : self._starts[number + 1]].reshape(sizes[i], sizes[j])


def bucketize(counts: Counts, buckets: Codes, axis: int) -> Counts:
    """Sum the counts of the values in each bucket along one axis.

    Args:
        counts: a table of counts.
        buckets: bucket of each value of that axis, numbered 0, 1, 2 ...
        axis: the axis.

    Returns:
        The coarser table.
    """
    moved = np.moveaxis(counts, axis, 0)
    coarse = np.zeros((int(buckets.max()) + 1, *moved.shape[1:]), np.int64)
    np.add.at(coarse, buckets, moved)
    return np.moveaxis(coarse, 0, axis)


def configuration_strides(domain: Domain, parents: tuple[int, ...]) -> tuple[int, ...]:
    """Strides that turn the parents' buckets into a configuration number; the last parent varies fastest."""
    strides = []
    stride = 1
    for parent in reversed(parents):
        strides.append(stride)
        stride *= domain.bucket_counts[parent]
    return tuple(reversed(strides))


def configuration_count(domain: Domain, parents: tuple[int, ...]) -> int:
    """Number of configurations of bucketized parents, cost(P) in Bindschaedler, Shokri, Gunter 2017, eq. 6."""
    return int(np.prod([domain.bucket_counts[parent] for parent in parents], dtype=np.int64))


@dataclass
class FamilyCounts:
    """For each attribute, its counts by configuration of its bucketized parents.

    Attributes:
        domain: the table's domain, m attributes.
        parents: the parents of each attribute.
        tables: counts of each attribute, shape (configurations, |x_i|).
    """

    domain: Domain
    parents: Parents
    tables: tuple[Counts, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Make empty tables."""
        self.tables = tuple(
            np.zeros((configuration_count(self.domain, parents), attribute.cardinality), np.int64)
            for attribute, parents in zip(self.domain.attributes, self.parents, strict=True)
        )

    def add(self, codes: Codes) -> None:
        """Count more rows.

        Args:
            codes: value codes, shape (rows, m).
        """
        attributes = self.domain.attributes
        buckets = [attribute.bucket_of[codes[:, i]].astype(np.int64) for i, attribute in enumerate(attributes)]
        for i, (parents, table) in enumerate(zip(self.parents, self.tables, strict=True)):
            cell = codes[:, i].astype(np.int64)
            for parent, stride in zip(parents, configuration_strides(self.domain, parents), strict=True):
                cell += buckets[parent] * (stride * attributes[i].cardinality)
            np.add(table, np.bincount(cell, minlength=table.size).reshape(table.shape), out=table)

    def merge(self, other: "FamilyCounts") -> None:
        """Add the counts of other rows of the same table."""
        for table, more in zip(self.tables, other.tables, strict=True):
            np.add(table, more, out=table)

    @property
    def arrays(self) -> dict[str, Counts]:
        """The counts so far, as named arrays to be stored."""
        return {str(i): table for i, table in enumerate(self.tables)}

    def restore(self, arrays: Mapping[str, Counts]) -> None:
        """Restore the counts from the stored arrays."""
        self.tables = tuple(arrays[str(i)] for i in range(len(self.tables)))


@dataclass
class FirstRows:
    """The first records of a table, kept as a tally.

    Attributes:
        attributes: number of attributes, m.
        most: largest number of records to keep.
        codes: the records, shape (rows, m).
    """

    attributes: int
    most: int
    codes: Counts = field(init=False)

    def __post_init__(self) -> None:
        """Begin without records."""
        self.codes = np.zeros((0, self.attributes), np.int64)

    def add(self, codes: Codes) -> None:
        """Keep more records, value codes of shape (rows, m)."""
        self.codes = np.concatenate([self.codes, codes[: self.most - len(self.codes)].astype(np.int64)])

    def merge(self, other: "FirstRows") -> None:
        """Keep the records of another tally of the same table, in order."""
        self.codes = np.concatenate([self.codes, other.codes])[: self.most]

    @property
    def arrays(self) -> dict[str, Counts]:
        """The records, as named arrays to be stored."""
        return {"codes": self.codes}

    def restore(self, arrays: Mapping[str, Counts]) -> None:
        """Restore the records from the stored arrays."""
        self.codes = arrays["codes"]
