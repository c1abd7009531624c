"""Every output law of Mechanism 1 with privacy test 2 on small tables keeps to Theorem 1; wrong mechanisms do not."""

from fractions import Fraction

import numpy as np
import pytest

from deniable.plausible_deniability.privacy_tests import PrivacyTest, exact_delta, smallest_drop_probability, theorem_1
from tests.output_law import NEIGHBOURS, ROWS, Laws, Mechanism, hockey_stick, in_window, random_models
from tests.privacy.broken_twins.exact_threshold import ExactThreshold

MODELS = random_models("privacy test two", 300)
GRID = [(k, Fraction(gamma), eps0) for k in (2, 3, 4) for gamma in (2, 4) for eps0 in (Fraction(1, 2), Fraction(1))]
# With two rows and more the theorem's t <= 3 is never above gamma times the rows.
SMALLER, LARGER = NEIGHBOURS[ROWS[NEIGHBOURS[:, 0]] >= 2].T


def randomized(k: int, gamma: Fraction, eps0: Fraction) -> PrivacyTest:
    return PrivacyTest(k=k, gamma=gamma, eps0=eps0, randomized=True)


def released(laws: Laws) -> Laws:
    return laws[:, :-1]


@pytest.mark.parametrize(("k", "gamma", "eps0"), GRID)
def test_theorem_1_bounds_every_law(k: int, gamma: Fraction, eps0: Fraction) -> None:
    mechanism = Mechanism(randomized(k, gamma, eps0))
    guarantees = [theorem_1(k=k, gamma=gamma, eps0=eps0, t=t) for t in range(1, k)]
    for model in MODELS:
        laws = released(mechanism.laws(model))
        for guarantee in guarantees:
            assert hockey_stick(guarantee.epsilon, laws[LARGER], laws[SMALLER]).max() <= guarantee.delta
            assert hockey_stick(guarantee.epsilon, laws[SMALLER], laws[LARGER]).max() <= 1e-12


@pytest.mark.parametrize(("k", "gamma", "eps0"), GRID)
def test_the_exact_form_of_theorem_1_bounds_every_law_and_is_nearly_met(
    k: int, gamma: Fraction, eps0: Fraction
) -> None:
    mechanism = Mechanism(randomized(k, gamma, eps0))
    laws = [released(mechanism.laws(model)) for model in MODELS]
    nearest = 0.0
    for epsilon in (0.05, 0.3, 0.6, 1.0, 1.5, 2.0):
        bounds = {n: exact_delta(epsilon=epsilon, rows=n, k=k, gamma=gamma, eps0=eps0) for n in (2, 3, 4)}
        bound = np.array([bounds[n] for n in ROWS[SMALLER].tolist()])
        worst = np.max([hockey_stick(epsilon, law[LARGER], law[SMALLER]) for law in laws], axis=0)
        assert (worst <= bound + 1e-12).all()
        nearest = max(nearest, float((worst / bound).max()))
    assert nearest > 0.95


@pytest.mark.parametrize(("k", "gamma", "eps0"), GRID)
def test_dropping_often_enough_covers_no_output_too(k: int, gamma: Fraction, eps0: Fraction) -> None:
    for t in range(1, k):
        guarantee = theorem_1(k=k, gamma=gamma, eps0=eps0, t=t)
        drop = smallest_drop_probability(epsilon=guarantee.epsilon, rows=2)
        mechanism = Mechanism(randomized(k, gamma, eps0), drop_probability=drop)
        for model in MODELS[:100]:
            laws = mechanism.laws(model)
            assert hockey_stick(guarantee.epsilon, laws[LARGER], laws[SMALLER]).max() <= guarantee.delta
            assert hockey_stick(guarantee.epsilon, laws[SMALLER], laws[LARGER]).max() <= guarantee.delta


def test_half_the_noise_exceeds_the_exact_bound() -> None:
    """Theorem 1 is too loose to notice on four rows; its exact form is not."""
    k, gamma, eps0 = 3, Fraction(2), Fraction(1, 2)
    mechanism = Mechanism(randomized(k, gamma, 2 * eps0))
    laws = [released(mechanism.laws(model)) for model in MODELS]
    epsilon = 1.0
    worst = max(hockey_stick(epsilon, law[LARGER], law[SMALLER]).max() for law in laws)
    assert worst > 1.1 * max(exact_delta(epsilon=epsilon, rows=n, k=k, gamma=gamma, eps0=eps0) for n in (2, 3, 4))


