"""The entry of this learner in a release spec."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from deniable.learners.entry import LearnerEntry


class Entry(LearnerEntry):
    """Uniform values over the declared domain; it has no parameters."""

    parts: ClassVar[tuple[str, ...]] = ()
    steps: ClassVar[Mapping[str, str]] = {
        "learn_structure": "Makes the graph without edges, for which no record is read.",
        "learn_parameters": "Makes all values of an attribute equally likely, for which no record is read.",
    }

    kind: Literal["uniform"]
