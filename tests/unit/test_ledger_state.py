"""What follows from the entries of a ledger: what is left of each cap, and what is refused."""

from fractions import Fraction
from typing import Any

import pytest

from deniable.foundation.errors import InvalidInput, Refused
from deniable.ledger.budget import BudgetExceeded
from deniable.ledger.entries import ALL_ROWS, Charge, Claim, Fact, Joint, Opening, Output, Publication
from deniable.ledger.state import LedgerBroken, LedgerState, NoPolicy
from tests.charging import SALT, TIME, a_ledger, candidates, chain, charge, cost, policy, yearly

NEXT_YEAR = "2027-01-01T00:00:00.000000Z"


def books(*facts: Fact, times: tuple[str, ...] = ()) -> LedgerState:
    kept = LedgerState()
    for entry in chain(*facts, times=times):
        kept.enter(entry)
    return kept


def asks(epsilon: str | int, delta: str = "0", **changes: Any) -> Charge:
    return charge(epsilon, delta, part=ALL_ROWS, **changes)


def test_a_dataset_without_a_policy_pays_for_nothing() -> None:
    with pytest.raises(NoPolicy, match="deniable budget set people --epsilon 3 --delta 1e-5"):
        books().require_room([asks(1)], TIME)


def test_a_charge_that_just_fits_is_admitted() -> None:
    books(policy(1, "1e-5"), asks("0.7", "1e-6")).require_room([asks("0.3", "9e-6", step="b")], TIME)


@pytest.mark.parametrize(("epsilon", "delta"), [("0.3000000000000000000000001", "0"), ("0.1", "9.0000000000001e-6")])
def test_a_charge_that_exceeds_a_cap_by_any_amount_is_refused(epsilon: str, delta: str) -> None:
    with pytest.raises(BudgetExceeded):
        books(policy(1, "1e-5"), asks("0.7", "1e-6")).require_room([asks(epsilon, delta, step="b")], TIME)


def test_a_refusal_carries_what_is_asked_and_what_is_left() -> None:
    with pytest.raises(BudgetExceeded) as refusal:
        books(policy(1, "1e-5"), asks("0.7", "1e-6")).require_room([asks("0.5", step="b", release="r2")], TIME)
    assert str(refusal.value) == (
        "release r2 requests epsilon 0.5 and delta 0 of dataset people for b, and of its lifetime cap (epsilon 1, "
        "delta 1e-5) only epsilon 0.3 and delta 9e-6 are left; nothing was charged for this: request less, or have the "
        "dataset's custodian change its policy."
    )
    assert (refusal.value.asked, refusal.value.left) == (cost("0.5"), cost("0.3", "9e-6"))
    assert (refusal.value.dataset, refusal.value.cap) == ("people", "lifetime")


def test_a_refusal_of_candidates_says_how_the_policy_counts_them_and_what_counts_one_attempt() -> None:
    tested = candidates(Claim(cost=cost(20, "1e-6"), accountant="a"), Claim(cost=cost(1, "1e-9"), accountant="b"))
    with pytest.raises(BudgetExceeded) as refusal:
        books(policy(3)).require_room([tested], TIME)
    assert "whatever a spec's budget says (deniable budget set people " in str(refusal.value)
    assert "--seed-cost per_record counts one attempt, a measure of use and no guarantee)." in str(refusal.value)
    books(policy(3, seed_cost="per_record")).require_room([tested], TIME)
    with pytest.raises(BudgetExceeded) as other:
        books(policy("0.1", seed_cost="per_record")).require_room([tested], TIME)
    assert "whatever a spec's budget says" not in str(other.value)


def test_a_part_of_the_rows_does_not_let_a_step_without_privacy_into_a_ledger_that_promises_some() -> None:
    """Read with probability 1/2, it costs a delta of 1/2, which the cap of 3/4 would have room for."""
    step = charge(0, 1, probability=Fraction(1, 2), part="parameters")
    with pytest.raises(BudgetExceeded, match=r"must permit by a cap of delta 1, got 0\.75; nothing was charged"):
        books(policy(3, "0.75")).require_room([step], TIME)
    books(policy(3, "1")).require_room([step], TIME)
    for lifetime, year in (("1", "0.75"), ("0.75", "1")):
        with pytest.raises(BudgetExceeded, match=r"must permit by a cap of delta 1, got 0\.75; nothing was charged"):
            books(policy(3, lifetime, period=yearly(3, year))).require_room([step], TIME)
    books(policy(3, "1", period=yearly(3, "1"))).require_room([step], TIME)
    books(policy(3, "0.75")).require_room([charge(0, "0.999", probability=Fraction(1, 2), part="parameters")], TIME)


