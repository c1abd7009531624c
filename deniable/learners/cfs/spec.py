"""The entry of this learner in a release spec."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from deniable.learners.entry import CountingEntry, ParameterBudget, StructureBudget


class Entry(CountingEntry):
    """The papers' Bayesian network: a graph, then probabilities.

    Attributes:
        noise: noise added to entropies and counts.
        structure: the learning of the graph.
        parameters: the learning of the probabilities.
    """

    reads_buckets: ClassVar[bool] = True
    parts: ClassVar[tuple[str, ...]] = ("structure", "parameters")
    steps: ClassVar[Mapping[str, str]] = {
        "learn_structure": "Learns from noisy counts which attributes depend on which.",
        "learn_parameters": "Learns the probabilities of the model from noisy counts.",
    }

    kind: Literal["cfs"]
    noise: Literal["laplace", "gaussian"]
    structure: StructureBudget
    parameters: ParameterBudget
