"""Figures beside a prototype's: how many standard errors lie between two means."""

from math import inf, sqrt

import pytest

from benchmarks.designed_seeds import Cell, compared, errors_between

CELL = Cell("acs_ma", "poisson_seeds", 1.0, 50_000)


def test_a_difference_is_in_errors_of_both_means() -> None:
    values = [1.0, 2.0, 3.0]
    assert errors_between(values, 1.5, 3) == pytest.approx(0.5 / sqrt(2 / 3))
    assert errors_between(values, 2.5, 1) == pytest.approx(-0.5 / sqrt(4 / 3))
    assert errors_between([1.0, 1.0], 0.5, 3) == inf


def test_a_figure_within_two_errors_agrees_and_one_beyond_is_better_or_worse() -> None:
    runs = {
        str(key): {"pairs": 0.0102 + step, "triples": 0.025 + step, "told": 0.5 + step}
        for key, step in enumerate([-1e-4, 0, 1e-4])
    }
    pairs, triples, told = compared(CELL, runs)
    assert pairs == "pairs 0.0102 against 0.0102, +0.0 standard errors: agrees"
    assert triples.endswith("standard errors: worse")
    assert told.endswith("standard errors: better")
    assert compared(CELL, {"1": runs["1"]})[0] == "pairs 0.0102 against 0.0102, by one key, which shows no deviation"
