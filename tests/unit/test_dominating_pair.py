import math
from functools import partial

import numpy as np
import pytest
from dp_accounting.pld import pld_pmf
from numpy.typing import NDArray
from scipy.fft import next_fast_len

from deniable.privacy.composition import optimal_composition
from deniable.privacy.dominating_pair import (
    DominatingPair,
    _decayed_sums,
    _fast_length,
    _first_within,
    _least,
    composed_epsilon,
    connect_the_dots,
)

Reals = NDArray[np.float64]


def sampled_gaussian_curves(step: float, points: int) -> tuple[Reals, Reals]:
    """Curves of (1 - q) N(0, 1) + q N(1, 1) against N(0, 1), and back, for q = 0.01: mostly no loss, as with seeds."""
    q, x = 0.01, np.linspace(-9, 10, 40_001)
    plain = np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi) * (x[1] - x[0])
    mixed = plain * (1 - q + q * np.exp(x - 0.5))
    multipliers = np.exp(step * np.arange(points))[:, None]
    forward = np.concatenate([np.maximum(mixed - a * plain, 0).sum(axis=1) for a in np.array_split(multipliers, 40)])
    backward = np.concatenate([np.maximum(plain - a * mixed, 0).sum(axis=1) for a in np.array_split(multipliers, 40)])
    return forward, backward


def curve(pair: DominatingPair, epsilon: float) -> float:
    losses = pair.finite_losses
    return pair.infinity_mass + float(pair.probabilities @ np.maximum(0, -np.expm1(epsilon - losses)))


def composed_by_positive_sums(pair: DominatingPair, doublings: int) -> DominatingPair:
    """The same law composed 2^doublings times without subtracting anything, which is exact to all digits but slow."""
    first, law = int(pair.losses[0]), np.zeros(int(pair.losses[-1] - pair.losses[0]) + 1)
    law[pair.losses - first] = pair.probabilities
    for _ in range(doublings):
        law, first = np.convolve(law, law), 2 * first
        kept = np.flatnonzero(law > 1e-40)
        law, first = law[kept[0] : kept[-1] + 1], first + int(kept[0])
    mass = -math.expm1(2**doublings * math.log1p(-pair.infinity_mass))
    return DominatingPair(pair.step, np.arange(first, first + len(law)), law, mass)


@pytest.fixture(scope="module")
def pair() -> DominatingPair:
    return connect_the_dots(0.02, *sampled_gaussian_curves(0.02, 150))


def test_the_pair_is_a_law_and_its_curve_runs_through_the_bounds(pair: DominatingPair) -> None:
    forward, backward = sampled_gaussian_curves(0.02, 150)
    assert (pair.probabilities >= 0).all()
    assert pair.probabilities.sum() + pair.infinity_mass == pytest.approx(1, abs=1e-12)
    for i in (1, 3, 40, 149):
        assert curve(pair, 0.02 * i) == pytest.approx(forward[i], rel=1e-9)
        assert curve(pair, -0.02 * i) == pytest.approx(
            1 - math.exp(-0.02 * i) + math.exp(-0.02 * i) * backward[i], rel=1e-12
        )


def test_the_pair_agrees_with_dp_accounting(pair: DominatingPair) -> None:
    forward, backward = sampled_gaussian_curves(0.02, 150)
    shrink = np.exp(-0.02 * np.arange(1, 150))
    deltas = np.concatenate(((1 - shrink + shrink * backward[1:])[::-1], forward))
    theirs = pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(0.02, -149, 149, deltas)
    for times, delta in ((1, 1e-4), (10, 1e-4), (1000, 1e-5)):
        expected = (theirs.self_compose(times) if times > 1 else theirs).get_epsilon_for_delta(delta)
        assert composed_epsilon(pair, times=times, delta=delta) == pytest.approx(expected, rel=1e-6)


def test_a_bound_that_no_curve_can_have_is_replaced_by_its_convex_hull() -> None:
    forward = np.array([0.5, 0.1, 0.4, 0.4, 0.05, 0.05])
    backward = np.array([0.3, 0.3, 0.0, 0.0, 0.0, 0.0])
    pair = connect_the_dots(0.1, forward, backward)
    assert (pair.probabilities >= 0).all()
    assert pair.probabilities.sum() + pair.infinity_mass == pytest.approx(1)
    for i in range(6):
        assert curve(pair, 0.1 * i) <= forward[: i + 1].min() + 1e-12


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-10, 1e-14, 1e-20])
def test_far_tails_are_as_exact_as_by_adding_up_positive_numbers(pair: DominatingPair, delta: float) -> None:
    # No mass at infinity, so that smaller deltas have an epsilon.
    finite = DominatingPair(pair.step, pair.losses, pair.probabilities, 0.0)
    exact = composed_by_positive_sums(finite, 8)
    epsilon = composed_epsilon(finite, times=256, delta=delta)
    assert curve(exact, epsilon) <= delta * (1 + 1e-9)
    assert curve(exact, epsilon * 0.9999 - 1e-6) > delta


def test_a_plain_transform_is_wrong_where_the_tilted_one_is_right(pair: DominatingPair) -> None:
    finite = DominatingPair(pair.step, pair.losses, pair.probabilities, 0.0)
    law = np.zeros(int(finite.losses[-1] - finite.losses[0]) + 1)
    law[finite.losses - finite.losses[0]] = finite.probabilities
    plain = pld_pmf.DensePLDPmf(finite.step, int(finite.losses[0]), law, 0.0, pessimistic_estimate=True)
    theirs = plain.self_compose(256, tail_mass_truncation=0).get_epsilon_for_delta(1e-16)
    ours = composed_epsilon(finite, times=256, delta=1e-16)
    assert curve(composed_by_positive_sums(finite, 8), ours) == pytest.approx(1e-16, rel=1e-3)
    assert abs(theirs - ours) > 0.5


