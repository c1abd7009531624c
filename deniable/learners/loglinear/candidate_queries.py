"""The tables that may be measured, their entries, and their distance from the expected counts.

Tables count buckets. In a pair, one attribute may be counted by its values instead, which gives the distribution of
values within its buckets. The order of the measurements and the noise do not belong here.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod

import numpy as np

from deniable.foundation.domain import Domain
from deniable.foundation.tables import Counts
from deniable.learners.loglinear.estimation.buckets import Bucketed
from deniable.learners.loglinear.estimation.counting import A_PAIR, Counter, Partition
from deniable.learners.loglinear.estimation.within_bucket_tables import by_values
from deniable.measurements.noisy_tables import Cells
from deniable.models.contrasts import contrast, contrast_counts, contrast_shape
from deniable.models.loglinear.flat_tables import Attributes

_NOISE = 0.4
"""Deviations below this multiple of the mean noise are ignored in the choice of tables."""
_TRIPLES_PER_ATTRIBUTE = 0.75
"""Largest number of chosen triples per attribute."""
_LARGEST_TRIPLE = 600
"""Largest number of entries of a triple."""
_LARGEST_BY_VALUES = 10_000
"""Largest number of cells of a pair by values."""


@dataclass(frozen=True, order=True)
class CandidateQuery:
    """A table that may be measured.

    Attributes:
        attributes: its attributes, in ascending order.
        guided: the attribute of a pair that is counted by values, the other being its guide; -1 if all are by buckets.
    """

    attributes: Attributes
    guided: int = -1

    @property
    def guide(self) -> int:
        """The attribute of a pair that is counted by buckets while the other is counted by values."""
        first, second = self.attributes
        return first if second == self.guided else second


@dataclass(frozen=True, eq=False)
class CandidateQueries:
    """All tables that may be measured.

    Attributes:
        domain: the public domain.
        buckets: the buckets of each attribute.
        target: the attribute that every triple includes, if any.
    """

    domain: Domain
    buckets: tuple[Bucketed, ...]
    target: int | None

    @cached_property
    def partition(self) -> Partition:
        """The partition of tables of buckets."""
        return Partition(tuple(own.of_value for own in self.buckets))

    @cached_property
    def finest(self) -> Partition:
        """The partition with one bucket per value."""
        return Partition.finest(self.domain)

    @cached_property
    def most_triples(self) -> int:
        """Largest number of chosen triples."""
        return round(_TRIPLES_PER_ATTRIBUTE * sum(size > 1 for size in self.domain.cardinalities))

    def partition_of(self, question: CandidateQuery) -> Partition:
        """The partition of a table."""
        return self.partition if question.guided < 0 else self.partition.by_values(question.guided)

    def entries(self, question: CandidateQuery) -> int:
        """Number of released entries of a table."""
        return prod(contrast_shape(self.partition_of(question).shape(question.attributes)))

    def values_within(self, pairs: Sequence[Attributes]) -> list[CandidateQuery]:
        """Pairs with one attribute counted by values, if its buckets contain several values."""
        values, sizes = self.domain.cardinalities, self.partition.sizes
        return sorted(
            CandidateQuery(pair, guided)
            for pair in pairs
            for guided in pair
            if guided != self.target and sizes[guided] < values[guided]
            if values[pair[0]] * values[pair[1]] <= _LARGEST_BY_VALUES
        )

    def triples(self, pairs: AbstractSet[Attributes]) -> list[CandidateQuery]:
        """Triples of the target and two attributes with all pairs measured, unless they are too large."""
        if self.target is None:
            return []
        triples = {tuple(sorted({*pair, self.target})) for pair in pairs if self.target not in pair}
        known = [CandidateQuery(triple) for triple in sorted(triples) if {*combinations(triple, A_PAIR)} <= pairs]
        return [question for question in known if self.entries(question) <= _LARGEST_TRIPLE]

    def may_follow(self, candidates: Sequence[CandidateQuery], asked: Sequence[CandidateQuery]) -> list[CandidateQuery]:
        """The tables that may be measured after others, in order; triples are limited, and guides have no guide.

        Args:
            candidates: the tables.
            asked: the tables measured before.
        """
        before = set(asked)
        guided = {each.guided for each in asked if each.guided >= 0}
        guides = {each.guide for each in asked if each.guided >= 0}
        full = sum(len(each.attributes) > A_PAIR for each in asked) >= self.most_triples
        return [
            each
            for each in candidates
            if (each.guided < 0 or (each.guided not in guided | guides and each.guide not in guided))
            if not full or len(each.attributes) == A_PAIR
            if each not in before
        ]

    def expected(self, question: CandidateQuery, counts: Cells) -> Cells:
        """Expected counts of a table, given the expected counts over buckets."""
        if question.guided < 0:
            return counts
        return by_values(counts, question.attributes.index(question.guided), self.buckets[question.guided])

    def answers(self, wanted: Sequence[CandidateQuery], counter: Counter) -> dict[CandidateQuery, Counts]:
        """Count tables of the rows (confidential), as differences for attributes of two buckets."""
        found: dict[CandidateQuery, Counts] = {}
        of_buckets = [question for question in wanted if question.guided < 0]
        if of_buckets:
            tables = counter.tables(self.partition, [question.attributes for question in of_buckets])
            found |= zip(of_buckets, tables, strict=True)
        finer = [question for question in wanted if question.guided >= 0]
        if finer:
            # All of these pairs are counted by values in one more pass; counts are then summed to the guides' buckets.
            pairs = list(dict.fromkeys(question.attributes for question in finer))
            by_pair = dict(zip(pairs, counter.tables(self.finest, pairs), strict=True))
            for question in finer:
                axis = question.attributes.index(question.guide)
                found[question] = self.buckets[question.guide].added_up_along(by_pair[question.attributes], axis)
        return {question: contrast_counts(found[question]) for question in wanted}


def score(answer: Counts, expected: Cells, noise: float) -> int:
    """L1 distance of a table from its expected counts, minus the part of each entry that noise would hide.

    Its sensitivity to one row is 1.

    Args:
        answer: the exact entries.
        expected: the expected counts of the table.
        noise: mean noise of an entry.
    """
    gap = np.abs(answer - np.rint(contrast(expected)).astype(np.int64))
    return int(np.maximum(gap - round(_NOISE * noise), 0).sum())
