"""Verification of the stated cost of a release, from the events in its record, without trusting its makers.

The events of each step are composed again, and all figures that follow from them are recomputed. Comparison of the
events with the spec (planned_events), of charges with the ledger (segment), and the statement
(deniable.record.statement) do not belong here.
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from deniable.foundation.checks import Check
from deniable.foundation.strict_json import same
from deniable.learners import registry as learners
from deniable.ledger.entries import Claim
from deniable.ledger.verification import fault_of_claim
from deniable.privacy.accounting import best_again
from deniable.privacy.loss import NOTHING, TRIVIAL, Guarantee, from_record
from deniable.privacy.planned import EXACTLY, ExpectedStep, faults_of_figure
from deniable.privacy.step_costs import SHARED, JointCost, StepCost, combine, joint_cost, with_paid
from deniable.record.statement import guarantee_of
from deniable.roles import Role
from deniable.samplers.registry import holds_for_several_records
from deniable.verification.planned_events import for_one_record, most_records_in, planned_steps, taken_in

# A second derivation of composed noise may be tighter than the first by this much, because the first reserves
# probability for rounding (more with more outputs: .003 at delta 1e-10 and a thousand outputs); it may be looser only
# by rounding.
_TIGHTER, _ROUNDING = 5e-3, 1e-6


def step_costs(record: Mapping[str, Any]) -> tuple[StepCost, ...]:
    """Read the stated cost of each step.

    Args:
        record: the record's predicate, in the shape of records.

    Raises:
        InvalidInput: an event or a number is invalid.
    """
    return tuple(
        StepCost(
            step=step["step"],
            part=step["part"],
            probability=Fraction(step["probability"]),
            events=tuple(from_record(event) for event in step["events"]),
            guarantee=_maybe(step["guarantee"]),
            record=_maybe(step["record"]),
            record_t=step.get("record_t"),  # of records of version 1
            most_records=most_records_in(record),
            joint=_joint(step.get("joint")),
        )
        for step in record["cost"]["steps"]
    )


def check_events(record: Mapping[str, Any]) -> Check:
    """Check that each step ran the events of its stated cost, and no other step spent anything."""
    name = "every step ran the events of its stated cost, and no other step spent anything"
    return Check(name, tuple(_faults_of_steps(record)))


def check_composition(record: Mapping[str, Any], steps: Sequence[StepCost]) -> Check:
    """Check that every step's events compose to at most its stated cost, and that this is within the spec."""
    faults, spec = [*_faults_of_plan(record, steps)], record["spec"]["document"]
    read = sum({step.part: step.probability for step in steps}.values(), Fraction(0)) or Fraction(1)
    plans, is_planned, of_one = planned_steps(spec), not faults, for_one_record(record)["spec"]["document"]
    for step in steps:
        planned = plans.get(step.step)
        asked = planned.beyond(of_one, step.of_record, read) if planned is not None and is_planned else ()
        found = [*_faults_of_step(record, step, planned), *asked]
        faults += [f"step {step.step}: {fault}" for fault in found]
    return Check("the events of every step compose to no more than its cost, which is within the spec", tuple(faults))


def check_totals(record: Mapping[str, Any], steps: Sequence[StepCost]) -> Check:
    """Check that the costs of model and release follow from the steps', and that version 1's repetitions agree."""
    cost = record["cost"]
    faults = []
    for name, found in _derived(record, steps).items():
        if name in cost:
            fault = faults_of_figure(_maybe(cost[name]), found, _tolerance(name, steps))
            faults += [f"cost.{name}{each}" for each in fault]
    faults += [fault for place in range(len(steps)) for fault in _faults_of_joint(steps[: place + 1])]
    of_theorem_1 = next((step.record_t for step in steps if step.record_t is not None), None)
    if cost.get("record_t") != of_theorem_1:
        faults.append(f"cost.record_t is {cost.get('record_t')}, but the step of the candidates gives {of_theorem_1}")
    return Check("the costs of the model and of the release follow from those of the steps", tuple(faults))


def _faults_of_joint(steps: Sequence[StepCost]) -> Iterator[str]:
    """Faults where the stated cost of the last of some steps together with the earlier ones does not follow.

    A record need not state one: the ledger then adds up, which is no less.
    """
    *earlier, step = steps
    if step.joint is None:
        return
    found = joint_cost(step, earlier, best_again)
    if found is None or found.steps != step.joint.steps:
        right = "none" if found is None else _listed(found.steps)
        yield f"step {step.step} is charged together with {_listed(step.joint.steps)}, but must be with {right}"
        return
    for fault in faults_of_figure(step.joint.guarantee, found.guarantee, (_TIGHTER, _ROUNDING)):
        yield f"the cost of step {step.step} together with {_listed(found.steps)}{fault}"


