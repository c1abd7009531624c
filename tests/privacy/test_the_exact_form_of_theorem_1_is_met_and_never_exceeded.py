"""What one attempt of Mechanism 1* spends on its record is its exact delta on small tables, and never more."""

from dataclasses import replace
from fractions import Fraction
from math import log1p

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable.plausible_deniability.privacy_tests import PrivacyTest, delta_of_attempt
from deniable.plausible_deniability.seed_accounting import record_guarantee
from deniable.privacy.loss import PrivacyTestEvent
from tests.output_law import NEIGHBOURS, Laws, Mechanism, hockey_stick, random_models

MODELS = random_models("the record of one attempt", 200)
SMALLER, LARGER = NEIGHBOURS.T
GRID = [
    PrivacyTestEvent(
        query="candidates",
        part="seeds",
        outputs=1,
        k=k,
        gamma=Fraction(gamma),
        eps0=eps0,
        public_rows=places,
        drop_probability=drop,
    )
    for k, gamma, eps0 in ((2, 2, Fraction(1)), (3, 3, Fraction(1, 2)), (4, 4, Fraction(1)))
    for places in (2, 3, 5)
    for drop in (Fraction(0), Fraction(3, 10))
]


def exact(event: PrivacyTestEvent, epsilon: float) -> float:
    return delta_of_attempt(
        epsilon=epsilon,
        k=event.k,
        gamma=event.gamma,
        eps0=event.eps0,
        public_rows=event.public_rows,
        drop_probability=event.drop_probability,
    )


def released(event: PrivacyTestEvent, models: list[NDArray[np.float64]] = MODELS) -> list[Laws]:
    """For each model, the probability of each record on each table."""
    test = PrivacyTest(k=event.k, gamma=event.gamma, eps0=event.eps0, randomized=True)
    mechanism = Mechanism(test, drop_probability=float(event.drop_probability), places=event.public_rows)
    return [mechanism.laws(model)[:, :-1] for model in models]


def worst(epsilon: float, laws: list[Laws]) -> float:
    """The largest divergence of any two neighbours, either way round."""
    pairs = ((LARGER, SMALLER), (SMALLER, LARGER))
    return float(max(hockey_stick(epsilon, law[one], law[other]).max() for law in laws for one, other in pairs))


def epsilons(event: PrivacyTestEvent) -> list[float]:
    least = log1p(1 / event.public_rows)
    return [least, least + 0.1, least + 0.4, 1.2, 2.0]


@pytest.mark.parametrize("event", GRID)
def test_no_law_exceeds_the_exact_delta(event: PrivacyTestEvent) -> None:
    laws = released(event)
    for epsilon in epsilons(event):
        assert worst(epsilon, laws) <= exact(event, epsilon) + 1e-12


def test_it_is_met_to_a_hundredth() -> None:
    """A new row with all its mass on one record, which c rows give the probability x: what the proof says."""
    nearest = 0.0
    for event in GRID:
        gamma = float(event.gamma)
        # Probabilities at the two ends of one bucket, open below.
        models = [np.array([[high, 1 - high, 0], [low, 0, 1 - low]]) for high, low in ((1.0, (1 + 1e-9) / gamma),)]
        test = PrivacyTest(k=event.k, gamma=event.gamma, eps0=event.eps0, randomized=True)
        mechanism = Mechanism(test, drop_probability=float(event.drop_probability), places=event.public_rows)
        tables = np.array([[0, count] for count in range(event.public_rows)])
        for epsilon in epsilons(event):
            bound = exact(event, epsilon)
            for model in models:
                small = mechanism.laws(model, tables)[:, :-1]
                large = mechanism.laws(model, np.add(tables, [1, 0]))[:, :-1]
                found = float(hockey_stick(epsilon, large, small).max())
                assert found <= bound + 1e-12
                nearest = max(nearest, found / bound)
    assert nearest > 0.99


@pytest.mark.parametrize("event", [event for event in GRID if event.public_rows == 5])
def test_an_epsilon_is_the_smallest_for_its_delta(event: PrivacyTestEvent) -> None:
    for delta in (exact(event, 0.9) * 1.0001, exact(event, 1.7) * 1.0001):
        stated = record_guarantee(event, delta)
        assert exact(event, stated.epsilon) <= delta
        assert stated.epsilon <= log1p(1 / event.public_rows) + 2e-6 or exact(event, stated.epsilon - 2e-6) > delta
        assert worst(stated.epsilon, released(event)) <= delta


@pytest.mark.parametrize("scale", [Fraction(9, 10), Fraction(4, 5)])
def test_narrower_noise_exceeds_it_and_wider_noise_does_not(scale: Fraction) -> None:
    event = replace(GRID[-1], drop_probability=Fraction(0))
    narrower, wider = (replace(event, eps0=event.eps0 / by) for by in (scale, 1 / scale))
    epsilon = 1.2
    assert exact(narrower, epsilon) > exact(event, epsilon) > exact(wider, epsilon)
    # A law that meets the bound of the narrower noise exceeds that of the stated one.
    test = PrivacyTest(k=event.k, gamma=event.gamma, eps0=narrower.eps0, randomized=True)
    model = np.array([[1.0, 0.0], [(1 + 1e-9) / float(event.gamma), 1 - (1 + 1e-9) / float(event.gamma)]])
    tables = np.array([[0, count] for count in range(event.public_rows)])
    mechanism = Mechanism(test, places=event.public_rows)
    small, large = (mechanism.laws(model, np.add(tables, more))[:, :-1] for more in ([0, 0], [1, 0]))
    assert float(hockey_stick(epsilon, large, small).max()) > exact(event, epsilon) * 1.01


@pytest.mark.parametrize("event", [event for event in GRID if event.drop_probability == 0])
def test_of_a_record_that_is_known_to_be_released_less_holds_and_how_much_less(event: PrivacyTestEvent) -> None:
    more, exceeded = log1p(1 / event.public_rows), False
    for epsilon in epsilons(event):
        delta = exact(event, epsilon)
        for law in released(event, MODELS[:60]):
            passing = law.sum(axis=1)
            given = law / np.maximum(passing, 1e-300)[:, None]
            for one, other in ((LARGER, SMALLER), (SMALLER, LARGER)):
                possible = (passing[one] > 0) & (passing[other] > 0)
                least = np.minimum(passing[one], passing[other])[possible]
                found = hockey_stick(epsilon + more, given[one][possible], given[other][possible])
                assert (found <= (1 + 1 / event.public_rows) * delta / least + 1e-12).all()
                alone = hockey_stick(epsilon, given[one][possible], given[other][possible])
                exceeded |= bool((alone > 2 * delta).any())
    assert exceeded, "the delta of an attempt must not be one of a record that is known to be released"
