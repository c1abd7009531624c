import json
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from scipy.stats import norm

from deniable.foundation.errors import InvalidInput
from deniable.privacy.accounting import (
    _as_by_library,
    _loss_distribution,
    best,
    calibrate_discrete_gaussian,
    calibrate_discrete_laplace,
    compose,
    least_noise,
    pld_by_library,
)
from deniable.privacy.composition import advanced_composition, optimal_composition, zcdp_to_epsilon
from deniable.privacy.loss import (
    ApproximateEvent,
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    ExponentialEvent,
    Guarantee,
    MechanismEvent,
    PrivacyTestEvent,
)

COUNTS = DiscreteLaplaceEvent(query="counts", part="all", outputs=11, sensitivity=1, scale=Fraction(20))
PAIRS = DiscreteGaussianEvent(query="pairs", part="all", outputs=20, sensitivity=2, variance=Fraction(900))
EDGES = ExponentialEvent(query="edges", part="all", outputs=12, epsilon_per_choice=Fraction(1, 10))
OTHER = ApproximateEvent(
    query="rows", part="all", outputs=1, epsilon_per_output=Fraction(1, 10), delta_per_output=Fraction(1, 10**8)
)
CANDIDATES = PrivacyTestEvent(
    query="candidates",
    part="all",
    outputs=1,
    k=50,
    gamma=Fraction(4),
    eps0=Fraction(1),
    public_rows=100_000,
    drop_probability=Fraction(1, 100),
)


