"""The entry of this learner in a release spec."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator

from deniable.foundation.spec_values import LARGEST, AttributeName, Exact, domain_known_to
from deniable.learners.pegs.spec import KeyedEntry
from deniable.roles import Role


class Entry(KeyedEntry):
    """Entropy l-diversity; it has no differential privacy.

    Attributes:
        diversity: l, the smallest exponential of the entropy of a draw.
        sensitive: the attributes whose draws must be diverse; all by default. The others are drawn from their
            unmodified counts.
        accept_no_differential_privacy: must be true, because the randomness of a draw depends on confidential records.
    """

    reads_buckets: ClassVar[bool] = True
    parts: ClassVar[tuple[str, ...]] = ()
    steps: ClassVar[Mapping[str, str]] = {
        Role.STRUCTURE: "Lists the keys of the urns, which are public; no record is read.",
    }

    kind: Literal["diverse"]
    diversity: Annotated[Exact, Field(gt=1, le=LARGEST)]
    sensitive: tuple[AttributeName, ...] | None = Field(default=None, validate_default=True)
    accept_no_differential_privacy: bool = Field(default=False, validate_default=True)

    @field_validator("sensitive")
    @classmethod
    def _can_be_diverse(cls, sensitive: tuple[str, ...] | None, info: ValidationInfo) -> tuple[str, ...] | None:
        domain, diversity = domain_known_to(info), info.data.get("diversity", Fraction(0))
        if domain is None:
            return sensitive
        for name in sensitive or domain.names:
            values = domain.attributes[domain.index(name)].cardinality
            if values < diversity:
                raise ValueError(
                    f"must name attributes with at least {float(diversity):g} values, the diversity, got {name} with "
                    f"{values}; name the sensitive ones, or lower diversity"
                )
        return sensitive

    @field_validator("accept_no_differential_privacy")
    @classmethod
    def _is_said(cls, accepted: bool) -> bool:  # noqa: FBT001 - pydantic calls it
        if not accepted:
            raise ValueError("must be true for this learner, which gives no differential privacy and no total")
        return accepted
