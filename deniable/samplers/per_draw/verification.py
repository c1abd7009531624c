"""The requirements on the draws, derived from the spec by their learner."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Final

from deniable.foundation.domain import Domain
from deniable.learners.registry import expected_draws
from deniable.privacy.planned import (
    Delta,
    Document,
    ExpectedStep,
    Planned,
    faults_of_claim,
    nothing_wrong,
)
from deniable.privacy.step_costs import StepCost
from deniable.roles import Role

STEP: Final = Role.DRAWS
TASK: Final = "count_tables"


def planned_draws(spec: Document, domain: Domain, _: StepCost, delta: Delta) -> Planned:
    """All draws of the release, as many as the spec's number of records requires."""
    events = expected_draws(spec, domain)
    if any(event.delta == 1 for event in events):
        return Planned(events, nothing_wrong, lambda guarantee: iter(() if guarantee is None else (_NONE,)))
    whole = delta(Fraction(spec["synthesis"]["delta"]))
    return Planned(events, nothing_wrong, lambda guarantee: faults_of_claim(guarantee, events, whole))


_NONE = "the draws have no differential privacy, but the record states some"

EXPECTED_STEPS: Final[Mapping[str, ExpectedStep]] = {
    # All are charged together, before the first is made.
    STEP: ExpectedStep(part="parameters", plan=planned_draws, taken_in=TASK)
}

MAY_FALL_SHORT: Final = False
"""The number of records must be the charged one."""

HOLDS_FOR_SEVERAL_RECORDS: Final = False
"""Whether the guarantee for one record gives one for a person with several, so that several of each may be used."""
