"""What the steps of this learner must do, derived from spec and domain."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final

from deniable.foundation.domain import Domain
from deniable.learners.privbayes.plan import NetworkPlan, network_plan
from deniable.privacy.loss import MechanismEvent
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


def _plan(spec: Document, domain: Domain) -> NetworkPlan:
    asked = spec["learner"]["structure"]
    return network_plan(
        domain,
        structure_epsilon=Fraction(asked["epsilon"]),
        parameter_epsilon=Fraction(spec["learner"]["parameters"]["epsilon"]),
        degree=asked["degree"],
        rows=asked["rows"],
        least=Fraction(asked["usefulness"]),
        max_cells=asked["max_cells"],
    )


def _planned(events: Sequence[MechanismEvent]) -> Planned:
    """Events whose amounts are determined exactly."""
    return Planned(tuple(events), nothing_wrong, lambda guarantee: faults_of_claim(guarantee, events, Fraction(0)))


def planned_structure(spec: Document, domain: Domain, _: StepCost, __: Delta) -> Planned:
    """Choices by the exponential mechanism."""
    return _planned(_plan(spec, domain).structure_events)


def planned_parameters(spec: Document, domain: Domain, _: StepCost, __: Delta) -> Planned:
    """Noisy tables."""
    return _planned(_plan(spec, domain).parameter_events)


EXPECTED_STEPS: Final[Mapping[str, ExpectedStep]] = {
    "learn_structure": ExpectedStep(
        part="structure",
        makes={"network": "network.json"},
        plan=planned_structure,
        beyond=lambda spec, step, read: beyond_budget(step, {**spec["learner"]["structure"], "delta": 0}, read),
    ),
    "learn_parameters": ExpectedStep(
        part="parameters",
        makes={"graph": "graph.json", "model": "model.json"},
        plan=planned_parameters,
        beyond=lambda spec, step, read: beyond_budget(step, spec["learner"]["parameters"], read),
    ),
}
