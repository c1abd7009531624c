"""Entries of a ledger: what they say can be read back exactly, and each is bound to the one before."""

from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from itertools import pairwise
from math import inf
from typing import Any

import pytest

from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import fresh_salt
from deniable.ledger.entries import (
    Claim,
    Entry,
    Fact,
    Opening,
    OtherVersion,
    Output,
    Publication,
    canonical,
    entry_of,
    period_of,
    written,
)
from deniable.ledger.state import LedgerState
from deniable.privacy.loss import DiscreteLaplaceEvent, Guarantee
from tests.charging import SALT, TIME, a_ledger, candidates, chain, charge, cost, policy, redigested, yearly


def test_an_entry_holds_the_digest_of_the_one_before() -> None:
    entries = a_ledger()
    for before, after in pairwise(entries):
        assert after.previous == before.digest
        assert after.fault_after(before) is None


def test_a_digest_is_sha_256_of_the_canonical_json() -> None:
    entry = chain()[0]
    nothing = "0" * 64
    # both as sha256sum gives them for these texts
    content = f'{{"content":{{"ledger":"made by hand","version":2}},"salt":"{SALT}"}}'
    seal = "424d2d28bd8335f6cd75e35d5b080b476f8b49c7c538c04c0541034f5254e077"
    assert entry.seal == sha256(content.encode()).hexdigest() == seal
    text = (
        f'{{"kind":"genesis","number":0,"previous":"{nothing}","sealed":"{seal}","time":"2026-11-20T07:45:00.000000Z"}}'
    )
    assert (
        entry.digest
        == sha256(text.encode()).hexdigest()
        == "e9887f69989a2d53431996f32b1ba380e254dbdcc91232d455c5f9c8e04f995f"
    )


def test_a_sealed_entry_says_nothing_of_its_content_and_still_stands_in_its_place() -> None:
    entries = a_ledger()
    sealed = [entry.sealed() for entry in entries]
    for number, (entry, closed) in enumerate(zip(entries, sealed, strict=True)):
        record = closed.to_record()
        assert set(record) == {"number", "time", "kind", "sealed", "previous", "digest"}
        assert entry_of(record) == closed
        assert redigested(record) == record
        assert closed.digest == entry.digest
        # either form may stand before either
        for before in [entries[number - 1], sealed[number - 1]] if number else [None]:
            assert closed.fault_after(before) is None
            assert entry.fault_after(before) is None


def test_a_sealed_entry_that_was_altered_is_found() -> None:
    record = a_ledger()[2].sealed().to_record()
    for name in record:
        other = 7 if name == "number" else "2027-01-01T00:00:00.000000Z" if name == "time" else "0" * 64
        assert "it was altered" in str(entry_of({**record, name: other}).fault()), name
        with pytest.raises(InvalidInput, match="an entry must have"):
            entry_of({key: value for key, value in record.items() if key != name} | {"more": 1, "sealed": 1})


def test_nobody_can_confirm_a_guess_of_what_was_sealed_without_the_salt() -> None:
    first, second = LedgerState().next_entry(Opening(ledger="one"), TIME, fresh_salt()), chain()[0]
    assert first.seal != replace(first, salt=SALT).seal
    assert second.salt not in canonical(second.sealed().to_record())
    assert fresh_salt() != fresh_salt()


@pytest.mark.parametrize("salt", ["", "0", "g" * 64, "0" * 63])
def test_an_entry_without_a_proper_salt_is_not_made(salt: str) -> None:
    with pytest.raises(InvalidInput, match="64 hexadecimal digits"):
        Entry.first(Opening(ledger="l"), TIME, salt)


def test_a_ledger_of_version_1_is_refused_by_name() -> None:
    written_before = {name: value for name, value in chain()[0].to_record().items() if name != "salt"}
    with pytest.raises(OtherVersion, match="must be of version 2 to be read, got 1; read it with the version"):
        entry_of(written_before)
    with pytest.raises(OtherVersion, match="got 1"):
        Opening(ledger="l", version=1)


@pytest.mark.parametrize(
    "fact",
    [
        Opening(ledger="a ledger"),
        policy("0.1", "0"),
        policy(period=yearly("0.333", length="quarter"), seed_cost="per_record"),
        charge("1/3", probability=Fraction(1, 3), parameters={"share": Fraction(1, 3), "order": [1, [2]]}),
        charge(part="all"),
        candidates(Claim(cost=cost(2, "1e-6"), accountant="a"), Claim(cost=cost(1), accountant="b")),
        Output(identity="i", output="o"),
        Publication(dataset="d", release="r", output="o"),
    ],
    ids=lambda fact: fact.kind,
)
def test_a_fact_is_read_back_as_it_was(fact: Fact) -> None:
    entry = chain(fact)[1]
    assert entry.fact() == fact
    assert Entry.from_record(entry.to_record()) == entry


def test_exact_numbers_are_written_as_decimals_where_they_are_decimals() -> None:
    numbers = [Fraction(1, 10), Fraction(3), Fraction("1e-9"), Fraction("12.345"), Fraction(1, 3), Fraction(0)]
    assert [written(number) for number in numbers] == ["0.1", "3", "0.000000001", "12.345", "1/3", "0"]
    assert [Fraction(written(number)) for number in numbers] == numbers


