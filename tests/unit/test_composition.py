import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.pld.common import DifferentialPrivacyParameters

from deniable.foundation.errors import InvalidInput
from deniable.privacy.composition import (
    advanced_composition,
    amplify_by_sampling,
    epsilon_to_zcdp,
    joint_split,
    optimal_composition,
    parallel,
    sequential,
    zcdp_to_epsilon,
)
from deniable.privacy.loss import Guarantee


@pytest.fixture(scope="module")
def vectors(shared: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((shared / "vectors" / "vectors.json").read_text())
    return found


def near(vector: str) -> Any:
    return pytest.approx(float(vector), rel=1e-11)


def spends(epsilon: float, delta: float = 0.0) -> Guarantee:
    return Guarantee(epsilon, delta, "basic")


def test_releases_from_the_same_rows_add_up() -> None:
    total = sequential([spends(0.5, 1e-9), spends(0.25, 2e-9)])
    assert (total.epsilon, total.delta) == (0.75, pytest.approx(3e-9))
    assert sequential([spends(1, 0.6), spends(1, 0.6)]).delta == 1


def test_releases_from_disjoint_parts_cost_the_most_of_them() -> None:
    total = parallel([spends(0.5, 1e-9), spends(0.25, 2e-9)])
    assert (total.epsilon, total.delta) == (0.5, 2e-9)


def test_advanced_composition(vectors: dict[str, Any]) -> None:
    assert advanced_composition([(0.1, 100)], 1e-6) == near(vectors["adv(eps=0.1,k=100,d'=1e-6)"])
    assert advanced_composition([(0.01, 132)], 1e-9) == near(vectors["adv(eps=0.01,k=132,d'=1e-9)"])
    assert advanced_composition([(1.1053605, 100)], 1e-6) == near(vectors["adv(eps=1.1053605,k=100,d'=1e-6)"])


def test_advanced_composition_calibrates_the_papers_entropies(vectors: dict[str, Any]) -> None:
    for entropies, epsilon in zip((187, 132), vectors["eps_H advanced: 187 and 132 entropies"], strict=True):
        assert advanced_composition([(epsilon, entropies)], 1e-6) == pytest.approx(1, abs=1e-4)


def test_advanced_composition_of_different_epsilons_agrees_with_equal_ones() -> None:
    split = advanced_composition([(0.1, 40), (0.1, 60)], 1e-6)
    assert split == pytest.approx(advanced_composition([(0.1, 100)], 1e-6))


def test_advanced_composition_of_an_enormous_epsilon_says_nothing_rather_than_fail() -> None:
    assert advanced_composition([(1000.0, 1)], 1e-6) == math.inf


def test_sampling_amplifies(vectors: dict[str, Any]) -> None:
    assert amplify_by_sampling(spends(1, 1e-6), 0.2).epsilon == near(vectors["amplify p=0.2 eps=1 (Poisson)"])
    assert amplify_by_sampling(spends(1, 1e-6), 0.01).epsilon == near(vectors["amplify p=0.01 eps=1"])
    assert amplify_by_sampling(spends(1, 1e-6), 0.2).delta == pytest.approx(2e-7)


def test_a_joint_split_counts_the_probability_of_all_its_parts(vectors: dict[str, Any]) -> None:
    two = joint_split([(0.2, spends(1)), (0.2, spends(1))])
    assert two.epsilon == near(vectors["partition p_T=p_P=0.2 eps=1 both (correct)"])
    three = joint_split([(0.2, spends(1, 1e-9)), (0.2, spends(1)), (0.5, spends(1))])
    assert three.epsilon == near(vectors["partition p=(0.2,0.2,0.5), eps=(1,1,1)"])
    assert three.delta == pytest.approx(9e-10)


def test_a_split_without_leftover_gains_nothing() -> None:
    assert joint_split([(0.5, spends(1)), (0.5, spends(1))]).epsilon == pytest.approx(1)


def test_a_joint_split_never_costs_more_than_its_costliest_part() -> None:
    assert joint_split([(0.5, spends(1000)), (0.5, spends(1))]).epsilon == 1000
    assert joint_split([(0.5, spends(math.inf)), (0.5, spends(1))]).epsilon == math.inf


@pytest.mark.parametrize("probabilities", [(0.0, 0.5), (-0.1, 0.5), (0.6, 0.6)])
def test_parts_that_are_no_split_are_refused(probabilities: tuple[float, float]) -> None:
    with pytest.raises(InvalidInput):
        joint_split([(probability, spends(1)) for probability in probabilities])


def test_a_joint_split_is_met_by_randomized_response() -> None:
    """Two parts answer whether the record is in them; the law of both answers, enumerated, keeps to the formula."""
    answers = {
        part: [1 / (1 + math.exp(epsilon)), 1 - 1 / (1 + math.exp(epsilon))] for part, epsilon in ((0, 0.5), (1, 2.0))
    }

    def law(present: tuple[int, int]) -> np.ndarray:
        ones = [answers[part][present[part]] for part in (0, 1)]
        return np.outer([1 - ones[0], ones[0]], [1 - ones[1], ones[1]])

    without = law((0, 0))
    split = 0.3 * law((1, 0)) + 0.4 * law((0, 1)) + 0.3 * without
    total = joint_split([(0.3, spends(0.5)), (0.4, spends(2.0))])
    for first, second in ((split, without), (without, split)):
        assert np.maximum(first - math.exp(total.epsilon) * second, 0).sum() <= 1e-15
    largest = float(np.abs(np.log(split / without)).max())
    assert largest == pytest.approx(total.epsilon)


def test_a_joint_split_of_responses_that_may_fail_is_met() -> None:
    """Each part tells all with probability delta and else gives a randomized response: eta delta is the least."""
    delta, shares, epsilons = 1e-3, (0.3, 0.4), (0.5, 2.0)

    def answers(epsilon: float, *, present: bool) -> np.ndarray:
        lie = (1 - delta) / (1 + math.exp(epsilon))
        truth = 1 - delta - lie
        # "present for sure", "present", "absent", "absent for sure"
        return np.array([delta, truth, lie, 0.0] if present else [0.0, lie, truth, delta])

    def law(first: bool, second: bool) -> np.ndarray:  # noqa: FBT001
        return np.outer(answers(epsilons[0], present=first), answers(epsilons[1], present=second))

    without = law(False, False)  # noqa: FBT003
    split = shares[0] * law(True, False) + shares[1] * law(False, True) + (1 - sum(shares)) * without  # noqa: FBT003
    total = joint_split([(share, spends(epsilon, delta)) for share, epsilon in zip(shares, epsilons, strict=True)])
    for first, second in ((split, without), (without, split)):
        assert np.maximum(first - math.exp(total.epsilon) * second, 0).sum() <= total.delta * (1 + 1e-9)
    assert np.maximum(split - math.exp(total.epsilon) * without, 0).sum() >= total.delta * (1 - 1e-9)


def test_advanced_composition_of_equal_releases_is_that_of_theorem_3() -> None:
    by_hand = math.sqrt(2 * 100 * math.log(10**6)) * 0.1 + 100 * 0.1 * (math.exp(0.1) - 1)
    assert by_hand == pytest.approx(6.3082, abs=1e-4)
    assert advanced_composition([(0.1, 100)], 1e-6) == pytest.approx(by_hand)


def test_concentrated_privacy_converts_better_than_by_the_simple_formula(vectors: dict[str, Any]) -> None:
    simple = float(vectors["zCDP of 100 x 0.1-DP -> eps at 1e-6"])
    assert simple == pytest.approx(0.5 + 2 * math.sqrt(0.5 * math.log(1e6)))
    assert 0.85 * simple < zcdp_to_epsilon(0.5, 1e-6) < simple


def test_conversion_is_the_best_order_of_the_proposition() -> None:
    for rho, delta in ((0.01497, 1e-9), (0.5, 1e-6), (10.0, 1e-6), (1e-6, 1e-12)):
        orders = 1 + np.geomspace(1e-3, 1e7, 200_001)
        plain = rho * orders + (np.log(1 / delta) + (orders - 1) * np.log1p(-1 / orders) - np.log(orders)) / (
            orders - 1
        )
        assert zcdp_to_epsilon(rho, delta) == pytest.approx(plain.min(), rel=1e-6)
        assert zcdp_to_epsilon(rho, delta) <= plain.min() * (1 + 1e-9)


def test_concentrated_privacy_for_a_budget(vectors: dict[str, Any]) -> None:
    for epsilon, rho in ((1.0, 0.0149731), (0.1, 0.000177138), (10.0, 1.09079)):
        found = epsilon_to_zcdp(epsilon, 1e-9)
        assert found == pytest.approx(rho, rel=1e-5)
        assert zcdp_to_epsilon(found, 1e-9) <= epsilon
        assert zcdp_to_epsilon(found * 1.0001, 1e-9) > epsilon
    assert epsilon_to_zcdp(1.0, 1e-6) > float(vectors["rho(eps=1,delta=1e-6) simple conversion"])


def test_no_loss_is_no_loss() -> None:
    assert zcdp_to_epsilon(0.0, 1e-9) == 0
    assert optimal_composition(epsilon=0.0, delta=0.0, times=10, total_delta=1e-9) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("epsilon", "delta", "times", "total"),
    [(0.3, 1e-9, 50, 1e-3), (0.3, 1e-9, 50, 1e-6), (0.01, 0.0, 1000, 1e-8), (2.0, 0.0, 7, 1e-5), (1.1, 1e-8, 1, 1e-6)],
)
def test_optimal_composition_agrees_with_a_privacy_loss_distribution(
    epsilon: float, delta: float, times: int, total: float
) -> None:
    one = pld.from_privacy_parameters(
        DifferentialPrivacyParameters(epsilon, delta), value_discretization_interval=epsilon
    )
    expected = (one.self_compose(times) if times > 1 else one).get_epsilon_for_delta(total)
    assert optimal_composition(epsilon=epsilon, delta=delta, times=times, total_delta=total) == pytest.approx(
        expected, rel=1e-5
    )


