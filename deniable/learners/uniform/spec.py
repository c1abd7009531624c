"""The entry of this learner in a release spec."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from deniable.learners.entry import LearnerEntry
from deniable.roles import Role


class Entry(LearnerEntry):
    """Uniform values over the declared domain; it has no parameters."""

    counts_together: ClassVar[bool] = False
    parts: ClassVar[tuple[str, ...]] = ()
    steps: ClassVar[Mapping[str, str]] = {
        Role.STRUCTURE: "Makes the graph without edges, for which no record is read.",
        Role.PARAMETERS: "Makes all values of an attribute equally likely, for which no record is read.",
    }

    kind: Literal["uniform"]
