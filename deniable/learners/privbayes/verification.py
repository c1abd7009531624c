"""The requirements on this learner's steps, derived from spec and domain."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from math import isclose
from typing import Final

from deniable.foundation.checks import Check
from deniable.foundation.domain import Domain
from deniable.learners.privbayes.plan import NetworkPlan, network_plan
from deniable.measurements.checks import check_measurements
from deniable.measurements.document import FILE, Measurements
from deniable.measurements.noisy_tables import estimated_records
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
from deniable.roles import Role

# Logarithms on two machines differ in the last digits.
_FLOATING = 1e-9


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


def check_measured(record: Document, described: Document, document: Document) -> tuple[Check, ...]:
    """Check the noisy tables; releases by earlier versions did not publish them."""
    steps = [step for step in record["steps"] if step["step"] == Role.PARAMETERS]
    if not document and not any(each["name"] == "measured" for step in steps for each in step["outputs"]):
        return ()
    return check_measurements(
        record,
        described,
        document,
        learner="privbayes",
        form=partial(_faults_of_form, record["spec"]["document"]),
        figures=_faults_of_figures,
    )


def _faults_of_form(spec: Document, measured: Measurements, _: Sequence[MechanismEvent]) -> Iterator[str]:
    """Faults unless there is a first joint table by value, and one table for each further attribute."""
    domain, plan = measured.domain, _plan(spec, measured.domain)
    if any(own.tolist() != list(each.buckets) for own, each in zip(measured.buckets, domain.attributes, strict=True)):
        yield f"{FILE} must have the buckets of the schema"
    drawn = [i for i in measured.order if domain.cardinalities[i] > 1]
    first, further = drawn[: plan.degree + 1], drawn[plan.degree + 1 :]
    if len(measured.tables) != len(further) + bool(first):
        yield f"{FILE} must have a table of the first attributes, and one of each further attribute"
        return
    for turn, table in enumerate(measured.tables, 1):
        named = f"{FILE}: the {measured.named(table)}"
        if turn == 1:
            right = set(table.attributes) == set(table.by_values) == set(first)
        else:
            child = further[turn - 2]
            parents = set(table.attributes) - {child}
            right = set(table.by_values) == {child} <= set(table.attributes) and parents <= set(_before(drawn, child))
            right = right and len(parents) <= plan.degree
        if not right:
            yield f"{named} must be of an attribute by its values and of its parents"
        laws = [(each.noise.law, each.noise.amount, each.multiplier, each.turn) for each in table.releases]
        if laws != [("laplace", plan.scale, 1, turn)]:
            yield f"{named} must be released once, with Laplace noise of scale {plan.scale}"


def _before(order: Sequence[int], attribute: int) -> Sequence[int]:
    return order[: order.index(attribute)]


def _faults_of_figures(measured: Measurements, _: Sequence[MechanismEvent]) -> Iterator[str]:
    right = estimated_records(measured.tables)
    if not isclose(measured.records, right, rel_tol=_FLOATING):
        yield f"{FILE}: records is {measured.records}, but its integers give {right}"


EXPECTED_STEPS: Final[Mapping[str, ExpectedStep]] = {
    Role.STRUCTURE: ExpectedStep(
        part="structure",
        makes={"network": "network.json"},
        plan=planned_structure,
        beyond=lambda spec, step, read: beyond_budget(step, {**spec["learner"]["structure"], "delta": 0}, read),
    ),
    Role.PARAMETERS: ExpectedStep(
        part="parameters",
        makes={"graph": "graph.json", "model": "model.json", "measured": FILE},
        plan=planned_parameters,
        beyond=lambda spec, step, read: beyond_budget(step, spec["learner"]["parameters"], read),
        checks={FILE: check_measured},
    ),
}