@pytest.fixture(scope="module")
def vectors(shared: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((shared / "vectors" / "vectors.json").read_text())
    return found


def epsilons(events: list[MechanismEvent], delta: float) -> dict[str, float]:
    return {name: guarantee.epsilon for name, guarantee in compose(events, delta).items()}


def hockey_stick(epsilon: float, first: np.ndarray, second: np.ndarray) -> float:
    return float(np.maximum(first - math.exp(epsilon) * second, 0).sum())


def test_accountants_follow_their_theorems() -> None:
    found = epsilons([COUNTS], 1e-6)
    assert found["basic"] == pytest.approx(0.55)
    assert found["advanced"] == pytest.approx(advanced_composition([(0.05, 11)], 1e-6))
    assert found["zcdp"] == pytest.approx(zcdp_to_epsilon(11 * 0.05**2 / 2, 1e-6))
    optimal = optimal_composition(epsilon=0.05, delta=0, times=11, total_delta=1e-6)
    assert found["pld"] == pytest.approx(optimal, rel=1e-3)
    assert found["pld"] >= optimal * (1 - 1e-5)


def test_basic_composition_spends_no_delta_that_it_does_not_need() -> None:
    assert compose([COUNTS], 1e-6)["basic"].delta == 0
    assert compose([COUNTS, OTHER], 1e-6)["basic"].delta == pytest.approx(1e-8)
    assert compose([COUNTS], 1e-6)["pld"].delta == 1e-6


def test_different_events_add_up() -> None:
    together = epsilons([COUNTS, PAIRS, EDGES, OTHER], 1e-6)
    rho = 11 * 0.05**2 / 2 + 20 * 4 / 1800 + 12 * 0.01 / 8 + 0.01 / 2
    assert together["zcdp"] == pytest.approx(zcdp_to_epsilon(rho, 1e-6 - 1e-8))
    assert set(together) == {"zcdp", "pld"}
    assert together["pld"] < together["zcdp"]
    for left_out in (COUNTS, PAIRS, EDGES, OTHER):
        rest = [event for event in (COUNTS, PAIRS, EDGES, OTHER) if event is not left_out]
        assert epsilons(rest, 1e-6)["pld"] < together["pld"]


def test_order_and_grouping_of_events_do_not_matter() -> None:
    one_by_one: list[MechanismEvent] = [replace(EDGES, outputs=1)] * 12
    assert epsilons([EDGES, COUNTS], 1e-6)["pld"] == pytest.approx(
        epsilons([COUNTS, *one_by_one], 1e-6)["pld"], rel=1e-6
    )


def test_without_delta_only_epsilons_add_up() -> None:
    assert epsilons([COUNTS, EDGES], 0) == {"basic": pytest.approx(1.75)}
    with pytest.raises(InvalidInput, match="delta must exceed"):
        best([PAIRS], 0)


def test_a_delta_that_is_spent_already_leaves_nothing() -> None:
    assert compose([OTHER], 1e-9) == {}
    with pytest.raises(InvalidInput, match="delta must exceed"):
        best([OTHER], 1e-9)


def test_nothing_done_costs_nothing() -> None:
    assert best([], 1e-6).epsilon == 0


def test_candidates_are_not_composed_as_noise_is() -> None:
    with pytest.raises(InvalidInput, match="seed_accounting"):
        compose([COUNTS, CANDIDATES], 1e-6)


@pytest.mark.parametrize("delta", [-1e-9, 1.1])
def test_a_delta_that_is_no_probability_is_refused(delta: float) -> None:
    with pytest.raises(InvalidInput):
        compose([COUNTS], delta)


def test_at_a_delta_of_one_there_is_nothing_to_prove() -> None:
    assert compose([COUNTS], 1.0) == {"trivial": Guarantee(0.0, 1.0, "trivial")}


def test_the_library_certifies_nothing_where_its_rounding_errors_are_near_delta() -> None:
    assert pld_by_library([replace(COUNTS, outputs=1000)], 1e-9) < math.inf
    assert pld_by_library([replace(COUNTS, outputs=1_000_000)], 1e-9) == math.inf
    assert "pld" not in compose([replace(COUNTS, outputs=1_000_000)], 1e-9, pld=pld_by_library)
    assert "zcdp" in compose([replace(COUNTS, outputs=1_000_000)], 1e-9)


def test_integers_too_fine_for_a_grid_are_left_to_other_accountants() -> None:
    fine = DiscreteGaussianEvent(query="", part="", outputs=1, sensitivity=10**9, variance=Fraction(10**20))
    assert set(compose([fine], 1e-6)) == {"zcdp"}


@pytest.mark.parametrize("sensitivity", [1, 3])
def test_pld_of_laplace_noise_is_that_of_its_enumerated_law(sensitivity: int) -> None:
    event = DiscreteLaplaceEvent(query="", part="", outputs=2, sensitivity=sensitivity, scale=Fraction(4))
    z = np.arange(-150, 151)
    law = (1 - np.exp(-0.25)) / (1 + np.exp(-0.25)) * np.exp(-np.abs(z) / 4.0)
    moved = (1 - np.exp(-0.25)) / (1 + np.exp(-0.25)) * np.exp(-np.abs(z - sensitivity) / 4.0)
    for delta in (0.1, 0.01, 1e-4):
        epsilon = epsilons([event], delta)["pld"]
        assert hockey_stick(epsilon, np.outer(law, law), np.outer(moved, moved)) <= delta * (1 + 1e-9)
        assert hockey_stick(epsilon - 0.01, np.outer(law, law), np.outer(moved, moved)) > delta


@pytest.mark.parametrize("sensitivity", [1, 3])
def test_pld_of_gaussian_noise_is_that_of_its_enumerated_law(sensitivity: int) -> None:
    event = DiscreteGaussianEvent(query="", part="", outputs=2, sensitivity=sensitivity, variance=Fraction(20))
    z = np.arange(-100, 101)
    law, moved = (np.exp(-((z - shift) ** 2) / 40.0) for shift in (0, sensitivity))
    law, moved = law / law.sum(), moved / moved.sum()
    for delta in (0.05, 0.01, 1e-6):
        epsilon = epsilons([event], delta)["pld"]
        assert hockey_stick(epsilon, np.outer(law, law), np.outer(moved, moved)) <= delta * (1 + 1e-9)
        assert hockey_stick(epsilon - 0.01, np.outer(law, law), np.outer(moved, moved)) > delta


@pytest.mark.parametrize("sensitivity", [1, 2, 7])
@pytest.mark.parametrize("variance", [Fraction(50, 7), Fraction(900), Fraction(10**5, 3)])
def test_the_law_of_gaussian_noise_is_the_librarys_to_the_last_digit(sensitivity: int, variance: Fraction) -> None:
    event = replace(PAIRS, outputs=1, sensitivity=sensitivity, variance=variance)
    typical = sensitivity / math.sqrt(variance)
    losses = np.linspace(-12, 12, 97) * typical
    for step in (typical / 300, typical / 20, 3 * typical):
        ours = _loss_distribution(event, step)
        library = pld.from_discrete_gaussian_mechanism(
            math.sqrt(variance), sensitivity, value_discretization_interval=step, use_connect_dots=True
        )
        assert np.array_equal(ours.get_delta_for_epsilon(losses), library.get_delta_for_epsilon(losses))
        assert ours.self_compose(9).get_epsilon_for_delta(1e-9) == library.self_compose(9).get_epsilon_for_delta(1e-9)


def test_laplace_noise_on_very_fine_integers_costs_no_more_than_on_coarse_ones() -> None:
    coarse = epsilons([COUNTS], 1e-6)
    fine = epsilons([replace(COUNTS, sensitivity=2**32, scale=Fraction(20 * 2**32))], 1e-6)
    assert fine == coarse


def test_pld_of_choices_bounds_every_exponential_mechanism() -> None:
    """Laws proportional to e^(+-epsilon/2 * score) on three choices, twice; the bound is nearly met by some of them."""
    epsilon = 0.8
    event = ExponentialEvent(query="", part="", outputs=2, epsilon_per_choice=Fraction(4, 5))
    scores = [np.array(one) for one in product((0.0, 0.7, 2.0, 5.0), repeat=3)]
    changes = [np.array(one) for one in product((-1.0, 0.0, 1.0), repeat=3)]
    laws = []
    for score, change in product(scores, changes):
        first, second = (np.exp(epsilon / 2 * (score + shift)) for shift in (0, change))
        first, second = first / first.sum(), second / second.sum()
        laws.append((np.outer(first, first), np.outer(second, second)))
    for delta in (0.2, 0.05):
        found = epsilons([event], delta)["pld"]
        worst = max(hockey_stick(found, first, second) for first, second in laws)
        assert 0.5 * delta < worst <= delta
        assert found < optimal_composition(epsilon=epsilon, delta=0, times=2, total_delta=delta)


@pytest.mark.parametrize(("outputs", "epsilon"), [(11, 1.0), (1, 0.3), (7, 2.0), (187, 0.25)])
def test_laplace_noise_without_delta_is_the_budget_divided(outputs: int, epsilon: float) -> None:
    found = calibrate_discrete_laplace(outputs=outputs, epsilon=epsilon, delta=0)
    assert outputs * found <= Fraction(str(epsilon))
    assert outputs * found > Fraction(str(epsilon)) * Fraction(999, 1000)


def test_a_budget_is_the_decimal_that_was_written() -> None:
    assert calibrate_discrete_laplace(outputs=1, epsilon=0.3, delta=0) == Fraction(3, 10)
    assert calibrate_discrete_laplace(outputs=10, epsilon=Fraction(1), delta=0) == Fraction(1, 10)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("outputs", "epsilon", "delta"),
    [(11, 1.0, 1e-6), (187, 1.0, 1e-6), (187, 0.5, 1e-9), (1, 1.0, 1e-6), (55, 10.0, 1e-9)],
)
def test_calibrated_noise_uses_the_budget_up_and_no_more(outputs: int, epsilon: float, delta: float) -> None:
    def laplace(per_output: Fraction) -> float:
        return best([replace(COUNTS, outputs=outputs, scale=1 / per_output)], delta).epsilon

    def gaussian(variance: Fraction) -> float:
        return best([replace(PAIRS, outputs=outputs, sensitivity=1, variance=variance)], delta).epsilon

    per_output = calibrate_discrete_laplace(outputs=outputs, epsilon=epsilon, delta=delta)
    assert laplace(per_output) <= epsilon < laplace(per_output * Fraction(1002, 1000))
    variance = calibrate_discrete_gaussian(outputs=outputs, epsilon=epsilon, delta=delta)
    assert gaussian(variance) <= epsilon < gaussian(variance * Fraction(995, 1000))