def test_each_calendar_period_has_a_cap_of_its_own() -> None:
    kept = books(policy(3, period=yearly(1)), asks("0.7"))
    with pytest.raises(BudgetExceeded, match=r"of its cap for 2026 \(epsilon 1, delta 1e-5\) only epsilon 0.3"):
        kept.require_room([asks("0.5", step="b")], TIME)
    kept.require_room([asks("0.5", step="b")], NEXT_YEAR)


def test_the_lifetime_ends_with_no_calendar() -> None:
    kept = books(policy(1, period=yearly("0.7")), asks("0.7"))
    with pytest.raises(BudgetExceeded, match="lifetime cap"):
        kept.require_room([asks("0.5", step="b")], NEXT_YEAR)


def test_a_clock_set_back_opens_no_period_again() -> None:
    kept = books(policy(9, period=yearly(1)), asks(1), asks(1, step="b"), times=(TIME, TIME, NEXT_YEAR))
    entry = kept.next_entry(asks("0.1", step="c"), TIME, SALT)
    assert entry.time == NEXT_YEAR
    with pytest.raises(BudgetExceeded, match="cap for 2027"):
        kept.require_room([asks("0.1", step="c")], entry.time)


def test_the_same_draw_is_charged_once() -> None:
    kept = books(policy(1), asks(1))
    kept.require_room([asks(1), asks(1, release="replay")], TIME)
    assert kept.known(asks(1, release="replay")).charge.release == "r1"
    with pytest.raises(LedgerBroken, match="the draw was charged before, by entry 2"):
        kept.enter(kept.next_entry(asks(1), TIME, SALT))


def test_another_draw_is_another_charge() -> None:
    with pytest.raises(BudgetExceeded):
        books(policy(1), asks(1)).require_room([asks(1, inputs="data with one row more")], TIME)


def test_one_identity_with_other_facts_is_refused() -> None:
    kept = books(policy(), charge(parameters={}))
    with pytest.raises(Refused, match="differs in its events from what entry 2 charged for that draw; include"):
        kept.require_room([charge("0.1", parameters={})], TIME)


def test_nothing_is_refunded_for_what_was_never_stored() -> None:
    reserved = books(policy(1), asks(1))
    assert reserved.balances("people", TIME)[0].left == cost(0, "1e-5")


def test_a_whole_release_is_refused_before_its_first_step() -> None:
    kept = books(policy(1))
    kept.require_room([asks("0.6")], TIME)
    with pytest.raises(BudgetExceeded, match=r"requests epsilon 1.2 .* for learn_structure, synthesize"):
        kept.require_room([asks("0.6"), asks("0.6", step="synthesize")], TIME)


def test_datasets_do_not_pay_for_each_other() -> None:
    kept = books(policy(1), policy(1, dataset="others"), asks(1))
    kept.require_room([asks(1, dataset="others")], TIME)
    with pytest.raises(InvalidInput, match="charges must be to one dataset, got 2"):
        kept.require_room([asks(1), asks(1, dataset="others")], TIME)


def test_a_policy_that_is_lowered_takes_nothing_back_and_admits_nothing_more() -> None:
    kept = books(policy(3), asks(2), policy(1))
    balance = kept.balances("people", TIME)[0]
    assert (balance.spent, balance.left) == (cost(2), cost(0, "1e-5"))
    with pytest.raises(BudgetExceeded):
        kept.require_room([asks("0.001", step="b")], TIME)


def test_a_policy_decides_what_counts_of_candidates_also_of_those_before_it() -> None:
    tested = candidates(Claim(cost=cost(20, "1e-6"), accountant="a"), Claim(cost=cost(1, "1e-9"), accountant="b"))
    kept = books(policy(30), tested)
    assert kept.balances("people", TIME)[0].spent.epsilon > 19
    kept.enter(kept.next_entry(policy(2, seed_cost="per_record"), TIME, SALT))
    assert kept.balances("people", TIME)[0].spent.epsilon < 1
    with pytest.raises(BudgetExceeded, match="only the cost of one attempt is counted"):
        kept.require_room([asks(2)], TIME)


def test_parts_that_do_not_fit_together_are_refused_before_they_are_written() -> None:
    with pytest.raises(InvalidInput, match="one probability"):
        books(policy(), charge()).require_room([charge(step="b", probability=Fraction(1, 2))], TIME)


