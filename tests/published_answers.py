"""Doors that return the answers of a published `measured.json`: its integers and its chosen candidates."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.tables import Counts
from deniable.learners.loglinear.estimation.counting import Partition, RowCounter
from deniable.learners.loglinear.learning import Learnt, learn
from deniable.learners.loglinear.plan import LoglinearPlan
from deniable.measurements.noisy_tables import Release
from deniable.models.noisy_marginals import NoisyMarginal, NoisySums


class PublishedAnswers:
    """A document's released answers by turn; the actual counts are ignored."""

    def __init__(self, document: Mapping[str, Any], plan: LoglinearPlan) -> None:
        self._plan = plan
        releases = [
            Release.from_document(each)
            for entry in document["tables"]
            for each in (*entry["releases"], *entry.get("binned", ()))
        ]
        self._tables = iter(sorted(releases, key=lambda release: release.turn))
        self._choices = iter(document["choices"])

    def measure(self, attributes: tuple[int, ...], partition: Partition, counts: Counts, shares: int) -> NoisyMarginal:
        del partition
        release = next(self._tables)
        assert (release.cost * self._plan.amount, release.sums.shape) == (shares, counts.shape)
        sums = NoisySums(release.sums, release.multiplier, shares, release.turn)
        return NoisyMarginal(attributes, (sums,), self._plan.noise, self._plan.amount)

    def choose(self, purpose: str, scores: Sequence[int]) -> int:
        choice = next(self._choices)
        assert (choice["purpose"], choice["candidates"]) == (purpose, len(scores))
        return int(choice["chosen"])

    @property
    def all_given(self) -> bool:
        """Whether all answers were given."""
        return next(self._tables, None) is None and next(self._choices, None) is None


def no_rows(plan: LoglinearPlan) -> RowCounter:
    """Return a counter of a table without rows."""
    empty = np.zeros((0, len(plan.domain)), np.uint16)
    return RowCounter(partial(list, [empty]))


def learnt_again(
    document: Mapping[str, Any], plan: LoglinearPlan, words: Callable[[str, int], NDArray[np.uint32]]
) -> Learnt:
    """Learn from a published document and the random words of made-up populations, without any table."""
    doors = PublishedAnswers(document, plan)
    learnt = learn(plan, no_rows(plan), doors, words)
    assert doors.all_given
    return learnt
