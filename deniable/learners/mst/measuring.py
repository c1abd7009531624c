"""The private queries, the only outputs from the counts: a noisy table, or a choice by the exponential mechanism.

Turns number all queries of a release in order; each query has its own stream.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from deniable.foundation.domain import Codes
from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import StreamOpener
from deniable.foundation.noise import DiscreteGaussian
from deniable.foundation.tables import Counts
from deniable.learners.loglinear.exponential_mechanism import choose
from deniable.learners.mst.plan import MstPlan
from deniable.measurements.document import Choice
from deniable.measurements.noisy_tables import MeasuredTable, NoiseLaw, Release


@dataclass(eq=False)
class Queries:
    """The queries, with keyed noise, within a plan.

    Attributes:
        plan: the budget.
        open_stream: opens the streams of this step.
        tables: the released tables.
        choices: the choices made.
    """

    plan: MstPlan
    open_stream: StreamOpener
    tables: list[MeasuredTable] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)

    def measure_one(self, attribute: int, counts: Counts) -> MeasuredTable:
        """Release the counts of an attribute's values."""
        measured = [table for table in self.tables if len(table.attributes) == 1]
        self._require(len(measured) < len(self.plan.layout.counted))
        return self._released((attribute,), counts, NoiseLaw("gaussian", self.plan.one_way_variance), "one-way", ())

    def measure_several(
        self, attributes: tuple[int, ...], counts: Counts, buckets: Sequence[Codes], reason: str
    ) -> MeasuredTable:
        """Release the counts of several attributes by buckets."""
        number = sum(len(table.attributes) > 1 for table in self.tables)
        layout = self.plan.layout
        self._require(number < (layout.choices or len(layout.cliques)))
        self._require(bool(layout.choices) or attributes == layout.cliques[number])
        law = NoiseLaw("gaussian", self.plan.variance_of(number))
        return self._released(attributes, counts, law, reason, buckets)

    def choose(self, scores: Sequence[int], pairs: Sequence[tuple[int, int]]) -> int:
        """Release the number of a pair, favouring high scores; one record may change each score by 1."""
        self._require(len(self.choices) < self.plan.layout.choices)
        turn = self._next()
        stream = self.open_stream(
            mechanism="choice",
            parameters={
                "turn": turn,
                "candidates": [[self.plan.domain.names[i] for i in pair] for pair in pairs],
                "epsilon": self.plan.choice_epsilon,
                "domain": self.plan.domain.digest,
            },
        )
        picked = choose(scores, sensitivity=1, epsilon=self.plan.choice_epsilon, stream=stream)
        self.choices.append(Choice(turn, "tree", len(scores), picked, pairs[picked]))
        return picked

    def _released(
        self, attributes: tuple[int, ...], counts: Counts, law: NoiseLaw, reason: str, buckets: Sequence[Codes]
    ) -> MeasuredTable:
        turn = self._next()
        stream = self.open_stream(
            mechanism="counts",
            parameters={
                "turn": turn,
                "attributes": [self.plan.domain.names[i] for i in attributes],
                "buckets": [own.tolist() for own in buckets],
                "variance": law.amount,
                "domain": self.plan.domain.digest,
            },
        )
        noise = DiscreteGaussian(law.amount).sample(stream, counts.size).reshape(counts.shape)
        by_values = () if buckets else attributes
        table = MeasuredTable(attributes, (Release(counts + noise, law, turn),), by_values, reason=reason)
        self.tables.append(table)
        return table

    def _require(self, planned: bool) -> None:  # noqa: FBT001 - what must hold
        if not planned:
            raise InvalidInput("no more may be measured than was planned, got one query more; plan more.")

    def _next(self) -> int:
        return len(self.tables) + len(self.choices) + 1
