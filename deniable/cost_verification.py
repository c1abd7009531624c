"""Verification of what a release is said to cost: from the events that its record states, without believing who did.

What the events of a step cost by themselves is composed again, and all that follows from them is worked out once more.
Whether they are those that the spec asks for does not belong here (planned_events), nor whether a ledger was charged
for them (segment_verification), nor what privacy.json says of it (statement_figures).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isclose
from typing import Any

from deniable.accounting import best_again
from deniable.checks import Check
from deniable.deniability import best_t, theorem_1
from deniable.ledger import Claim
from deniable.ledger_verification import fault_of_claim
from deniable.loss import Guarantee, PrivacyTestEvent, from_record
from deniable.seed_accounting import record_guarantee
from deniable.statement_figures import guarantee_of
from deniable.step_costs import EXACT_COUNTS, StepCost, combine, part_delta
from deniable.strict_json import same

CHARGED_IN = {"synthesize": "index_seeds"}
"""Steps whose cost is spent in another: candidates are paid for all at once, before the first is drawn."""

_SEEDS = {"tested_seeds": ["synthesize"], "histogram_seeds": ["noise_seeds"], "seedless": []}
_PARTS = {
    "learn_structure": "structure",
    "learn_parameters": "parameters",
    "synthesize": "seeds",
    "noise_seeds": "seeds",
}
_SHARED = "shared"
# Two machines' logarithms may differ in the last digits.
_FLOATING = 1e-12
# A second derivation of composed noise may be tighter than the first by this much, which sets probability aside for its
# rounding (more the more outputs there are: delta 1e-10 and a thousand outputs come to .003); looser by rounding alone.
_TIGHTER, _ROUNDING = 5e-3, 1e-6


def step_costs(cost: Mapping[str, Any]) -> tuple[StepCost, ...]:
    """Read what each step is said to cost.

    Args:
        cost: the record's cost, of the shape that records have.

    Raises:
        InvalidInput: an event is none, or a number is.
    """
    return tuple(
        StepCost(
            step=step["step"],
            part=step["part"],
            probability=Fraction(step["probability"]),
            events=tuple(from_record(event) for event in step["events"]),
            guarantee=_maybe(step["guarantee"]),
            record=_maybe(step["record"]),
            record_t=step["record_t"],
        )
        for step in cost["steps"]
    )


def check_events(record: Mapping[str, Any]) -> Check:
    """Whether each step did what its cost is of, and no other step spent anything."""
    name = "every step did what its cost is of, and no other step spent anything"
    return Check(name, tuple(_faults_of_steps(record)))


def check_composition(record: Mapping[str, Any], steps: Sequence[StepCost]) -> Check:
    """Whether the events of every step compose to no more than it is said to cost, and that is within the spec."""
    faults = [*_faults_of_plan(record, steps)]
    planned = _PLANNED if not faults else {}
    read = sum({step.part: step.probability for step in steps}.values(), Fraction(0)) or Fraction(1)
    for step in steps:
        asked = planned.get(step.step, _unplanned)(record["spec"]["document"], step, read)
        found = [*_faults_of_step(record, step), *asked]
        faults += [f"step {step.step}: {fault}" for fault in found]
    return Check(
        "the events of every step compose to no more than its cost, and that is within the spec", tuple(faults)
    )


def check_totals(cost: Mapping[str, Any], steps: Sequence[StepCost]) -> Check:
    """Whether the costs of model, record, candidates, histogram and release follow from those of the steps."""
    derived = _Derived.of(cost["kind"], steps)
    faults = []
    for name in ("structure", "parameters", "model", "candidates", "histogram", "record", "total"):
        claimed, found = _maybe(cost[name]), getattr(derived, name)
        faults += [f"cost.{name}{fault}" for fault in _faults_of_figure(claimed, found, _tolerance(name, steps))]
    if cost["record_t"] != derived.record_t:
        faults.append(
            f"cost.record_t is {cost['record_t']}, and the step of the candidates makes it {derived.record_t}"
        )
    return Check("the costs of the steps add up to those of the model and of the release", tuple(faults))


@dataclass(frozen=True, kw_only=True)
class _Derived:
    """The costs of a release as they follow from its steps."""

    structure: Guarantee | None
    parameters: Guarantee | None
    model: Guarantee | None
    candidates: Guarantee | None
    histogram: Guarantee | None
    record: Guarantee | None
    record_t: int | None
    total: Guarantee | None

    @classmethod
    def of(cls, kind: str, steps: Sequence[StepCost]) -> "_Derived":
        by_name = {step.step: step for step in steps}
        learnt = [step for step in steps if step.step in ("learn_structure", "learn_parameters")]
        candidates, histogram = by_name.get("synthesize"), by_name.get("noise_seeds")
        guaranteed = all(step.guarantee is not None for step in steps)
        return cls(
            structure=_cost_of(by_name.get("learn_structure")),
            parameters=_cost_of(by_name.get("learn_parameters")),
            model=combine(learnt, best_again) if learnt else None,
            candidates=_cost_of(candidates) if kind == "tested_seeds" else None,
            histogram=_cost_of(histogram) if kind == "histogram_seeds" else None,
            record=candidates.record if candidates is not None else None,
            record_t=candidates.record_t if candidates is not None else None,
            total=combine(steps, best_again) if guaranteed and steps else None,
        )


def _faults_of_steps(record: Mapping[str, Any]) -> Iterator[str]:
    """Where the record's steps do not say the same as its cost."""
    costs = record["cost"]["steps"]
    spending = [step for step in record["steps"] if step["events"] or not _is_free(step["cost"])]
    expected = [CHARGED_IN.get(cost["step"], cost["step"]) for cost in costs]
    found = [step["step"] for step in spending]
    if found != expected:
        yield f"the steps that spend are {_listed(found)} by the record's steps, and {_listed(expected)} by its cost"
        return
    for step, cost in zip(spending, costs, strict=True):
        yield from _faults_of_events(step["step"], "the record's steps", step["events"], cost["events"])
        if step["cost"] != cost["guarantee"]:
            yield f"step {step['step']}: it costs something else in the record's steps than in its cost"


