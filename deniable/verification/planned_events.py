"""Verification of the mechanism events against the spec: each event is derived from spec and domain.

The events of a step are defined by its mechanism, found in the registries of learners and samplers. No event can be
omitted, added or replaced, and nothing in an event can be changed except an amount of noise, within the difference
between two derivations (privacy.planned), even by someone who signs the result.

The cost of a step's events (verification.cost) and the ledger's charges for them (verification.segment) do not belong
here. Nothing here needs more than the wheel requires.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from deniable.foundation.checks import Check
from deniable.foundation.domain import Domain, Person
from deniable.foundation.strict_json import same
from deniable.learners import registry as learners
from deniable.privacy.group_privacy import learner_of_record
from deniable.privacy.planned import Delta, Document, ExpectedStep, Planned
from deniable.privacy.step_costs import StepCost, part_delta, read_probability
from deniable.samplers import registry as samplers


def check_planned(record: Document, domain: Domain, steps: Sequence[StepCost]) -> Check:
    """Check that the events of each step are those that follow from the spec.

    Args:
        record: the record's predicate.
        domain: the public domain.
        steps: the costs of the steps, from the record.
    """
    spec = for_one_record(record)["spec"]["document"]
    plans = planned_steps(spec)
    others = tuple(f"step {step.step}: the spec has no such step" for step in steps if step.step not in plans)
    of_one = [step.of_record for step in steps]

    def faults(delta: Delta) -> tuple[str, ...]:
        return tuple(
            f"step {step.step}: {fault}"
            for step, stated in zip(of_one, record["cost"]["steps"], strict=True)
            for fault in _faults(plans[step.step].plan(spec, domain, step, delta), step, stated["events"])
        )

    found = others or faults(lambda whole: part_delta(whole, _read(spec)))
    # Earlier releases used the spec's delta for the records that a step reads, which is stricter.
    earlier = others or (found and faults(lambda whole: whole))
    return Check("the events of every step are those that follow from spec and domain", found if earlier else ())


def most_records_in(record: Document) -> int:
    """The most records of one person that a release used; 1 if the privacy unit is one record.

    Raises:
        InvalidInput: the record states no people, or another number than there may be.
    """
    person = Person.from_document(record["schema"].get("person"))
    return 1 if person is None else person.most_records


def for_one_record(record: Document) -> Document:
    """The record of the same release with the learner's budgets for one record: by these its noise is scaled."""
    most, document = most_records_in(record), record["spec"]["document"]
    if most == 1:
        return record
    learner = learner_of_record(document["learner"], most)
    return {**record, "spec": {**record["spec"], "document": {**document, "learner": learner}}}


def expected_steps(spec: Document) -> Mapping[str, ExpectedStep]:
    """The steps of a spec's mechanisms by name, in order; empty for an unknown mechanism."""
    learner = learners.expected_steps(spec["learner"])
    return {**learner, **samplers.expected_steps(spec["synthesis"])}


def planned_steps(spec: Document) -> Mapping[str, ExpectedStep]:
    """The steps that read a part of the rows, and hence have a cost."""
    return {name: step for name, step in expected_steps(spec).items() if step.part is not None}


def taken_in(plans: Mapping[str, ExpectedStep], step: str) -> str:
    """The step of the flow in which the cost of a step is spent."""
    return (step in plans and plans[step].taken_in) or step


def _faults(planned: Planned, step: StepCost, stated: Sequence[Document]) -> Iterator[str]:
    expected = [replace(event, part=step.part, sampling_rate=step.probability) for event in planned.events]
    differences = list(_differences(stated, [event.to_record() for event in expected]))
    if differences:
        yield from differences
        return
    yield from planned.amounts()
    yield from planned.claim(step.guarantee)


def _differences(stated: Sequence[Document], expected: Sequence[Document]) -> Iterator[str]:
    """Differences between stated and expected events, field by field."""
    for number, (one, other) in enumerate(zip(stated, expected, strict=False), 1):
        if one["mechanism"] != other["mechanism"]:
            yield f"event {number} is of the mechanism {one['mechanism']}, but the spec requires {other['mechanism']}"
            continue
        for name in other:
            if not same(one.get(name), other[name]):
                yield f"event {number} has {name} {one.get(name)}, but the spec requires {other[name]}"
    if len(stated) != len(expected):
        yield f"it has {len(stated)} events, but the spec requires {len(expected)}"


def _read(spec: Document) -> Fraction:
    """The probability that a record is read by any step with a cost."""
    split = {name: Fraction(probability) for name, probability in spec["split"].items()}
    return read_probability(split, [step.part for step in planned_steps(spec).values() if step.part is not None])
