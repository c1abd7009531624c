"""The requirements on this learner's step, derived from spec and domain."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final

from deniable.foundation.checks import Check
from deniable.foundation.domain import Domain
from deniable.learners.aim.measured import Schedule
from deniable.learners.aim.plan import RoundsPlan
from deniable.learners.aim.workload import Workload
from deniable.measurements.checks import check_measurements
from deniable.measurements.document import FILE, Measurements
from deniable.privacy.loss import MechanismEvent
from deniable.privacy.planned import (
    FINER,
    Delta,
    Document,
    ExpectedStep,
    Planned,
    beyond_budget,
    faults_of_claim,
    faults_of_use,
    tightest_cost,
)
from deniable.privacy.step_costs import StepCost
from deniable.roles import Role


def _plan(spec: Document, domain: Domain, delta: Fraction, events: Sequence[MechanismEvent]) -> RoundsPlan:
    """The plan with the rho of given events; without events, that of the budget."""
    learner = spec["learner"]
    epsilon, workload = Fraction(learner["parameters"]["epsilon"]), Workload.of(domain, learner["workload"])
    rho = sum((event.outputs * event.rho for event in events if event.rho is not None), Fraction(0))
    return RoundsPlan(domain, workload, epsilon, delta, rho) if rho else RoundsPlan.of(domain, workload, epsilon, delta)


def planned_parameters(spec: Document, domain: Domain, step: StepCost, delta_of: Delta) -> Planned:
    """One-way marginals, and the rho of all rounds."""
    plan = _plan(spec, domain, delta_of(Fraction(spec["learner"]["parameters"]["delta"])), step.events)

    def amounts() -> Iterator[str]:
        if plan.counted:
            finer = replace(plan, rho=plan.rho / FINER)
            yield from faults_of_use(plan.epsilon, *(tightest_cost(each.events, plan.delta) for each in (plan, finer)))

    return Planned(plan.events, amounts, lambda guarantee: faults_of_claim(guarantee, plan.events, plan.delta))


def check_measured(record: Document, described: Document, document: Document) -> tuple[Check, ...]:
    """Check that the measurements follow the spec's schedule within the charged rho."""
    spec = record["spec"]["document"]

    def schedule(measured: Measurements, events: Sequence[MechanismEvent]) -> Schedule:
        plan, asked = _plan(spec, measured.domain, Fraction(0), events), spec["learner"]
        return Schedule(plan, Fraction(asked["max_model"]), is_bounded=asked["max_seconds"] is not None)

    return check_measurements(
        record,
        described,
        document,
        learner="aim",
        form=lambda measured, events: schedule(measured, events).faults_of_form(measured),
        account=lambda measured, events: schedule(measured, events).faults_of_account(measured),
        figures=lambda measured, events: schedule(measured, events).faults_of_figures(measured),
    )


EXPECTED_STEPS: Final[Mapping[str, ExpectedStep]] = {
    Role.PARAMETERS: ExpectedStep(
        part="parameters",
        makes={"graph": "graph.json", "model": "model.json", "measured": FILE},
        plan=planned_parameters,
        beyond=lambda spec, step, read: beyond_budget(step, spec["learner"]["parameters"], read),
        checks={FILE: check_measured},
    ),
}
