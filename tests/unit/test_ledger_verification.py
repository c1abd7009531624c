"""A ledger is verified from its entries alone; whatever was done to them is found and named."""

import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import pytest

from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.errors import InvalidInput
from deniable.learners.cfs.entropies import EntropyRecipe, Noise
from deniable.learners.cfs.parameters import ParameterRecipe
from deniable.ledger.entries import ALL_ROWS, Claim, Entry, Fact, Joint, Opening
from deniable.ledger.verification import Report, verify
from deniable.plausible_deniability.seed_accounting import best_for_candidates, record_guarantee
from deniable.privacy.accounting import best
from deniable.privacy.loss import DiscreteGaussianEvent, PrivacyTestEvent
from tests.charging import SALT, a_ledger, candidates, chain, charge, cost, noisy_counts, policy, redigested, yearly

Record = dict[str, Any]
DOMAIN = Domain(tuple(Attribute(name, (0, 1, 2, 3), "numeric", (0, 0, 1, 1)) for name in "abcdef"))


def records(entries: list[Entry]) -> list[Record]:
    return [entry.to_record() for entry in entries]


def faults(report: Report) -> str:
    return "\n".join(line for line in report.lines if line.startswith("FAILED"))


def test_a_ledger_that_holds_is_said_to_hold() -> None:
    entries = a_ledger()
    report = verify(records(entries), head=entries[-1].digest, count=8)
    assert report.holds, faults(report)
    assert len(report.checks) == 5
    assert report.verdict == f"The ledger holds: 8 entries, head {entries[-1].digest}."
    assert [line.split(": ")[0] for line in report.sums] == ["people, lifetime"]


def test_it_is_verified_from_its_text_alone() -> None:
    lines = [entry.to_line() for entry in a_ledger()]
    assert verify([json.loads(line) for line in lines]).holds


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from leaves(inner, (*path, key))
    if not isinstance(value, dict | list) or not value:
        yield path


def changed(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str):
        return f"{value}0" if value else "0"
    return value + 1 if isinstance(value, int) else "something"


def test_whatever_field_of_whatever_entry_is_altered_it_is_found_and_the_entry_named() -> None:
    honest = records(a_ledger())
    tried = 0
    for number, record in enumerate(honest):
        for path in leaves(record):
            forged = deepcopy(honest)
            place = forged[number]
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = changed(place[path[-1]])
            report = verify(forged)
            assert not report.holds, (number, path)
            assert f"reordered or inserted: entry {number}: " in faults(report), (number, path)
            tried += 1
    assert tried > 100


def test_whatever_field_is_removed_or_added_it_is_found_and_the_entry_named() -> None:
    honest = records(a_ledger())
    for number, record in enumerate(honest):
        for name in record:
            forged = deepcopy(honest)
            del forged[number][name]
            # without a salt it is written as entries of version 1 were
            said = "a ledger must be of version 2" if name == "salt" else "an entry must have"
            assert f"entry {number}: {said}" in faults(verify(forged))
        forged = deepcopy(honest)
        forged[number]["remark"] = "added"
        assert f"entry {number}: an entry must have" in faults(verify(forged))
        forged = deepcopy(honest)
        forged[number]["content"]["remark"] = "added"
        assert f"entry {number}: its content does not match its digest" in faults(verify(forged))


def test_an_entry_that_is_removed_is_missed() -> None:
    for number in range(1, 7):
        forged = records(a_ledger())
        del forged[number]
        assert f"entry {number}: entry {number} should come before it: entries are missing" in faults(verify(forged))


def test_a_ledger_without_its_beginning_does_not_hold() -> None:
    assert "entry 0: entry 0 should come before it" in faults(verify(records(a_ledger())[1:]))
    assert "entry 0 is missing" in faults(verify([]))


def test_an_entry_that_is_repeated_is_found() -> None:
    for number in range(8):
        forged = records(a_ledger())
        forged.insert(number + 1, forged[number])
        assert f"entry {number + 1}: it comes too late or twice" in faults(verify(forged))


def test_entries_that_are_exchanged_are_found() -> None:
    for number in range(1, 7):
        forged = records(a_ledger())
        forged[number], forged[number + 1] = forged[number + 1], forged[number]
        assert f"entry {number}: " in faults(verify(forged))


def test_an_entry_that_is_inserted_is_found_even_if_it_is_well_made() -> None:
    entries = a_ledger()
    forged = records(entries)
    forged.insert(3, entries[2].followed_by(policy(9), entries[2].time, SALT).to_record())
    assert "entry 4: it comes too late or twice" in faults(verify(forged))


