"""The joint cost of charges, worked out by hand."""

import pickle
from decimal import Decimal, localcontext
from fractions import Fraction
from math import expm1, log1p

import pytest

from deniable.foundation.errors import InvalidInput
from deniable.ledger.budget import NOTHING, Balance, BudgetExceeded, Tally, cost_of
from deniable.ledger.entries import Charge, Claim, Joint
from deniable.privacy.composition import joint_split
from deniable.privacy.loss import Guarantee
from deniable.privacy.rounding import rounded, rounded_down, rounded_up
from tests.charging import KEY, candidates, charge, cost


def test_steps_that_read_the_same_part_add_up() -> None:
    spent = cost_of([charge("0.5", "1e-9", probability=1), charge("0.25", "1e-9", step="again", probability=1)])
    assert spent == cost("0.75", "2e-9")


@pytest.mark.parametrize(
    ("probabilities", "expected"),
    # mechanisms.md 1.11
    [(("0.2", "0.2"), 0.523137163612), (("0.2",), 0.29539452912), (("0.2", "0.2", "0.5"), 0.934701664001)],
)
def test_the_parts_of_a_split_are_combined_jointly(probabilities: tuple[str, ...], expected: float) -> None:
    parts = [
        charge(1, "1e-9", part=f"part {number}", probability=Fraction(probability))
        for number, probability in enumerate(probabilities)
    ]
    spent = cost_of(parts)
    assert float(spent.epsilon) == pytest.approx(expected, abs=1e-12)
    assert spent.delta == Fraction("1e-9") * sum(Fraction(probability) for probability in probabilities)


def test_the_joint_cost_is_that_of_composition_and_never_below_its_exact_value() -> None:
    claimed = [(Fraction(1, 7), "0.3"), (Fraction(1, 3), "1.7"), (Fraction(1, 2), "4")]
    parts = [charge(epsilon, part=f"part {i}", probability=p) for i, (p, epsilon) in enumerate(claimed)]
    spent = cost_of(parts).epsilon
    guarantees = [(float(p), Guarantee(float(epsilon), 0.0, "")) for p, epsilon in claimed]
    assert float(spent) == pytest.approx(joint_split(guarantees).epsilon, rel=1e-13)
    with localcontext(prec=90):
        terms = [(Decimal(p.numerator) / p.denominator) * (Decimal(epsilon).exp() - 1) for p, epsilon in claimed]
        exact = Fraction((1 + sum(terms)).ln())
    assert exact < spent < exact + Fraction(1, 10**29)


def test_a_split_that_covers_everything_costs_no_more_than_its_dearest_part() -> None:
    parts = [charge("0.1", part="a", probability=Fraction(1, 2)), charge("0.1", part="b", probability=Fraction(1, 2))]
    assert cost_of(parts) == cost("0.1"), "exactly: ten of these fit under a cap of 1"


def test_what_reads_all_rows_adds_to_everything() -> None:
    assert cost_of([charge("0.2", part="all"), charge("0.3", part="all", step="b")]) == cost("0.5")
    both = cost_of([charge("0.2", part="all"), charge("0.3")])
    assert both.epsilon == Fraction("0.2") + cost_of([charge("0.3")]).epsilon


def test_releases_add_up() -> None:
    one, other = charge("0.5"), charge("0.5", release="r2", split="another split", commitment="another key")
    assert cost_of([one, other]).epsilon == 2 * cost_of([one]).epsilon


def test_a_split_that_two_releases_share_hides_a_record_only_once() -> None:
    first = charge("0.5")
    replay = charge("0.5", release="r2", inputs="the same part, asked for something else")
    shared = cost_of([first, replay]).epsilon
    assert float(shared) == pytest.approx(log1p(0.25 * expm1(1.0)), abs=1e-12)
    assert float(shared) > 2 * log1p(0.25 * expm1(0.5)), "what two independent splits would have cost"


