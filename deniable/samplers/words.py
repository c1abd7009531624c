"""The texts of a sampler outside templates: in the machine-readable statement, in a diagram, on a card."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

Figures: TypeAlias = Mapping[str, Mapping[str, Any] | None]
"""Costs as in the statement, by what they cover: `record`, `candidates`, `histogram`."""


@dataclass(frozen=True)
class Box:
    """What is computed from the seeds, in the diagram of the method.

    Attributes:
        title: what it is.
        lines: further properties, in addition to its cost.
        begun: how records begin, a sentence with the placeholder `{started}` for part and cost.
    """

    title: str
    lines: tuple[str, ...]
    begun: str


class SamplerWords(Protocol):
    """The module `words` of a sampler; its functions receive the entry of the spec as in the record."""

    def stated(self, synthesis: Mapping[str, Any], costs: Figures, /) -> dict[str, Any]:
        """What the machine-readable statement says about the records; all of it follows from the record."""

    def shown(self, synthesis: Mapping[str, Any], /) -> Mapping[str, Any]:
        """What its templates show in addition to the spec's entry and the costs, by the names that they use."""

    def tells(self, synthesis: Mapping[str, Any], /) -> Sequence[str]:
        """What the publication of the release discloses about the real records."""

    def box(self, synthesis: Mapping[str, Any], /) -> Box | None:
        """What is computed from the seeds; None if nothing is."""

    def plausible_seeds(self, synthesis: Mapping[str, Any], /) -> tuple[str, str] | None:
        """Number of plausible seeds of a record, and the records to which it applies; None if none are guaranteed."""
