"""The entry of this learner in a release spec."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, field_validator

from deniable.foundation.spec_values import AttributeName, Count, Positive, Strict, between
from deniable.learners.aim.workload import MOST_ATTRIBUTES
from deniable.learners.entry import CountingEntry, ParameterBudget
from deniable.roles import Role

MODEL_SIZES = Fraction(1, 1000), Fraction(2000)
"""Range of the size of a model's cliques, in megabytes."""


class WantedTable(Strict):
    """A table of the workload.

    Attributes:
        attributes: its attributes, by name.
        weight: its importance relative to other tables.
    """

    attributes: Annotated[tuple[AttributeName, ...], Field(min_length=1, max_length=MOST_ATTRIBUTES)]
    weight: Positive = Fraction(1)

    @field_validator("attributes")
    @classmethod
    def _are_named_once(cls, attributes: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(attributes)) < len(attributes):
            raise ValueError("must name each attribute once")
        return attributes


class Entry(CountingEntry):
    """A graphical model fitted to noisy tables chosen one by one.

    Attributes:
        noise: noise added to the tables.
        workload: the tables to reproduce well: all pairs, all triples, or listed tables with weights.
        max_model: largest size of the model's cliques, in megabytes at 8 bytes per cell.
        engine: fits the model: our own engine, or the library mbi, which `make pgm` installs.
        max_seconds: bound on the work of fitting, in seconds of a common processor; without it, rounds continue until
            the budget is spent.
        parameters: the budget of all tables and choices; prior and estimate are unused.
    """

    certifies: ClassVar[bool] = True
    parts: ClassVar[tuple[str, ...]] = ("parameters",)
    steps: ClassVar[Mapping[str, str]] = {
        Role.PARAMETERS: "Chooses and measures noisy tables one by one, and fits a graphical model to them.",
    }

    kind: Literal["aim"]
    noise: Literal["gaussian"] = "gaussian"
    workload: Literal["pairs", "triples"] | Annotated[tuple[WantedTable, ...], Field(min_length=1)] = "triples"
    max_model: Annotated[Positive, AfterValidator(between(*MODEL_SIZES))] = Fraction(80)
    engine: Literal["own", "mbi"] = "own"
    max_seconds: Count | None = None
    parameters: ParameterBudget
