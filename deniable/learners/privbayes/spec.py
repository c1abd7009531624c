"""The entry of this learner in a release spec."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from deniable.foundation.spec_values import Count, Epsilon, Positive, Strict
from deniable.learners.entry import CountingEntry
from deniable.learners.independent.spec import PureBudget
from deniable.learners.privbayes.plan import MOST_PARENTS
from deniable.roles import Role


def _whole(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("must be a whole number")  # noqa: TRY004 - pydantic reports a ValueError with its place
    return value


Degree = Annotated[int, BeforeValidator(_whole), Field(ge=1, le=MOST_PARENTS)]


class ChoiceBudget(Strict):
    """The choice of the network.

    Attributes:
        epsilon: budget of all choices, for the records used.
        degree: number of parents of an attribute, unless too few are available.
        rows: in place of the degree, a public number of rows from which it follows.
        usefulness: smallest ratio of a table's mean count to its noise, if the degree follows from `rows`.
        max_cells: largest number of cells of a candidate table, if smaller ones exist; by default 300, or the number
            that follows from `rows` and `usefulness`.
    """

    epsilon: Epsilon
    degree: Degree | None = None
    rows: Count | None = None
    usefulness: Positive = Fraction(4)
    max_cells: Count | None = None

    @model_validator(mode="after")
    def _states_one(self) -> Self:
        if (self.degree is None) == (self.rows is None):
            raise ValueError("must state exactly one of the degree and a public number of rows")
        return self


class Entry(CountingEntry):
    """A Bayesian network of bounded degree.

    Attributes:
        noise: noise added to the counts.
        structure: the choice of the network.
        parameters: the budget of its tables.
    """

    certifies: ClassVar[bool] = True
    reads_buckets: ClassVar[bool] = True
    parts: ClassVar[tuple[str, ...]] = ("structure", "parameters")
    steps: ClassVar[Mapping[str, str]] = {
        Role.STRUCTURE: "Chooses, by the exponential mechanism, which attributes depend on which.",
        Role.PARAMETERS: "Learns the probabilities of the network from noisy counts.",
    }

    kind: Literal["privbayes"]
    noise: Literal["laplace"] = "laplace"
    structure: ChoiceBudget
    parameters: PureBudget
