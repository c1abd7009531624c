"""The verifier derives the planned events of a release from its spec, and names every event that differs."""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from deniable.foundation.domain import Domain
from deniable.foundation.errors import InvalidInput
from deniable.learners.loglinear.plan import Layout
from deniable.privacy.loss import from_record
from deniable.privacy.step_costs import StepCost
from deniable.verification.planned_events import check_planned
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import ReleaseSpec, load_spec
from stores.record.provenance import spec_document
from tests.published import another, shuffles
from tests.small_release import SPEC, write_small_release

Events = Mapping[str, Sequence[Any]]

SHARED = {"shared": 0.8, "holdout": 0.2}
APART = {"seeds": 0.1, "parameters": 0.6, "holdout": 0.3}
PARAMETERS = {"epsilon": 1, "delta": 1e-6}


def learner(kind: str, noise: str) -> dict[str, Any]:
    structure = {"structure": SPEC["learner"]["structure"]} if kind == "cfs" else {}
    return {"learner": {"kind": kind, "noise": noise, "parameters": PARAMETERS, **structure}}


def declared(noise: str) -> dict[str, Any]:
    plain = learner("loglinear", noise)["learner"]
    return {"learner": {**plain, "counted_together": [["age", "sex", "school"]]}}


def histogram(**changes: Any) -> dict[str, Any]:
    plain = {"guarantee": "histogram_seeds", "omega": 2, "epsilon": 0.7, "delta": 1e-9}
    return {"synthesis": {**plain, "records": 400, "chunk_candidates": 128, **changes}}


PROMISE: dict[str, Any] = {"k": 40, "beta": 1e-6, "max_rows": 100_000}
STEPS: dict[str, dict[str, Any]] = {
    "cfs laplace": learner("cfs", "laplace"),
    "cfs gaussian": learner("cfs", "gaussian") | {"split": SHARED},
    "marginals laplace": learner("marginals", "laplace") | {"split": SHARED},
    "marginals gaussian": learner("marginals", "gaussian") | {"split": APART},
    "loglinear auto": learner("loglinear", "auto") | {"split": APART},
    "loglinear laplace": learner("loglinear", "laplace") | {"split": SHARED},
    "loglinear gaussian": learner("loglinear", "gaussian") | {"split": SHARED},
    "loglinear gaussian, declared": declared("gaussian") | {"split": SHARED},
    "loglinear laplace, declared": declared("laplace") | {"split": SHARED},
    "histogram": histogram(),
    "histogram rows": histogram(epsilon_rows=0.1) | {"split": SHARED},
    "histogram k": histogram(**PROMISE),
    "histogram k and rows": histogram(**PROMISE, epsilon_rows=0.1),
    "tested 2": {},
    "tested 2, one omega": {"synthesis": SPEC["synthesis"] | {"omega": {2: 1}}, "split": SHARED},
    "tested 1": {"synthesis": SPEC["synthesis"] | {"test": 1, "accept_no_differential_privacy": True}},
}
LEARNERS = [name for name in STEPS if name.partition(" ")[0] in ("cfs", "marginals", "loglinear")]
SEEDS = [name for name in STEPS if name not in LEARNERS]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("specs")


@cache
def planned(name: str, folder: Path) -> tuple[dict[str, Any], Domain, tuple[StepCost, ...]]:
    """The spec, the domain and the steps of a learner or of a guarantee, as the makers plan them."""
    spec = load_spec(write_small_release(folder / name, people=[], **(STEPS[name])))
    return spec_document(spec), spec.domain, costs(name, spec)


def costs(name: str, spec: ReleaseSpec) -> tuple[StepCost, ...]:
    accounts = plan_release(spec).accounts
    return accounts.drawn if name in SEEDS else accounts.learnt


def found(
    spec: Mapping[str, Any],
    domain: Domain,
    steps: Sequence[StepCost],
    events: Mapping[str, Sequence[Any]] | None = None,
) -> str:
    """What is found wrong, a line each, where the record states other events of some steps."""
    stated = []
    read = []
    for step in steps:
        own = (events or {}).get(step.step, [event.to_record() for event in step.events])
        stated.append({"events": own})
        read.append(StepCost(**{**vars(step), "events": tuple(from_record(event) for event in own)}))
    record = {"schema": {}, "spec": {"document": spec}, "cost": {"steps": stated}}
    return "\n".join(check_planned(record, domain, read).faults)


