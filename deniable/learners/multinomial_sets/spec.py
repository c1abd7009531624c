"""The entry of this learner in a release spec."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from deniable.foundation.spec_values import Count, Epsilon
from deniable.learners.entry import LearnerEntry
from deniable.learners.multinomial_sets.plan import MOST_SETS
from deniable.roles import Role


class Entry(LearnerEntry):
    """Several synthetic sets of the cross-classification of all attributes.

    Attributes:
        epsilon: total budget of all sets.
        sets: number of sets, M; 1 by default. At a small total epsilon, more sets are less informative.
        shared: whether all sets are drawn from one urn, which loses less than separate urns.
        people: number of people in the table, if public; users of the sets need it for the posterior.
    """

    parts: ClassVar[tuple[str, ...]] = ()
    steps: ClassVar[Mapping[str, str]] = {
        Role.STRUCTURE: "Lists the urns of the sets, which are public; no record is read.",
    }
    is_drawn_from_counts: ClassVar[bool] = True
    holds_rules: ClassVar[bool] = False

    kind: Literal["multinomial_sets"]
    epsilon: Epsilon
    sets: Annotated[Count, Field(le=MOST_SETS)] = 1
    shared: bool = False
    people: Count | None = None