def test_optimal_composition_of_one_release_by_hand() -> None:
    truth = 1 / (1 + math.exp(-1.0))
    epsilon = math.log((truth - 0.01) / (1 - truth))
    assert optimal_composition(epsilon=1.0, delta=0.0, times=1, total_delta=0.01) == pytest.approx(epsilon, rel=1e-5)


def test_optimal_composition_is_the_least_of_all_and_reaches_far() -> None:
    for times in (10, 1000, 1_000_000):
        epsilon = 1 / times
        optimal = optimal_composition(epsilon=epsilon, delta=0.0, times=times, total_delta=1e-6)
        assert optimal <= min(
            1.0, advanced_composition([(epsilon, times)], 1e-6), zcdp_to_epsilon(times * epsilon**2 / 2, 1e-6)
        )


def test_deltas_that_already_exceed_the_total_leave_no_epsilon() -> None:
    assert optimal_composition(epsilon=0.1, delta=1e-6, times=10, total_delta=1e-6) == math.inf


@pytest.mark.parametrize("delta", [0.0, 1.0, -1e-9, 1.5])
def test_a_delta_that_is_no_probability_is_refused(delta: float) -> None:
    with pytest.raises(InvalidInput, match="delta must be in"):
        zcdp_to_epsilon(0.5, delta)
    with pytest.raises(InvalidInput):
        advanced_composition([(0.1, 10)], delta)


def test_an_epsilon_of_nothing_has_no_rho() -> None:
    with pytest.raises(InvalidInput):
        epsilon_to_zcdp(0.0, 1e-9)
