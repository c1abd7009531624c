"""Every output law of Mechanism 1* on small tables, "no output" included, keeps to Theorem A; weaker ones do not."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable.plausible_deniability.privacy_tests import PrivacyTest
from deniable.plausible_deniability.seed_accounting import attempt_curves, candidate_guarantee, theorem_a_epsilon
from deniable.privacy.loss import PrivacyTestEvent
from tests.output_law import Laws, Mechanism, nearest_to, random_models, require_below, worst

MODELS = random_models("mechanism one star", 120)
EPSILONS = np.array([0.0, 0.1, 0.3, 0.7, 1.2, 2.0])


def event(k: int, gamma: int, eps0: Fraction, places: int, drop: Fraction) -> PrivacyTestEvent:
    return PrivacyTestEvent(
        query="candidates",
        part="seeds",
        outputs=1,
        k=k,
        gamma=Fraction(gamma),
        eps0=eps0,
        public_rows=places,
        drop_probability=drop,
    )


GRID = [
    event(k, gamma, eps0, places, drop)
    for k, gamma, eps0 in ((2, 2, Fraction(1)), (3, 3, Fraction(1, 2)), (2, 4, Fraction(2)))
    for places in (1, 3, 6)
    for drop in (Fraction(1, 20), Fraction(3, 10))
]
PADDED = [attempt for attempt in GRID if attempt.public_rows > 1]


def laws_of(attempt: PrivacyTestEvent, models: list[NDArray[np.float64]] = MODELS) -> list[Laws]:
    test = PrivacyTest(k=attempt.k, gamma=attempt.gamma, eps0=attempt.eps0, randomized=True)
    mechanism = Mechanism(test, drop_probability=float(attempt.drop_probability), places=attempt.public_rows)
    return [mechanism.laws(model) for model in models]


@pytest.mark.parametrize("attempt", GRID)
def test_one_attempt_stays_below_the_curves(attempt: PrivacyTestEvent) -> None:
    require_below(attempt_curves(attempt, EPSILONS), laws_of(attempt), EPSILONS)


def test_the_curves_are_nearly_met() -> None:
    found = [nearest_to(attempt_curves(attempt, EPSILONS), laws_of(attempt), EPSILONS) for attempt in GRID]
    added, removed = (max(side) for side in zip(*found, strict=True))
    assert added > 0.99
    assert removed > 0.7


@pytest.mark.parametrize("attempts", [1, 2, 3])
@pytest.mark.parametrize("attempt", PADDED)
def test_several_attempts_stay_within_their_total(attempt: PrivacyTestEvent, attempts: int) -> None:
    laws = laws_of(attempt, MODELS[:30])
    for delta in (0.5, 0.4, 0.3):
        epsilon = theorem_a_epsilon(replace(attempt, outputs=attempts), delta)
        assert epsilon < np.inf
        assert max(worst(epsilon, laws, attempts)) <= delta


@pytest.mark.parametrize("attempt", GRID)
def test_theorem_1_holds_for_one_candidate_where_it_is_used(attempt: PrivacyTestEvent) -> None:
    guarantee = candidate_guarantee(attempt, 0.9)
    if guarantee is not None:
        assert max(worst(guarantee.epsilon, laws_of(attempt))) <= guarantee.delta


def test_theorem_1_is_used_for_some_and_not_for_all() -> None:
    assert 0 < sum(candidate_guarantee(attempt, 0.9) is not None for attempt in GRID) < len(GRID)


def test_without_padding_the_curves_are_exceeded() -> None:
    attempt = event(2, 2, Fraction(1), 6, Fraction(3, 10))
    unpadded = laws_of(replace(attempt, public_rows=1))
    added, removed = attempt_curves(attempt, EPSILONS)
    assert worst(2.0, unpadded)[0] > 5 * added[-1]
    assert worst(0.3, unpadded)[1] > 1.3 * removed[2]


def test_without_dropping_the_curve_is_exceeded_by_no_output_alone() -> None:
    """A row that is removed makes "no output" rarer, by more than can be hidden."""
    attempt = event(2, 2, Fraction(1), 3, Fraction(3, 10))
    undropped = laws_of(replace(attempt, drop_probability=Fraction(0)))
    _, removed = attempt_curves(attempt, EPSILONS)
    assert worst(0.7, undropped)[1] > 3 * removed[3]
    assert worst(0.7, [law[:, :-1] for law in undropped])[1] <= removed[3]


def test_four_attempts_exceed_the_total_of_one() -> None:
    attempt = event(2, 2, Fraction(1), 3, Fraction(1, 20))
    epsilon = theorem_a_epsilon(attempt, 0.1)
    assert max(worst(epsilon, laws_of(attempt, MODELS[:30]), attempts=4)) > 0.1
