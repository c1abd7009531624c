"""The prefix that attempts copy follows from the predicted shares, and a stated choice is checked by them."""

from math import prod
from typing import Any

import pytest

from deniable.foundation.errors import Refused
from deniable.plausible_deniability.pass_law import PassLaw
from deniable.plausible_deniability.prefix_choice import (
    EARLIER,
    STRICTER,
    choose_length,
    chosen_prefix,
    document_of,
    faults_of_document,
    faults_of_earlier,
)
from deniable.samplers.poisson_seeds.sampler import advice_on_law, advice_on_rows
from deniable.samplers.poisson_seeds.spec import Entry
from tests.chosen_buckets import PEOPLE

NAMES = ["age", "sex", "school", "work", "home"]
SHARES = [0.99, 0.8, 0.61, 0.2]


@pytest.mark.parametrize(
    ("shares", "length"),
    [
        ([0.99, 0.8, 0.61, 0.2], 3),
        ([1.0, 1.0, 1.0, 1.0], 4),
        ([0.5, 0.499999, 0.1, 0.0], 1),
        ([0.4, 0.3, 0.1, 0.0], 2),  # 0.4, 0.6, 0.3 and 0 copied attributes per attempt
        ([0.49, 0.1, 0.0, 0.0], 1),
        ([0.0, 0.0, 0.0, 0.0], 0),
        ([], 0),
    ],
)
def test_the_longest_prefix_is_chosen_of_which_enough_attempts_pass(shares: list[float], length: int) -> None:
    assert choose_length(shares) == length


def test_a_choice_of_an_earlier_version_required_more_attempts_that_pass() -> None:
    shares = [0.99, 0.6, 0.55, 0.0]
    assert choose_length(shares) == 3
    assert choose_length(shares, STRICTER) == choose_length(shares, EARLIER) == 2
    document = document_of(NAMES, shares, 2, public_rows=500, form=STRICTER)
    assert document["enough"] == 0.6
    assert faults_of_document(document, NAMES, shares, 500, STRICTER) == []
    assert faults_of_document(document, NAMES, shares, 500)


def test_a_length_that_the_spec_states_is_kept() -> None:
    assert chosen_prefix(NAMES, SHARES, attempts=100) == 3
    assert chosen_prefix(NAMES, SHARES, attempts=100, omega=1) == 4
    assert chosen_prefix(NAMES, SHARES, attempts=100, omega=4) == 1


def test_attempts_of_which_none_is_predicted_to_pass_are_refused_with_what_to_change() -> None:
    with pytest.raises(Refused, match="by the public model none of 4 would, with 4 of 5 attributes copied") as refusal:
        chosen_prefix(NAMES, SHARES, attempts=4, omega=1)
    assert str(refusal.value).endswith("nothing was charged for them: set synthesis.omega to 2, or leave it out.")
    with pytest.raises(Refused, match=r"lower synthesis\.plausible, give the seeds more budget, or use the guarantee"):
        chosen_prefix(NAMES, [0.0] * 4, attempts=1000)
    with pytest.raises(Refused, match=r"lower synthesis\.plausible"):
        chosen_prefix(NAMES, [0.0] * 4, attempts=1000, omega=1)


def test_a_choice_as_it_is_stated_has_no_faults() -> None:
    document = document_of(NAMES, SHARES, 3, public_rows=500)
    assert document["copied_attributes"] == ["age", "sex", "school"]
    assert document["reason"] == "the longest prefix of which at least 50% of the attempts pass by the model: 61.0%"
    assert faults_of_document(document, NAMES, SHARES, 500) == []
    few = document_of(NAMES, [0.4, 0.3, 0.1, 0.0], 2, public_rows=500)
    assert few["reason"].startswith(
        "at no length do 50% of the attempts pass by the model; with 2 attributes copied 30.0%"
    )
    assert faults_of_document(few, NAMES, [0.4, 0.3, 0.1, 0.0], 500) == []


@pytest.mark.parametrize("nearly", [0.49999996, 0.50749, 0.5004999, 0.4999994])
def test_a_choice_by_shares_of_many_digits_has_no_faults_by_those_that_are_stated(nearly: float) -> None:
    shares = [0.99, nearly, 0.3000000049, 0.2250000021]
    document = document_of(NAMES, shares, choose_length(shares), public_rows=500)
    assert faults_of_document(document, NAMES, shares, 500) == []
    earlier = document_of(NAMES, shares, choose_length(shares, EARLIER), public_rows=500, form=EARLIER)
    assert faults_of_earlier(earlier, NAMES, 500) == []


