"""The entry of this learner in a release spec."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator

from deniable.foundation.spec_values import Count
from deniable.learners.entry import CountingEntry
from deniable.learners.independent.spec import PureBudget
from deniable.learners.pegs.spec import MOST_KEY_CELLS, Orders, of_others
from deniable.roles import Role


class Entry(CountingEntry):
    """Noisy tables of each attribute given a key of attributes before it.

    Attributes:
        noise: noise added to the counts.
        key_cells: largest number of combinations of buckets of a key.
        orders: public; for each attribute, the others that form its key, most informative first, skipping those after
            it in the schema; by default in the schema's order.
        parameters: the budget of all tables.
    """

    certifies: ClassVar[bool] = True
    reads_buckets: ClassVar[bool] = True
    parts: ClassVar[tuple[str, ...]] = ("parameters",)
    steps: ClassVar[Mapping[str, str]] = {
        Role.PARAMETERS: "Learns the probabilities of each attribute given its key from noisy counts.",
    }

    kind: Literal["pegs_noisy"]
    noise: Literal["laplace"] = "laplace"
    key_cells: Annotated[Count, Field(le=MOST_KEY_CELLS)] = 100
    orders: Orders = Field(default=None, validate_default=True)
    parameters: PureBudget

    @field_validator("orders")
    @classmethod
    def _name_other_attributes(cls, orders: Orders, info: ValidationInfo) -> Orders:
        return of_others(orders, info)
