"""Events altered by a holder of the signing key, with record, ledger and statement brought up to date, are found.

Each field of each event is changed wherever it stands: in the costs, in the steps, in the ledger's entries, whose
identities, digests and links follow, and in privacy.json. All agrees then, but for what the spec asks for.
"""

from collections.abc import Iterator
from copy import deepcopy
from fractions import Fraction
from typing import Any

import pytest

from deniable.foundation.errors import InvalidInput
from deniable.ledger.entries import Charge, Entry, digest_of
from deniable.privacy.loss import from_record
from deniable.verification.planned_events import planned_steps, taken_in
from tests.published import Published, another, chained, faults
from tests.whole_release import HISTOGRAM, drawn_release

Events = list[dict[str, Any]]

PLANNED = "the events of every step are those that follow from spec and domain"
FOLLOWING = ("privacy.json: subgroup_error.", "privacy.json: model.choices.")
"""Figures of the statement that follow from the events, and are not worked out again by the forger."""
LOGLINEAR = {"learner": {"kind": "loglinear", "noise": "gaussian", "parameters": {"epsilon": 1, "delta": 1e-6}}}
RELEASES: dict[str, dict[str, Any]] = {
    "cfs, laplace, tested seeds": {},
    "loglinear, gaussian, histogram with k and rows": {
        **LOGLINEAR,
        "split": {"shared": 0.8, "holdout": 0.2},
        "synthesis": HISTOGRAM["synthesis"] | {"epsilon_rows": 0.1},
    },
}


@pytest.fixture(scope="module", params=RELEASES)
def published(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Published:
    drawn = drawn_release(tmp_path_factory.mktemp("events"), "people-1", **RELEASES[request.param])
    drawn.publish()
    return Published.of(drawn)


def with_events(published: Published, step: str, events: Events) -> Published:
    """A release in which a step has other events, wherever they stand."""
    stated = published.document("privacy.json")
    for each in stated["steps"]:
        if each["step"] == step:
            each["events"] = events
    altered = published.with_document("privacy.json", stated)
    record = altered.record
    for each in record["cost"]["steps"]:
        if each["step"] == step:
            each["events"] = events
    for each in record["steps"]:
        if each["step"] == taken_in(planned_steps(record["spec"]["document"]), step):
            each["events"] = events
    return altered.signed_again(chained(record, [*_entries(record["ledger"]["entries"], step, events)]))


def _entries(entries: Events, step: str, events: Events) -> Iterator[dict[str, Any]]:
    """The entries of a ledger in which a step was charged for other events."""
    identities = {}
    for entry in entries:
        changed = deepcopy(entry)
        content = changed.get("content", {})
        if content.get("step") == step:
            before = content["identity"]
            charge = Charge.from_content(content)
            parameters = {**charge.parameters, "events": digest_of(events)}
            facts = {**vars(charge), "events": tuple(map(from_record, events)), "parameters": parameters}
            changed["content"] = Charge(**facts).to_content()
            identities[before] = changed["content"]["identity"]
        elif content.get("identity") in identities:
            content["identity"] = identities[content["identity"]]
        yield changed


def others(event: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """An event with something else in one of its fields, as far as there can be such an event.

    No charge can have events of two parts.
    """
    for name, value in event.items():
        if name == "part":
            continue
        doubled = [str(Fraction(value) * 2)] if isinstance(value, str) and value.replace("/", "").isdigit() else []
        for other in (another(value), *doubled):
            try:
                changed = from_record(event | {name: other}).to_record()
            except InvalidInput:
                continue
            if changed != event:
                yield name, changed


def test_an_event_that_is_changed_wherever_it_stands_is_named(published: Published) -> None:
    assert published.verify().holds, faults(published.verify())
    tried = set()
    for step in published.record["cost"]["steps"]:
        events = step["events"]
        # One event of each kind and number of outputs; those are treated alike.
        places = {(event["mechanism"], event["outputs"]): number for number, event in enumerate(events)}
        for number in places.values():
            for field, changed in others(events[number]):
                forged = with_events(published, step["step"], [*events[:number], changed, *events[number + 1 :]])
                assert_named(forged, f"step {step['step']}: ")
                tried.add((step["step"], events[number]["mechanism"], field))
        # Candidates are one event, and no ledger charges them with others.
        if len(events) > 1:
            for listed in (events[:-1], [*events, events[-1]], [events[-1], *events[1:-1], events[0]]):
                assert_named(with_events(published, step["step"], listed), f"step {step['step']}: ")
    assert len(tried) > 15


def assert_named(forged: Published, named: str) -> None:
    """The release is refused for what the spec asks for, and for what follows from that alone."""
    report = forged.verify()
    (planned,) = [check for check in report.checks if check.name == PLANNED]
    assert any(fault.startswith(named) for fault in planned.faults), (named, planned.faults)
    consistent = (
        "ran the events of its stated cost",
        "privacy.json states",
        "the ledger's entries form a chain",
        "was charged once",
    )
    for check in report.checks:
        if any(part in check.name for part in consistent):
            assert all(fault.startswith(FOLLOWING) for fault in check.faults), check.line


def test_the_forgery_is_consistent(published: Published) -> None:
    """Without a change, what is put together again verifies: nothing else gives a forgery away."""
    for step in published.record["cost"]["steps"]:
        again = with_events(published, step["step"], step["events"])
        assert again.verify().holds, faults(again.verify())
    assert isinstance(Entry.from_record(published.record["ledger"]["entries"][0]), Entry)