@pytest.mark.slow
def test_calibrated_noise_is_a_short_decimal() -> None:
    for found in (
        calibrate_discrete_laplace(outputs=187, epsilon=1, delta=1e-6),
        calibrate_discrete_gaussian(outputs=187, epsilon=1, delta=1e-6),
        calibrate_discrete_laplace(outputs=2000, epsilon=0.01, delta=1e-9),
    ):
        assert found == Fraction(f"{float(found):.3e}")


def test_noise_on_counts(vectors: dict[str, Any]) -> None:
    scale, _ = vectors["counts Laplace PLD"]
    assert float(1 / calibrate_discrete_laplace(outputs=11, epsilon=1, delta=1e-6)) == pytest.approx(scale, rel=2e-3)
    sigma = math.sqrt(calibrate_discrete_gaussian(outputs=11, epsilon=1, delta=1e-6))
    assert sigma == pytest.approx(vectors["counts Gaussian analytic / PLD sigma"], rel=1e-3)
    assert sigma < vectors["counts Gaussian zCDP simple conversion sigma"]


def test_noise_on_entropies(vectors: dict[str, Any]) -> None:
    sigma = math.sqrt(calibrate_discrete_gaussian(outputs=187, epsilon=1, delta=1e-6))
    sensitivity = float(vectors["Delta_H n=280000: exact replace, simple (log2 n+1/ln2)/n, paper"][0])
    assert sigma * sensitivity == pytest.approx(
        float(vectors["entropy sd: exact sensitivity+analytic Gaussian"]), rel=1e-3
    )


