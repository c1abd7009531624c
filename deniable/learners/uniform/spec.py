"""The entry of this learner in a release spec."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from deniable.learners.entry import LearnerEntry


class Entry(LearnerEntry):
    """Uniform values over the declared domain; there is nothing to state."""

    parts: ClassVar[tuple[str, ...]] = ()
    steps: ClassVar[Mapping[str, str]] = {
        "learn_structure": "Makes the graph without edges, for which no record is read.",
        "learn_parameters": "Makes every value of an attribute equally probable, for which no record is read.",
    }

    kind: Literal["uniform"]
