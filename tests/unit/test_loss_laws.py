"""What events cost is worked out again with numpy alone, and agrees with dp_accounting and with enumeration."""

import math
import sys
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr

from deniable.foundation.errors import InvalidInput
from deniable.privacy.accounting import best, best_again, compose, pld_by_library
from deniable.privacy.composition import optimal_composition
from deniable.privacy.dominating_pair import DominatingPair, composed_epsilon, epsilon_of_runs
from deniable.privacy.loss import (
    ApproximateEvent,
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    ExponentialEvent,
    MechanismEvent,
    PrivacyTestEvent,
    StabilityHistogramEvent,
)
from deniable.privacy.loss_laws import grid_step, loss_law, pld_by_hand

Reals = NDArray[np.float64]
SAID: dict[str, Any] = {"query": "q", "part": "p"}


def laplace(outputs: int, epsilon: str, sensitivity: int = 1) -> DiscreteLaplaceEvent:
    scale = sensitivity / Fraction(epsilon)
    return DiscreteLaplaceEvent(**SAID, outputs=outputs, sensitivity=sensitivity, scale=scale)


def gaussian(outputs: int, variance: str, sensitivity: int = 1) -> DiscreteGaussianEvent:
    return DiscreteGaussianEvent(**SAID, outputs=outputs, sensitivity=sensitivity, variance=Fraction(variance))


def known(epsilon: str, delta: str, outputs: int = 1) -> ApproximateEvent:
    spent = {"epsilon_per_output": Fraction(epsilon), "delta_per_output": Fraction(delta)}
    return ApproximateEvent(**SAID, outputs=outputs, **spent)


def choices(outputs: int, epsilon: str) -> ExponentialEvent:
    return ExponentialEvent(**SAID, outputs=outputs, epsilon_per_choice=Fraction(epsilon))


def attempts(outputs: int) -> PrivacyTestEvent:
    places = {"public_rows": 1000, "drop_probability": Fraction(1, 100)}
    return PrivacyTestEvent(**SAID, outputs=outputs, k=50, gamma=Fraction(4), eps0=Fraction(1), **places)


def histogram(epsilon: str, threshold: int) -> StabilityHistogramEvent:
    return StabilityHistogramEvent(**SAID, outputs=1, scale=1 / Fraction(epsilon), threshold=threshold)


CASES: list[tuple[list[MechanismEvent], float]] = [
    ([laplace(1, "1")], 1e-9),
    ([laplace(3, "5")], 1e-9),
    ([laplace(11, "0.05")], 1e-6),
    ([laplace(187, "0.0134")], 1e-6),
    ([laplace(2, "0.75", sensitivity=3)], 1e-4),
    ([laplace(1, "0.1"), known("0", "1e-7"), laplace(26, "0.08")], 1e-6),
    ([laplace(1, "0.001"), laplace(4, "1")], 2e-6),
    ([laplace(1, "0.01"), laplace(40, "0.02"), laplace(4, "0.25")], 2e-6),
    ([gaussian(1, "0.3")], 1e-6),
    ([gaussian(11, "196")], 1e-6),
    ([gaussian(187, "5000.5")], 1e-6),
    ([gaussian(1, "99999999")], 1e-6),
    ([laplace(1, "0.1"), known("0", "1e-7"), gaussian(26, "400")], 1e-6),
    ([gaussian(20, "900", sensitivity=2), laplace(11, "0.05"), known("0.1", "1e-8")], 1e-6),
    ([known("0.3", "1e-9", outputs=50)], 1e-6),
    ([choices(12, "0.1")], 1e-6),
    ([choices(2, "0.8")], 0.05),
    ([histogram("1", 15)], 1e-6),
]


def curve(pair: DominatingPair, epsilons: Reals) -> Reals:
    exceeding = np.maximum(0, -np.expm1(epsilons[:, None] - pair.finite_losses))
    return pair.infinity_mass + np.asarray(exceeding @ pair.probabilities)


def hockey_stick(first: Reals, second: Reals, epsilon: float) -> float:
    return float(np.maximum(first - math.exp(epsilon) * second, 0).sum())


@pytest.mark.parametrize(("events", "delta"), CASES)
def test_both_derivations_agree(events: list[MechanismEvent], delta: float) -> None:
    assert pld_by_hand(events, delta) == pytest.approx(pld_by_library(events, delta), rel=1e-5)


@pytest.mark.parametrize(("events", "delta"), CASES)
def test_what_the_library_certifies_is_certified_again_and_a_thousandth_less_is_not(
    events: list[MechanismEvent], delta: float
) -> None:
    claimed = best(events, delta).epsilon
    again = best_again(events, delta).epsilon
    assert claimed * (1 - 1e-3) < again <= claimed * (1 + 1e-9)


def test_deltas_that_the_library_cannot_tell_from_its_rounding_are_certified_by_our_own() -> None:
    events, delta = [gaussian(40, "2000")], 1e-13
    assert pld_by_library(events, delta) == math.inf
    mu = math.sqrt(40 / 2000)
    # Balle and Wang 2018, Theorem 8: the curve of the normal distribution, which such wide integers follow.
    exact = brentq(
        lambda epsilon: ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu)) - delta,
        0.5,
        2,
        xtol=1e-12,
    )
    assert best(events, delta).epsilon == pytest.approx(exact, rel=1e-3)
    assert best(events, delta).epsilon >= exact * (1 - 1e-9)
    assert best(events, delta).accountant == "pld"