def test_an_entry_that_is_replaced_by_a_well_made_one_is_found_at_its_successor() -> None:
    entries = a_ledger()
    forged = records(entries)
    forged[2] = entries[1].followed_by(charge("0.1"), entries[1].time, SALT).to_record()
    assert "entry 3: it does not follow the entry before it" in faults(verify(forged))


def test_an_end_that_is_cut_off_is_found_by_the_head_or_the_count() -> None:
    entries = a_ledger()
    cut = records(entries)[:-2]
    assert "entry 5 is the last and has the digest" in faults(verify(cut, head=entries[-1].digest))
    assert "6 entries, not 8" in faults(verify(cut, count=8))
    unknown = verify(cut)
    assert unknown.holds
    assert any("not checked: no head was given" in line for line in unknown.lines), "and it says what it cannot tell"


def test_a_ledger_that_is_forged_from_an_entry_on_is_found_by_the_head() -> None:
    entries = a_ledger()
    forged = chain(policy(99), *(entry.fact() for entry in entries[2:]))
    assert verify(records(forged)).holds
    assert not verify(records(forged), head=entries[-1].digest).holds


def test_time_that_runs_back_is_found() -> None:
    entries = a_ledger()
    late = redigested({**entries[1].to_record(), "time": "2020-01-01T00:00:00.000000Z"})
    forged = [records(entries)[0], late]
    assert "entry 1: its time is before that of its predecessor" in faults(verify(forged))


def test_a_charge_beyond_a_cap_is_found_where_it_was_made() -> None:
    over = chain(policy(1), charge(1, part=ALL_ROWS), charge("0.1", part=ALL_ROWS, step="b"), policy(5))
    report = faults(verify(records(over)))
    assert "no charge exceeded a cap: entry 3 should have been refused: people, lifetime: epsilon 1.1 of 1" in report


def test_a_charge_beyond_the_cap_of_its_period_is_found() -> None:
    over = chain(policy(9, period=yearly(1)), charge(1, part=ALL_ROWS), charge("0.1", part=ALL_ROWS, step="b"))
    assert "entry 3 should have been refused: people, 2026: epsilon 1.1 of 1" in faults(verify(records(over)))


def test_a_cap_that_is_lowered_afterwards_was_not_exceeded() -> None:
    assert verify(records(chain(policy(3), charge(2, part=ALL_ROWS), policy(1)))).holds


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ((charge(),), "entry 1: dataset people has no policy"),
        ((policy(), charge(), charge(release="r2")), "entry 3: the draw was charged before, by entry 2"),
        ((policy(), Opening(ledger="another")), "entry 2: the first entry of a ledger must be its opening"),
    ],
)
def test_entries_that_do_not_follow_are_found_though_their_chain_is_sound(
    facts: tuple[Fact, ...], message: str
) -> None:
    report = verify(records(chain(*facts)))
    assert message in faults(report)
    assert any("the others do not follow" in line for line in report.lines)


def laplace(claimed: str) -> Entry:
    return chain(policy(), noisy_counts(Fraction(3), Claim(cost=cost(claimed), accountant="basic"), outputs=3))[2]


def test_a_claim_of_exactly_what_its_events_cost_holds() -> None:
    assert verify(records(chain(policy(), laplace("1").fact()))).holds


def test_a_claim_below_what_its_events_cost_is_found() -> None:
    report = faults(verify(records(chain(policy(), laplace("0.999").fact()))))
    assert "entry 2: step learn_parameters: " in report


def test_a_claim_by_a_tighter_theorem_is_composed_again_without_the_library_that_made_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    event = DiscreteGaussianEvent(query="q", part="structure", outputs=20, sensitivity=1, variance=Fraction(400))
    claim = Claim.of(best([event], 1e-6))
    assert claim.accountant == "pld"
    for module in ("dp_accounting", "dp_accounting.pld"):
        monkeypatch.setitem(sys.modules, module, None)
    for share, holds in ((1, True), (Fraction(999, 1000), False)):
        claimed = replace(claim, cost=replace(claim.cost, epsilon=claim.cost.epsilon * share))
        report = verify(records(chain(policy(9), charge(events=(event,), claim=claimed))))
        assert report.holds is holds
        assert ("entry 2: step learn_structure: its events cost epsilon" in faults(report)) is not holds


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_what_the_mechanisms_claim_of_themselves_holds(noise: Noise) -> None:
    structure = EntropyRecipe(Fraction("0.7"), Fraction("1e-6"), Fraction("0.1"), noise).calibrate(DOMAIN)
    parameters = ParameterRecipe(Fraction("0.6"), Fraction("1e-7"), noise, Fraction(1), "mean").calibrate(DOMAIN)
    charges = [
        charge(step=step, part=part, events=tuple(mechanism.events), claim=Claim.of(mechanism.guarantee))
        for step, part, mechanism in (("s", "structure", structure), ("p", "parameters", parameters))
    ]
    assert verify(records(chain(policy(), *charges))).holds
    for each in charges:
        less = Claim(cost=replace(each.claim.cost, epsilon=each.claim.cost.epsilon * Fraction(7, 10)), accountant="x")
        report = verify(records(chain(policy(), replace(each, claim=less))))
        assert f"entry 2: step {each.step}: its events cost epsilon" in faults(report)