def test_a_claim_is_the_decimal_that_was_written_or_more() -> None:
    assert Claim.of(Guarantee(0.1, 1e-9, "basic")).cost == cost("0.1", "1e-9")
    third = Claim.of(Guarantee(1 / 3, 0.0, "basic")).cost.epsilon
    assert Fraction(1, 3) < third < Fraction(1, 3) + Fraction(1, 10**12)


def test_nothing_without_a_finite_epsilon_can_be_charged() -> None:
    with pytest.raises(InvalidInput, match="must have a finite epsilon"):
        Claim.of(Guarantee(inf, 0.0, "none"))


def test_the_identity_of_a_draw_is_what_decides_it() -> None:
    one = charge()
    for changed in (
        {"dataset": "others"},
        {"step": "another"},
        {"mechanism": "another"},
        {"inputs": "another"},
        {"parameters": {}},
        {"commitment": "another"},
    ):
        assert charge(**changed).identity != one.identity, changed
    assert charge(release="another", claim=Claim(cost=cost(9), accountant="zcdp")).identity == one.identity
    assert charge(parameters={"x": 1}).identity != charge(parameters={"x": True}).identity
    assert charge(parameters={"x": Fraction(1)}).identity != charge(parameters={"x": 1}).identity


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"dataset": ""}, "dataset must be a non-empty text"),
        ({"probability": Fraction(0)}, "probability of a part"),
        ({"split": ""}, "must name its split"),
        ({"part": "all", "split": "a split"}, "must name its split"),
        ({"part": "all", "probability": Fraction(1, 2), "split": ""}, "must name its split"),
        ({"events": ()}, "must have events"),
        (
            {"events": (DiscreteLaplaceEvent(query="q", part="seeds", outputs=1, sensitivity=1, scale=Fraction(1)),)},
            "got events of seeds",
        ),
        ({"per_record": Claim(cost=cost(1), accountant="theorem_1")}, "only candidates"),
    ],
)
def test_a_charge_that_does_not_say_what_is_done_to_whom_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        charge(**wrong)


def test_candidates_are_charged_apart_from_other_events() -> None:
    tested = candidates(Claim(cost=cost(1), accountant="a"), None)
    other = DiscreteLaplaceEvent(query="q", part="seeds", outputs=1, sensitivity=1, scale=Fraction(1))
    with pytest.raises(InvalidInput, match="charged alone"):
        replace(tested, events=(*tested.events, other))


def test_a_parameter_that_has_no_exact_writing_is_refused() -> None:
    with pytest.raises(InvalidInput, match="write a number that is not an integer as a Fraction"):
        charge(parameters={"epsilon": 0.1}).identity  # noqa: B018


@pytest.mark.parametrize("epsilon", [0, -1])
def test_a_cap_of_nothing_is_refused(epsilon: int) -> None:
    with pytest.raises(InvalidInput, match="must"):
        policy(epsilon)


def test_a_delta_that_bounds_nothing_is_refused_as_a_cap() -> None:
    with pytest.raises(InvalidInput, match="a delta of at most 1"):
        policy(1, "1.1")
    assert policy(1, "1").limit.delta == 1  # lets through what has no differential privacy, and says so


def test_time_never_runs_back_within_a_ledger() -> None:
    entries = chain(policy(), policy(4), times=["2027-01-01T00:00:00.000000Z", "2026-01-01T00:00:00.000000Z"])
    assert [entry.time[:4] for entry in entries] == ["2026", "2027", "2027"]


def test_calendar_periods_have_names() -> None:
    assert [period_of(TIME, length) for length in ("year", "quarter", "month")] == ["2026", "2026-Q4", "2026-11"]
    assert [period_of(f"2026-{month:02}-01", "quarter")[-1] for month in range(1, 13)] == list("111222333444")


@pytest.mark.parametrize("time", ["2026-11-20", "2026-13-20T07:45:00.000000Z", "2026-11-20T07:45:00.000000+01:00"])
def test_a_time_that_is_not_written_as_entries_write_it_is_refused(time: str) -> None:
    with pytest.raises(InvalidInput, match="a time must be written like"):
        chain(policy(), times=[time])


def _with_content(entry: Entry, **content: object) -> Entry:
    return Entry.from_record(redigested({**entry.to_record(), "content": {**entry.content, **content}}))


@pytest.mark.parametrize(
    "content",
    [
        {"probability": "0.250"},
        {"probability": "1e-1"},
        {"probability": "1/0"},
        {"probability": 1},
        {"more": 1},
        {"events": [{}]},
        {"parameters": 3},
        {"identity": "another"},
        {"claim": None},
    ],
)
def test_a_content_that_its_kind_does_not_write_is_not_read(content: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="the content is not"):
        _with_content(chain(charge())[1], **content).fact()


def test_a_kind_of_a_later_version_is_named() -> None:
    with pytest.raises(InvalidInput, match="got promised; read the ledger with the version that wrote it"):
        replace(chain(charge())[1], kind="promised").fact()
