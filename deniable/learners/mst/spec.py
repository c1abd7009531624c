"""The entry of this learner in a release spec."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from deniable.learners.entry import CountingEntry, ParameterBudget
from deniable.roles import Role


class Entry(CountingEntry):
    """A tree of pairs.

    Attributes:
        noise: noise added to the counts.
        pooled: the division of a pool's records among the pooled values.
        parameters: the budget of all choices and counts; prior and estimate are unused.
    """

    certifies: ClassVar[bool] = True
    makes_buckets: ClassVar[bool] = True
    parts: ClassVar[tuple[str, ...]] = ("parameters",)
    steps: ClassVar[Mapping[str, str]] = {
        Role.PARAMETERS: "Chooses the pairs of a tree, and learns its probabilities from noisy counts.",
    }

    kind: Literal["mst"]
    noise: Literal["gaussian"] = "gaussian"
    pooled: Literal["noisy", "uniform"] = "noisy"
    parameters: ParameterBudget
