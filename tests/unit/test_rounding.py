"""A cost is never stated to be less than it is, nor a rest to be more; one rule for terminal, statement and pages."""

from fractions import Fraction
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.privacy.rounding import DIGITS, claimed, digits_up, float_above, rounded, rounded_down, rounded_up
from reports.figures.numbers import cost

COSTS = st.fractions(min_value=Fraction(1, 10**12), max_value=10**6)


@given(COSTS)
def test_what_is_spent_is_rounded_up_and_what_is_left_down_by_less_than_a_unit(value: Fraction) -> None:
    above, below, nearest = (Fraction(write(value)) for write in (rounded_up, rounded_down, rounded))
    assert below <= value <= above
    assert nearest in (below, above)
    assert above - below <= value / 10 ** (DIGITS - 1)


@given(COSTS)
def test_a_float_is_taken_for_the_decimal_number_that_it_is_written_in(value: Fraction) -> None:
    four = Fraction(rounded_up(value))
    assert rounded_up(float(four)) == rounded_down(float(four)) == rounded_up(four)
    assert value <= Fraction(float_above(value)) <= claimed(float_above(value)) <= value * (1 + Fraction(1, 10**10))


@pytest.mark.parametrize(
    ("value", "up", "down", "on_a_page"),
    [
        (0.1 + 0.2, "0.3", "0.3", "0.3"),
        (0.993_71, "0.9938", "0.9937", "0.9938"),
        (1.000_000_1, "1.001", "1", "1.001"),
        (1e-9, "1e-9", "1e-9", "10⁻⁹"),
        (0.000_412_34, "0.0004124", "0.0004123", "4.124·10⁻⁴"),
        (12_345.0, "12350", "12340", "12,350"),
        (0.0, "0", "0", "0"),
        (inf, "inf", "inf", "∞"),
    ],
)
def test_costs_are_written_alike_wherever_they_stand(value: float, up: str, down: str, on_a_page: str) -> None:
    assert (rounded_up(value), rounded_down(value), cost(value)) == (up, down, on_a_page)


def test_a_cost_beyond_all_floats_is_written_too() -> None:
    assert rounded_up(Fraction(10**400)) == "1e+400"
    assert digits_up(Fraction(1, 3)) > Fraction(1, 3)