def test_more_runs_and_smaller_deltas_never_cost_less(pair: DominatingPair) -> None:
    times = (1, 2, 3, 10, 100, 10_000, 1_000_000)
    finite = DominatingPair(pair.step, pair.losses, pair.probabilities, 0.0)
    found = np.array([[composed_epsilon(finite, times=t, delta=d) for d in (1e-3, 1e-6, 1e-9, 1e-12)] for t in times])
    assert (np.diff(found, axis=0) >= 0).all()
    assert (np.diff(found, axis=1) >= 0).all()


@pytest.mark.filterwarnings("error")
def test_where_the_charge_alone_is_in_the_way_epsilon_is_the_loss_from_which_it_is_not() -> None:
    losses, law = np.array([0.0, 0.5, 1.0, 1.5, 2.0]), np.array([0.6, 0.4, 0.0, 0.0, 0.0])
    # What is charged is 0.25 e^-epsilon, as the order is 1: at a loss of 1.5 for the first time at most the target.
    for target in (0.25 * 2e-1, 0.25 * math.exp(-1.4), 0.25 * math.exp(-1.5) * (1 + 1e-12)):
        found = _first_within(losses, law, target, order=1.0, error=1.0, shift=3.0)
        first = int(np.count_nonzero(0.25 * np.exp(-losses) > target))
        assert found == 3.0 + losses[first]
    # And with nothing charged, it is where the sum over losses meets the target.
    found = _first_within(losses, law, 0.1, order=0.0, error=0.0, shift=0.0)
    assert 0.4 * -math.expm1(found - 0.5) == pytest.approx(0.1)


def test_infinite_losses_that_exceed_delta_leave_no_epsilon() -> None:
    pair = DominatingPair(0.1, np.array([0]), np.array([1 - 1e-6]), 1e-6)
    assert composed_epsilon(pair, times=10, delta=9e-6) == math.inf
    assert composed_epsilon(pair, times=10, delta=1.1e-5) == 0


def test_equal_laws_spend_nothing() -> None:
    pair = connect_the_dots(0.1, np.zeros(5), np.zeros(5))
    assert composed_epsilon(pair, times=1000, delta=1e-12) == 0


def test_randomized_response_composes_as_it_should() -> None:
    epsilon = 0.25
    grid = np.arange(6) * 0.05
    bound = np.maximum(0, (np.exp(epsilon) - np.exp(grid)) / (1 + np.exp(epsilon)))
    pair = connect_the_dots(0.05, bound, bound)
    for times in (1, 2, 50, 100_000):
        expected = optimal_composition(epsilon=epsilon, delta=0, times=times, total_delta=1e-7)
        assert composed_epsilon(pair, times=times, delta=1e-7) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("step", [1e-4, 0.05, 3.0, 600.0, 800.0])
def test_decayed_sums_are_those_of_the_definition(step: float) -> None:
    values = np.abs(np.sin(np.arange(2000.0)))
    decay = math.exp(-step)
    expected, total = [], 0.0
    for value in values.tolist():
        total = total * decay + value
        expected.append(total)
    assert _decayed_sums(values, decay) == pytest.approx(expected, rel=1e-12)


def test_fast_lengths_are_the_next_that_have_no_large_prime_factor() -> None:
    for least in [*range(1, 300), 1023, 1025, 65_537, 1_000_003]:
        found = _fast_length(least)
        assert found == next_fast_len(least, real=True)


def test_a_moment_of_losses_that_are_all_large_is_as_small_as_it_is() -> None:
    pair = DominatingPair(1.0, np.array([-60, 60]), np.array([1e-30, 1 - 1e-30]), 0.0)
    # Of order -1 both outcomes count: e^60 1e-30 and e^-60.
    assert pair.log_moment(-1) == pytest.approx(math.log(math.exp(60) * 1e-30 + math.exp(-60)), rel=1e-9)


def test_a_moment_too_small_for_a_float_is_bounded_from_above() -> None:
    certain = DominatingPair(1.0, np.array([60]), np.array([1.0]), 0.0)
    assert certain.log_moment(-1) == pytest.approx(-60, rel=1e-9)
    assert -3000 <= certain.log_moment(-50) < -700


def test_the_smallest_value_is_found_as_by_looking_everywhere() -> None:
    chance = np.random.default_rng(5)
    places = np.geomspace(1e-4, 1e6, 401)
    where = set()
    for _ in range(300):
        slope, start, end = chance.uniform(-3, 3), *np.exp(chance.uniform(-12, 18, 2))
        values = (start + slope * places + places**2 / np.exp(chance.uniform(-10, 20))) / places
        values[places > end] = math.inf
        looked: list[float] = []

        def value(place: float, of: dict[float, float], looked: list[float] = looked) -> float:
            looked.append(place)
            return of[place]

        found, least = _least(partial(value, of=dict(zip(places.tolist(), values.tolist(), strict=True))), places)
        assert found == int(np.argmin(values))
        assert least == values.min()
        assert len(looked) == len(set(looked)) < 40
        where.add(found)
    assert len(where) > 50


@pytest.mark.parametrize("count", [1, 2, 16, 63, 64, 65, 66, 129])
def test_the_smallest_value_may_be_at_either_end(count: int) -> None:
    places = np.arange(count, dtype=np.float64)
    for lowest in {0, count // 2, count - 2, count - 1} - {-1}:

        def distance(place: float, lowest: int = lowest) -> float:
            return abs(place - lowest)

        assert _least(distance, places) == (lowest, 0.0)
