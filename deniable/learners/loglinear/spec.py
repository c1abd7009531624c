"""The entry of this learner in a release spec."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import field_validator

from deniable.learners.entry import CountingEntry, ParameterBudget, StructureBudget
from deniable.roles import Role


class Entry(CountingEntry):
    """A log-linear network fitted to small noisy tables.

    Attributes:
        noise: noise added to the tables; `auto` selects the kind with smaller errors.
        structure: ignored, because everything is learnt with the budget of the parameters; a spec may keep it, so that
            only one word must change to switch learners.
        parameters: the budget; prior and estimate are unused.
    """

    certifies: ClassVar[bool] = True
    makes_buckets: ClassVar[bool] = True
    parts: ClassVar[tuple[str, ...]] = ("parameters",)
    leaves: ClassVar[tuple[str, ...]] = ("structure",)
    steps: ClassVar[Mapping[str, str]] = {
        Role.PARAMETERS: "Learns graph and probabilities of the model from small noisy tables.",
    }

    kind: Literal["loglinear"]
    noise: Literal["auto", "laplace", "gaussian"]
    structure: StructureBudget | None = None
    parameters: ParameterBudget

    @field_validator("structure")
    @classmethod
    def _has_none(cls, _: StructureBudget | None) -> None:
        """Everything is learnt in one step."""
