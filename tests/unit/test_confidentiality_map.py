"""The distances of R-U maps, on six records worked out by hand, and of regressions where the answer is known."""

import numpy as np
import pytest

from deniable.evaluation.confidentiality_map import conditional_distance, marginal_distance
from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.errors import InvalidInput
from tasks.mapping.regressions import regression_distance
from tests.urn_law import plain_domain

DOMAIN = plain_domain(2, 2, 3)
REAL = np.array([[0, 0, 1], [0, 1, 1], [1, 1, 2], [1, 0, 0], [0, 0, 2], [1, 1, 1]], np.uint16)
SYNTHETIC = np.array([[0, 0, 1], [0, 0, 0], [1, 1, 2], [1, 1, 1], [0, 1, 1], [0, 0, 0]], np.uint16)


def test_distances_are_those_worked_out_by_hand() -> None:
    assert marginal_distance(DOMAIN, REAL, SYNTHETIC) == pytest.approx(1 / 9)
    assert conditional_distance(DOMAIN, REAL, SYNTHETIC, 0) == pytest.approx(0.3125)
    assert conditional_distance(DOMAIN, REAL, SYNTHETIC, 2) == pytest.approx(0.25)


def test_a_table_is_at_no_distance_from_itself() -> None:
    assert marginal_distance(DOMAIN, REAL, REAL) == 0
    assert conditional_distance(DOMAIN, REAL, REAL, 1) == 0
    assert regression_distance(DOMAIN, REAL, REAL, 0) == 0


def test_a_value_that_no_synthetic_record_has_is_as_far_as_can_be() -> None:
    assert conditional_distance(DOMAIN, REAL, SYNTHETIC[:0], 0) == 1
    assert marginal_distance(DOMAIN, REAL, SYNTHETIC[:0]) == 0.5
    assert conditional_distance(DOMAIN, REAL, SYNTHETIC[SYNTHETIC[:, 0] == 0], 0) > 0.5


def test_an_attribute_may_be_given_by_its_buckets() -> None:
    domain = Domain((Attribute("age", (1, 2, 3, 4), "numeric", (0, 0, 1, 1)), DOMAIN.attributes[0]))
    real = np.array([[0, 0], [1, 1], [2, 0], [3, 0]], np.uint16)
    synthetic = np.array([[1, 0], [0, 1], [3, 0], [2, 0]], np.uint16)
    assert conditional_distance(domain, real, synthetic, 0, bucketed=True) == 0
    assert conditional_distance(domain, real, synthetic, 0) == pytest.approx(0.5)


def test_regressions_that_differ_by_one_slope_are_that_far_apart() -> None:
    domain = Domain(
        (
            Attribute("x", tuple(range(5)), "numeric", (0, 1, 2, 3, 4)),
            Attribute("y", tuple(range(21)), "numeric", tuple(range(21))),
        )
    )
    x = np.arange(5).repeat(40)
    flat, steep = (np.stack([x, 10 + slope * (x - 2)], axis=1).astype(np.uint16) for slope in (0, 3))
    # y is scaled to [0, 1], and x to a standard deviation of 1, which is sqrt(2): the slope is 3 sqrt(2) / 20.
    assert regression_distance(domain, flat, steep, 1, ridge=1e-6) == pytest.approx(3 * np.sqrt(2) / 20, rel=1e-4)


def test_logistic_coefficients_are_the_logarithms_of_odds() -> None:
    one = np.array([[0, 0]] * 30 + [[0, 1]] * 10 + [[1, 0]] * 10 + [[1, 1]] * 30, np.uint16)
    none = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 20, np.uint16)
    # x is +-1 after standardising, so that log odds of -+ln 3 are a slope of ln 3 and a constant of 0.
    assert regression_distance(plain_domain(2, 2), none, one, 1, ridge=1e-6) == pytest.approx(np.log(3), rel=1e-3)


def test_separated_and_empty_tables_have_coefficients_too() -> None:
    separated = np.array([[0, 0]] * 20 + [[1, 1]] * 20, np.uint16)
    assert np.isfinite(regression_distance(plain_domain(2, 2), separated, separated[:0], 1))


def test_a_conditional_distance_needs_records_and_another_attribute() -> None:
    with pytest.raises(InvalidInput, match="must have real records and two attributes"):
        conditional_distance(DOMAIN, REAL[:0], SYNTHETIC, 0)
