"""The grid of numbers, the range that noisy counts on it show, and the documents of a discovery."""

import json
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from deniable.discovery.answering import answers
from deniable.discovery.answers import Answers, RangeAnswer, ValuesAnswer
from deniable.discovery.number_grid import (
    BUCKETS,
    FALSE_ALARM,
    MOST_DECIMALS,
    Range,
    least_sum,
    place_of,
    range_shown,
    thresholds,
)
from deniable.discovery.plan import DiscoveryPlan, Question, asked
from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import WordStream
from deniable.foundation.noise import DiscreteLaplace
from tests.drawn_noise import OneStream

ZERO = BUCKETS // 2
NEEDED = (20, 60, 180)
PLAN = DiscoveryPlan(questions=asked(["charge"], ["age"]), epsilon=Fraction(2), delta=Fraction(1, 10**6))


def counted(numbers: dict[str, int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    counts, decimals = np.zeros(BUCKETS, np.int64), np.zeros(MOST_DECIMALS + 1, np.int64)
    for text, count in numbers.items():
        place = place_of(text)
        assert place is not None
        counts[place[0]] += count
        decimals[place[1]] += count
    return counts, decimals


def shown(numbers: dict[str, int]) -> tuple[str, str, str] | None:
    found = range_shown(*counted(numbers), NEEDED, 20)
    return None if found is None else found.written()


@given(st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**12), max_value=10**12))
def test_a_bucket_holds_its_numbers_and_buckets_are_in_their_order(number: Decimal) -> None:
    place = place_of(str(number))
    assert place is not None
    if number == 0:
        assert place == (ZERO, 0)
        return
    low, high, _ = (Decimal(each) for each in range_written(place[0]))
    assert low <= number <= high
    assert (place[0] > ZERO) == (number > 0)
    further = place_of(str(number * Decimal("1.2")))
    assert further is not None
    assert abs(further[0] - ZERO) > abs(place[0] - ZERO)


def range_written(place: int) -> tuple[str, str, str]:
    counts = np.zeros(BUCKETS, np.int64)
    counts[place] = 100
    decimals = np.zeros(MOST_DECIMALS + 1, np.int64)
    decimals[6] = 100
    found = range_shown(counts, decimals, NEEDED, 20)
    assert found is not None
    return found.written()


@pytest.mark.parametrize(
    ("text", "decimals"),
    [("0", 0), ("0.0", 0), ("007", 0), ("1.50", 1), ("-3.25", 2), ("1e3", 0), ("1.5e-3", 4), ("+.5", 1), ("1e-9", 6)],
)
def test_decimals_are_those_that_are_needed(text: str, decimals: int) -> None:
    place = place_of(text)
    assert place is not None
    assert place[1] == decimals


@pytest.mark.parametrize("text", ["", "x", "1_000", "1,5", "nan", "inf", "0x10", "1e99999", "٣", "1 2", "9" * 65])
def test_what_is_no_number_is_in_no_bucket(text: str) -> None:
    assert place_of(text) is None


def test_numbers_beyond_the_grid_count_at_its_ends() -> None:
    assert place_of("1e300") == (BUCKETS - 1, 0)
    assert place_of("-1e16") == (0, 0)
    assert place_of("1e-300") == (ZERO, MOST_DECIMALS)


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ({"18": 30, "40": 500, "93": 30}, ("18", "93", "1")),
        ({"1900": 30, "2024": 900}, ("1900", "2099", "1")),
        ({"-5": 40, "0": 40, "12": 40}, ("-5", "12", "1")),
        ({"0": 40}, ("0", "0", "1")),
        ({"16.5": 50, "41.2": 50}, ("16.0", "41.9", "0.1")),
        # A tail whose buckets hold few records each, but whose first digits hold many together.
        ({"50": 300} | {str(number): 8 for number in range(900, 1000, 10)}, ("50", "999", "1")),
        # Or only its power of ten.
        ({"50": 300} | {str(number): 3 for number in range(100, 1000, 10)}, ("50", "999", "1")),
        # Few beyond: no evidence.
        ({"50": 300, "700": 10}, ("50", "50", "1")),
        ({"1e15": 500}, ("1000000000000000", "1099999999999999", "1")),
        ({"9e15": 500}, ("9000000000000000", "9007199254740992", "1")),
        ({"7": 19}, None),
        ({}, None),
    ],
)
def test_a_range_ends_with_the_outermost_group_that_is_large_enough(
    numbers: dict[str, int], expected: tuple[str, str, str] | None
) -> None:
    assert shown(numbers) == expected


