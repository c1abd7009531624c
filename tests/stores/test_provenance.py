"""The ledger's entries in a record: its own are shown, others are sealed, and all form one chain."""

import json
from itertools import pairwise

from deniable.ledger.entries import AnyEntry, Output, Publication, entry_of
from schemas.provenance import LedgerSegment
from stores.record.provenance import ledger_segment
from tests.charging import chain, charge, policy

OWN = charge("0.5")
LATER = charge("0.25", part="parameters", step="learn_parameters")
OTHERS = charge("0.125", release="another", commitment="commitment to another key", dataset="households")
FACTS = (
    policy(),
    OTHERS,
    OWN,
    policy(dataset="households"),
    Output(identity=OWN.identity, output="digest of the graph"),
    Output(identity=OTHERS.identity, output="digest of another graph"),
    policy(2),
    LATER,
    Publication(dataset="people", release="earlier", output="digest of the earlier release"),
    Publication(dataset="people", release="r1", output="digest of the release"),
    charge("0.0625", release="another", commitment="commitment to another key"),
)


def segment(release: str = "r1") -> LedgerSegment:
    return ledger_segment(chain(*FACTS), release=release, dataset="people", commitment=OWN.commitment)


def entries(made: LedgerSegment) -> list[AnyEntry]:
    return [entry_of(plain) for plain in made.entries]


def test_the_segment_begins_with_the_first_charge_and_ends_with_the_last_entry() -> None:
    made, ledger = segment(), chain(*FACTS)
    assert made.before is not None
    assert (made.before.number, made.before.digest) == (2, ledger[2].digest)
    assert (made.head.number, made.head.digest) == (11, ledger[11].digest)
    assert [entry.number for entry in entries(made)] == list(range(3, 12))


def test_the_segment_can_be_followed_from_the_entry_before_to_the_head() -> None:
    made = entries(segment())
    assert {after.fault_after(before) for before, after in pairwise(made)} == {None}
    assert made[0].fault() is None
    assert made[0].previous == chain(*FACTS)[2].digest


def test_entries_of_others_are_sealed_and_nothing_of_them_is_said() -> None:
    made = segment()
    shown = [plain["number"] for plain in made.entries if "content" in plain]
    assert shown == [3, 5, 7, 8, 10]
    text = json.dumps(made.entries)
    assert not any(word in text for word in ("another", "households", "earlier", OTHERS.identity))


def test_a_replay_shows_the_charges_that_it_shares_and_not_the_publication_that_it_does_not() -> None:
    made = segment("r1-again")
    shown = [plain["number"] for plain in made.entries if "content" in plain]
    assert shown == [3, 5, 7, 8]


def test_a_release_that_was_charged_nothing_has_no_entries_and_the_ledgers_head() -> None:
    made = ledger_segment(chain(*FACTS), release="r3", dataset="people", commitment="a key that drew nothing")
    assert made.entries == ()
    assert made.before == made.head