def test_gains_that_are_the_same_in_the_stated_digits_choose_the_same_length() -> None:
    shares = [0.30000004, 0.15000003, 0.1, 0.0]
    document = document_of(NAMES, shares, choose_length(shares), public_rows=500)
    assert faults_of_document(document, NAMES, shares, 500) == []
    earlier = document_of(NAMES, shares, choose_length(shares, EARLIER), public_rows=500, form=EARLIER)
    assert faults_of_earlier(earlier, NAMES, 500) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"format": EARLIER},
        {"copied_attributes": ["age", "sex", "work"]},
        {"predicted_to_pass": [0.99, 0.8, 0.611, 0.2]},
        {"rows": 3},
        {"copied_attributes": ["age", "sex"]},
        {"copied_attributes": ["age", "sex", "sex"]},
        {"copied_attributes": ["age", "sex", "colour"]},
        {"copied_attributes": []},
        {"resampled_attributes": 3},
        {"predicted_to_pass": [0.99, 0.8, 0.49, 0.2]},
        {"predicted_to_pass": [0.99, 0.8, 0.61]},
        {"predicted_to_pass": [1.99, 0.8, 0.61, 0.2]},
        {"predicted_to_pass": "all"},
        {"enough": 0.6},
        {"public_rows": 501},
        {"reason": "because"},
    ],
)
def test_whatever_is_changed_in_a_stated_choice_is_found(changes: dict[str, Any]) -> None:
    assert faults_of_document({**document_of(NAMES, SHARES, 3, public_rows=500), **changes}, NAMES, SHARES, 500)


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "deniable/prefix/2"},
        {"copied_attributes": ["age", "sex"]},
        {"copied_attributes": ["age", "sex", "sex"]},
        {"copied_attributes": ["age", "sex", "colour"]},
        {"copied_attributes": []},
        {"resampled_attributes": 3},
        {"predicted_to_pass": [0.99, 0.8, 0.59, 0.2]},
        {"predicted_to_pass": [0.99, 0.8, 0.61]},
        {"predicted_to_pass": [1.99, 0.8, 0.61, 0.2]},
        {"predicted_to_pass": "all"},
        {"enough": 0.5},
        {"public_rows": 501},
        {"reason": "because"},
    ],
)
def test_of_a_choice_in_the_earlier_format_all_is_checked_but_whether_the_model_predicts_it(
    changes: dict[str, Any],
) -> None:
    earlier = document_of(NAMES, SHARES, 3, public_rows=500, form=EARLIER)
    assert faults_of_earlier(earlier, NAMES, 500) == []
    assert faults_of_earlier({**earlier, **changes}, NAMES, 500)


def test_a_choice_is_faulty_where_the_model_lets_nothing_pass() -> None:
    document = document_of(NAMES, SHARES, 3, public_rows=500)
    (fault, *_) = faults_of_document(document, NAMES, [0.0] * 4, 500)
    assert fault == "prefix.json states a choice, but the model predicts that nothing passes"


def test_an_empty_document_is_faulty_and_no_error() -> None:
    assert faults_of_document({}, NAMES, SHARES, 500)
    assert faults_of_earlier({}, NAMES, 500)


def test_seeds_are_advised_against_where_few_rows_are_stated() -> None:
    assert advice_on_rows(60_000) == ""
    advice = advice_on_rows(59_999)
    assert "the guarantee seedless comes closer to the records; synthesis.public_rows is 59,999, state more" in advice


def test_a_plan_warns_of_a_law_that_needs_more_people_alike_than_combinations_have_on_average() -> None:
    asked = {"guarantee": "poisson_seeds", "records": 400, "chunk_candidates": 128, "total": "1", "delta": "1e-6"}
    entry = Entry.model_validate(asked | {"public_rows": 2400, "omega": len(PEOPLE) - 2})
    cells = prod(sorted(PEOPLE.cardinalities)[:2])
    assert advice_on_law(entry, PEOPLE, PassLaw(2400 // cells, ())) == ""
    advice = advice_on_law(entry, PEOPLE, PassLaw(2400 // cells + 1, ()))
    assert f"if all {cells} combinations of the 2 attributes with the fewest values were equally common" in advice
    assert f"{2400 / cells:,.0f} of 2,400 rows, and 0.0% of the attempts would be expected to pass" in advice
