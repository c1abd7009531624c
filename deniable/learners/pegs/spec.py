"""The entry of this learner in a release spec."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, ClassVar, Final, Literal, Self, TypeAlias

from pydantic import AfterValidator, Field, ValidationInfo, field_validator, model_validator

from deniable.foundation.errors import InvalidInput
from deniable.foundation.spec_values import (
    SMALLEST_EPSILON,
    AttributeName,
    Count,
    Epsilon,
    Positive,
    PublicFile,
    Sha256,
    Strict,
    between,
    domain_known_to,
)
from deniable.learners.entry import LearnerEntry
from deniable.learners.pegs.plan import public_orders
from deniable.roles import Role

MOST_KEY_CELLS = 1_000_000
MOST_BLOCK = 1000
MOST_DRAWS = 1000
_MOST_WEIGHT = 10**9

MOST_EPSILON: Final = Fraction(1000)
"""Largest epsilon of one record. What a release may cost in total is limited by the budget of its dataset alone; above
some 14 for each attribute, the smallest prior weight is reached, and the cost no longer rises."""
EpsilonOfRecord: TypeAlias = Annotated[Positive, AfterValidator(between(SMALLEST_EPSILON, MOST_EPSILON))]
EpsilonOfBlock: TypeAlias = Annotated[Positive, AfterValidator(between(SMALLEST_EPSILON, MOST_EPSILON * MOST_BLOCK))]

Orders: TypeAlias = dict[AttributeName, tuple[AttributeName, ...]] | None
"""For each attribute, the others that form its key, in order; None for the schema's order."""


def of_others(orders: Orders, info: ValidationInfo) -> Orders:
    """Public orders; each must name other attributes of the table, at most once each."""
    domain = domain_known_to(info)
    if domain is not None:
        try:
            public_orders(domain, orders)
        except InvalidInput as error:
            raise ValueError(str(error).rstrip(".")) from None
    return orders


def by_value(weights: dict[str, tuple[int, ...]], info: ValidationInfo) -> dict[str, tuple[int, ...]]:
    """Weights of values by attribute, which must be attributes of the table, with a weight for every value."""
    domain = domain_known_to(info)
    if domain is None:
        return weights
    for name, those in weights.items():
        values = domain.attributes[domain.index(name)].cardinality
        if len(those) != values:
            raise ValueError(f"must have a weight for each of the {values} values of {name}, got {len(those)}")
    return weights


class SeededEntry(LearnerEntry):
    """The common part of the entries of learners whose records start from public seeds.

    Attributes:
        seed_weights: public weights by which values of seeds are drawn, by attribute; uniform by default.
    """

    is_drawn_from_counts: ClassVar[bool] = True
    holds_rules: ClassVar[bool] = False
    why_no_tested_seeds: ClassVar[str] = (
        "confidential seeds need a model that is released: one record in exact counts may change how many seeds are "
        "plausible by any number, which no charge covers; choose pegs_noisy, whose counts have noise"
    )

    seed_weights: dict[AttributeName, tuple[Annotated[Count, Field(le=_MOST_WEIGHT)], ...]] = Field(
        default_factory=dict, validate_default=True
    )

    @field_validator("seed_weights")
    @classmethod
    def _have_a_weight_for_each_value(
        cls, weights: dict[str, tuple[int, ...]], info: ValidationInfo
    ) -> dict[str, tuple[int, ...]]:
        return by_value(weights, info)


class KeyedEntry(SeededEntry):
    """The common part of the entries of learners that count each attribute given a key of others.

    Attributes:
        key_cells: largest number of combinations of buckets of a key.
        orders: public; for each attribute, the others that form its key, most informative first; by default in the
            schema's order.
    """

    key_cells: Annotated[Count, Field(le=MOST_KEY_CELLS)] = 2000
    orders: Orders = Field(default=None, validate_default=True)

    @field_validator("orders")
    @classmethod
    def _name_other_attributes(cls, orders: Orders, info: ValidationInfo) -> Orders:
        return of_others(orders, info)


class OrderBudget(Strict):
    """The measurement of the orders of the other attributes.

    Attributes:
        epsilon: budget of all tables of pairs, for the counted records.
    """

    epsilon: Epsilon