def test_half_the_noise_exceeds_theorem_1_on_a_larger_table() -> None:
    """Rows of one kind up to the threshold, and one more: the largest relative change that the noise must hide."""
    k, gamma, eps0 = 40, Fraction(2), Fraction(1, 2)
    mechanism = Mechanism(randomized(k, gamma, 2 * eps0))
    guarantee = theorem_1(k=k, gamma=gamma, eps0=eps0, t=20)
    tables = np.array([[n, 0, 40 - n] for n in range(1, 40)])
    model = np.eye(3)
    smaller, larger = (
        released(mechanism.laws(model, tables)),
        released(mechanism.laws(model, np.add(tables, [1, 0, 0]))),
    )
    assert hockey_stick(guarantee.epsilon, larger, smaller).max() > 10 * guarantee.delta


def test_no_noise_exceeds_theorem_1() -> None:
    mechanism = Mechanism(ExactThreshold(k=4, gamma=Fraction(2)))
    guarantee = theorem_1(k=4, gamma=2, eps0=1, t=1)
    worst = max(
        hockey_stick(guarantee.epsilon, laws[LARGER], laws[SMALLER]).max()
        for laws in (released(mechanism.laws(model)) for model in MODELS)
    )
    assert worst > 10 * guarantee.delta


def test_a_window_around_the_seed_in_place_of_buckets_exceeds_theorem_1() -> None:
    """Thirty rows a factor 3.9 below the new row, thirty above: only with the new row do all sixty count."""
    k, gamma, eps0 = 50, Fraction(4), Fraction(1)
    guarantee = theorem_1(k=k, gamma=gamma, eps0=eps0, t=36)
    model = np.array([[0.2 / 3.9, 1 - 0.2 / 3.9, 0, 0], [0.78, 0, 0.22, 0], [0.2, 0, 0, 0.8]])
    table = np.array([[30, 30, 0]])

    def excess(mechanism: Mechanism) -> float:
        smaller, larger = (
            released(mechanism.laws(model, table)),
            released(mechanism.laws(model, np.add(table, [0, 0, 1]))),
        )
        return float(hockey_stick(guarantee.epsilon, larger, smaller)[0])

    assert excess(Mechanism(randomized(k, gamma, eps0), plausible=in_window)) > 10 * guarantee.delta
    assert excess(Mechanism(randomized(k, gamma, eps0))) <= guarantee.delta


def test_retrying_until_something_is_released_exceeds_theorem_1() -> None:
    """Given that something is released, a row like no other is released as surely as any."""
    mechanism = Mechanism(randomized(4, Fraction(2), Fraction(1)))
    guarantee = theorem_1(k=4, gamma=2, eps0=1, t=1)
    laws = released(mechanism.laws(np.eye(3)))
    retried = laws / np.maximum(laws.sum(axis=1, keepdims=True), 1e-300)
    assert hockey_stick(guarantee.epsilon, retried[LARGER], retried[SMALLER]).max() > 3 * guarantee.delta


def test_that_nothing_is_released_spends_more_than_theorem_1_says_of_records() -> None:
    """Rows that are all alike nearly always pass; one that is unlike them makes "no output" possible."""
    k, gamma, eps0, rows = 20, Fraction(2), Fraction(1), 60
    guarantee = theorem_1(k=k, gamma=gamma, eps0=eps0, t=6)
    mechanism = Mechanism(randomized(k, gamma, eps0))
    smaller = mechanism.laws(np.eye(3), np.array([[rows, 0, 0]]))
    larger = mechanism.laws(np.eye(3), np.array([[rows, 1, 0]]))
    assert hockey_stick(guarantee.epsilon, larger, smaller)[0] > 1000 * guarantee.delta
    assert hockey_stick(guarantee.epsilon, released(larger), released(smaller))[0] <= guarantee.delta
