"""The requirements on this learner's step, derived from spec and domain."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Final

from deniable.foundation.domain import Domain
from deniable.privacy.common_events import count_events, noised_tables
from deniable.privacy.planned import (
    Delta,
    Document,
    ExpectedStep,
    Planned,
    beyond_budget,
    faults_of_claim,
    nothing_wrong,
)
from deniable.privacy.step_costs import StepCost
from deniable.roles import Role


def planned_histograms(spec: Document, domain: Domain, _: StepCost, __: Delta) -> Planned:
    """One histogram per attribute, with noise of the scale that follows from the budget."""
    tables = noised_tables(domain)
    events = count_events(tables, "laplace", tables / Fraction(spec["learner"]["parameters"]["epsilon"]))
    return Planned(events, nothing_wrong, lambda guarantee: faults_of_claim(guarantee, events, Fraction(0)))


EXPECTED_STEPS: Final[Mapping[str, ExpectedStep]] = {
    Role.STRUCTURE: ExpectedStep(part=None, makes={"graph": "graph.json"}),
    Role.PARAMETERS: ExpectedStep(
        part="parameters",
        makes={"model": "model.json"},
        plan=planned_histograms,
        beyond=lambda spec, step, read: beyond_budget(step, spec["learner"]["parameters"], read),
    ),
}
