"""Every output law of Mechanism 1* on small tables, "no output" included, keeps to Theorem A; weaker ones do not."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable.plausible_deniability.privacy_tests import PrivacyTest
from deniable.plausible_deniability.seed_accounting import attempt_curves, candidate_guarantee, theorem_a_epsilon
from deniable.privacy.loss import PrivacyTestEvent
from tests.output_law import NEIGHBOURS, Laws, Mechanism, hockey_stick, random_models

MODELS = random_models("mechanism one star", 120)
EPSILONS = np.array([0.0, 0.1, 0.3, 0.7, 1.2, 2.0])
SMALLER, LARGER = NEIGHBOURS.T


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


def worst(epsilon: float, laws: list[Laws], attempts: int = 1) -> tuple[float, float]:
    """Largest hockey-stick divergence found when a row is added, and when one is removed."""

    def repeated(law: Laws) -> NDArray[np.float64]:
        joint = law
        for _ in range(attempts - 1):
            joint = np.einsum("ti,tj->tij", joint, law).reshape(len(law), -1)
        return joint

    joints = [repeated(law) for law in laws]
    added = max(hockey_stick(epsilon, joint[LARGER], joint[SMALLER]).max() for joint in joints)
    removed = max(hockey_stick(epsilon, joint[SMALLER], joint[LARGER]).max() for joint in joints)
    return float(added), float(removed)


@pytest.mark.parametrize("attempt", GRID)
def test_one_attempt_stays_below_the_curves(attempt: PrivacyTestEvent) -> None:
    laws = laws_of(attempt)
    added, removed = attempt_curves(attempt, EPSILONS)
    for place, epsilon in enumerate(EPSILONS.tolist()):
        found = worst(epsilon, laws)
        assert found[0] <= added[place] + 1e-12
        assert found[1] <= removed[place] + 1e-12


def test_the_curves_are_nearly_met() -> None:
    nearest = [0.0, 0.0]
    for attempt in GRID:
        laws = laws_of(attempt)
        curves = attempt_curves(attempt, EPSILONS)
        for place, epsilon in enumerate(EPSILONS.tolist()):
            for side, found in enumerate(worst(epsilon, laws)):
                if curves[side][place] > 1e-9:
                    nearest[side] = max(nearest[side], found / float(curves[side][place]))
    assert nearest[0] > 0.99
    assert nearest[1] > 0.7


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
