"""The choices of PrivBayes: the next attribute, and its parents among earlier attributes.

Only the exponential mechanism uses counts, as integer scores.

Source: Zhang et al. 2017, Algorithm 4; Ping, Stoyanovich, Howe 2017, Algorithm 1.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import comb, prod
from typing import TypeAlias

import numpy as np

from deniable.foundation.keys import StreamOpener
from deniable.learners.loglinear.exponential_mechanism import choose
from deniable.learners.privbayes.counting import Family, FamilyTables, cells_of
from deniable.learners.privbayes.plan import SENSITIVITY, NetworkPlan
from deniable.learners.privbayes.scores import dependence
from deniable.mechanisms import Counter

Network: TypeAlias = tuple[Family, ...]
"""The families in the order of their choice, the first without parents."""

MOST_CANDIDATES = 20_000
"""Largest number of parent sets considered in a round, over all attributes; if there are more, a sample is drawn."""
_CELLS_AT_A_TIME = 1 << 24


@dataclass(eq=False)
class NetworkSearch:
    """The sequence of choices.

    Attributes:
        plan: the budget.
        counter: counts the rows.
        open_stream: opens the streams of this step.
    """

    plan: NetworkPlan
    counter: Counter
    open_stream: StreamOpener

    def run(self) -> Network:
        """Choose the families of all attributes with several values."""
        counted = self.plan.counted
        if not self.plan.choices:
            return tuple(Family((), child) for child in counted)
        stream = self.open_stream(mechanism="first", parameters={"domain": self.plan.domain.digest})
        first = choose([0] * len(counted), sensitivity=1, epsilon=self.plan.choice_epsilon, stream=stream)
        chosen = [Family((), counted[first])]
        scores: dict[Family, int] = {}
        while len(chosen) < len(counted):
            candidates = self._candidates([family.child for family in chosen])
            scores |= self._scores([family for family in candidates if family not in scores], len(chosen))
            stream = self.open_stream(
                mechanism="choice",
                parameters={
                    "turn": len(chosen),
                    "candidates": len(candidates),
                    "epsilon": self.plan.choice_epsilon,
                    "domain": self.plan.domain.digest,
                },
            )
            picked = choose(
                [scores[family] for family in candidates],
                sensitivity=SENSITIVITY,
                epsilon=self.plan.choice_epsilon,
                stream=stream,
            )
            chosen.append(candidates[picked])
        return tuple(chosen)

    def _candidates(self, before: Sequence[int]) -> list[Family]:
        """The candidates for the next choice; public, given earlier choices."""
        left = [child for child in self.plan.counted if child not in before]
        if len(before) <= self.plan.degree:
            return self._of_first_table(before, left)
        each = max(MOST_CANDIDATES // len(left), 1)
        return [family for child in left for family in self._families(child, sorted(before), each)]

    def _of_first_table(self, before: Sequence[int], left: Sequence[int]) -> list[Family]:
        """Candidates for the first joint table, with all earlier attributes as parents, that keep it small."""
        sizes = self.plan.domain.cardinalities
        cells = prod(sizes[i] for i in before)
        fitting = [child for child in left if cells * sizes[child] <= self.plan.max_cells]
        least = min(sizes[child] for child in left)
        return [Family(tuple(sorted(before)), child) for child in fitting or [c for c in left if sizes[c] == least]]

    def _families(self, child: int, before: Sequence[int], most: int) -> list[Family]:
        """Sets of parents of an attribute: of the planned size, or of the largest size with small tables."""
        for size in range(self.plan.degree, 0, -1):
            found = [Family(parents, child) for parents in self._sets(child, before, size, most)]
            fitting = [family for family in found if cells_of(self.plan.domain, family) <= self.plan.max_cells]
            if fitting:
                return fitting
        return [Family((), child)]

    def _sets(self, child: int, before: Sequence[int], size: int, most: int) -> Iterator[tuple[int, ...]]:
        """All sets of a given size or, if there are too many, a uniform sample of the largest permitted number."""
        if comb(len(before), size) <= most:
            yield from combinations(before, size)
            return
        stream = self.open_stream(
            mechanism="candidates", parameters={"turn": len(before), "attribute": child, "size": size}
        )
        # A set consists of the first attributes in the order of random words, two of which are equal with probability
        # 2^-32.
        words = stream.take(most * len(before)).reshape(most, len(before))
        drawn = np.sort(np.argsort(words, axis=1, kind="stable")[:, :size], axis=1)
        yield from sorted({tuple(before[place] for place in places) for places in drawn.tolist()})

    def _scores(self, families: Sequence[Family], turn: int) -> dict[Family, int]:
        """Scores of families (confidential), counted in batches that fit in memory."""
        found: dict[Family, int] = {}
        for number, batch in enumerate(_batches(families, [cells_of(self.plan.domain, each) for each in families])):
            empty = partial(FamilyTables, self.plan.domain, batch)
            counts = self.counter.count(empty, f"candidates {turn}-{number}")
            found |= {family: dependence(table) for family, table in zip(batch, counts.tables, strict=True)}
        return found


def _batches(families: Sequence[Family], cells: Sequence[int]) -> Iterator[list[Family]]:
    batch: list[Family] = []
    held = 0
    for family, size in zip(families, cells, strict=True):
        if batch and held + size > _CELLS_AT_A_TIME:
            yield batch
            batch, held = [], 0
        batch.append(family)
        held += size
    if batch:
        yield batch
