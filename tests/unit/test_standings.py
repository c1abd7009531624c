"""A public release is reviewed, superseded or withdrawn, in an order that makes sense, and only if it is public."""

from typing import Any

import pytest

from deniable.foundation.errors import InvalidInput
from deniable.ledger.entries import Entry, Fact, Publication, Standing
from deniable.ledger.state import LedgerBroken, LedgerState
from deniable.ledger.verification import verify
from tests.charging import SALT, TIME, chain

TABLE = "ab" * 32


def standing(word: Any, release: str = "r1", successor: str = "", **changes: Any) -> Standing:
    facts = {"dataset": "people", "release": release, "by": "ada", "reason": "a reason", "successor": successor}
    return Standing(standing=word, **{**facts, **changes})


def published(release: str, dataset: str = "people") -> Publication:
    return Publication(dataset=dataset, release=release, output=TABLE)


PUBLIC = (published("r1"), published("r2"), published("r3"), published("other", "villages"))


def books(*facts: Fact) -> LedgerState:
    entered = LedgerState()
    for entry in chain(*PUBLIC, *facts):
        entered.enter(entry)
    return entered


def replaced(release: str, successor: str) -> Standing:
    return standing("superseded", release, successor)


ALLOWED: list[tuple[Standing, ...]] = [
    (standing("reviewed"), standing("reviewed"), standing("withdrawn")),
    (standing("reviewed"), replaced("r1", "r2"), standing("withdrawn")),
    (replaced("r1", "r2"), replaced("r2", "r3")),
    (standing("withdrawn", "r2"), replaced("r1", "r3")),
]
REFUSED: list[tuple[tuple[Standing, ...], str]] = [
    ((standing("withdrawn"), standing("withdrawn")), "was withdrawn before, and cannot be withdrawn now"),
    ((standing("withdrawn"), standing("reviewed")), "was withdrawn before, and cannot be reviewed now"),
    ((standing("withdrawn"), replaced("r1", "r2")), "was withdrawn before, and cannot be superseded now"),
    ((replaced("r1", "r2"), replaced("r1", "r3")), "was superseded before, and cannot be superseded now"),
    ((replaced("r1", "r2"), standing("reviewed")), "was superseded before, and cannot be reviewed now"),
    ((replaced("r1", "r1"),), "cannot replace itself"),
    ((replaced("r1", "r9"),), "r9 of dataset people is not public, and cannot replace another"),
    ((replaced("r1", "other"),), "other of dataset people is not public, and cannot replace another"),
    ((standing("withdrawn", "r2"), replaced("r1", "r2")), "r2 was withdrawn before, and cannot replace another"),
    ((replaced("r2", "r1"), replaced("r1", "r2")), "r2 was superseded before, and cannot replace another"),
    ((standing("withdrawn", "r9"),), "r9 of dataset people is not public"),
    ((standing("withdrawn", "other"),), "other of dataset people is not public"),
]


@pytest.mark.parametrize("facts", ALLOWED)
def test_what_may_follow_is_entered_and_verified(facts: tuple[Standing, ...]) -> None:
    entered = books(*facts)
    for fact in facts:
        assert fact in [each for _, public, decided in entered.standings.listed() for _, each in decided]
    assert entered.standings.last(facts[-1].release) == facts[-1].standing
    report = verify([entry.to_record() for entry in chain(*PUBLIC, *facts)])
    assert report.holds, report.lines


@pytest.mark.parametrize(("facts", "fault"), REFUSED)
def test_what_may_not_follow_is_refused_and_found_in_a_ledger(facts: tuple[Standing, ...], fault: str) -> None:
    before = books(*facts[:-1])
    assert before.standings.fault_of(facts[-1]) is not None
    with pytest.raises(LedgerBroken, match=fault):
        before.enter(before.next_entry(facts[-1], TIME, SALT))
    assert before.standings.last("r1") == books(*facts[:-1]).standings.last("r1")
    report = verify([entry.to_record() for entry in chain(*PUBLIC, *facts)])
    assert not report.holds
    assert any(fault in line for line in report.lines)


@pytest.mark.parametrize(
    "wrong",
    [
        {"word": "forgotten"},
        {"word": "withdrawn", "successor": "r2"},
        {"word": "superseded"},
        {"word": "withdrawn", "reason": ""},
        {"word": "withdrawn", "by": ""},
    ],
)
def test_a_decision_is_complete(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        standing(**wrong)


def test_a_decision_is_read_back_from_its_entry() -> None:
    for fact in (standing("reviewed"), replaced("r1", "r2"), standing("withdrawn")):
        entry = chain(*PUBLIC, fact)[-1]
        assert Entry.from_record(entry.to_record()).fact() == fact