def test_a_range_of_negative_numbers_is_that_of_positive_ones_mirrored() -> None:
    numbers = {"18": 30, "40.5": 500, "93": 30, "900": 70}
    found = range_shown(*counted(numbers), NEEDED, 20)
    mirrored = range_shown(*counted({f"-{text}": count for text, count in numbers.items()}), NEEDED, 20)
    assert found == Range(180, 9099, 1)
    assert mirrored == Range(-9099, -180, 1)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(5)])
@pytest.mark.parametrize("draws", [1, 10])
def test_noise_alone_hardly_reaches_a_threshold(epsilon: Fraction, draws: int) -> None:
    law, probability = DiscreteLaplace(1 / epsilon), 1e-3
    least = least_sum(epsilon, draws, probability)
    reach = 40 * int(1 / epsilon) + 40
    one = np.array([law.probability(z) for z in range(-reach, reach + 1)])
    whole = one
    for _ in range(draws - 1):
        whole = np.convolve(whole, one)
    middle = len(whole) // 2
    assert whole[middle + least :].sum() <= probability * (1 + 1e-9)
    assert whole[middle + least // 2 :].sum() > probability, "a threshold of half the height would be reached too often"


def test_thresholds_leave_a_false_alarm_to_all_groups_together() -> None:
    one, ten, power = thresholds(Fraction(1))
    assert one < ten < power
    assert BUCKETS * DiscreteLaplace(Fraction(1)).tail(one) < FALSE_ALARM


def test_answers_are_a_document_of_integers_that_reads_back() -> None:
    counts = {"charge": {"theft": 500, "fraud": 90, "one": 1}, "age": {"20": 300, "35": 400, "x": 9}}
    made = answers(PLAN, counts, OneStream("document"))
    text = json.dumps(made.document())
    assert Answers.from_document(json.loads(text)) == made
    charge, age = made.answers
    assert isinstance(charge, ValuesAnswer)
    assert isinstance(age, RangeAnswer)
    assert [value for value, _ in charge.values] == ["fraud", "theft"]
    assert made.range_of(age) == Range(20, 35, 0)
    assert "." not in text.replace('"2"', ""), "nothing that is released is a float"


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"format": "deniable/discovery/2"}, "must have the format deniable/discovery/1"),
        ({"more": 1}, "must have format, plan and answers, and nothing else"),
        ({"answers": []}, "must answer each question once"),
        ({"plan": {}}, "must have epsilon, delta and questions"),
    ],
)
def test_a_document_of_another_form_is_refused(change: dict[str, Any], complaint: str) -> None:
    made = answers(PLAN, {"charge": {}, "age": {}}, OneStream("refused"))
    with pytest.raises(InvalidInput, match=complaint):
        Answers.from_document({**made.document(), **change})


@pytest.mark.parametrize(
    "answer",
    [
        {"column": "charge", "values": [["a", 1]]},
        {"column": "charge", "values": [["a", 99.5]]},
        {"column": "charge", "values": [["b", 99], ["a", 99]]},
        {"column": "other", "values": []},
        {"column": "charge", "values": [], "exact": 1},
        {"column": "charge", "values": 7},
    ],
)
def test_an_answer_that_the_mechanism_cannot_give_is_refused(answer: dict[str, Any]) -> None:
    document = answers(PLAN, {"charge": {}, "age": {}}, OneStream("refused")).document()
    with pytest.raises(InvalidInput, match="the answer about charge must"):
        Answers.from_document({**document, "answers": [answer, document["answers"][1]]})
    short = {"column": "age", "counts": [0], "decimals": [0] * 7}
    with pytest.raises(InvalidInput, match="an integer for each bucket"):
        Answers.from_document({**document, "answers": [document["answers"][0], short]})


