"""Which tables may be asked for, what each of them holds, and how far it is from what is expected.

A table is of buckets; of a pair one attribute may be counted by values instead, which says what becomes of them within
their buckets. What was asked in which turn does not belong here, nor noise.
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
from deniable.models.contrasts import contrast, contrast_counts, contrast_shape
from deniable.models.loglinear.flat_tables import Attributes
from deniable.models.noisy_marginals import Cells

_NOISE = 0.4
"""Mean noise that an entry must be off by for the rest to count when a table is chosen."""
_TRIPLES_PER_ATTRIBUTE = 0.75
"""Most triples that are chosen, for each attribute."""
_LARGEST_TRIPLE = 600
"""Entries."""
_LARGEST_BY_VALUES = 10_000
"""Values of one attribute times those of the other."""


@dataclass(frozen=True, order=True)
class CandidateQuery:
    """A table that may be asked for.

    Attributes:
        attributes: its attributes, rising.
        guided: the one of a pair that is counted by values, the other one being its guide; -1 if all are by buckets.
    """

    attributes: Attributes
    guided: int = -1

    @property
    def guide(self) -> int:
        """The other attribute of a pair of which one is counted by values."""
        first, second = self.attributes
        return first if second == self.guided else second


@dataclass(frozen=True, eq=False)
class CandidateQueries:
    """All that may be asked of a table of people.

    Attributes:
        domain: the public domain.
        buckets: the buckets of each attribute.
        target: the attribute that triples are with, if any.
    """

    domain: Domain
    buckets: tuple[Bucketed, ...]
    target: int | None

    @cached_property
    def partition(self) -> Partition:
        """What tables of buckets tell apart."""
        return Partition(tuple(own.of_value for own in self.buckets))

    @cached_property
    def most_triples(self) -> int:
        """Most triples that are chosen."""
        return round(_TRIPLES_PER_ATTRIBUTE * sum(size > 1 for size in self.domain.cardinalities))

    def partition_of(self, question: CandidateQuery) -> Partition:
        """What a table tells apart."""
        return self.partition if question.guided < 0 else self.partition.by_values(question.guided)

    def entries(self, question: CandidateQuery) -> int:
        """Numbers that are released of a table."""
        return prod(contrast_shape(self.partition_of(question).shape(question.attributes)))

    def values_within(self, pairs: Sequence[Attributes]) -> list[CandidateQuery]:
        """Pairs with one attribute by its values, where its buckets hold several of them."""
        values, sizes = self.domain.cardinalities, self.partition.sizes
        return sorted(
            CandidateQuery(pair, guided)
            for pair in pairs
            for guided in pair
            if guided != self.target and sizes[guided] < values[guided]
            if values[pair[0]] * values[pair[1]] <= _LARGEST_BY_VALUES
        )

    def triples(self, pairs: AbstractSet[Attributes]) -> list[CandidateQuery]:
        """The triples of the target and two attributes that all pairs are there of, unless they are large."""
        if self.target is None:
            return []
        triples = {tuple(sorted({*pair, self.target})) for pair in pairs if self.target not in pair}
        known = [CandidateQuery(triple) for triple in sorted(triples) if {*combinations(triple, A_PAIR)} <= pairs]
        return [question for question in known if self.entries(question) <= _LARGEST_TRIPLE]

    def may_follow(self, question: CandidateQuery, asked: Sequence[CandidateQuery]) -> bool:
        """Whether a table may be asked for after others: there are not too many triples, and no guide has a guide."""
        if question in asked:
            return False
        if question.guided >= 0:
            with_guide = {other.guided for other in asked if other.guided >= 0}
            guides = {other.guide for other in asked if other.guided >= 0}
            return question.guided not in with_guide | guides and question.guide not in with_guide
        triples = sum(len(other.attributes) > A_PAIR for other in asked)
        return len(question.attributes) == A_PAIR or triples < self.most_triples

    def expected(self, question: CandidateQuery, counts: Cells) -> Cells:
        """What is expected of a table where this is expected of the attributes' buckets."""
        if question.guided < 0:
            return counts
        return by_values(counts, question.attributes.index(question.guided), self.buckets[question.guided])

    def answers(self, wanted: Sequence[CandidateQuery], counter: Counter) -> dict[CandidateQuery, Counts]:
        """Count tables of the rows: confidential, differences where an attribute has two buckets."""
        found: dict[CandidateQuery, Counts] = {}
        of_buckets = [question for question in wanted if question.guided < 0]
        if of_buckets:
            tables = counter.tables(self.partition, [question.attributes for question in of_buckets])
            found |= zip(of_buckets, tables, strict=True)
        finer = [question for question in wanted if question.guided >= 0]
        if finer:
            # Rows are read once more for all of them: by values, which are then added up to the guides' buckets.
            pairs = list(dict.fromkeys(question.attributes for question in finer))
            by_pair = dict(zip(pairs, counter.tables(Partition.finest(self.domain), pairs), strict=True))
            for question in finer:
                axis = question.attributes.index(question.guide)
                found[question] = self.buckets[question.guide].added_up_along(by_pair[question.attributes], axis)
        return {question: contrast_counts(found[question]) for question in wanted}


def score(answer: Counts, expected: Cells, noise: float) -> int:
    """How far a table is from what is expected of it, beyond what noise hides of each entry.

    One row changes it by 1 at most.

    Args:
        answer: what would be released of the table but for noise.
        expected: what is expected of the table.
        noise: mean noise of an entry.
    """
    gap = np.abs(answer - np.rint(contrast(expected)).astype(np.int64))
    return int(np.maximum(gap - round(_NOISE * noise), 0).sum())
