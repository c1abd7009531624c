"""Thousands of alterations of a real release, one at a time: every one is found, and the line names where it is.

Most of them are made by someone who has the signing key, and brings every digest and every link up to date.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any

import pytest

from deniable.ledger.entries import Entry, canonical
from stores.ledger.charging import open_ledger
from tests.charging import charge, policy
from tests.extent import is_night
from tests.published import Place, Published, another, at, chained, faults, leaves, shuffles, with_change
from tests.whole_release import drawn_release

POSITIONS = 110 if is_night() else 7
"""Positions in each file, at each of which a byte is changed, one is removed and one is put in."""
STRANGER = "a register that nobody knows of"

# What the makers say of themselves and their machines, which nothing in the folder can confirm.
THEIR_WORD = {"code", "environment", "people", "runs"}
# What is worked out from these is named, not they themselves.
NAMED_OTHERWISE: dict[Place, str] = {
    ("spec",): "spec.digest",
    ("schema", "source"): "schema.code",
    ("schema", "code"): "schema.code",
    ("ledger", "before"): "entry ",
    ("ledger", "head"): "must be the last",
    ("input", "key"): "the key of step",
    ("signed",): "the key",
    ("release", "id"): "privacy.json: release is",
    ("rendering",): "rendering must be public",
}
CHARGED = {"claim", "per_record", "events", "probability", "part", "inputs", "step", "dataset", "commitment", "output"}


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Published:
    """A release whose part of the ledger has entries of others in it."""
    drawn = drawn_release(tmp_path_factory.mktemp("altered"), "made-up-1")
    ledger = open_ledger(drawn.workspace)
    ledger.set_policy(policy(dataset=STRANGER))
    ledger.reserve(charge(dataset=STRANGER, release="secret"))
    drawn.publish()
    published = Published.of(drawn)
    for with_ledger in (False, True):
        report = published.verify(with_ledger=with_ledger)
        assert report.holds, faults(report)
    return published


@dataclass
class Trials:
    """Verifies altered releases, and counts them."""

    count: int = 0

    def of(self, altered: Published, *named: str, with_ledger: bool = False) -> str:
        """The lines of what does not hold, one of which says one of some things."""
        report = altered.verify(with_ledger=with_ledger)
        lines = "\n".join(check.line for check in report.checks if not check.holds)
        assert any(name in lines for name in named), (named, lines or "nothing was found")
        assert not report.holds
        self.count += 1
        return lines


@pytest.fixture
def trials(request: pytest.FixtureRequest) -> Iterator[Trials]:
    """Says at the end how many there were; see it by `pytest -rP`."""
    counted = Trials()
    yield counted
    sys.stdout.write(f"{counted.count} alterations: {request.node.name}\n")


def positions(length: int, most: int) -> list[int]:
    """Some positions of a file: the first, the last, and others where no pattern of the file can hide."""
    spread = {int((number * 0.6180339887498949 % 1) * length) for number in range(most)}
    return sorted({0, length - 1} | spread)


def test_a_byte_that_is_changed_removed_or_put_in_anywhere_is_found_and_its_file_named(
    honest: Published, trials: Trials
) -> None:
    for name, content in honest.files.items():
        for number, position in enumerate(positions(len(content), POSITIONS)):
            before, after = content[:position], content[position + 1 :]
            flipped = before + bytes([content[position] ^ 1 << number % 8]) + after
            put_in = before + bytes([number % 256]) + content[position:]
            for altered in (flipped, before + after, put_in):
                trials.of(honest.with_files({name: altered}), name)
    assert trials.count > 27 * POSITIONS


def test_a_file_that_is_missing_empty_or_one_too_many_is_found_and_named(honest: Published, trials: Trials) -> None:
    for name, content in honest.files.items():
        trials.of(honest.with_files({name: None}), name)
        trials.of(honest.with_files({name: b""}), name)
        for stranger in (f".{name}", f"{name}.bak"):
            trials.of(honest.with_files({stranger: content}), stranger)


def tables(lines: Sequence[str]) -> Iterator[tuple[str, Sequence[str]]]:
    """What may be wrong with a table, and how it looks then."""
    header, record = lines[0], lines[7].rstrip("\n").split(",")

    def with_record(*values: str) -> Sequence[str]:
        return [*lines[:7], ",".join(values) + "\n", *lines[8:]]

    yield "record 7: age has a value that is not in its public domain", with_record("99", *record[1:])
    yield "record 7: age has a value", with_record(f" {record[0]}", *record[1:])
    yield "record 7: employed has a value", with_record(*record[:-1], "perhaps")
    yield "record 7: sex has a value", with_record(record[0], "", *record[2:])
    yield "record 7 does not have 4 values", with_record(*record[:-1])
    yield "record 7 does not have 4 values", with_record(*record, "yes")
    yield "its columns are not in the order of the domain", [",".join(sorted(header.strip().split(","))) + "\n", *lines]
    yield "its columns are not those of the domain", [header.replace("age", "years"), *lines[1:]]
    yield "it has 399 records, but release.records is 400", lines[:-1]
    yield "it has 401 records, but release.records is 400", [*lines, lines[-1]]
    yield "its columns are not those of the domain", []


def test_a_table_that_leaves_the_domain_is_found_though_it_was_signed(honest: Published, trials: Trials) -> None:
    for named, lines in tables(honest.files["synthetic.csv"].decode().splitlines(keepends=True)):
        altered = honest.with_files({"synthetic.csv": "".join(lines).encode()})
        trials.of(altered.signed_again(altered.record), f"synthetic.csv: {named}")


def test_whatever_is_changed_in_the_record_is_found_though_it_was_signed(honest: Published, trials: Trials) -> None:
    record = honest.record
    for place in leaves(record):
        if place[0] in THEIR_WORD or place[-2:] == ("input", "method") or "artifacts" in place:
            continue
        # Whether a release came before is for the ledger to say.
        with_ledger = place == ("release", "previous")
        altered = honest.signed_again(with_change(record, place, another))
        trials.of(altered, *names_of(record, place), with_ledger=with_ledger)
    assert trials.count > 400


@pytest.mark.parametrize("days", [-40, -1, 1, 40], ids="{:+} days".format)
@pytest.mark.parametrize("named", ["begun", "published"])
def test_a_release_began_with_its_first_charge_and_was_published_when_it_was_signed(
    honest: Published, trials: Trials, named: str, days: int
) -> None:
    """Whatever day it is today: every other day is found, earlier or later, also where both move together."""
    place = ("release", named)
    record = with_change(honest.record, place, lambda day: f"{date.fromisoformat(day) + timedelta(days):%Y-%m-%d}")
    trials.of(honest.signed_again(record), f"release.{named} is {at(record, place)}")
    both = with_change(record, ("release",), lambda said: {**said, "begun": said[named], "published": said[named]})
    trials.of(honest.signed_again(both), f"release.published is {at(record, place)}")


def names_of(record: dict[str, Any], place: Place) -> list[str]:
    """What a line may say to name a place of the record: the entry or the step that it is in, or the place itself."""
    if place[:2] == ("ledger", "entries"):
        return [f"entry {record['ledger']['entries'][place[2]]['number']}"]
    named = [name for parts, name in NAMED_OTHERWISE.items() if place[: len(parts)] == parts]
    within = [at(record, place[:depth]) for depth in range(1, len(place))]
    steps = [inner["step"] for inner in within if isinstance(inner, dict) and "step" in inner]
    if "step" in place[-1:] or "cost" in place[-2:-1]:
        named += ["the steps that spend", "is not a step of a release of this spec"]
    if "outputs" in place:
        named += [", which no earlier step made"]  # said of the step that read it
    return [*named, *(f"step {step}" for step in steps), *(f"[{step}]" for step in steps), dotted(place)]


def dotted(place: Place) -> str:
    """A place in one word."""
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in place).removeprefix(".")


def test_whatever_is_missing_in_the_record_or_added_to_it_is_found_though_it_was_signed(
    honest: Published, trials: Trials
) -> None:
    record = honest.record
    for place in named_places(record):
        *outer, last = place
        missing, added = deepcopy(record), deepcopy(record)
        del at(missing, tuple(outer))[last]
        at(added, tuple(outer))["remark"] = "added"
        trials.of(honest.signed_again(missing), str(last), "spec.digest", *entry_of(record, place))
        trials.of(honest.signed_again(added), "remark", "spec.digest", *entry_of(record, place))
    assert trials.count > 400


def named_places(record: dict[str, Any]) -> Iterator[Place]:
    """Places of all named values that a record must have, one of each kind."""
    seen = set()
    for leaf in leaves(record):
        for depth in range(1, len(leaf) + 1):
            place = leaf[:depth]
            kind = tuple(name if isinstance(name, str) else "" for name in place)
            free = "packages" in place or ("split" in place and place[-1] != "split")
            if isinstance(place[-1], str) and kind not in seen and not free:
                seen.add(kind)
                yield place


def entry_of(record: dict[str, Any], place: Place) -> list[str]:
    """The name of the ledger's entry, or of the step's event, that a place is in."""
    if place[:2] == ("ledger", "entries") and len(place) > 2:
        return [f"entry {record['ledger']['entries'][place[2]]['number']}"]
    return ["an event of the mechanism", "event "] if "events" in place else []


@pytest.mark.parametrize("outer", [("cost", "steps"), ("steps",)], ids=["cost", "steps"])
def test_an_event_of_the_record_that_is_removed_repeated_or_moved_is_found(
    honest: Published, trials: Trials, outer: tuple[str, ...]
) -> None:
    record = honest.record
    for number, step in enumerate(at(record, outer)):
        for _, shuffled in shuffles(len(step["events"])):
            altered = with_change(record, (*outer, number, "events"), shuffled)
            trials.of(honest.signed_again(altered), f"step {step['step']}", f"[{step['step']}]")


def test_a_step_that_is_removed_repeated_or_moved_is_found(honest: Published, trials: Trials) -> None:
    record = honest.record
    for _, shuffled in shuffles(len(record["steps"])):
        trials.of(honest.signed_again(with_change(record, ("steps",), shuffled)), "step ")
    for _, shuffled in shuffles(len(record["cost"]["steps"])):
        trials.of(honest.signed_again(with_change(record, ("cost", "steps"), shuffled)), "the steps that spend")


def test_whatever_is_changed_in_the_statement_is_found_though_it_was_signed(honest: Published, trials: Trials) -> None:
    stated = honest.document("privacy.json")
    for place in leaves(stated):
        *outer, last = place
        if outer == ["not_covered"]:  # prose
            continue
        named = f"privacy.json: {dotted(place)}"
        for number, step in enumerate(stated["steps"]):
            named = named.replace(f"steps[{number}]", f"steps[{step['step']}]")
        # How many releases there were is for the ledger to say.
        with_ledger = place == ("dataset_so_far", "releases")
        altered = honest.with_document("privacy.json", with_change(stated, place, another))
        trials.of(altered, named, with_ledger=with_ledger)
        without, added = deepcopy(stated), deepcopy(stated)
        del at(without, tuple(outer))[last]
        if isinstance(last, int):
            at(added, tuple(outer)).append("remark")
            for altered in (without, added):
                trials.of(honest.with_document("privacy.json", altered), f"privacy.json: {dotted(tuple(outer))} has ")
            continue
        of_the_sum = "privacy.json: dataset_so_far"
        trials.of(honest.with_document("privacy.json", without), named, of_the_sum)
        at(added, tuple(outer))["remark"] = 0.5
        trials.of(honest.with_document("privacy.json", added), "remark is unknown", of_the_sum)
    assert trials.count > 200


def test_an_event_of_the_statement_that_is_removed_repeated_or_moved_is_found(
    honest: Published, trials: Trials
) -> None:
    stated = honest.document("privacy.json")
    for number, step in enumerate(stated["steps"]):
        for _, shuffled in shuffles(len(step["events"])):
            altered = with_change(stated, ("steps", number, "events"), shuffled)
            trials.of(honest.with_document("privacy.json", altered), f"steps[{step['step']}].events")
    for _, shuffled in shuffles(len(stated["steps"])):
        trials.of(honest.with_document("privacy.json", with_change(stated, ("steps",), shuffled)), "steps")


def test_a_cost_that_was_lowered_by_a_thousandth_wherever_it_stands_is_found(honest: Published, trials: Trials) -> None:
    record, stated = honest.record, honest.document("privacy.json")
    for step in record["cost"]["steps"]:
        epsilon = step["guarantee"]["epsilon"]
        lower = epsilon * 0.999
        entries = [
            with_change(entry, ("content", "claim", "epsilon"), lambda _, e=lower: f"{e:.12f}")
            if entry.get("content", {}).get("step") == step["step"]
            else entry
            for entry in record["ledger"]["entries"]
        ]
        less = json.loads(json.dumps(record).replace(repr(epsilon), repr(lower)))
        altered = honest.with_document(
            "privacy.json", json.loads(json.dumps(stated).replace(repr(epsilon), repr(lower)))
        )
        relinked = chained({**less, "ledger": record["ledger"]}, entries)
        lines = trials.of(altered.signed_again(relinked), f"step {step['step']}: its events cost epsilon")
        assert "is another in privacy.json" not in lines
    assert trials.count == 3


def test_an_entry_that_is_removed_repeated_moved_or_sealed_is_found_though_it_was_signed(
    honest: Published, trials: Trials
) -> None:
    record = honest.record
    entries = record["ledger"]["entries"]
    for _, shuffled in shuffles(len(entries)):
        trials.of(honest.signed_again(with_change(record, ("ledger", "entries"), shuffled)), "entry ")
        # Another ledger, in which all of it follows: it is not the one that was exported.
        if shuffled(entries) == entries[:-1]:
            continue  # the ledger as it was a moment before
        relinked = honest.signed_again(chained(record, shuffled(entries)))
        trials.of(relinked, "differs from that in the exported ledger", "is not in the exported", with_ledger=True)
    for number, entry in enumerate(entries):
        if "content" in entry:
            closed = Entry.from_record(entry).sealed().to_record()
            altered = with_change(record, ("ledger", "entries", number), lambda _, sealed=closed: sealed)
            trials.of(honest.signed_again(altered), "step ", "entry ")
    assert trials.count > 50


def test_whatever_is_changed_in_an_entry_is_found_though_the_ledger_was_linked_again(
    honest: Published, trials: Trials
) -> None:
    record = honest.record
    for place in leaves(record["ledger"]["entries"]):
        if place[-1] in ("number", "previous", "digest"):
            continue
        relinked = honest.signed_again(chained(record, with_change(record["ledger"]["entries"], place, another)))
        named = f"entry {record['ledger']['entries'][place[0]]['number']}"
        trials.of(relinked, named, with_ledger=True)
        # What is charged, and for what, is held against the record without the whole ledger too.
        if place[1:3] and place[1] == "content" and place[2] in CHARGED:
            trials.of(relinked, named)
    assert trials.count > 200


def test_an_exported_ledger_that_was_altered_or_is_another_is_found(honest: Published, trials: Trials) -> None:
    lines = honest.ledger
    for name, shuffled in shuffles(len(lines)):
        number = int(name.split()[0])
        trials.of(replace(honest, ledger=tuple(shuffled(lines))), f"entry {number}", "entry ", with_ledger=True)
    for number, line in enumerate(lines):
        for place in leaves(json.loads(line)):
            altered = canonical(with_change(json.loads(line), place, another))
            forged = replace(honest, ledger=(*lines[:number], altered, *lines[number + 1 :]))
            trials.of(forged, f"entry {number}", with_ledger=True)
    trials.of(replace(honest, ledger=()), "entry 0 is missing", with_ledger=True)
    trials.of(replace(honest, ledger=lines[:-1]), "is not in the exported ledger", with_ledger=True)
    assert trials.count > 200
