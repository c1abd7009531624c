"""The entry of this sampler in a release spec."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from deniable.foundation.spec_values import Count, Delta, Epsilon
from deniable.samplers.entry import LARGEST_K, SamplerEntry, leaves_a_prefix
from deniable.samplers.poisson_seeds.verification import ATTEMPTS_PER_RECORD


def _is_omitted(value: object) -> bool:
    return value is None


class Entry(SamplerEntry):
    """Records from seeds, each with at least a certain number of plausible seeds, and records of the model alone.

    Attributes:
        guarantee: `poisson_seeds`.
        omega: number of attributes to resample; the others are copied from a seed. If it is left out, it is chosen by
            how many attempts the public model predicts to pass (plausible_deniability.prefix_choice).
        plausible: no record from a seed has fewer plausible seeds, with certainty; 50 by default.
        epsilon: epsilon of all attempts alone, for the records that are read; or `total`.
        total: epsilon of all attempts together with the learner's steps on the same records, for those that are read.
        delta: delta of all attempts in the whole release; to `total` belongs the sum with the learner's.
        public_rows: a public number of rows from which seeds are drawn. It determines how many attempts each row makes,
            1.3 times the records in all; the guarantee does not depend on it.
    """

    why_one_record_each: ClassVar[str] = "plausible seeds may then be records of fewer people"
    joins_learner: ClassVar[bool] = True
    parts: ClassVar[tuple[str, ...]] = ("seeds",)
    steps: ClassVar[Mapping[str, str]] = {
        "index_seeds": "Pays for all attempts at once, and counts the seeds' shared prefixes.",
    }

    guarantee: Literal["poisson_seeds"]
    # Omitted from all written forms if the spec omits them.
    omega: Annotated[Count, AfterValidator(leaves_a_prefix)] | None = Field(default=None, exclude_if=_is_omitted)
    plausible: Annotated[Count, Field(le=LARGEST_K)] = 50
    epsilon: Epsilon | None = Field(default=None, exclude_if=_is_omitted)
    total: Epsilon | None = Field(default=None, exclude_if=_is_omitted, validate_default=True)
    delta: Delta
    public_rows: Count

    @property
    def attempts_per_row(self) -> Fraction:
        """Tau, the mean number of attempts of each row."""
        return ATTEMPTS_PER_RECORD * self.records / self.public_rows

    @property
    def fewest_seeds(self) -> int | None:
        """The number of plausible seeds that a record from a seed must have."""
        return self.plausible

    @field_validator("total")
    @classmethod
    def _has_one_budget(cls, total: Fraction | None, info: ValidationInfo) -> Fraction | None:
        if (total is None) == (info.data.get("epsilon") is None) and "epsilon" in info.data:
            raise ValueError(
                "must be given, the epsilon of model and attempts together, or synthesis.epsilon, that of the attempts "
                "alone; one of the two"
            )
        return total

    @field_validator("public_rows")
    @classmethod
    def _enough_rows(cls, public_rows: int, info: ValidationInfo) -> int:
        if public_rows < info.data.get("plausible", 0):
            raise ValueError(f"must be at least plausible, got {public_rows} for {info.data['plausible']}")
        return public_rows