def test_gaussian_noise_is_nearly_that_of_the_exact_formula() -> None:
    """The analytic Gaussian mechanism (Balle and Wang 2018), for continuous noise on all outputs at once."""
    variance = calibrate_discrete_gaussian(outputs=100, epsilon=0.5, delta=1e-8)
    ratio = 10 / math.sqrt(variance)
    exact = norm.cdf(ratio / 2 - 0.5 / ratio) - math.exp(0.5) * norm.cdf(-ratio / 2 - 0.5 / ratio)
    assert 0.97e-8 < exact <= 1e-8


@pytest.mark.parametrize(
    ("outputs", "epsilon", "delta"), [(1, 0.7, 1e-3), (1, 4.0, 1e-6), (3, 0.9, 1e-3), (20, 1.0, 1e-9)]
)
def test_gaussian_noise_may_be_scaled_along_with_a_large_sensitivity(
    outputs: int, epsilon: float, delta: float
) -> None:
    variance = calibrate_discrete_gaussian(outputs=outputs, epsilon=epsilon, delta=delta)
    for scale in (1, 100, 137, 300):
        event = replace(PAIRS, outputs=outputs, sensitivity=scale, variance=variance * scale**2)
        assert best([event], delta).epsilon <= epsilon


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 1e-6), (-1.0, 1e-6), (1.0, 0.0)])
def test_a_budget_that_no_gaussian_noise_meets_is_refused(epsilon: float, delta: float) -> None:
    with pytest.raises(InvalidInput):
        calibrate_discrete_gaussian(outputs=1, epsilon=epsilon, delta=delta)
    if delta > 0:
        with pytest.raises(InvalidInput):
            calibrate_discrete_laplace(outputs=1, epsilon=epsilon, delta=delta)


@dataclass(frozen=True)
class Three:
    """Three answers with Gaussian noise that cost rho together."""

    rho: float

    @property
    def events(self) -> tuple[MechanismEvent, ...]:
        variance = Fraction(3 / (2 * self.rho)).limit_denominator(10**9)
        return (DiscreteGaussianEvent(query="answers", part="all", outputs=3, sensitivity=1, variance=variance),)

    @property
    def guarantee(self) -> Guarantee:
        return best(self.events, 1e-9)


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 1e-9), (5, 1e-6), (10, 1e-9)])
def test_the_least_noise_leaves_nearly_nothing_of_the_budget(epsilon: int, delta: float) -> None:
    rho = (math.sqrt(math.log(1 / delta) + epsilon) - math.sqrt(math.log(1 / delta))) ** 2
    found = least_noise(Three, rho, Fraction(epsilon), Fraction(delta), otherwise="raise epsilon")
    spent = best(found.events, delta, pld=_as_by_library).epsilon
    assert 0.9995 * epsilon < spent <= epsilon