class SeedFile(Strict):
    """A public file whose records are the seeds.

    Attributes:
        path: the file, relative to the spec's folder.
        sha256: its digest; a file with another digest is refused. `deniable mechanisms select` prints it.
    """

    path: PublicFile
    sha256: Sha256 | None = None


class Entry(KeyedEntry):
    """The perturbed Gibbs sampler.

    Attributes:
        structure: if given, orders are measured, by mutual information in noisy tables of pairs, instead of public.
        epsilon: budget of one block, which is one record by default; up to MOST_EPSILON for each of its records.
        block: number of records of a block, B; each starts from the previous one.
        draws_per_row: number of draws from a row of a table in a block; later draws from the row are uniform.
        division: the division of a block's budget among attributes: equally, or by the square root of their numbers of
            values.
        sweeps: number of passes over a record, S; only the last is kept. A block of B records has B S passes; its cost
            does not depend on the number of passes.
        alpha_shape: for attributes, public numbers of records of each value, such as a public marginal, that are added
            to the counts of every row, so that prior weights differ between values.
        seed_file: a public file whose records are the seeds, in place of seeds drawn by weights.
    """

    reads_buckets: ClassVar[bool] = True
    parts: ClassVar[tuple[str, ...]] = ("structure",)
    steps: ClassVar[Mapping[str, str]] = {
        Role.STRUCTURE: "Lists the keys of the urns: by public orders, or by measured ones, which are charged.",
    }

    kind: Literal["pegs"]
    epsilon: EpsilonOfBlock
    structure: OrderBudget | None = None
    block: Annotated[Count, Field(le=MOST_BLOCK)] = 1
    draws_per_row: Annotated[Count, Field(le=MOST_DRAWS)] = 1
    division: Literal["equal", "values"] = "equal"
    sweeps: Annotated[Count, Field(le=MOST_BLOCK)] = Field(default=1, exclude_if=lambda sweeps: sweeps == 1)
    alpha_shape: dict[AttributeName, tuple[Annotated[int, Field(ge=0, le=_MOST_WEIGHT)], ...]] = Field(
        default_factory=dict, validate_default=True, exclude_if=lambda shape: not shape
    )
    seed_file: SeedFile | None = Field(default=None, exclude_if=lambda file: file is None)

    @property
    def public_file(self) -> str | None:
        """The file of seeds, if any."""
        return None if self.seed_file is None else self.seed_file.path

    @property
    def reads(self) -> tuple[str, ...]:
        """The part from which orders are measured, if any."""
        return () if self.structure is None else self.parts

    @field_validator("alpha_shape")
    @classmethod
    def _has_a_number_for_each_value(
        cls, shape: dict[str, tuple[int, ...]], info: ValidationInfo
    ) -> dict[str, tuple[int, ...]]:
        return by_value(shape, info)

    @model_validator(mode="after")
    def _has_one_kind_of_seeds(self) -> Self:
        if self.seed_file is not None and self.seed_weights:
            raise ValueError("must have seed_weights or a seed_file, and not both")
        if self.seed_file is not None and self.structure is not None:
            raise ValueError("must have public orders with a seed_file: one step reads a part of the rows or a file")
        return self

    @model_validator(mode="after")
    def _has_one_kind_of_orders(self) -> Self:
        if self.structure is not None and self.orders is not None:
            raise ValueError("must state orders, or structure to measure them, and not both")
        return self

    @model_validator(mode="after")
    def _has_a_budget_that_a_block_can_use(self) -> Self:
        most = MOST_EPSILON * self.block
        if self.epsilon > most:
            raise ValueError(
                f"must have an epsilon of at most {float(most):g}, {float(MOST_EPSILON):g} for each record of a block, "
                f"got {float(self.epsilon):g}"
            )
        return self

    @model_validator(mode="after")
    def _blocks_serve_their_rows(self) -> Self:
        if self.block * self.sweeps > MOST_BLOCK:
            raise ValueError(f"must have at most {MOST_BLOCK} passes in a block, got {self.block * self.sweeps}")
        if self.draws_per_row > self.block * self.sweeps:
            raise ValueError(
                f"must have draws_per_row at most block, since a block of {self.block} records cannot draw from a row "
                f"more often, got {self.draws_per_row}"
                if self.sweeps == 1
                else f"must have draws_per_row at most the {self.block * self.sweeps} passes of a block, got "
                f"{self.draws_per_row}"
            )
        return self
