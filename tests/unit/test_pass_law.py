import json
from fractions import Fraction
from itertools import pairwise
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from deniable.foundation.errors import InvalidInput
from deniable.plausible_deniability import pass_law
from deniable.plausible_deniability.pass_law import (
    PassLaw,
    _Bound,
    epsilon_of_shift,
    largest_law,
    law_within,
    shift_of,
)
from deniable.privacy.accounting import best
from deniable.privacy.loss import PASSES_OUT_OF, DiscreteGaussianEvent, PoissonAttemptsEvent, from_record
from deniable.privacy.loss_laws import pld_by_hand
from deniable.privacy.poisson_pairs import envelope_pair, poisson_curves, worst_curves
from deniable.privacy.remembered import REMEMBERED

FINE = 1e-4
"""The search stops, and rounds down, by less than this share."""


@pytest.fixture(scope="module")
def vectors(shared: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((shared / "vectors" / "tested_seeds.json").read_text())
    return found


def noise(mu: float, outputs: int = 50) -> DiscreteGaussianEvent:
    return DiscreteGaussianEvent(
        query="", part="seeds", outputs=outputs, sensitivity=1, variance=Fraction(round(outputs / mu**2))
    )


def cost(a: float, b: float, epsilon: float) -> float:
    return max(float(side[0]) for side in poisson_curves(a, b, np.array([epsilon])))


def test_laws_are_those_of_the_vectors(vectors: dict[str, Any]) -> None:
    for case in vectors["law"]:
        law = largest_law(
            case["tau"], plausible=case["floor"], epsilon=case["epsilon"], delta=case["delta"], mu=case["mu"]
        )
        assert law is not None
        assert (law.half, law.full) == (case["half"], case["full"])
        for count, probability in case["q"].items():
            found = law.passes[int(count) - law.plausible] / PASSES_OUT_OF
            assert found == pytest.approx(probability, rel=FINE)
            assert found <= probability * (1 + 1e-6)


def test_pairs_are_those_of_the_vectors(vectors: dict[str, Any]) -> None:
    for case in vectors["pairs"]:
        if case["mu"] == 0:
            added, removed = poisson_curves(case["a"], case["b"], np.array([float(case["epsilon"])]))
            assert added[0] == pytest.approx(case["add"], rel=1e-9, abs=1e-30)
            assert removed[0] == pytest.approx(case["remove"], rel=1e-9, abs=1e-30)


def test_a_law_of_one_attempt_per_row_is_that_derived_elsewhere() -> None:
    """Of as many attempts as rows, epsilon 1 at delta 1e-9, and no floor."""
    law = largest_law(1.0, plausible=1, epsilon=1.0, delta=1e-9)
    assert law is not None
    assert (law.half, law.full) == (152, 227)
    stated = {1: 9.998551e-10, 2: 1.858773e-09, 6: 3.900845e-08, 21: 2.538886e-04}
    for count, probability in stated.items():
        found = law.passes[count - 1] / PASSES_OUT_OF
        assert probability * (1 - FINE) <= found <= probability * (1 + 1e-6)


def test_a_pair_beside_gaussian_noise_costs_what_was_derived_elsewhere() -> None:
    """Means 2 and 3, composed with noise of shift 0.2, at epsilon 0.5: both curves, and where the search stops."""
    a, b, epsilon, mu = 2.0, 3.0, 0.5, 0.2
    added, removed = 1.242811619570e-01, 8.996713789136e-02
    numbers = np.arange(60)
    losses = numbers * np.log(b / a) - (b - a)
    left = _Bound(epsilon, added, mu).gaussian
    assert float((stats.poisson.pmf(numbers, b) * left(epsilon - losses)).sum()) == pytest.approx(added, rel=1e-9)
    assert float((stats.poisson.pmf(numbers, a) * left(epsilon + losses)).sum()) == pytest.approx(removed, rel=1e-9)
    assert _Bound(epsilon, added * (1 + 1e-8), mu).holds(a, b)
    assert not _Bound(epsilon, added * (1 - 1e-8), mu).holds(a, b)


def test_the_first_step_is_the_closed_form() -> None:
    """A record with as few plausible seeds as the floor passes with -ln(1 - delta) / (tau floor)."""
    law = largest_law(0.25, plausible=50, epsilon=1.0, delta=1e-9)
    assert law is not None
    assert law.passes[0] / PASSES_OUT_OF == pytest.approx(-np.log1p(-1e-9) / (0.25 * 50), rel=FINE)


@pytest.mark.parametrize(("tau", "plausible", "epsilon", "delta"), [(0.25, 20, 1.0, 1e-6), (1.0, 1, 2.0, 1e-5)])
def test_every_pair_of_a_law_keeps_the_bound_and_none_could_pass_more(
    tau: float, plausible: int, epsilon: float, delta: float
) -> None:
    law = largest_law(tau, plausible=plausible, epsilon=epsilon, delta=delta)
    assert law is not None
    counts = np.arange(plausible - 1, law.full + 3)
    rates = tau * counts * law.probability(counts)
    for a, b in pairwise(rates):
        # The law is rounded down to 16 binary digits, so that a step may exceed the searched one by a 32,768th.
        assert cost(a, b, epsilon) <= delta * (1 + 5e-3)
    for a, b in pairwise(rates[: len(law.passes) + 1]):
        assert cost(a, b * (1 + 2e-3), epsilon) > delta


def test_beyond_the_last_count_pairs_cost_less() -> None:
    law = largest_law(0.5, plausible=10, epsilon=1.0, delta=1e-6)
    assert law is not None
    costs = [cost(0.5 * c, 0.5 * (c + 1), 1.0) for c in (law.full, law.full + 1, 2 * law.full, 10 * law.full)]
    assert costs == sorted(costs, reverse=True)


def test_a_law_within_a_total_is_within_it_together_with_the_model() -> None:
    model = noise(0.17)
    law = law_within(Fraction(1, 5), plausible=50, epsilon=1.1467, delta=1.25e-9, others=(model,))
    assert law is not None
    total = pld_by_hand((model, law.event(Fraction(1, 5), "seeds")), 1.25e-9)
    assert 0.99 * 1.1467 < total <= 1.1467
    assert pld_by_hand((model,), 1.25e-9) < total
    # Composed together it costs much less than the sum.
    apart = pld_by_hand((law.event(Fraction(1, 5), "seeds"),), 1.25e-9)
    assert pld_by_hand((model,), 1.25e-9) + apart > 1.4 * total


def test_no_law_is_found_where_the_model_leaves_nothing() -> None:
    assert law_within(Fraction(1, 5), plausible=50, epsilon=0.9, delta=1.25e-9, others=(noise(0.17),)) is None


def test_attempts_are_composed_with_other_events_by_privacy_loss_distributions_alone() -> None:
    law = largest_law(0.1, plausible=3, epsilon=1.0, delta=1e-7)
    assert law is not None
    total = best((noise(0.3), law.event(Fraction(1, 10), "seeds")), 1e-6)
    assert total.accountant == "pld"


def test_shift_of_is_the_inverse_of_the_curve() -> None:
    assert shift_of(1.1467204, 1.25e-9) == pytest.approx(0.2087634, rel=1e-5)


@pytest.mark.parametrize(("mu", "delta"), [(0.2, 1e-9), (1.0, 1e-6), (0.01, 1e-9), (4.0, 1e-5)])
def test_epsilon_of_shift_is_the_inverse_of_shift_of(mu: float, delta: float) -> None:
    assert shift_of(epsilon_of_shift(mu, delta), delta) == pytest.approx(mu, rel=1e-5)


@pytest.mark.slow
def test_attempts_beside_a_model_cost_little_enough_at_their_own_delta() -> None:
    """They are charged alone as well, at a delta that may be a small part of the whole."""
    arguments: dict[str, Any] = {"plausible": 20, "epsilon": 1.5, "delta": 1e-6, "others": (noise(0.15),)}
    for own in (5e-7, 1e-7):
        law = law_within(Fraction(1, 5), own_delta=own, **arguments)
        assert law is not None
        assert best((law.event(Fraction(1, 5), "seeds"),), own).epsilon < 1.5


@pytest.mark.slow
def test_a_share_that_is_remembered_gives_the_same_law_again(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: dict[str, float] = {}
    monkeypatch.setattr(REMEMBERED, "_answers", kept)
    arguments: dict[str, Any] = {"plausible": 20, "epsilon": 1.3, "delta": 1e-6, "others": (noise(0.15),)}
    law_within.cache_clear()
    first = law_within(Fraction(1, 5), **arguments)
    assert len(kept) == 1
    law_within.cache_clear()
    assert law_within(Fraction(1, 5), **arguments) == first
    # A share that costs more than the total is not believed.
    kept.update(dict.fromkeys(kept, 0.9))
    law_within.cache_clear()
    assert law_within(Fraction(1, 5), **arguments) == first


@pytest.mark.parametrize("arguments", [(0.0, 1e-9), (1.0, 0.0)])
def test_shift_of_refuses_what_is_no_cost(arguments: tuple[float, float]) -> None:
    with pytest.raises(InvalidInput, match="epsilon must be above 0"):
        shift_of(*arguments)


def test_an_event_is_read_back_from_its_record() -> None:
    event = PassLaw(2, (1, 5, PASSES_OUT_OF)).event(Fraction(2, 7), "seeds")
    assert from_record(event.to_record()) == event
    assert event.law == (1, 5, PASSES_OUT_OF)


@pytest.mark.parametrize("passes", ["5 3", "-1", "1  2", str(PASSES_OUT_OF + 1), "1,2"])
def test_an_event_refuses_what_is_no_law(passes: str) -> None:
    with pytest.raises(InvalidInput, match="passes must"):
        PoissonAttemptsEvent(query="", part="", outputs=1, attempts_per_row=Fraction(1), plausible=1, passes=passes)


def test_an_event_holds_a_law_of_half_a_million_counts() -> None:
    facts: dict[str, Any] = {"query": "", "part": "", "outputs": 1, "attempts_per_row": Fraction(1), "plausible": 1}
    longest = " ".join("0" * (1 << 19))
    assert len(PoissonAttemptsEvent(**facts, passes=longest).law) == 1 << 19
    with pytest.raises(InvalidInput, match="passes must"):
        PoissonAttemptsEvent(**facts, passes=f"{longest} 0")


def test_probabilities_are_read_from_the_table() -> None:
    law = PassLaw(3, (PASSES_OUT_OF // 4, PASSES_OUT_OF // 2))
    assert law.probability(np.array([0, 2, 3, 4, 5, 1000])).tolist() == [0, 0, 0.25, 0.5, 1, 1]
    assert (law.half, law.full) == (4, 5)


@pytest.mark.parametrize(("mu", "delta"), [(0.0, 1e-6), (-1.0, 1e-6), (1.0, 0.0), (1.0, 1.0)])
def test_a_shift_or_a_delta_without_an_epsilon_is_refused(mu: float, delta: float) -> None:
    with pytest.raises(InvalidInput, match="must be above 0 and delta in"):
        epsilon_of_shift(mu, delta)


@pytest.mark.parametrize("slope", [0.5, 1.0, 2.0])
def test_the_search_for_a_law_ends_after_a_few_laws_near_its_total(slope: float) -> None:
    """Where the cost is a line in the logarithm of the share, two laws determine it, and the third is near enough."""
    tried: list[float] = []

    def cost_of(share: float) -> float:
        tried.append(share)
        return 1 + slope * pass_law._TYPICAL_SLOPE * (log(share) - log(0.05))

    found: Any = pass_law._law_near(f"a line of slope {slope}", 1.0, 0.5, lambda share: share, cost_of)  # type: ignore[arg-type, return-value]
    assert 1 - pass_law._NEAR <= cost_of(found) <= 1
    assert len(tried) <= 4


def test_the_envelope_is_computed_at_every_point_of_a_small_grid() -> None:
    rates, step = np.array([0.0, 0.1, 0.25, 0.3]), 0.125
    pair = envelope_pair(rates, step)
    for epsilon in (step, 3 * step, 5 * step):
        mass = pair.probabilities @ np.maximum(0, -np.expm1(epsilon - pair.finite_losses))
        worst = max(float(side[0]) for side in worst_curves(rates, np.array([epsilon])))
        assert pair.infinity_mass + mass == pytest.approx(worst, rel=1e-5)
