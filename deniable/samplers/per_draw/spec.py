"""The entry of this sampler in a release spec."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from deniable.foundation.spec_values import LARGEST_DELTA, Exact
from deniable.samplers.entry import SamplerEntry


class Entry(SamplerEntry):
    """Records drawn from exact counts, with every draw charged.

    Attributes:
        guarantee: `per_draw`.
        delta: delta at which the total of all draws is stated; at 0, their epsilons are summed.
    """

    why_one_record_each: ClassVar[str] = (
        "its draws are charged one by one for a record, and not scaled to a budget for a person"
    )
    parts: ClassVar[tuple[str, ...]] = ("parameters",)
    steps: ClassVar[Mapping[str, str]] = {
        "count_tables": "Pays for all draws at once, and counts what records are drawn from, without noise.",
    }
    draws_from_counts: ClassVar[bool] = True

    guarantee: Literal["per_draw"]
    delta: Annotated[Exact, Field(ge=0, le=LARGEST_DELTA)] = Fraction(0)