def test_a_split_under_another_key_is_another_split() -> None:
    again = charge("0.5", release="r2", commitment="another key")
    assert charge().commitment == KEY
    assert cost_of([charge("0.5"), again]).epsilon == 2 * cost_of([charge("0.5")]).epsilon


def test_two_splits_within_one_release_add_up() -> None:
    again = charge("0.5", part="parameters", split="a second split of the same release")
    assert cost_of([charge("0.5"), again]).epsilon == 2 * cost_of([charge("0.5")]).epsilon


def test_a_part_has_one_probability() -> None:
    with pytest.raises(InvalidInput, match="must have one probability within a split, got 1/4 and 1/2"):
        cost_of([charge(), charge(step="again", probability=Fraction(1, 2))])


def test_the_parts_of_a_split_cannot_hold_more_than_all() -> None:
    with pytest.raises(InvalidInput, match="must sum to at most 1, got 9/8"):
        cost_of([charge(probability=Fraction(7, 8)), charge(part="parameters")])


def test_candidates_count_in_total_or_by_the_record_as_the_policy_says() -> None:
    tested = candidates(Claim(cost=cost(20, "1e-6"), accountant="a"), Claim(cost=cost(1, "1e-9"), accountant="b"))
    assert float(cost_of([tested]).epsilon) == pytest.approx(log1p(0.5 * expm1(20)))
    assert float(cost_of([tested], "per_record").epsilon) == pytest.approx(log1p(0.5 * expm1(1)))
    assert cost_of([tested], "per_record").delta == Fraction("5e-10")


def test_a_cost_per_record_says_so_wherever_it_is_stated() -> None:
    balance = Balance(dataset="people", cap="lifetime", limit=cost(3), spent=cost(1), seed_cost="per_record")
    assert "the sum is no guarantee for whole releases" in balance.statement
    total = Balance(dataset="people", cap="lifetime", limit=cost(3), spent=cost(1), seed_cost="total")
    assert total.statement == "people, lifetime: epsilon 1 of 3, delta 0 of 0"


def test_an_epsilon_beyond_all_reason_is_still_bounded() -> None:
    assert cost_of([charge(10**6)]) == cost(10**6)


def test_a_sum_kept_up_is_the_sum_from_scratch() -> None:
    charges = [charge("0.5"), charge("0.1", part="parameters"), charge("0.5", step="b"), charge("0.2", part="all")]
    tally = Tally("total")
    for number, each in enumerate(charges):
        assert tally.cost_with(charges[number:]) == cost_of(charges)
        tally.add(each)
    assert tally.cost == cost_of(charges)
    assert Tally("total").cost_with([]) == NOTHING


def test_numbers_are_shown_rounded_against_us() -> None:
    assert rounded(Fraction("0.123449")) == "0.1234"
    assert (rounded_up(Fraction("0.30000001")), rounded_down(Fraction("0.29999999"))) == ("0.3001", "0.2999")
    assert [rounded(Fraction(number)) for number in (0, 120, "1e-9", "1234567890")] == ["0", "120", "1e-9", "1.235e+9"]


def test_a_refusal_keeps_its_numbers_between_processes() -> None:
    refusal = BudgetExceeded("a sentence.", dataset="people", cap="2026", asked=cost(2), left=cost(1))
    again = pickle.loads(pickle.dumps(refusal))  # noqa: S301 - pickled just now
    assert (str(again), again.dataset, again.cap, again.asked, again.left) == (
        "a sentence.",
        "people",
        "2026",
        cost(2),
        cost(1),
    )


# ---- charges with a joint cost


def joint(epsilon: str, *others: Charge, delta: str = "2e-9") -> Joint:
    claim = Claim(cost=cost(epsilon, delta), accountant="pld")
    return Joint(claim=claim, others=tuple(other.identity for other in others))


MODEL = charge("1", "1e-9", step="learn_parameters", probability=1)
SEEDS = charge("0.5", "1e-9", step="attempt_seeds", probability=1, joint=joint("1.1", MODEL))


