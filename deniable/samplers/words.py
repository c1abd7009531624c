"""The texts of a sampler outside templates: in the machine-readable statement, a diagram, or a card."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

Figures: TypeAlias = Mapping[str, Mapping[str, Any] | None]
"""Costs as in the statement, by scope: `record`, `candidates`, `histogram`."""


@dataclass(frozen=True)
class Box:
    """The result computed from the seeds, in the diagram of the method.

    Attributes:
        title: its name.
        lines: further properties besides its cost.
        begun: a sentence on how records begin, with the placeholder `{started}` for part and cost.
    """

    title: str
    lines: tuple[str, ...]
    begun: str


class SamplerWords(Protocol):
    """The module `words` of a sampler; its functions receive the entry of the spec as in the record."""

    WHY_NONE: str
    """Why a release of its records has no differential privacy, where it has none: a clause."""

    def stated(self, synthesis: Mapping[str, Any], costs: Figures, /) -> dict[str, Any]:
        """The part of the machine-readable statement about the records, which follows from the record."""

    def shown(self, synthesis: Mapping[str, Any], /) -> Mapping[str, Any]:
        """The values that its templates show besides the spec's entry and the costs, by name."""

    def tells(self, synthesis: Mapping[str, Any], /) -> Sequence[str]:
        """What the release's publication discloses about the real records."""

    def box(self, synthesis: Mapping[str, Any], /) -> Box | None:
        """The result computed from the seeds; None if there is none."""

    def plausible_seeds(self, synthesis: Mapping[str, Any], /) -> tuple[str, str] | None:
        """Number of plausible seeds of a record, and the records to which it applies; None if none are guaranteed."""