def altered(event: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """An event with something else in one of its fields, as far as there can be such an event."""
    for name, value in event.items():
        if name == "mechanism":
            continue
        others = [another(value)]
        if isinstance(value, str) and value.replace("/", "").isdigit():
            exact = Fraction(value)
            others += [str(exact * Fraction(factor)) for factor in ("2", "1/2", "51/50", "49/50")]
        for other in others:
            changed = event | {name: other}
            if changed == event:
                continue
            try:
                from_record(changed)
            except InvalidInput:
                continue
            yield name, changed


@pytest.mark.parametrize("name", STEPS)
def test_what_was_planned_is_what_the_verifier_derives(name: str, folder: Path) -> None:
    assert found(*planned(name, folder)) == ""


@pytest.mark.parametrize("name", ["cfs gaussian", "loglinear gaussian", "histogram"])
def test_what_was_planned_with_the_delta_of_the_records_that_a_step_reads_holds_too(name: str, folder: Path) -> None:
    """As releases were planned once: all steps alike, with no more than the delta that is asked today."""
    _, domain, _ = planned(name, folder)
    spec = load_spec(folder / name / "spec.yaml")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("schemas.spec.plan.delta_of_part", lambda _, delta: delta)
        steps = costs(name, spec)
    assert steps != planned(name, folder)[2]
    assert found(spec_document(spec), domain, steps) == ""
    mixed = (*steps[:1], *planned(name, folder)[2][1:])
    assert len(steps) == 1 or "step " in found(spec_document(spec), domain, mixed)


@pytest.mark.parametrize("name", [name for name in LEARNERS if name.startswith("loglinear")])
def test_what_an_earlier_version_of_the_learner_planned_holds_too(name: str, folder: Path) -> None:
    _, domain, _ = planned(name, folder)
    spec = load_spec(folder / name / "spec.yaml")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Layout, "of", lambda domain, _="gaussian": Layout.of_version_2(domain))
        steps = costs(name, spec)
    assert steps != planned(name, folder)[2]
    assert found(spec_document(spec), domain, steps) == ""
    [step] = steps
    [present] = planned(name, folder)[2]
    # Events of two versions are those of none.
    mixed = [event.to_record() for event in (*present.events[:1], *step.events[1:])]
    assert mixed[0] == step.events[0].to_record() or "step " in found(
        spec_document(spec), domain, steps, {step.step: mixed}
    )
    choices = [event.to_record() for event in (*step.events[:-1], present.events[-1])]
    assert choices[-1] == step.events[-1].to_record() or "step " in found(
        spec_document(spec), domain, steps, {step.step: choices}
    )


@pytest.mark.parametrize("name", STEPS)
def test_a_field_of_an_event_that_is_another_is_named(name: str, folder: Path) -> None:
    spec, domain, steps = planned(name, folder)
    for step in steps:
        events = [event.to_record() for event in step.events]
        # One event of each kind; those of one kind are treated alike.
        places = {(event["mechanism"], event["outputs"]): number for number, event in enumerate(events)}
        for number in places.values():
            for field, changed in altered(dict(events[number])):
                lines = found(spec, domain, steps, {step.step: [*events[:number], changed, *events[number + 1 :]]})
                # Where an amount is that of all events of the step, the others are named, or what they cost.
                own = f"step {step.step}: event {number + 1} has {field} {changed[field]}, but the spec requires"
                amount = field in ("scale", "variance", "epsilon_per_choice")
                assert own in lines or (amount and f"step {step.step}: " in lines), (changed, lines)


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("factor", ["1/2", "49/50", "51/50", "2"])
def test_noise_that_is_another_in_all_events_of_a_step_alike_is_named(name: str, factor: str, folder: Path) -> None:
    """Someone states twice the noise, or half of it, consistently."""
    spec, domain, steps = planned(name, folder)
    for step in steps:
        for field in ("scale", "variance", "epsilon_per_choice"):
            events = [dict(event.to_record()) for event in step.events]
            if not any(field in event for event in events):
                continue
            scaled = [e | {field: str(Fraction(str(e[field])) * Fraction(factor))} if field in e else e for e in events]
            assert f"step {step.step}: " in found(spec, domain, steps, {step.step: scaled}), field


@pytest.mark.parametrize("name", STEPS)
def test_an_event_that_is_missing_repeated_moved_or_of_another_kind_is_named(name: str, folder: Path) -> None:
    spec, domain, steps = planned(name, folder)
    for step in steps:
        events = [event.to_record() for event in step.events]
        few = min(len(events), 12)
        for _, shuffled in shuffles(few):
            others = [*shuffled(events[:few]), *events[few:]]
            assert f"step {step.step}: " in found(spec, domain, steps, {step.step: others})
        kind = {"mechanism": "approximate", "epsilon_per_output": "1/1000", "delta_per_output": "1/1000000"}
        common = {"query": "nothing", "part": step.part, "outputs": 1, "sampling_rate": str(step.probability)}
        for number in range(few):
            others = [*events[:number], kind | common, *events[number + 1 :]]
            assert f"step {step.step}: event {number + 1} " in found(spec, domain, steps, {step.step: others})
        assert f"the spec requires {len(events)}" in found(spec, domain, steps, {step.step: [*events, kind | common]})