def _faults_of_events(step: str, where: str, found: object, expected: Sequence[object]) -> Iterator[str]:
    events = found if isinstance(found, list) else []
    for number, (one, other) in enumerate(zip(events, expected, strict=False), 1):
        if not same(one, other):
            yield f"step {step}: event {number} is another in {where} than in the record's cost"
    if len(events) != len(expected):
        yield f"step {step}: {where} has {len(events)} events, and the record's cost {len(expected)}"


def _faults_of_plan(record: Mapping[str, Any], steps: Sequence[StepCost]) -> Iterator[str]:
    """Where the steps are not those that the spec asks for."""
    spec, cost = record["spec"]["document"], record["cost"]
    kind = spec["synthesis"]["guarantee"]
    if cost["kind"] != kind:
        yield f"cost.kind is {cost['kind']}, and the spec asks for {kind}"
    learnt = ["learn_structure"] if spec["learner"]["structure"] is not None else []
    expected = [*learnt, "learn_parameters", *_SEEDS[kind]]
    found = [step.step for step in steps]
    if found != expected:
        yield f"the steps that spend are {_listed(found)}, and the spec asks for {_listed(expected)}"
    split = {name: value for name, value in spec["split"].items() if Fraction(value) > 0}
    for name in sorted(split.keys() | cost["split"].keys()):
        if split.get(name) != cost["split"].get(name):
            yield f"cost.split.{name} is {cost['split'].get(name)}, and the spec says {split.get(name)}"


def _faults_of_step(record: Mapping[str, Any], step: StepCost) -> Iterator[str]:
    split = record["cost"]["split"]
    part = _SHARED if _SHARED in split else _PARTS.get(step.step, step.part)
    if step.part != part:
        yield f"it reads the part {step.part}, and must read {part}"
    if part not in split or Fraction(split[part]) != step.probability:
        yield f"its part has the probability {step.probability}, and the split says {split.get(part)}"
    for number, event in enumerate(step.events, 1):
        if (event.part, event.sampling_rate) != (step.part, step.probability):
            yield f"event {number} is of the part {event.part}, read with probability {event.sampling_rate}"
    if (fault := fault_of_claim(step.events, Claim.of(step.charged).cost)) is not None:
        yield fault


def _beyond(step: StepCost, budget: Mapping[str, Any], read: Fraction = Fraction(1)) -> Iterator[str]:
    """Where a step costs more than the spec allows, whose delta is that of all records, of which only some are read."""
    guarantee = step.charged
    if guarantee.epsilon > float(Fraction(budget["epsilon"])) * (1 + _FLOATING):
        yield f"it costs epsilon {guarantee.epsilon}, and the spec allows {budget['epsilon']}"
    if guarantee.delta > float(part_delta(Fraction(budget["delta"]), read)) * (1 + _FLOATING):
        yield f"it costs delta {guarantee.delta} for the records that it reads, and the spec allows {budget['delta']}"


