import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deniable.foundation.errors import InvalidInput
from deniable.plausible_deniability.privacy_tests import theorem_1
from deniable.plausible_deniability.seed_accounting import (
    attempt_curves,
    best_for_candidates,
    candidate_guarantee,
    compose_candidates,
    theorem_a_epsilon,
)
from deniable.privacy import common_events
from deniable.privacy.composition import advanced_composition, zcdp_to_epsilon
from deniable.privacy.loss import PrivacyTestEvent

PAPER = PrivacyTestEvent(
    query="candidates",
    part="seeds",
    outputs=1,
    k=50,
    gamma=Fraction(4),
    eps0=Fraction(1),
    public_rows=100_000,
    drop_probability=Fraction(1, 100),
)
TOTALS = [
    (50, 4, "1"),
    (500, 4, "0.1"),
    (5000, 4, "0.01"),
    (5000, 1, "0.01"),
]


@pytest.fixture(scope="module")
def vectors(shared: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((shared / "vectors" / "vectors.json").read_text())
    return found


def event(k: int, gamma: int, eps0: str, candidates: int) -> PrivacyTestEvent:
    return replace(PAPER, k=k, eps0=Fraction(eps0), outputs=candidates, equal_probabilities=gamma == 1)


def test_curves_of_one_attempt(vectors: dict[str, Any]) -> None:
    epsilons = [0.0, 0.5, 1.0, 1.1, 1.5]
    added, removed = attempt_curves(PAPER, np.array(epsilons), law="laplace")
    for place, epsilon in enumerate(epsilons):
        expected = [float(bound) for bound in vectors[f"H(eps={epsilon})"]]
        assert added[place] == pytest.approx(expected[0], rel=1e-6)
        assert removed[place] == pytest.approx(expected[1], rel=1e-6)


@pytest.mark.parametrize(("k", "gamma", "eps0"), TOTALS)
@pytest.mark.parametrize("candidates", [1, 100, 10_000, 1_000_000])
def test_totals_by_theorem_a(vectors: dict[str, Any], k: int, gamma: int, eps0: str, candidates: int) -> None:
    row = next(row for row in vectors["release_table"] if row[:4] == [k, gamma, float(eps0), candidates])
    for public_rows, expected in zip((10**5, 10**6), row[8:10], strict=True):
        attempt = replace(event(k, gamma, eps0, candidates), public_rows=public_rows)
        found = theorem_a_epsilon(attempt, 1e-6, law="laplace")
        assert found == pytest.approx(expected[0], rel=2e-4)
        # The vectors' plain Fourier transform is off by per cents where candidates * 1e-16 comes near delta.
        found = theorem_a_epsilon(attempt, 1e-10, law="laplace")
        assert found == pytest.approx(expected[1], rel=2e-4 if candidates < 10_000 else 0.04)


@pytest.mark.parametrize(("k", "gamma", "eps0"), TOTALS)
@pytest.mark.parametrize("candidates", [1, 100, 10_000, 1_000_000])
def test_totals_by_composing_theorem_1(vectors: dict[str, Any], k: int, gamma: int, eps0: str, candidates: int) -> None:
    row = next(row for row in vectors["release_table"] if row[:4] == [k, gamma, float(eps0), candidates])
    basic, advanced, simple_zcdp, discretized = row[4:8]
    totals = {name: one.epsilon for name, one in compose_candidates(event(k, gamma, eps0, candidates), 1e-6).items()}
    assert totals["basic"] == pytest.approx(basic, rel=1e-9)
    assert totals["advanced"] == pytest.approx(advanced, rel=1e-9)
    assert 0.7 * simple_zcdp < totals["zcdp"] < simple_zcdp
    if discretized is not None:
        assert 0.99 * discretized < totals["pld"] <= discretized * (1 + 1e-6)
    assert totals["theorem_a"] == min(totals.values())


def test_the_papers_parameters_are_vacuous_for_many_candidates() -> None:
    assert not best_for_candidates(replace(PAPER, outputs=100), 1e-6).is_vacuous
    assert best_for_candidates(replace(PAPER, outputs=10_000), 1e-6).is_vacuous
    totals = compose_candidates(replace(PAPER, outputs=100), 1e-6)
    assert {name for name, guarantee in totals.items() if guarantee.is_vacuous} == {"basic", "advanced", "zcdp", "pld"}


def test_guarantees_name_their_delta_and_accountant() -> None:
    for name, guarantee in compose_candidates(PAPER, 1e-6).items():
        assert (guarantee.accountant, guarantee.delta) == (name, 1e-6)


def test_more_noise_rows_or_dropping_never_cost_more() -> None:
    base = theorem_a_epsilon(replace(PAPER, outputs=1000), 1e-9)
    assert theorem_a_epsilon(replace(PAPER, outputs=1001), 1e-9) >= base
    assert theorem_a_epsilon(replace(PAPER, outputs=1000, public_rows=200_000), 1e-9) < base
    assert theorem_a_epsilon(replace(PAPER, outputs=1000, equal_probabilities=True), 1e-9) < base
    assert theorem_a_epsilon(replace(PAPER, outputs=1000, k=500, eps0=Fraction(1, 10)), 1e-9) < base
    assert theorem_a_epsilon(replace(PAPER, outputs=1000), 1e-12) > base


def test_the_noise_that_is_drawn_costs_more_than_the_papers_of_the_same_scale() -> None:
    """Discrete Laplace noise is a little narrower than Laplace noise; the totals stated are for what is drawn."""
    many = replace(PAPER, outputs=10_000)
    assert theorem_a_epsilon(many, 1e-6) > theorem_a_epsilon(many, 1e-6, law="laplace")


def test_failures_that_nothing_hides_cannot_be_certified() -> None:
    open_mechanism = replace(PAPER, outputs=1000, drop_probability=Fraction(0))
    assert compose_candidates(open_mechanism, 1e-6) == {}
    with pytest.raises(InvalidInput, match="no theorem bounds"):
        best_for_candidates(open_mechanism, 1e-6)


def test_theorem_1_is_not_used_for_one_candidate_where_no_output_is_not_covered() -> None:
    assert candidate_guarantee(PAPER, 1e-6) is not None
    assert candidate_guarantee(replace(PAPER, drop_probability=Fraction(1, 10**6)), 1e-6) is None
    assert candidate_guarantee(replace(PAPER, k=10), 1e-6) is None
    assert candidate_guarantee(replace(PAPER, public_rows=2, drop_probability=Fraction(9, 10)), 1e-6) is None


@pytest.mark.parametrize("changes", [{}, {"k": 5, "gamma": Fraction(2), "public_rows": 10, "outputs": 7}])
def test_the_curves_are_those_of_theorem_a(changes: dict[str, Any]) -> None:
    """The formulas of the theorem, count by count, up to where the test passes but for 10^-20."""
    attempt = replace(PAPER, **changes)
    rho, places, gamma = float(attempt.drop_probability), attempt.public_rows, float(attempt.gamma)
    epsilons = np.array([0.0, 1e-3, 0.05, 0.3, 1.0, 1.3])
    counts = np.arange(attempt.k + 46)
    decay = np.exp(-np.abs(counts - attempt.k).astype(float)) / (1 + math.exp(-1))
    passes = np.where(counts < attempt.k, decay, 1 - math.exp(-1) * decay)
    now, after, counts = passes[:-1], passes[1:], counts[:-1]
    added, removed = attempt_curves(attempt, epsilons)
    for place, a in enumerate(np.exp(epsilons).tolist()):
        gains = [after * (1 + counts * x) - a * counts * x * now for x in (1 / gamma, gamma)]
        u = max(float(np.max(gains)), 0.0)
        w = max(float((counts * gamma * ((1 - now) - a * places / (places + 1) * (1 - after))).max()), 0.0)
        s = max(0.0, 1 + 1 / places - a)
        adding = (1 - rho) * u / places + max(0.0, (1 - rho) / places - rho * (a - 1))
        removing = (1 - rho) * s + max(0.0, (1 - rho) * (1 / places + s + w / places) - rho * (a - 1))
        assert added[place] == pytest.approx(min(adding, 1), rel=1e-6, abs=1e-15)
        assert removed[place] == pytest.approx(min(removing, 1), rel=1e-6, abs=1e-15)


def test_the_deltas_of_candidates_add_up_to_no_more_than_the_total() -> None:
    many, delta = replace(PAPER, outputs=1000), 1e-6
    fitting = [
        one
        for one in (theorem_1(k=many.k, gamma=many.gamma, eps0=many.eps0, t=t) for t in range(1, many.k))
        if many.outputs * one.delta <= delta
    ]
    by_hand = many.outputs * min(one.epsilon for one in fitting)
    assert compose_candidates(many, delta)["basic"].epsilon == pytest.approx(by_hand)


def test_a_threshold_that_single_rows_reach_is_not_certified_at_a_small_delta() -> None:
    low = replace(PAPER, k=2, outputs=10)
    assert theorem_a_epsilon(low, 1e-9) == math.inf
    assert theorem_a_epsilon(low, 1e-3) < math.inf


@pytest.mark.parametrize("delta", [0.0, 1.0])
def test_a_delta_that_is_no_probability_is_refused(delta: float) -> None:
    with pytest.raises(InvalidInput):
        compose_candidates(PAPER, delta)


def candidates_given_omega(
    candidates: int, k: int, eps0: str, public_rows: int = 220_000, drop: str = "0.01", **limits: int
) -> PrivacyTestEvent:
    """Candidates of which each is tested given its number of attributes, so that gamma is 1."""
    return common_events.tested_candidates(
        candidates=candidates,
        k=k,
        gamma=Fraction(4),
        eps0=Fraction(eps0),
        public_rows=public_rows,
        drop_probability=Fraction(drop),
        prefixes=1,
        **limits,
    )


@pytest.mark.parametrize(
    ("event", "total"),
    [
        (candidates_given_omega(11_500, 1_434, "0.012964"), 0.570464),
        (candidates_given_omega(23_500, 2_502, "0.007716"), 0.640024),
        pytest.param(candidates_given_omega(60_000, 6_114, "0.003311"), 0.722232, marks=pytest.mark.slow),
        (candidates_given_omega(18_000, 1_830, "0.010403"), 0.641953),
        (candidates_given_omega(11_500, 9, "2.222", max_plausible=290, max_check_plausible=10_428), 0.564173),
    ],
)
def test_totals_of_candidates_given_omega_are_those_derived_elsewhere(event: PrivacyTestEvent, total: float) -> None:
    assert compose_candidates(event, 6e-10)["theorem_a"].epsilon == pytest.approx(total, abs=1e-6)


@pytest.mark.parametrize(
    ("event", "delta", "exact", "total"),
    [
        (candidates_given_omega(10_000, 500, "0.05", 690_000, "0.001"), 1e-12, 0.9769, 1.00496),
        (candidates_given_omega(30_000, 500, "0.032", 200_000, "0.1"), 1e-6, 0.8981, 0.93315),
        (candidates_given_omega(30_000, 50, "1", 45_000, "0.001"), 1e-6, 39.820, 39.92117),
    ],
)
def test_theorem_a_is_a_little_above_the_exact_total_of_one_fixed_count(
    event: PrivacyTestEvent, delta: float, exact: float, total: float
) -> None:
    """It takes the worst count anew for each attempt, whereas the count is the same in all."""
    found = compose_candidates(event, delta)["theorem_a"].epsilon
    assert found == pytest.approx(total, rel=1e-5)
    assert exact <= found <= 1.05 * exact


def test_half_of_delta_is_for_the_candidates_and_half_for_their_composition() -> None:
    many = replace(PAPER, k=500, eps0=Fraction(1, 10), outputs=40)
    delta = 1e-6
    one = candidate_guarantee(many, delta / 2 / 40)
    assert one is not None
    found = compose_candidates(many, delta)
    assert found["advanced"].epsilon == pytest.approx(advanced_composition([(one.epsilon, 40)], delta / 2))
    assert found["zcdp"].epsilon == pytest.approx(zcdp_to_epsilon(40 * one.epsilon**2 / 2, delta / 2))


def test_theorem_1_needs_gamma_times_as_many_rows_as_t() -> None:
    """With k = 60, t is 46: four times 12 rows are enough, and four times 11 are not."""
    few = replace(PAPER, k=60, drop_probability=Fraction(1, 2))
    assert candidate_guarantee(replace(few, public_rows=12), 1e-6) is not None
    assert candidate_guarantee(replace(few, public_rows=11), 1e-6) is None


def test_an_attempt_that_tells_everything_is_not_certified() -> None:
    """One row, which passes by itself: what is drawn without it is never drawn with it."""
    naked = replace(PAPER, k=1, public_rows=1, drop_probability=Fraction(0), eps0=Fraction(50))
    assert attempt_curves(naked, np.array([20.0]))[0].tolist() == [1.0]
    assert theorem_a_epsilon(naked, 0.5) == math.inf