@pytest.mark.parametrize("name", [name for name in STEPS if not name.startswith("tested")])
def test_a_cost_that_is_not_that_of_the_events_is_named_though_the_spec_allows_it(name: str, folder: Path) -> None:
    spec, domain, steps = planned(name, folder)
    for step in steps:
        assert step.guarantee is not None
        for change in (
            {"epsilon": step.guarantee.epsilon * 0.98},
            {"epsilon": step.guarantee.epsilon * 1.02},
            {"delta": step.guarantee.delta * 1.02 + 1e-12},
            {"accountant": "trivial"},
        ):
            guarantee = type(step.guarantee)(**{**vars(step.guarantee), **change})
            others = [StepCost(**{**vars(each), "guarantee": guarantee}) if each is step else each for each in steps]
            assert f"step {step.step}: its stated cost is" in found(spec, domain, others), change
        others = [StepCost(**{**vars(each), "guarantee": None}) if each is step else each for each in steps]
        assert f"step {step.step}: its stated cost is nothing that can be stated" in found(spec, domain, others)


@pytest.mark.parametrize(
    ("name", "place", "value", "named"),
    [
        ("cfs laplace", ("learner", "structure", "epsilon_rows"), "1/20", "step learn_structure: event 1 has scale"),
        ("cfs laplace", ("learner", "structure", "delta"), "1/1000", "step learn_structure: event 2 has delta_per_out"),
        ("cfs gaussian", ("learner", "structure", "epsilon"), "2", "step learn_structure: its noise costs epsilon"),
        ("cfs gaussian", ("learner", "noise"), "laplace", "step learn_parameters: event 1 is of the mechanism"),
        ("marginals laplace", ("learner", "parameters", "epsilon"), "2", "step learn_parameters: its noise costs"),
        ("marginals gaussian", ("learner", "parameters", "delta"), "1/10", "step learn_parameters: its noise costs"),
        ("loglinear auto", ("learner", "noise"), "gaussian", "step learn_parameters: "),
        ("loglinear gaussian", ("learner", "noise"), "laplace", "step learn_parameters: event 1 is of the mechanism"),
        (
            "loglinear laplace",
            ("learner", "parameters", "epsilon"),
            "11/10",
            "step learn_parameters: event 1 has scale",
        ),
        ("loglinear gaussian", ("learner", "parameters", "epsilon"), "11/10", "step learn_parameters: its noise costs"),
        ("loglinear gaussian", ("learner", "kind"), "marginals", "step learn_parameters: event 1 has query"),
        ("histogram", ("synthesis", "delta"), "1/1000", "step noise_seeds: event 1 has threshold"),
        ("histogram", ("synthesis", "epsilon_rows"), "1/10", "step noise_seeds: it has 1 events, but the spec"),
        ("histogram rows", ("synthesis", "epsilon_rows"), "1/20", "step noise_seeds: event 2 has scale"),
        ("histogram rows", ("synthesis", "epsilon_rows"), None, "step noise_seeds: it has 2 events, but the spec"),
        ("histogram k", ("synthesis", "k"), 41, "step noise_seeds: event 1 has threshold"),
        ("histogram k", ("synthesis", "beta"), "1/1000", "step noise_seeds: event 1 has threshold"),
        ("histogram k", ("synthesis", "max_rows"), 1000, "step noise_seeds: event 1 has threshold"),
        ("tested 2", ("synthesis", "candidates"), 1499, "step synthesize: event 1 has outputs 1500"),
        ("tested 2", ("synthesis", "omega"), {"2": 1}, "step synthesize: event 1 has equal_probabilities False"),
        ("tested 1", ("synthesis", "test"), 2, "step synthesize: event 1 is of the mechanism approximate"),
    ],
)
def test_events_of_another_spec_are_named(
    name: str, place: tuple[str, ...], value: object, named: str, folder: Path
) -> None:
    spec, domain, steps = planned(name, folder)
    other = deepcopy(spec)
    inner = other
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    assert named in found(other, domain, steps)


@pytest.mark.parametrize("name", LEARNERS)
def test_events_of_another_domain_are_named(name: str, folder: Path) -> None:
    spec, domain, steps = planned(name, folder)
    smaller = Domain(domain.attributes[1:], domain.target)
    assert "step learn_parameters: " in found(spec, smaller, steps)


def test_a_step_of_a_mechanism_that_the_spec_does_not_ask_for_is_named(folder: Path) -> None:
    spec, domain, steps = planned("histogram", folder)
    seedless = spec | {"synthesis": spec["synthesis"] | {"guarantee": "seedless"}}
    assert found(seedless, domain, steps) == "step noise_seeds: the spec has no such step"
    spec, domain, steps = planned("cfs laplace", folder)
    both = ["learn_structure", "learn_parameters"]
    for kind, unasked in {"loglinear": both[:1], "of tomorrow": both}.items():
        other = spec | {"learner": spec["learner"] | {"kind": kind}}
        assert found(other, domain, steps) == "\n".join(f"step {step}: the spec has no such step" for step in unasked)
