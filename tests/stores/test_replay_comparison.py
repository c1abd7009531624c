"""Differences between a release and its replay are named: the first step, what differs in it, and the likely reason."""

from typing import Any

import pytest

from schemas.provenance import Code, Environment, Provenance, Resource, Spent, Step
from schemas.references import Audience
from stores.record.replay_comparison import Finding, Reason, Replayed, compared, differing

A, B = "a" * 64, "b" * 64


def thing(name: str, digest: str = A) -> Resource:
    return Resource(name=name, digest=digest, audience=Audience.RESTRICTED)


def step(part: str | None = None, **changes: Any) -> Step:
    said: dict[str, Any] = {
        "inputs": (thing("codes"),),
        "outputs": (thing("seeds"), thing("holdout")),
        "cost": Spent(epsilon=0.0, delta=0.0, accountant="basic"),
        "events": (),
    }
    return Step(**{"step": "split", "part": part, "artifacts": (), **said, **changes})


def test_the_same_step_is_the_same() -> None:
    assert compared("split", [step()], [step()]) == Finding("split", "same")


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (step(outputs=(thing("seeds"), thing("holdout", B))), "its outputs differ: holdout"),
        (step(outputs=(thing("seeds"),)), "its outputs differ: holdout"),
        (step(outputs=(thing("seeds"), thing("holdout"), thing("more"))), "its outputs differ: more"),
        (step(inputs=(thing("codes", B),)), "its inputs differ: codes"),
        (step(events=({"query": "more"},)), "its cost differs"),
        (step(cost=None), "its cost differs"),
        (
            step(outputs=(thing("seeds", B), thing("holdout")), inputs=(thing("codes", B),)),
            "its outputs differ: seeds; its inputs differ: codes",
        ),
    ],
)
def test_what_differs_is_named(now: Step, said: str) -> None:
    finding = compared("split", [step()], [now])
    assert (finding.outcome, finding.said) == ("differs", said)
    assert finding.inputs == (("codes",) if "inputs" in said else ())


def test_a_step_that_was_not_done_again_or_is_new_differs() -> None:
    assert compared("split", [step()], []).said == "it was not repeated"
    assert compared("split", [step("chunks 0-3")], [step("chunks 0-3"), step("chunks 4-7")]).said == (
        "chunks 4-7 is not in the record"
    )


def test_parts_are_told_apart_wherever_they_stand() -> None:
    first, second = step("chunks 0-3"), step("chunks 4-7", outputs=(thing("seeds", B),))
    assert compared("split", [first, second], [second, first]) == Finding("split", "same", "all 2 parts")
    finding = compared("split", [first, second], [first, step("chunks 4-7", outputs=(thing("seeds", A),))])
    assert finding.said == "chunks 4-7: its outputs differ: seeds"


def test_things_of_one_name_are_told_apart_by_their_places() -> None:
    then = step(inputs=(thing("candidates", A), thing("candidates", B)))
    assert compared("split", [then], [then]).outcome == "same"
    swapped = step(inputs=(thing("candidates", B), thing("candidates", A)))
    assert compared("split", [then], [swapped]).said == "its inputs differ: candidates"
    fewer = step(inputs=(thing("candidates", A),))
    assert compared("split", [then], [fewer]).outcome == "differs"


def test_figures_count_where_they_are_known_and_are_named_without_their_values() -> None:
    measured, other = (
        step(figures={"internal/rows": 12.0, "internal/valid": 11.0}),
        step(figures={"internal/rows": 12.0}),
    )
    assert compared("split", [step()], [measured]).outcome == "same"
    finding = compared("split", [measured], [other])
    assert finding.said == "its figures differ: internal/valid"


def replayed(*findings: Finding, reason: str = "input, key, code and environment are those of the record") -> Replayed:
    return Replayed("small-1", findings, (Reason("unexplained", reason),))


def test_the_first_step_that_differs_is_the_verdict() -> None:
    made = replayed(
        Finding("clean", "same"),
        Finding("split", "differs", "its outputs differ: seeds"),
        Finding("gather", "failed", "x"),
    )
    assert not made.same
    assert list(made.lines()) == [
        "clean   same",
        "split   differs: its outputs differ: seeds",
        "gather  failed: x",
        "The first step whose output differs is split: its outputs differ: seeds.",
        "Why: unexplained: input, key, code and environment are those of the record.",
    ]


def test_what_was_not_reached_is_not_the_same() -> None:
    assert not replayed(Finding("clean", "same"), Finding("split", "not reached")).same
    assert replayed(Finding("clean", "same"), Finding("report", "not replayed", "it is for people")).same


CODE = Code(version="0.1.0", package=A, commit="c" * 40, dirty=False)
ENVIRONMENT = Environment(
    python="3.11.2",
    implementation="CPython",
    platform="Linux glibc 2.36",
    machine="x86_64",
    requirements=A,
    packages={"numpy": "2.2.1", "pyarrow": "19.0.0"},
)


def reasons(record: Provenance, **changes: Any) -> list[str]:
    here = {"code": CODE, "environment": ENVIRONMENT, "schema": A, **changes}
    return [str(reason) for reason in differing(record, **here)]


@pytest.fixture
def record() -> Provenance:
    """The part of a record that says what ran where."""
    schema = {"dataset": "people.py", "code": A, "source": "", "domain": A}
    return Provenance.model_construct(
        code=CODE, environment=ENVIRONMENT, table_schema=Provenance.model_fields["table_schema"].annotation(**schema)
    )


def test_nothing_that_is_as_it_was_is_a_reason(record: Provenance) -> None:
    assert reasons(record) == []
    elsewhere = CODE.model_copy(update={"commit": "d" * 40, "dirty": True})
    assert reasons(record, code=elsewhere) == []


def test_another_package_is_a_reason_with_both_commits(record: Provenance) -> None:
    code = Code(version="0.2.0", package=B, commit=None, dirty=None)
    there = "aaaaaaaaaaaa (version 0.1.0, commit cccccccccccc) in the record"
    assert reasons(record, code=code) == [f"code: the package is different, bbbbbbbbbbbb (version 0.2.0) here, {there}"]


def test_another_schema_is_a_reason(record: Provenance) -> None:
    assert reasons(record, schema=B) == [
        "code: the schema people.py is different, bbbbbbbbbbbb here, aaaaaaaaaaaa in the record"
    ]


def test_another_environment_is_a_reason_package_by_package(record: Provenance) -> None:
    changed = ENVIRONMENT.model_copy(
        update={"packages": {"numpy": "2.3.0", "scipy": "1.15.0"}, "python": "3.12.1", "machine": "aarch64"}
    )
    (said,) = reasons(record, environment=changed)
    assert said.removeprefix("environment: ").split("; ") == [
        "numpy 2.3.0 here, 2.2.1 in the record",
        "pyarrow absent here, 19.0.0 in the record",
        "scipy 1.15.0 here, absent in the record",
        "Python 3.12.1 here, 3.11.2 in the record",
        "the machine aarch64 here, x86_64 in the record",
    ]


def test_pinned_requirements_matter_only_where_nothing_else_says_more(record: Provenance) -> None:
    others = ENVIRONMENT.model_copy(update={"requirements": B})
    assert "the pinned requirements are different" in reasons(record, environment=others)[0]
    assert reasons(record, environment=ENVIRONMENT.model_copy(update={"requirements": None})) == []
