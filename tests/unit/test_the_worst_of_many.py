"""The worst of many ways to attack, attributes or groups: followed by hand, with errors widened for their number."""

from statistics import NormalDist

import numpy as np
import pytest

from deniable.evaluation.attacks.contrasts import WORST, worst_of
from deniable.evaluation.disclosure import Contrast, Share, Tables, reproduced_by_value, singled_out
from deniable.evaluation.metrics.marginal_distances import worst_attribute
from deniable.evaluation.utility import SIGMAS, MarginalCounts, certainly_above, widened
from deniable.foundation.domain import Codes

_P = NormalDist().inv_cdf


def codes(*rows: tuple[int, ...]) -> Codes:
    return np.array(rows, dtype=np.uint16)


def test_people_with_unique_values_are_singled_out_if_these_were_released() -> None:
    tables = Tables(
        released=codes((5, 0), (6, 1), (9, 1)),
        # 5 and 6 are used alone, 7 twice; 8 is not used, and 9 is of both parts.
        training=codes((5, 1), (6, 0), (7, 0), (7, 1), (9, 0)),
        holdout=codes((8, 1), (9, 1)),
        cardinalities=(10, 2),
    )
    assert singled_out(tables, (0,)) == Contrast(training=Share(2, 2), holdout=Share(0, 1))
    # Of pairs, all seven people are unique, and one who is not used was released.
    assert singled_out(tables, (0, 1)) == Contrast(training=Share(0, 5), holdout=Share(1, 2))


def test_people_of_each_value_are_counted_with_those_whose_records_were_released() -> None:
    tables = Tables(
        released=codes((0, 0), (1, 1)),
        training=codes((0, 0), (0, 0), (0, 1), (1, 1)),
        holdout=codes((1, 0), (0, 0)),
        cardinalities=(2, 2),
    )
    assert reproduced_by_value(tables, (0,)) == [
        Contrast(training=Share(2, 3), holdout=Share(1, 1)),
        Contrast(training=Share(1, 1), holdout=Share(0, 1)),
    ]
    assert len(reproduced_by_value(tables, (0, 1))) == 4
    nothing = Tables(
        released=tables.released[:0], training=tables.training, holdout=tables.holdout, cardinalities=(2, 2)
    )
    assert [each.training.hits for each in reproduced_by_value(nothing, (0, 1))] == [0, 0, 0, 0]


def test_the_way_that_certainly_succeeds_most_is_taken_and_its_error_widened() -> None:
    sure = Contrast(training=Share(400, 1000), holdout=Share(300, 1000))
    larger_but_less_sure = Contrast(training=Share(7, 20), holdout=Share(4, 20))
    few = Contrast(training=Share(9, 9), holdout=Share(0, 1000))
    values = worst_of("attack", [larger_but_less_sure, few, sure], ["a=1", "a=2", "a=3"])
    found = next(value for name, value in values.items() if name.endswith("excess"))
    assert larger_but_less_sure.excess > sure.excess
    assert found.value == pytest.approx(0.1)
    assert found.texts == {WORST: ("a=3",)}
    pooled = (0.35 * 0.65 * 2 / 1000) ** 0.5
    # Two of the ways have enough cases.
    assert found.error == pytest.approx(pooled * _P(1 - 0.05 / 4) / 1.96)
    assert worst_of("attack", [few], ["a=2"]) == {}


def test_a_group_in_which_nobody_succeeds_has_an_error_all_the_same() -> None:
    found = Contrast(training=Share(3, 10), holdout=Share(0, 10))
    assert found.cautious_error > found.standard_error > 0
    assert found.cautious_error == pytest.approx((0.15 * 0.85 * 2 / 10) ** 0.5)
    assert Contrast(training=Share(3, 10), holdout=Share(0, 0)).cautious_error == float("inf")


def test_errors_are_widened_for_the_number_of_figures() -> None:
    assert widened(1) == pytest.approx(1, abs=1e-4)
    assert SIGMAS * widened(100) == pytest.approx(_P(1 - 0.05 / 200))


@pytest.mark.parametrize(
    ("scores", "above"),
    [
        # At 5%, the first of three is compared with 2.128, the second with 1.960 and the third with 1.645.
        ((3.0, 2.0, 1.7), [True, True, True]),
        ((1.7, 3.0, 2.0), [True, True, True]),
        ((3.0, 1.9, 1.7), [True, False, False]),
        ((2.1, 2.1, 2.1), [False, False, False]),
    ],
)
def test_figures_are_tested_one_after_the_other(scores: tuple[float, ...], above: list[bool]) -> None:
    errors = [0.5, 2.0, 1.0]
    values = [1 + score * error for score, error in zip(scores, errors, strict=True)]
    assert certainly_above(values, errors, [1.0] * 3, 0.05) == above


def counted(*tables: list[int]) -> MarginalCounts:
    """Counts of single attributes, by value."""
    counts = MarginalCounts(tuple(map(len, tables)), tuple((j,) for j in range(len(tables))))
    counts.rows, counts.counts = sum(tables[0]), np.concatenate(tables).astype(np.int64)
    return counts


def test_the_worst_attribute_is_that_which_is_certainly_furthest_off() -> None:
    real = counted([5000, 5000], [2000, 8000])
    found = worst_attribute(counted([5100, 4900], [3000, 7000]), real, real)
    assert found.value == pytest.approx(0.1)
    assert found.summarizes == pytest.approx((0.01, 0.1))
    # Of the two values of an attribute, each share has the derivative 1/2, with opposite signs; q counts in both gaps.
    variance = (0.3 * 0.7 + 0.2 * 0.8) / 10_000
    assert found.error == pytest.approx(variance**0.5 * widened(2))


def test_intervals_of_the_worst_attribute_cover_what_is_off() -> None:
    draw = np.random.default_rng(20261129)
    shares, off = [np.array([0.5, 0.3, 0.2]), np.array([0.6, 0.4])], np.array([0.8, 0.2])
    covered = found_nothing = 0
    for _ in range(200):
        real, training, same = (counted(*(draw.multinomial(4000, each).tolist() for each in shares)) for _ in range(3))
        wrong = counted(draw.multinomial(4000, shares[0]).tolist(), draw.multinomial(4000, off).tolist())
        found = worst_attribute(wrong, training, real)
        assert found.error is not None
        # Real training records are not quite 0 off; the distance beyond chance is up to theirs less than 0.2.
        covered += abs(found.value - 0.2) < 1.96 * found.error + 0.01
        nothing = worst_attribute(same, training, real)
        found_nothing += nothing.value - 1.96 * (nothing.error or 0.0) <= 0
    assert covered >= 185
    assert found_nothing >= 185
