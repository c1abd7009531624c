"""The entry of this sampler in a release spec."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from deniable.foundation.spec_values import Count, Delta, Epsilon
from deniable.roles import Role
from deniable.samplers.entry import LARGEST_K, SamplerEntry, leaves_a_prefix


class Entry(SamplerEntry):
    """Records whose first attributes are copied from a noisy histogram of people's prefixes (Theorem B).

    Attributes:
        guarantee: `histogram_seeds`.
        omega: number of attributes to resample; the others are the prefix.
        epsilon: epsilon of the histogram, for any number of records, for the records whose prefixes are counted.
        delta: delta of the histogram in the whole release; its delta for the counted records follows.
        k: number of people who share every kept prefix, and could each have been the seed of a record that begins with
            it, with probability 1 - beta.
        beta: see `k`.
        max_rows: public upper bound on the number of records, for `k`.
        epsilon_rows: optional, a part of epsilon that is spent on a noisy number of records, to restore the mass lost
            to the threshold: that share of the records is drawn from the model alone, with prefixes that were not
            kept. `k` does not apply to them. If it is left out, such prefixes do not occur.
    """

    why_one_record_each: ClassVar[str] = "a prefix may then reach its threshold by the records of a single person"
    parts: ClassVar[tuple[str, ...]] = ("seeds",)
    steps: ClassVar[Mapping[str, str]] = {
        Role.HISTOGRAM: "Counts the seeds' prefixes once, with noise, and keeps those above a threshold.",
    }

    guarantee: Literal["histogram_seeds"]
    omega: Annotated[Count, AfterValidator(leaves_a_prefix)]
    epsilon: Epsilon
    delta: Delta
    k: Annotated[Count, Field(le=LARGEST_K)] | None = None
    beta: Delta | None = None
    max_rows: Count | None = Field(default=None, validate_default=True)
    epsilon_rows: Epsilon | None = None

    @field_validator("max_rows")
    @classmethod
    def _all_or_none(cls, max_rows: int | None, info: ValidationInfo) -> int | None:
        given = [info.data.get("k"), info.data.get("beta"), max_rows]
        if {"k", "beta"} <= info.data.keys() and len({value is None for value in given}) > 1:
            raise ValueError("must be given together with k and beta, or none of the three")
        return max_rows

    @field_validator("epsilon_rows")
    @classmethod
    def _leaves_some(cls, epsilon_rows: Fraction | None, info: ValidationInfo) -> Fraction | None:
        epsilon = info.data.get("epsilon")
        if epsilon_rows is not None and epsilon is not None and epsilon_rows >= epsilon:
            raise ValueError(f"must be less than epsilon, of which it is a part, got {float(epsilon_rows):g}")
        return epsilon_rows