def test_a_joint_cost_replaces_the_sum_of_the_charges_that_it_is_of() -> None:
    other = charge("0.2", step="another", probability=1)
    assert cost_of([MODEL, SEEDS]) == cost("1.1", "2e-9")
    assert cost_of([other, MODEL, SEEDS]) == cost_of([MODEL, other, SEEDS]) == cost("1.3", "2e-9")


def test_a_charge_counts_alone_where_the_charges_before_it_are_not_summed() -> None:
    assert cost_of([SEEDS]) == cost("0.5", "1e-9")
    assert cost_of([SEEDS, MODEL]) == cost("1.5", "2e-9"), "a joint cost is of earlier charges"


def test_no_charge_is_part_of_two_joint_costs() -> None:
    again = charge("0.5", "1e-9", step="attempt_more", probability=1, joint=joint("1.1", MODEL))
    assert cost_of([MODEL, SEEDS, again]) == cost("1.6", "3e-9")
    both = charge("0.5", "1e-9", step="attempt_more", probability=1, joint=joint("1.2", MODEL, SEEDS, delta="3e-9"))
    assert cost_of([MODEL, SEEDS, both]) == cost("1.6", "3e-9")
    apart = charge("0.5", "1e-9", step="attempt_seeds", probability=1)
    of_both = joint("1.2", MODEL, apart, delta="3e-9")
    assert cost_of([MODEL, apart, charge("0.5", "1e-9", step="attempt_more", probability=1, joint=of_both)]) == (
        cost("1.2", "3e-9")
    )


def test_several_joint_costs_add_up() -> None:
    model = charge("1", "1e-9", step="learn_parameters", probability=1, inputs="others")
    seeds = charge("0.5", "1e-9", step="attempt_seeds", probability=1, inputs="others", joint=joint("1.2", model))
    assert cost_of([MODEL, model, SEEDS, seeds]) == cost("2.3", "4e-9")


@pytest.mark.parametrize(("epsilon", "delta"), [("1.6", "2e-9"), ("1.1", "3e-9")])
def test_a_joint_cost_above_the_sum_is_not_counted(epsilon: str, delta: str) -> None:
    dear = charge("0.5", "1e-9", step="attempt_seeds", probability=1, joint=joint(epsilon, MODEL, delta=delta))
    assert cost_of([MODEL, dear]) == cost("1.5", "2e-9")


def test_a_joint_cost_on_a_part_is_combined_with_the_other_parts() -> None:
    model = charge("1", step="learn_parameters")
    seeds = charge("0.5", step="attempt_seeds", joint=joint("1.1", model, delta="0"))
    other = charge("0.3", part="parameters")
    guarantees = [(0.25, Guarantee(1.1, 0.0, "")), (0.25, Guarantee(0.3, 0.0, ""))]
    assert float(cost_of([model, other, seeds]).epsilon) == pytest.approx(joint_split(guarantees).epsilon, rel=1e-12)


def test_a_tally_grows_by_what_a_joint_cost_adds() -> None:
    tally = Tally("total")
    tally.add(MODEL)
    assert tally.cost_with([SEEDS]) == cost("1.1", "2e-9")
    tally.add(SEEDS)
    assert tally.cost == cost("1.1", "2e-9")


@pytest.mark.parametrize("others", [(), ("one", "one"), ("",)])
def test_a_joint_cost_names_earlier_charges_each_once(others: tuple[str, ...]) -> None:
    with pytest.raises(InvalidInput, match="must"):
        Joint(claim=Claim(cost=cost(1), accountant="pld"), others=others)


def test_candidates_tested_have_no_joint_cost() -> None:
    with pytest.raises(InvalidInput, match="must be charged alone, got a joint cost"):
        candidates(Claim(cost=cost(20), accountant="a"), None, joint=joint("1", MODEL))