def _faults_of_candidates(spec: Mapping[str, Any], step: StepCost, _: Fraction) -> Iterator[str]:
    """Where candidates are not those of the spec, or Theorem 1 is not what it says of them."""
    asked = spec["synthesis"]
    if asked["test"] == 1:
        counts = replace(EXACT_COUNTS, part=step.part, sampling_rate=step.probability)
        if step.events != (counts,) or step.guarantee is not None or step.record is not None:
            yield "privacy test 1 gives no differential privacy, and the record states some"
        return
    event = step.events[0] if len(step.events) == 1 else None
    if not isinstance(event, PrivacyTestEvent):
        yield "it must have one event, of candidates tested by privacy test 2"
        return
    if step.guarantee is None or step.guarantee.delta != float(Fraction(asked["total_delta"])):
        yield f"its cost must be stated at the spec's total_delta, {asked['total_delta']}"
    yield from _faults_of_one_record(event, step, asked)


def _faults_of_one_record(event: PrivacyTestEvent, step: StepCost, asked: Mapping[str, Any]) -> Iterator[str]:
    """Where the cost of one record does not follow from the exact form of Theorem 1, or, in older records, from it."""
    delta = float(Fraction(asked["delta"]))
    if step.record_t is None:
        found = record_guarantee(event, delta)
    else:
        t = best_t(k=event.k, eps0=event.eps0, delta=delta)
        if step.record_t != t:
            yield f"Theorem 1 is used with t = {step.record_t}, and {t} is right for the spec's delta"
            return
        found = theorem_1(k=event.k, gamma=event.ratio, eps0=event.eps0, t=t)
    yield from (f"the cost of one record{fault}" for fault in _faults_of_figure(step.record, found, _EXACT))
    if step.record is not None:
        yield from _beyond(replace(step, guarantee=step.record), asked)


def _unplanned(_: Mapping[str, Any], __: StepCost, ___: Fraction) -> Iterator[str]:
    """A step that the spec says nothing of."""
    return iter(())


_PLANNED: dict[str, Callable[[Mapping[str, Any], StepCost, Fraction], Iterator[str]]] = {
    "learn_structure": lambda spec, step, read: _beyond(step, spec["learner"]["structure"], read),
    "learn_parameters": lambda spec, step, read: _beyond(step, spec["learner"]["parameters"], read),
    "synthesize": _faults_of_candidates,
    "noise_seeds": lambda spec, step, read: _beyond(step, spec["synthesis"], read),
}

_EXACT = (_FLOATING, _FLOATING)


def _tolerance(name: str, steps: Sequence[StepCost]) -> tuple[float, float]:
    """By which shares a figure may be above, and below, what is worked out again."""
    composed = name in ("model", "total") and len({step.part for step in steps}) < len(steps)
    return (_TIGHTER, _ROUNDING) if composed else _EXACT


def _faults_of_figure(
    claimed: Guarantee | None, found: Guarantee | None, tolerance: tuple[float, float]
) -> Iterator[str]:
    """Where a figure is not what is worked out again; to be read after its name."""
    if claimed is None or found is None:
        if claimed is not found:
            yield " is stated, and does not follow" if found is None else " is not stated, and follows"
        return
    above, below = tolerance
    if not found.epsilon * (1 - below) <= claimed.epsilon <= found.epsilon * (1 + above):
        yield f".epsilon is {claimed.epsilon}, and the steps make it {found.epsilon}"
    if not isclose(claimed.delta, found.delta, rel_tol=_FLOATING):
        yield f".delta is {claimed.delta}, and the steps make it {found.delta}"
    # Where noise was composed as one, two derivations may find different accountants the tightest, by a hair.
    if claimed.accountant != found.accountant and tolerance == _EXACT:
        yield f".accountant is {claimed.accountant}, and the steps make it {found.accountant}"


def _cost_of(step: StepCost | None) -> Guarantee | None:
    return None if step is None else step.guarantee


def _maybe(spent: Mapping[str, Any] | None) -> Guarantee | None:
    return None if spent is None else guarantee_of(spent)


def _is_free(spent: Mapping[str, Any] | None) -> bool:
    return spent == {"epsilon": 0.0, "delta": 0.0, "accountant": "basic"}


def _listed(names: Sequence[object]) -> str:
    return ", ".join(str(name) for name in names) or "none"