def test_what_is_claimed_of_candidates_is_worked_out_again_by_both_theorems() -> None:
    event = candidates(Claim(cost=cost(1), accountant=""), None).events[0]
    assert isinstance(event, PrivacyTestEvent)
    total = Claim.of(best_for_candidates(event, 1e-6))
    record = Claim(cost=cost("1.13", "1e-9"), accountant="theorem_1")
    generous = policy(30, "1e-3")
    assert verify(records(chain(generous, candidates(total, record)))).holds
    too_little = replace(total, cost=replace(total.cost, epsilon=total.cost.epsilon * Fraction(99, 100)))
    assert "its events cost epsilon" in faults(verify(records(chain(generous, candidates(too_little, record)))))
    exact = Claim.of(record_guarantee(event, 1e-9))
    assert exact.cost.epsilon < record.cost.epsilon
    assert verify(records(chain(generous, candidates(total, exact)))).holds
    impossible = replace(exact, cost=replace(exact.cost, epsilon=exact.cost.epsilon * Fraction(9999, 10000)))
    assert "its events cost epsilon" in faults(verify(records(chain(generous, candidates(total, impossible)))))


@pytest.mark.parametrize("garbage", [None, 3, "text", [], {}, {"number": 1}, [1, 2], {"number": True}])
def test_garbage_is_no_entry_and_no_error(garbage: object) -> None:
    honest = records(a_ledger())
    assert "entry 3: " in faults(verify([*honest[:3], garbage, *honest[4:]]))


def test_whatever_an_entry_says_is_judged_and_never_an_error() -> None:
    """Forgers may chain what they like: here every value of every entry becomes something that it cannot be."""
    nested: list[Any] = []
    for _ in range(900):
        nested = [nested]
    absurd = [None, True, -1, 1.5, 10**400, "1e400", "1/0", [], {"a": 1}, nested, "\ud800"]
    record = Claim(cost=cost("1.13", "1e-9"), accountant="theorem_1")
    honest = records(chain(policy(30, period=yearly(20)), candidates(Claim(cost=cost(20), accountant=""), record)))
    places = [(number, path) for number in (1, 2) for path in leaves(honest[number])]
    for (number, path), value in product(places, absurd):
        forged = deepcopy(honest)
        place = forged[number]
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        for before, after in pairwise(forged[number - 1 :]):
            after["previous"] = before["digest"]
            with suppress(InvalidInput):
                after.update(redigested(after))
        assert len(verify(forged).lines) > 5


def test_the_sums_are_said_to_end_where_the_chain_does() -> None:
    forged = records(a_ledger())
    forged[4]["content"]["dataset"] = "others"
    report = verify(forged)
    assert "ok      no charge exceeded a cap (of the first 4 entries; the others do not follow)" in report.lines
    assert "do not rely on its sums" in report.verdict


def test_sums_that_count_candidates_by_the_record_say_so() -> None:
    report = verify(records(chain(policy(seed_cost="per_record"))))
    assert "the sum is no guarantee for whole releases" in report.sums[0]


@pytest.mark.parametrize(("share", "holds"), [("1.001", True), ("0.999", False)])
def test_a_joint_claim_is_compared_with_the_events_of_all_its_charges(share: str, *, holds: bool) -> None:
    alone = best(noisy_counts(Fraction(20), Claim(cost=cost(9), accountant="a"), 11).events, 1e-6)
    model = noisy_counts(Fraction(20), Claim.of(alone), 11)
    together = best((*model.events, *model.events), 2e-6)
    assert together.epsilon < 2 * alone.epsilon
    claimed = Claim(cost=cost(Fraction(share) * Fraction(together.epsilon), "2e-6"), accountant="pld")
    again = replace(model, step="learn_more", joint=Joint(claim=claimed, others=(model.identity,)))
    report = verify(records(chain(policy(9), model, again)))
    assert report.holds is holds, faults(report)
    if not holds:
        assert "entry 3: step learn_more: together with learn_parameters, its events cost epsilon" in faults(report)
