"""A line holds all that is shown on it, in proportion, with round numbers below it."""

import pytest

from reports.figures.decimal_places import digits_of
from reports.figures.line_scale import scale_of


def test_what_is_larger_lies_further_right_and_nothing_is_cut() -> None:
    """A distance of 0.009 and a chance of 0.025 were once drawn at one place: the end of the line."""
    scale = scale_of([0.0094, 0.0253, 0.0033])
    places = [scale.place(value) for value in (0.0, 0.0033, 0.0094, 0.0253)]
    assert places == sorted(places)
    assert places[0] == 0
    assert places[-1] < 100
    assert places[2] / places[-1] == pytest.approx(0.0094 / 0.0253, rel=1e-3)


@pytest.mark.parametrize(
    ("values", "least", "texts"),
    [
        ([0.0253], 0.0, ["0.00", "0.01", "0.02"]),
        ([0.1], 0.0, ["0.00", "0.05", "0.10"]),
        ([0.44, 0.83], 0.51, ["0.5", "0.6", "0.7", "0.8"]),
        ([-0.004, 0.01], 0.0, ["0.000", "0.005", "0.010"]),
        ([3000.0], 0.0, ["0", "1000", "2000", "3000"]),
    ],
)
def test_round_numbers_are_written_below_it(values: list[float], least: float, texts: list[str]) -> None:
    scale = scale_of(values, least=least)
    assert [tick.text for tick in scale.ticks] == texts
    assert all(tick.place == scale.place(float(tick.text)) for tick in scale.ticks)
    assert all(0 <= tick.place <= 100 for tick in scale.ticks)


def test_a_line_on_which_nothing_lies_has_a_length() -> None:
    assert scale_of([]).place(0.0) == 0


@pytest.mark.parametrize(("reach", "digits"), [(0.0015, 4), (0.006, 3), (0.05, 2), (0.2, 1), (0.19, 2), (3.0, 0)])
def test_a_figure_has_the_digits_that_chance_leaves(reach: float, digits: int) -> None:
    assert digits_of(reach) == digits
