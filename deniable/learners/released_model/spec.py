"""The entry of an earlier release's model in a release spec."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from deniable.foundation.spec_values import LARGEST_EPSILON, Exact, Probability, Sha256, between
from deniable.learners.entry import LearnerEntry
from deniable.roles import Role

_NAME = r"^[A-Za-z0-9][A-Za-z0-9_-]*$"


class Entry(LearnerEntry):
    """The model of an earlier release.

    Attributes:
        release: the name of the release, whose folder is beside the spec or among those of the state folder.
        record: SHA-256 of the file of its record, which names its files.
        model: SHA-256 of its model.json.
        epsilon: epsilon of the model, as that record states it.
        delta: delta of the model, likewise.
    """

    reads_buckets: ClassVar[bool] = True
    parts: ClassVar[tuple[str, ...]] = ()
    steps: ClassVar[Mapping[str, str]] = {
        Role.PARAMETERS: "Reads the public model of an earlier release, which paid for it; no record is read.",
    }

    kind: Literal["released_model"]
    release: Annotated[str, Field(pattern=_NAME, max_length=200)]
    record: Sha256
    model: Sha256
    epsilon: Annotated[Exact, AfterValidator(between(Fraction(0), LARGEST_EPSILON))]
    delta: Probability

    @property
    def is_paid_elsewhere(self) -> bool:
        """Whether the model is that of an earlier release, which was charged for it."""
        return True