def test_deltas_near_what_the_library_misplaces_are_certified_too() -> None:
    for outputs, epsilon in ((2000, "0.0001"), (1000, "0.05")):
        claimed = pld_by_library([laplace(outputs, epsilon)], 1e-9)
        assert claimed * (1 - 1e-3) < pld_by_hand([laplace(outputs, epsilon)], 1e-9) <= claimed


@pytest.mark.parametrize(
    "event",
    [laplace(1, "0.5"), laplace(1, "0.7", sensitivity=4), gaussian(1, "7.3", sensitivity=3), gaussian(1, ".4")],
)
def test_a_law_on_the_grid_dominates_the_one_it_is_made_of_and_is_exact_at_its_places(
    event: MechanismEvent,
) -> None:
    z = np.arange(-400, 401)
    if isinstance(event, DiscreteLaplaceEvent):
        first, second = (np.exp(-np.abs(z - shift) / float(event.scale)) for shift in (0, event.sensitivity))
    else:
        assert isinstance(event, DiscreteGaussianEvent)
        first, second = (np.exp(-((z - s) ** 2) / (2 * float(event.variance))) for s in (0, event.sensitivity))
    first, second = first / first.sum(), second / second.sum()
    step = grid_step([event]) * 7.3
    pair = loss_law(event, step)
    assert pair.probabilities.sum() + pair.infinity_mass == pytest.approx(1, abs=1e-14)
    on, between = np.arange(-60, 61) * step, (np.arange(-60, 60) + 0.37) * step
    exact_on, exact_between = ([hockey_stick(first, second, e) for e in places] for places in (on, between))
    assert curve(pair, on) == pytest.approx(exact_on, abs=1e-13)
    assert (curve(pair, between) >= np.array(exact_between) - 1e-14).all()
    assert (curve(pair, between) > np.array(exact_between) + 1e-8).any(), "it is not exact between"


@pytest.mark.slow
@pytest.mark.parametrize("delta", [1e-2, 1e-4, 1e-6])
def test_different_outputs_together_are_bounded_as_by_enumeration(delta: float) -> None:
    z = np.arange(-120, 121)
    laws = []
    for event, weight in ((laplace(2, "0.4"), lambda d: np.exp(-0.4 * np.abs(d))), (gaussian(1, "9"), None)):
        weigh = weight or (lambda d: np.exp(-(d**2) / 18))
        first, second = weigh(z), weigh(z - 1)
        laws += [(first / first.sum(), second / second.sum())] * event.outputs
    together = [np.einsum("i,j,k->ijk", *(law[side] for law in laws)) for side in (0, 1)]
    epsilon = pld_by_hand([laplace(2, "0.4"), gaussian(1, "9")], delta)
    assert hockey_stick(*together, epsilon) <= delta * (1 + 1e-9)
    assert hockey_stick(*together, epsilon * 0.999 - 1e-6) > delta


def test_equal_outputs_are_composed_as_one_however_they_are_listed() -> None:
    listed: list[MechanismEvent] = [replace(laplace(1, "0.05"), query=f"{n}", part=f"{n}") for n in range(11)]
    assert pld_by_hand(listed, 1e-6) == pld_by_hand([laplace(11, "0.05")], 1e-6)


def test_several_pairs_are_composed_as_one_pair_is() -> None:
    pair = loss_law(laplace(1, "0.05"), 0.0005)
    assert epsilon_of_runs([(pair, 4), (pair, 7)], 1e-6) == pytest.approx(
        composed_epsilon(pair, times=11, delta=1e-6), rel=1e-9
    )


def test_few_large_losses_cost_no_more_than_their_sum() -> None:
    assert 14.99 < pld_by_hand([laplace(3, "5")], 1e-12) <= 15
    optimal = optimal_composition(epsilon=5, delta=0, times=3, total_delta=1e-6)
    assert pld_by_hand([laplace(3, "5")], 1e-6) == pytest.approx(optimal, rel=1e-5)


def test_a_library_is_not_asked_for_what_is_worked_out_again(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("dp_accounting", "dp_accounting.pld"):
        monkeypatch.setitem(sys.modules, module, None)
    of_no_other_test = [laplace(13, "0.0517")]
    with pytest.raises(ImportError):
        compose(of_no_other_test, 1e-6)
    assert best_again(of_no_other_test, 1e-6).accountant == "pld"


def test_what_cannot_be_put_on_a_grid_is_left_to_other_accountants() -> None:
    assert pld_by_hand([gaussian(1, "1e20", sensitivity=10**9)], 1e-6) == math.inf
    assert best_again([gaussian(1, "1e20", sensitivity=10**9)], 1e-6).accountant == "zcdp"
    with pytest.raises(InvalidInput, match="an event must have an epsilon to be composed"):
        loss_law(attempts(1), 0.1)
    assert pld_by_hand([known("0", "1e-3", outputs=2)], 1e-3) == math.inf


def test_noise_that_no_grid_has_room_for_is_refused_rather_than_put_on_one() -> None:
    with pytest.raises(InvalidInput, match="losses must be on a grid of at most"):
        loss_law(gaussian(1, "0.0001", sensitivity=10_000), 1.0)
