"""The entry of this learner in a release spec."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator

from deniable.foundation.spec_values import AttributeName, Count, Positive, PublicFile, Sha256, Strict, domain_known_to
from deniable.learners.entry import CountingEntry, ParameterBudget
from deniable.learners.nist_mst.public_selection import Thresholds
from deniable.roles import Role

_LONGEST_PATH = 1000
_MOST_TABLES = 10_000

Name = Annotated[str, Field(min_length=1, max_length=_LONGEST_PATH)]


class ChosenTable(Strict):
    """A table that follows from the public file.

    Attributes:
        attributes: its attributes.
        weight: its weight; the variance of its noise is proportional to 1 / weight^2.
    """

    attributes: Annotated[tuple[AttributeName, ...], Field(min_length=2, max_length=3)]
    weight: Count = 1

    @field_validator("attributes")
    @classmethod
    def _are_different_and_in_order(cls, names: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        domain = domain_known_to(info)
        if domain is not None and list(names) != sorted(set(names), key=domain.index):
            raise ValueError("must be different, in the order of the dataset's columns")
        return names


class PublicSelection(Strict):
    """The selection of the tables of several attributes from a public file.

    Attributes:
        public_file: the file, relative to the spec's folder. It must be public, and not the source.
        sha256: its digest; a file with another digest is refused. `deniable mechanisms select` prints it.
        tables: the tables that follow from it. `deniable mechanisms select` prints them too; a release counts the file
            again, and is refused if other tables follow.
        least_information: smallest mutual information of a pair in the file, in nats.
        strong_information: smallest mutual information of the two pairs of a triple, in nats.
        max_cells: largest total number of cells of the model's tables.
    """

    public_file: PublicFile
    sha256: Sha256 | None = None
    tables: Annotated[tuple[ChosenTable, ...], Field(max_length=_MOST_TABLES)] | None = None
    least_information: Positive = Fraction(1, 1000)
    strong_information: Positive = Fraction(1, 10)
    max_cells: Count = 200_000

    @property
    def thresholds(self) -> Thresholds:
        """The thresholds for measuring pairs and triples."""
        return Thresholds(float(self.least_information), float(self.strong_information), self.max_cells)


class Entry(CountingEntry):
    """Tables of two and three attributes that follow from a public file.

    Attributes:
        noise: noise added to the counts.
        selection: the selection of tables from the public file.
        pooled: the division of a pool's records among the pooled values.
        parameters: the budget of all counts; prior and estimate are unused.
    """

    certifies: ClassVar[bool] = True
    makes_buckets: ClassVar[bool] = True
    parts: ClassVar[tuple[str, ...]] = ("parameters",)
    steps: ClassVar[Mapping[str, str]] = {
        Role.STRUCTURE: "Derives the tables from a public file, for which no record is read.",
        Role.PARAMETERS: "Learns the probabilities from noisy counts of these tables.",
    }

    kind: Literal["nist_mst"]
    noise: Literal["gaussian"] = "gaussian"
    selection: PublicSelection
    pooled: Literal["noisy", "uniform"] = "noisy"
    parameters: ParameterBudget

    @property
    def public_file(self) -> str:
        """The public file, relative to the spec's folder."""
        return self.selection.public_file