def _derived(record: Mapping[str, Any], steps: Sequence[StepCost]) -> dict[str, Guarantee | None]:
    """The costs of a release that follow from its steps, by their names in records of any version."""
    learner = learners.expected_steps(record["spec"]["document"]["learner"])
    learnt = [step for step in steps if step.step in learner]
    by_name = {step.step: step.guarantee for step in steps}
    paid = learners.paid_elsewhere(record["spec"]["document"]["learner"])
    relation = learners.relation_of(record["spec"]["document"]["learner"], record["schema"].get("person"))
    guaranteed = relation.is_guarantee and all(step.guarantee is not None for step in steps)
    return {
        "structure": by_name.get(Role.STRUCTURE),
        "parameters": by_name.get(Role.PARAMETERS),
        "model": TRIVIAL if relation.why_none else paid or (combine(learnt, best_again) if learnt else NOTHING),
        "candidates": by_name.get(Role.CANDIDATES),
        "histogram": by_name.get(Role.HISTOGRAM),
        "record": next((step.record for step in steps if step.record is not None), None),
        "total": with_paid((combine(steps, best_again) if steps else NOTHING) if guaranteed else None, paid),
    }


def _faults_of_steps(record: Mapping[str, Any]) -> Iterator[str]:
    """Faults where the record's steps and its cost disagree."""
    costs = record["cost"]["steps"]
    spending = [step for step in record["steps"] if step["events"] or not _is_free(step["cost"])]
    plans = planned_steps(record["spec"]["document"])
    expected = [taken_in(plans, cost["step"]) for cost in costs]
    found = [step["step"] for step in spending]
    if found != expected:
        yield f"the steps that spend are {_listed(found)} by the record's steps, but {_listed(expected)} by its cost"
        return
    for step, cost in zip(spending, costs, strict=True):
        yield from _faults_of_events(step["step"], "the record's steps", step["events"], cost["events"])
        if step["cost"] != cost["guarantee"]:
            yield f"step {step['step']}: its cost in the record's steps differs from that in the record's cost"


def _faults_of_events(step: str, where: str, found: object, expected: Sequence[object]) -> Iterator[str]:
    events = found if isinstance(found, list) else []
    for number, (one, other) in enumerate(zip(events, expected, strict=False), 1):
        if not same(one, other):
            yield f"step {step}: event {number} in {where} differs from that in the record's cost"
    if len(events) != len(expected):
        yield f"step {step}: {where} has {len(events)} events, but the record's cost {len(expected)}"


def _faults_of_plan(record: Mapping[str, Any], steps: Sequence[StepCost]) -> Iterator[str]:
    """Faults where the steps are not those of the spec."""
    spec, cost = record["spec"]["document"], record["cost"]
    kind = spec["synthesis"]["guarantee"]
    if cost["kind"] != kind:
        yield f"cost.kind is {cost['kind']}, but the spec requires {kind}"
    if (most := most_records_in(record)) > 1 and not holds_for_several_records(kind):
        yield f"up to {most} records of each person were used, but the guarantee {kind} holds for one of each"
    expected = list(planned_steps(spec))
    found = [step.step for step in steps]
    if found != expected:
        yield f"the steps that spend are {_listed(found)}, but the spec requires {_listed(expected)}"
    split = {name: value for name, value in spec["split"].items() if Fraction(value) > 0}
    for name in sorted(split.keys() | cost["split"].keys()):
        if split.get(name) != cost["split"].get(name):
            yield f"cost.split.{name} is {cost['split'].get(name)}, but the spec states {split.get(name)}"


def _faults_of_step(record: Mapping[str, Any], step: StepCost, planned: ExpectedStep | None) -> Iterator[str]:
    split = record["cost"]["split"]
    part = SHARED if SHARED in split or planned is None else planned.part
    if step.part != part:
        yield f"it reads the part {step.part}, but must read {part}"
    if part not in split or Fraction(split[part]) != step.probability:
        yield f"its part has the probability {step.probability}, but the split states {split.get(part)}"
    for number, event in enumerate(step.events, 1):
        if (event.part, event.sampling_rate) != (step.part, step.probability):
            yield f"event {number} is of the part {event.part}, read with probability {event.sampling_rate}"
    if (fault := fault_of_claim(step.events, Claim.of(step.charged).cost, step.most_records)) is not None:
        yield fault


def _tolerance(name: str, steps: Sequence[StepCost]) -> tuple[float, float]:
    """Relative tolerances by which a figure may be above, and below, its recomputation."""
    composed = name in ("model", "total") and len({step.part for step in steps}) < len(steps)
    return (_TIGHTER, _ROUNDING) if composed else EXACTLY


def _joint(stated: Mapping[str, Any] | None) -> JointCost | None:
    return None if stated is None else JointCost(guarantee_of(stated["cost"]), tuple(stated["steps"]))


def _maybe(spent: Mapping[str, Any] | None) -> Guarantee | None:
    return None if spent is None else guarantee_of(spent)


def _is_free(spent: Mapping[str, Any] | None) -> bool:
    return spent == {"epsilon": 0.0, "delta": 0.0, "accountant": "basic"}


def _listed(names: Sequence[object]) -> str:
    return ", ".join(str(name) for name in names) or "none"
