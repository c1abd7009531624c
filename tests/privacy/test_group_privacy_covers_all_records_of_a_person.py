"""Several records of each person: choice, split and group privacy together protect the person, enumerated."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from itertools import pairwise, permutations, product
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from deniable.privacy.accounting import best
from deniable.privacy.composition import joint_split
from deniable.privacy.group_privacy import (
    amounts_of_record,
    budget_of_record,
    delta_of_record,
    learner_of_record,
    of_person,
    of_record,
)
from deniable.privacy.loss import DiscreteGaussianEvent, Guarantee, noisy_integers
from deniable.privacy.one_person import first_records, kept_records, person_keys
from deniable.privacy.rounding import claimed
from deniable.privacy.step_costs import StepCost, combine

Table = list[tuple[str, int]]
"""The records of a table: a person and a value each."""
Choice = Callable[[NDArray[np.uint64], NDArray[np.uint64]], NDArray[np.bool_]]
Split = Callable[[Sequence[str], Sequence[int]], Sequence[int]]
"""The part of each record, given the people and the part drawn for each record."""

MOST, VALUES = 2, 2
RATIO = 2.0
"""e^epsilon of the mechanism for one record of a part: geometric noise of ratio 1/2 on each count."""
OTHERS: Table = [("y", 1), ("z", 1)]
OF_ONE: list[Table] = [
    [("x", 0)],
    [("x", 0), ("x", 0)],
    [("x", 0), ("x", 0), ("x", 1)],
    [("x", 1), ("x", 1), ("x", 1)],
]
SHARES = {0: 0.25, 1: 0.25, 2: 0.5}
"""Probability of each part; the last is read by nothing."""
PERSON = exp(
    joint_split(
        [(share, of_person(Guarantee(log(RATIO), 0.0, "basic"), MOST)) for part, share in SHARES.items() if part < 2]
    ).epsilon
)
"""e^epsilon that is charged for a person."""


def at_most_two(people: NDArray[np.uint64], words: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """The choice of a release with at most two records of each person."""
    return kept_records(people, words, MOST)


def all_records(people: NDArray[np.uint64], _: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Broken: every record of a person is used."""
    return np.ones(len(people), bool)