@pytest.mark.parametrize(
    ("fact", "message"),
    [
        (Opening(ledger="a second"), "must be its opening"),
        (charge(dataset="unknown"), "dataset unknown has no policy"),
        (charge(), "charged before, by entry 2"),
        (charge(step="b", probability=Fraction(1, 2)), "must have one probability"),
        (Output(identity="never charged", output="o"), "was never charged"),
        (Output(identity=charge().identity, output="o"), "was stored before"),
        (Publication(dataset="people", release="r1", output="another"), "release r1 was published before"),
    ],
)
def test_what_does_not_follow_from_the_entries_before_is_not_entered(fact: Fact, message: str) -> None:
    kept = LedgerState()
    for entry in a_ledger():
        kept.enter(entry)
    before = kept.balances("people", TIME)
    with pytest.raises(LedgerBroken, match=f"entry 8: .*{message}"):
        kept.enter(kept.next_entry(fact, TIME, SALT))
    assert kept.balances("people", TIME) == before


def test_parts_that_do_not_fit_together_are_not_entered_though_nobody_asked_for_a_sum() -> None:
    kept = books(policy(), charge())
    with pytest.raises(LedgerBroken, match=r"entry 3: .*must have one probability"):
        kept.enter(kept.next_entry(charge(step="b", probability=Fraction(1, 2)), TIME, SALT))


def test_the_first_entry_opens_a_ledger() -> None:
    kept = LedgerState()
    with pytest.raises(LedgerBroken, match="must be its opening"):
        kept.enter(kept.next_entry(policy(), TIME, SALT))


def test_an_entry_that_is_not_chained_is_not_entered() -> None:
    kept = books(policy())
    with pytest.raises(LedgerBroken, match="entry 2: it does not follow"):
        kept.enter(chain(policy(4), charge())[2])


def test_what_was_stored_is_known_by_the_draw() -> None:
    kept = LedgerState()
    for entry in a_ledger():
        kept.enter(entry)
    assert kept.charged(charge().identity).output == "digest of the graph"
    with pytest.raises(Refused, match="has no charge in the ledger"):
        kept.charged("never charged")


def after(*others: Charge, identity: str = "") -> Charge:
    """A charge that is made together with others, or with a draw of some identity."""
    identities = tuple(other.identity for other in others) or (identity,)
    joint = Joint(claim=Claim(cost=cost("0.6"), accountant="pld"), others=identities)
    return asks("0.3", step="attempt_seeds", joint=joint)


def test_a_charge_made_together_with_an_earlier_one_needs_room_for_what_both_cost() -> None:
    model = asks("0.5", step="learn_parameters")
    kept = books(policy("0.6"), model)
    kept.require_room([after(model)], TIME)
    with pytest.raises(BudgetExceeded):
        kept.require_room([asks("0.3", step="attempt_seeds")], TIME)
    together = books(policy("0.6"), model, after(model))
    assert [balance.left for balance in together.balances("people", TIME)] == [cost(0, "1e-5")]


def test_a_period_without_the_earlier_charge_counts_the_later_one_alone() -> None:
    model = asks("0.5", step="learn_parameters")
    facts = (policy(1, period=yearly("0.5")), model, after(model))
    kept = books(*facts, times=(TIME, TIME, NEXT_YEAR))
    assert [balance.spent for balance in kept.balances("people", NEXT_YEAR)] == [cost("0.6"), cost("0.3")]


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"dataset": "others"}, "another dataset"),
        ({"commitment": "another key"}, "another commitment"),
        ({"part": "structure"}, "another split"),
        ({"most_records": 2}, "another most_records"),
    ],
)
def test_a_charge_is_made_together_with_those_of_its_own_rows_alone(other: dict[str, Any], message: str) -> None:
    model = charge("0.5", **{"part": ALL_ROWS, "step": "learn_parameters", **other})
    with pytest.raises(LedgerBroken, match=f"together with a draw of {message}"):
        books(policy(), policy(dataset="others"), model, after(model))


def test_a_charge_is_not_made_together_with_what_was_never_charged_or_with_candidates() -> None:
    with pytest.raises(LedgerBroken, match="together with a draw that was not charged before"):
        books(policy(), after(identity="0" * 64))
    tested = candidates(Claim(cost=cost("0.5"), accountant="a"), None, probability=Fraction(1, 4))
    joint = Joint(claim=Claim(cost=cost("0.6"), accountant="pld"), others=(tested.identity,))
    with pytest.raises(LedgerBroken, match="together with candidates tested, which are charged alone"):
        books(policy(), tested, charge("0.3", part="seeds", step="attempt_seeds", joint=joint))
