"""Counts of attributes by sets of parents; an attribute may have several tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import NamedTuple

import numpy as np

from deniable.foundation.domain import Codes, Domain
from deniable.foundation.tables import Counts, configuration_count, configuration_strides


class Family(NamedTuple):
    """An attribute and its parents, by column number; parents are in ascending order."""

    parents: tuple[int, ...]
    child: int


def cells_of(domain: Domain, family: Family) -> int:
    """Number of cells of a family's table."""
    return configuration_count(domain, family.parents) * domain.cardinalities[family.child]


def by_values(domain: Domain) -> Domain:
    """The domain with one bucket per value, so that parents are used by value."""
    finest = (replace(each, buckets=tuple(range(each.cardinality))) for each in domain.attributes)
    return replace(domain, attributes=tuple(finest))


@dataclass
class FamilyTables:
    """Counts of families.

    Attributes:
        domain: the table's domain.
        families: the counted families.
        tables: the counts of each, shape (configurations of the parents' buckets, values of the child).
    """

    domain: Domain
    families: Sequence[Family]
    tables: list[Counts] = field(init=False)

    def __post_init__(self) -> None:
        """Make empty tables."""
        sizes = self.domain.cardinalities
        self.tables = [
            np.zeros((configuration_count(self.domain, parents), sizes[child]), np.int64)
            for parents, child in self.families
        ]

    def add(self, codes: Codes) -> None:
        """Count more rows, value codes of shape (rows, m)."""
        numbered = sorted(enumerate(self.families), key=lambda pair: pair[1])
        sizes = self.domain.cardinalities
        for parents, families in groupby(numbered, key=lambda pair: pair[1].parents):
            configuration = self._configuration(codes, parents)
            for number, (_, child) in families:
                cell = configuration * sizes[child] + codes[:, child]
                table = self.tables[number]
                np.add(table, np.bincount(cell, minlength=table.size).reshape(table.shape), out=table)

    def _configuration(self, codes: Codes, parents: tuple[int, ...]) -> Counts:
        """The number of each row's configuration of the parents' buckets."""
        found = np.zeros(len(codes), np.int64)
        for parent, stride in zip(parents, configuration_strides(self.domain, parents), strict=True):
            found += stride * self.domain.attributes[parent].bucket_of[codes[:, parent]].astype(np.int64)
        return found

    def merge(self, other: "FamilyTables") -> None:
        """Add the counts of other rows of the same table."""
        for table, more in zip(self.tables, other.tables, strict=True):
            np.add(table, more, out=table)

    @property
    def arrays(self) -> dict[str, Counts]:
        """The counts, as named arrays to be stored."""
        return {str(i): table for i, table in enumerate(self.tables)}

    def restore(self, arrays: Mapping[str, Counts]) -> None:
        """Restore the counts from the stored arrays."""
        self.tables = [arrays[str(i)] for i in range(len(self.tables))]
