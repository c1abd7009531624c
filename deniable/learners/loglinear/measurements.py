"""The two private queries between rows and model: a noisy table, and a choice by the exponential mechanism.

All information about the data passes through them, as integers, and they keep the account. The selection of queries
does not belong here.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from deniable.foundation.domain import Codes
from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import Parameter, StreamOpener
from deniable.foundation.tables import Counts
from deniable.learners.loglinear.estimation.counting import Partition
from deniable.learners.loglinear.exponential_mechanism import choose
from deniable.learners.loglinear.plan import LoglinearPlan
from deniable.models.loglinear.flat_tables import Attributes
from deniable.models.noisy_marginals import NoisyMarginal, NoisySums


class PrivateQueries(Protocol):
    """Learning's only access to the data; an implementation that replays recorded answers is used to audit learning."""

    def measure(self, attributes: Attributes, partition: Partition, counts: Counts, shares: int) -> NoisyMarginal:
        """Release a table of counts or differences over a partition, with some shares of the budget.

        One row may change one entry by 1.
        """

    def choose(self, purpose: str, scores: Sequence[int]) -> int:
        """Release the number of a candidate, favouring high scores; one row may change each score by 1."""


@dataclass(eq=False)
class Measurements:
    """The private queries, with keyed noise.

    Attributes:
        plan: the budget.
        open_stream: opens the streams of this step.
        one_way: shares spent on one-way marginals by values.
        binned: shares spent on growing bins.
        shares: shares spent on tables of several attributes.
        choices: choices made, by purpose.
    """

    plan: LoglinearPlan
    open_stream: StreamOpener
    one_way: dict[int, int] = field(default_factory=dict)
    binned: dict[int, int] = field(default_factory=dict)
    shares: int = 0
    choices: dict[str, int] = field(default_factory=dict)
    _turn: int = 0

    def measure(self, attributes: Attributes, partition: Partition, counts: Counts, shares: int) -> NoisyMarginal:
        """Add noise to a table; see `PrivateQueries`.

        Raises:
            InvalidInput: the request exceeds the plan; nothing was drawn.
        """
        layout = self.plan.layout
        is_binned = len(attributes) == 1 and _has_bins(partition.buckets[attributes[0]])
        alone, own = (self.binned, layout.bin_shares) if is_binned else (self.one_way, layout.value_shares)
        planned = dict(zip(layout.counted, own, strict=True))
        # A one-way marginal gets all its planned shares the first time; further shares are among those of the tables.
        first = len(attributes) == 1 and attributes[0] not in alone
        if first and 0 < shares == planned.get(attributes[0]):
            alone[attributes[0]] = shares
        elif not first and 0 < shares <= layout.table_shares - self.shares:
            self.shares += shares
        else:
            raise InvalidInput(f"a table must stay within the planned shares, got {shares} more; plan more.")
        at_once = first and layout.ones_at_once
        law = self.plan.law(shares, at_once=at_once)
        stream = self.open_stream(mechanism="counts", parameters=self._parameters(attributes, partition, shares))
        multiplier = self.plan.releases(shares, at_once=at_once)
        noise = law.sample(stream, multiplier * counts.size).reshape(multiplier, *counts.shape)
        # The sum is released, because the mean would be a float whose last bits depend on the exact count.
        sums = multiplier * counts + noise.sum(axis=0)
        release = NoisySums(sums, multiplier, shares, self._turn)
        return NoisyMarginal(attributes, (release,), self.plan.noise, self.plan.amount)

    def choose(self, purpose: str, scores: Sequence[int]) -> int:
        """Make a choice by the exponential mechanism; see `PrivateQueries`.

        Raises:
            InvalidInput: the request exceeds the plan; nothing was drawn.
        """
        planned = {"tree": self.plan.layout.tree_choices, "extra": self.plan.layout.extra_choices}
        made = self.choices.get(purpose, 0)
        if made >= planned.get(purpose, 0):
            raise InvalidInput(f"there must be no more choices than planned, got one more than {made}; plan more.")
        self.choices[purpose] = made + 1
        stream = self.open_stream(
            mechanism="choice",
            parameters={
                "turn": self._next_turn(),
                "purpose": purpose,
                "number": made,
                "candidates": len(scores),
                "epsilon": self.plan.choice_epsilon,
                "domain": self.plan.domain.digest,
            },
        )
        return choose(scores, sensitivity=1, epsilon=self.plan.choice_epsilon, stream=stream)

    def _parameters(self, attributes: Attributes, partition: Partition, shares: int) -> dict[str, Parameter]:
        return {
            "turn": self._next_turn(),
            "attributes": [self.plan.domain.names[attribute] for attribute in attributes],
            "buckets": [partition.buckets[attribute].tolist() for attribute in attributes],
            "shares": shares,
            "noise": self.plan.noise,
            "amount": self.plan.amount,
            "domain": self.plan.domain.digest,
        }

    def _next_turn(self) -> int:
        self._turn += 1
        return self._turn


def _has_bins(buckets: Codes) -> bool:
    """Whether several values are counted together."""
    return int(buckets.max()) + 1 < len(buckets)