@pytest.mark.parametrize(
    ("values", "ranges", "epsilon", "delta", "complaint"),
    [
        ([], [], 1, 0, "must be about 1 to 1,000 columns"),
        (["a"], ["a"], 1, Fraction(1, 9), "about each column once"),
        (["a"], [], 0, Fraction(1, 9), "epsilon must be above 0"),
        ([], ["a"], Fraction(1, 10**7), 0, "epsilon must be at least 1e-6"),
        (["a"], [], 1, 0, "delta must be in"),
        (["a"], [], 1, 1, "delta must be in"),
        ([], ["a"], 1, Fraction(1, 9), "delta must be 0 if only ranges"),
    ],
)
def test_a_plan_without_a_budget_for_what_it_asks_is_refused(
    values: list[str], ranges: list[str], epsilon: int | Fraction, delta: Fraction, complaint: str
) -> None:
    with pytest.raises(InvalidInput, match=complaint):
        DiscoveryPlan(questions=asked(values, ranges), epsilon=Fraction(epsilon), delta=Fraction(delta))


def test_the_column_that_is_asked_about_twice_is_named() -> None:
    with pytest.raises(InvalidInput, match="got b twice"):
        DiscoveryPlan(questions=asked(["a", "b", "b"], []), epsilon=Fraction(1), delta=Fraction(1, 9))


def test_a_plan_reads_back_and_knows_its_kinds() -> None:
    plan = DiscoveryPlan(questions=asked(["a"], ["b"], {"a": ["?"]}), epsilon=Fraction(1, 3), delta=Fraction(1, 7))
    assert DiscoveryPlan.from_document(json.loads(json.dumps(plan.document()))) == plan
    with pytest.raises(InvalidInput, match="must be about values or a range"):
        Question(column="a", kind="mean")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="and nothing else"):
        DiscoveryPlan.from_document({**plan.document(), "more": 1})


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({}, {"values", "grid", "decimals"}),
        ({"epsilon": Fraction(3)}, set()),
        # The threshold stays as it is.
        ({"epsilon": Fraction(2) + Fraction(1, 10**9)}, set()),
        ({"delta": Fraction(1, 10**5)}, {"grid", "decimals"}),
        ({"questions": asked(["charge"], ["age"], {"charge": ["none"], "age": ["none"]})}, set()),
        ({"questions": asked(["fee"], ["year"])}, set()),
    ],
)
def test_another_question_under_the_same_key_has_noise_of_its_own(change: dict[str, Any], same: set[str]) -> None:
    """Two answers with the same noise would tell by their difference what was counted."""

    def opened(plan: DiscoveryPlan) -> dict[str, str]:
        found: dict[str, str] = {}

        def open_stream(*, mechanism: str, parameters: dict[str, Any]) -> WordStream:
            found[repr(sorted(parameters.items()))] = mechanism
            return OneStream("any")(mechanism=mechanism, parameters=parameters)

        answers(plan, {question.column: {"7": 3} for question in plan.questions}, open_stream)
        return found

    before, after = opened(PLAN), opened(replace(PLAN, **change))
    assert len(before) == len(after) == 3, "and no two answers of one discovery share a stream"
    assert {before[each] for each in before.keys() & after.keys()} == same


def test_values_have_their_noise_in_the_order_of_their_bytes() -> None:
    """The order in which records name them would decide which noise each gets."""
    counts = {"b": 400, "é": 300, "a": 500, "B": 200}
    orders = [counts, dict(sorted(counts.items())), dict(reversed(counts.items()))]
    plan = DiscoveryPlan(questions=asked(["charge"], []), epsilon=Fraction(2), delta=Fraction(1, 10**6))
    made = [answers(plan, {"charge": order}, OneStream("values")).answers for order in orders]
    assert made[0] == made[1] == made[2]


def test_the_largest_and_the_least_budget_are_accepted() -> None:
    for epsilon in (Fraction(100), Fraction(1, 10**6)):
        assert DiscoveryPlan(questions=asked([], ["a"]), epsilon=epsilon, delta=Fraction(0)).epsilon == epsilon
    with pytest.raises(InvalidInput, match="at most 100"):
        DiscoveryPlan(questions=asked([], ["a"]), epsilon=100 + Fraction(1, 10**9), delta=Fraction(0))