def the_first_two(people: NDArray[np.uint64], _: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Broken: the first two records of the file are used, so that one person's records displace others'."""
    return np.arange(len(people)) < MOST


def with_the_first(people: Sequence[str], drawn: Sequence[int]) -> Sequence[int]:
    """The split of a release: each record is in the part that was drawn for the first of its person."""
    return [drawn[first] for first in first_records(person_keys(people)).tolist()]


def with_any(people: Sequence[str], drawn: Sequence[int]) -> Sequence[int]:
    """Broken: a person is in the first part that was drawn for any of the records."""
    return [min(part for other, part in zip(people, drawn, strict=True) if other == own) for own in people]


def with_the_first_of_all(_: Sequence[str], drawn: Sequence[int]) -> Sequence[int]:
    """Broken: the first record's part is everybody's, so that a person decides on the part of others."""
    return [drawn[0]] * len(drawn)


def law_of_counts(table: Table, choose: Choice, split: Split) -> dict[tuple[int, ...], float]:
    """The law of the counts in both parts, over all orders of the words and all draws of parts."""
    keys = person_keys([person for person, _ in table])
    orders = list(permutations(range(len(table))))
    kept_in = Counter(tuple(np.flatnonzero(choose(keys, np.asarray(order, np.uint64))).tolist()) for order in orders)
    law: Counter[tuple[int, ...]] = Counter()
    for kept, times in kept_in.items():
        records = [table[place] for place in kept]
        for drawn in product(SHARES, repeat=len(records)):
            parts = split([person for person, _ in records], drawn) if records else []
            counts = [0] * (2 * VALUES)
            for (_, value), part in zip(records, parts, strict=True):
                if part < 2:
                    counts[part * VALUES + value] += 1
            law[tuple(counts)] += times / len(orders) * float(np.prod([SHARES[part] for part in drawn]))
    return dict(law)


def law_of_noisy_counts(table: Table, choose: Choice, split: Split) -> NDArray[np.float64]:
    """The law of noisy counts near zero, up to a factor that is the same for all tables."""
    outputs = np.array(list(product(range(-1, 4), repeat=2 * VALUES)))
    law = np.zeros(len(outputs))
    for counts, share in law_of_counts(table, choose, split).items():
        law += share * RATIO ** -np.abs(outputs - counts).sum(axis=1)
    return law


def worst_ratio(choose: Choice, split: Split) -> float:
    """The largest ratio of probabilities with and without a person."""
    without, worst = law_of_noisy_counts(OTHERS, choose, split), 0.0
    for records in OF_ONE:
        for table in (OTHERS + records, records + OTHERS):
            law = law_of_noisy_counts(table, choose, split)
            worst = max(worst, float((law / without).max()), float((without / law).max()))
    return worst


def test_a_person_with_any_number_of_records_is_protected_as_charged() -> None:
    ratio = worst_ratio(at_most_two, with_the_first)
    assert ratio <= PERSON * (1 + 1e-12)
    # Nor is more charged than such a person needs.
    assert ratio > PERSON * 0.99


def test_the_cost_of_one_record_is_not_that_of_a_person() -> None:
    of_one = joint_split([(share, Guarantee(log(RATIO), 0.0, "")) for part, share in SHARES.items() if part < 2])
    assert worst_ratio(at_most_two, with_the_first) > exp(of_one.epsilon) * 1.05


@pytest.mark.parametrize("broken", [all_records, the_first_two])
def test_other_ways_to_choose_records_do_not_protect_the_person(broken: Choice) -> None:
    assert worst_ratio(broken, with_the_first) > PERSON * 1.05


@pytest.mark.parametrize("broken", [with_any, with_the_first_of_all])
def test_other_ways_to_split_people_do_not_protect_the_person(broken: Split) -> None:
    assert worst_ratio(at_most_two, broken) > PERSON * 1.05


def leaks(delta: float, epsilon: float, most: int) -> list[float]:
    """The probability of an event with each number of a person's records that neighbours bound most tightly."""
    found = [0.0]
    for _ in range(most):
        found.append(exp(epsilon) * found[-1] + delta)
    return found


@pytest.mark.parametrize("most", [2, 3, 7])
def test_the_delta_of_a_person_is_attained_and_no_smaller_one_holds(most: int) -> None:
    epsilon, delta = 0.4, 1e-3
    chain = leaks(delta, epsilon, most)
    for fewer, more in pairwise(chain):
        # Two outcomes: the event, and its complement, in both directions.
        assert more <= exp(epsilon) * fewer + delta + 1e-15
        assert fewer <= exp(epsilon) * more + delta
        assert 1 - fewer <= exp(epsilon) * (1 - more) + delta
        assert 1 - more <= exp(epsilon) * (1 - fewer) + delta
    person = of_person(Guarantee(epsilon, delta, "pld"), most)
    assert person.epsilon == pytest.approx(most * epsilon)
    missed = chain[-1] - exp(person.epsilon) * chain[0]
    assert missed <= person.delta
    assert missed > person.delta * (1 - 1e-9)
    # Neither the delta of one record nor as many of them suffice.
    assert missed > most * delta * 1.05


def gaussian(variance: int, moved: int) -> Iterator[tuple[float, float]]:
    """Probabilities of integers with discrete Gaussian noise, without and with a shift."""
    reach = np.arange(-60, 61 + moved)
    without, shifted = (np.exp(-((reach - mean) ** 2) / (2 * variance)) for mean in (0, moved))
    return zip((without / without.sum()).tolist(), (shifted / without.sum()).tolist(), strict=True)


@pytest.mark.parametrize("most", [2, 3])
def test_gaussian_noise_calibrated_for_one_record_protects_a_person(most: int) -> None:
    variance, delta = 16, 1e-4
    event = DiscreteGaussianEvent(query="", part="", outputs=1, sensitivity=1, variance=Fraction(variance))
    of_one = best([event], delta)
    person = of_person(of_one, most)
    found = sum(max(other - exp(person.epsilon) * own, 0.0) for own, other in gaussian(variance, most))
    assert found <= person.delta
    # The cost of one record does not cover the person.
    charged = sum(max(other - exp(of_one.epsilon) * own, 0.0) for own, other in gaussian(variance, most))
    assert charged > of_one.delta * 10


@given(
    st.fractions(Fraction(1, 100), Fraction(20), max_denominator=1000),
    st.one_of(st.just(Fraction(0)), st.fractions(Fraction(1, 10**12), Fraction(1, 100), max_denominator=10**12)),
    st.integers(1, 100),
)
def test_the_budget_of_a_record_never_costs_a_person_more_than_the_persons(
    epsilon: Fraction, delta: Fraction, most: int
) -> None:
    of_one, delta_of_one = budget_of_record(epsilon, delta, most)
    # Exactly, by the definition, from above and below.
    growth = sum(exp(added * float(of_one)) for added in range(most))
    assert most * of_one <= epsilon
    assert most * of_one > epsilon * (1 - Fraction(1, 10**10))
    assert float(delta_of_one) * growth <= float(delta) * (1 + 1e-15 * most)
    assert float(delta_of_one) * growth >= float(delta) * (1 - 1e-7)
    person = of_person(Guarantee(float(of_one), float(delta_of_one), "pld"), most)
    assert claimed(person.epsilon) <= claimed(float(epsilon))
    assert person.delta <= float(delta)
    again = of_record(person, most)
    assert again.accountant == "pld"
    assert again.epsilon == pytest.approx(float(of_one), rel=1e-14)
    assert again.delta == pytest.approx(float(delta_of_one), rel=1e-12)
    assert delta_of_record(again.epsilon, person.delta, most) == pytest.approx(again.delta, rel=1e-12)


def test_a_delta_a_hair_below_nine_digits_is_rounded_down() -> None:
    """What rounding the sum of exponentials could lose, the margin keeps."""
    epsilon, wanted, digits = Fraction(1, 2), Decimal("1.23456789e-7"), Context(prec=50)
    growth = digits.add(Decimal(1), digits.exp(Decimal("0.25")))
    for hair, found in ((Decimal("1e-13"), "1.23456788e-7"), (Decimal("-1e-11"), "1.23456789e-7")):
        delta = Fraction(digits.multiply(digits.multiply(wanted, growth), 1 - hair))
        assert budget_of_record(epsilon, delta, 2) == (Fraction(1, 4), Fraction(found))


def test_one_record_is_charged_as_ever() -> None:
    guarantee = Guarantee(0.3, 1e-9, "zcdp")
    assert of_person(guarantee, 1) is guarantee
    assert of_record(guarantee, 1) is guarantee
    assert budget_of_record(Fraction(1, 3), Fraction(1, 7), 1) == (Fraction(1, 3), Fraction(1, 7))
    asked = {"kind": "loglinear", "parameters": {"epsilon": "1"}}
    assert learner_of_record(asked, 1) is asked


def test_decimal_epsilons_stay_decimal() -> None:
    assert of_person(Guarantee(0.1, 0.0, "basic"), 3) == Guarantee(0.3, 0.0, "group_privacy + basic")


def test_a_guarantee_at_enormous_epsilon_has_a_delta_of_one_at_most() -> None:
    assert of_person(Guarantee(100.0, 1e-9, "basic"), 100).delta == 1.0
    assert of_person(Guarantee(100.0, 0.0, "basic"), 100).delta == 0.0


def test_all_amounts_of_a_budget_shrink_alike() -> None:
    amounts = amounts_of_record({"epsilon": "1", "delta": "1e-9", "epsilon_rows": "0.05", "max_cost": 30}, 4)
    assert amounts["epsilon"] == Fraction(1, 4)
    assert amounts["epsilon_rows"] == Fraction(1, 80)
    assert amounts["delta"] < Fraction(1, 4 * 10**9)
    asked = {"kind": "cfs", "structure": {"epsilon": "0.3", "delta": "0", "epsilon_rows": "0.1"}, "certificate": None}
    changed = {"epsilon": "1/10", "delta": "0", "epsilon_rows": "1/30"}
    assert learner_of_record(asked, 3) == {**asked, "structure": changed}


def step(name: str, variance: int, delta: float, most: int) -> StepCost:
    event = noisy_integers("gaussian", Fraction(variance), query=name, part="shared", outputs=1)
    return StepCost(
        step=name,
        part="shared",
        probability=Fraction(1),
        events=(event,),
        guarantee=of_person(best([event], delta), most),
        most_records=most,
    )


@pytest.mark.parametrize("most", [2, 3])
def test_steps_on_the_same_people_cost_no_more_than_their_sum_and_what_they_cost_is_true(most: int) -> None:
    variance, delta = 64, 1e-5
    steps = [step("one", variance, delta, most), step("other", variance, delta, most)]
    whole = combine(steps)
    assert whole.epsilon < sum(each.charged.epsilon for each in steps) * 0.95
    assert whole.delta == sum(each.charged.delta for each in steps)
    # The true law of both noisy counts, each moved by all records of a person.
    pairs = list(gaussian(variance, most))
    first = np.array([own * other for own, _ in pairs for other, _ in pairs])
    second = np.array([own * other for _, own in pairs for _, other in pairs])
    for one, two in ((first, second), (second, first)):
        assert np.maximum(one - exp(whole.epsilon) * two, 0).sum() <= whole.delta
        assert np.maximum(one - exp(whole.epsilon / most) * two, 0).sum() > whole.delta


def test_every_record_of_a_person_has_the_place_of_the_first() -> None:
    assert first_records(person_keys(["b", "a", "b", "c", "a", "b"])).tolist() == [0, 1, 0, 3, 1, 0]
    assert first_records(person_keys([])).tolist() == []


RECORDS = st.tuples(st.sampled_from("uvwxyz"), st.integers(0, 2**64 - 1))


@given(st.lists(RECORDS, max_size=40, unique_by=lambda record: record[1]), st.integers(1, 4))
def test_the_smallest_words_of_each_person_are_kept(records: list[tuple[str, int]], most: int) -> None:
    people = person_keys([person for person, _ in records])
    kept = kept_records(people, np.array([word for _, word in records], np.uint64), most)
    for person in "uvwxyz":
        own = sorted(word for other, word in records if other == person)
        found = [word for (other, word), is_kept in zip(records, kept, strict=True) if is_kept and other == person]
        assert sorted(found) == own[:most]


def test_the_epsilon_of_one_record_has_twelve_digits() -> None:
    of_one = amounts_of_record({"epsilon": Fraction(1), "delta": Fraction(1, 10**9)}, 3)["epsilon"]
    assert of_one == Fraction(333_333_333_333, 10**12)
