"""The entry of this learner in a release spec."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from deniable.learners.entry import CountingEntry, ParameterBudget
from deniable.roles import Role


class Entry(CountingEntry):
    """One-way marginals.

    Attributes:
        noise: noise added to the counts.
        structure: must be omitted, because attributes are independent.
        parameters: the learning of the probabilities.
    """

    counts_together: ClassVar[bool] = False
    parts: ClassVar[tuple[str, ...]] = ("parameters",)
    steps: ClassVar[Mapping[str, str]] = {
        Role.STRUCTURE: "Makes the graph without edges, for which no record is read.",
        Role.PARAMETERS: "Learns the probabilities of the model from noisy counts.",
    }

    kind: Literal["marginals"]
    noise: Literal["laplace", "gaussian"]
    structure: None = Field(default=None)
    parameters: ParameterBudget

    @field_validator("structure", mode="before")
    @classmethod
    def _is_left_out(cls, structure: Any) -> Any:
        if structure is not None:
            raise ValueError("must be left out for a learner of kind marginals, which has no structure")
        return structure
