"""The entry of this learner in a release spec."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from deniable.foundation.spec_values import Count, Exact
from deniable.learners.entry import CountingEntry, ParameterBudget
from deniable.roles import Role


class PureBudget(ParameterBudget):
    """The budget of noisy counts in a learner with pure differential privacy.

    Attributes:
        epsilon: budget of the counts, for the counted records.
        delta: 0; may be omitted.
    """

    delta: Annotated[Exact, Field(ge=0, le=0)] = Fraction(0)


class Entry(CountingEntry):
    """Histograms of the attributes.

    Attributes:
        noise: noise added to the counts.
        bins: number of bins of a numeric attribute with more values.
        parameters: the budget of all histograms.
    """

    counts_together: ClassVar[bool] = False
    parts: ClassVar[tuple[str, ...]] = ("parameters",)
    steps: ClassVar[Mapping[str, str]] = {
        Role.STRUCTURE: "Makes the graph without edges, for which no record is read.",
        Role.PARAMETERS: "Learns a histogram of each attribute from noisy counts.",
    }

    kind: Literal["independent"]
    noise: Literal["laplace"] = "laplace"
    bins: Count = 20
    parameters: PureBudget
