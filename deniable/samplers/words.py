"""What a sampler says of itself where no template can: in the statement for machines, in a diagram, on a card."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

Figures: TypeAlias = Mapping[str, Mapping[str, Any] | None]
"""Costs as the statement has them, by what they are of: `record`, `candidates`, `histogram`."""


@dataclass(frozen=True)
class Box:
    """What is taken from the seeds, in the diagram of the method.

    Attributes:
        title: what it is.
        lines: what else is known of it, beside its cost.
        begun: how records begin, a sentence in which `{started}` stands for part and cost.
    """

    title: str
    lines: tuple[str, ...]
    begun: str


class SamplerWords(Protocol):
    """The module `words` of a sampler; what it is given is the entry of the spec as the record has it."""

    def stated(self, synthesis: Mapping[str, Any], costs: Figures, /) -> dict[str, Any]:
        """What the statement for machines says of the records; all of it follows from the record."""

    def shown(self, synthesis: Mapping[str, Any], /) -> Mapping[str, Any]:
        """What its templates show beside the spec's entry and the costs, by the names that they use."""

    def tells(self, synthesis: Mapping[str, Any], /) -> Sequence[str]:
        """What it tells of the real records that the release was published."""

    def box(self, synthesis: Mapping[str, Any], /) -> Box | None:
        """What is taken from the seeds; None where nothing is."""

    def plausible_seeds(self, synthesis: Mapping[str, Any], /) -> tuple[str, str] | None:
        """How many plausible seeds a record has, and of which records that holds; None where none are promised."""
