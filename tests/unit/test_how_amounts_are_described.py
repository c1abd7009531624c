"""Gaps of mean, upper hundredth, share of the largest, and zeros, computed by hand."""

import numpy as np
import pytest

from deniable.evaluation.metrics.tails import LARGEST, MEANS, UPPER, ZEROS, _mean, _top_share, _upper, gaps_of, middles
from deniable.foundation.domain import Attribute, Bins

AMOUNTS = np.array([0.0, 10.0, 100.0])
HOLDOUT, RELEASED = np.array([100.0, 90.0, 10.0]), np.array([120.0, 80.0, 0.0])


def test_gaps_are_differences_from_the_holdout() -> None:
    """Means 4 and 9.5, numbers that a hundredth exceeds 10 and 100, of all 20 / 800 and 200 / 1900, zeros .6 and .5."""
    found = {name: gap for name, (gap, _) in gaps_of(AMOUNTS, [RELEASED, HOLDOUT, HOLDOUT]).items()}
    right = {MEANS: 5.5 / 9.5, UPPER: 0.9, LARGEST: 200 / 1900 - 20 / 800, ZEROS: 0.1}
    assert found == pytest.approx(right)


def test_what_training_records_miss_is_chance() -> None:
    found = gaps_of(AMOUNTS, [RELEASED, RELEASED, HOLDOUT])
    assert [gap for gap, _ in found.values()] == [0, 0, 0, 0]


def test_numbers_of_either_sign_are_relative_to_their_mean_size() -> None:
    """Means -1 and 0 of numbers of size 10; and none may be zero."""
    found = gaps_of(np.array([-10.0, 10.0]), [np.array([55.0, 45.0]), np.array([50.0, 50.0]), np.array([50.0, 50.0])])
    assert found[MEANS][0] == pytest.approx(0.1)
    assert ZEROS not in found


def test_a_bin_counts_as_its_middle_and_a_missing_value_as_nothing() -> None:
    wage = Attribute("wage", (-1, 0, 1, 10), "numeric", (0, 1, 2, 3), Bins((-1, 0, 9, 99), 1), missing=-1)
    assert middles(wage, np.array([np.nan, 0.0, 1.0, 10.0])).tolist() == [0, 0, 5, 54.5]


@pytest.mark.parametrize("figure", [_mean, _upper, _top_share])
def test_errors_are_the_spread_over_samples(figure: object) -> None:
    assert callable(figure)
    draw = np.random.default_rng(list(b"spread over samples"))
    amounts = np.arange(2_000.0)
    law = np.exp(-amounts / 150)
    samples = [draw.multinomial(4_000, law / law.sum()).astype(float) for _ in range(300)]
    found = np.array([figure(amounts, sample) for sample in samples])
    # Three hundred samples tell a deviation to 4 %; six such errors have a chance of about 1e-9.
    assert found[:, 1].mean() == pytest.approx(found[:, 0].std(), rel=0.25)
