"""Composition and amplification theorems, as functions of numbers.

Mechanism events and the choice of a theorem do not belong here (loss, accounting).
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import exp, expm1, inf, lgamma, log, log1p, sqrt

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.errors import InvalidInput
from deniable.privacy.loss import Guarantee

# Beyond this many standard deviations a binomial tail is below 1e-300 and its exact sum adds nothing.
_BINOMIAL_REACH = 40.0
# Relative error bound of logarithms of factorials up to 1e9; targets are lowered by this share.
_FACTORIAL_ERROR = 1e-6
# Steps of a golden-section search, each of which leaves 0.618 of an interval: 8 becomes less than 1e-12.
_GOLDEN_STEPS = 62
_GOLDEN = (sqrt(5) - 1) / 2
# Number of bisections after which an interval is as narrow as floats allow.
_HALVINGS = 60


def require_delta(delta: float) -> None:
    """Refuse a delta that is not strictly between 0 and 1.

    Raises:
        InvalidInput: delta is not in (0, 1).
    """
    if not 0 < delta < 1:
        raise InvalidInput(f"delta must be in (0, 1), got {delta}; give a probability such as 1e-9.")


def sequential(guarantees: Sequence[Guarantee]) -> Guarantee:
    """Guarantee of several releases from the same rows: the sums of epsilon and of delta.

    Source: Bindschaedler, Shokri, Gunter 2017, Theorem 2 (Dwork, Kenthapadi et al. 2006).
    """
    return Guarantee(
        epsilon=sum(guarantee.epsilon for guarantee in guarantees),
        delta=min(1.0, sum(guarantee.delta for guarantee in guarantees)),
        accountant="basic",
    )


def parallel(guarantees: Sequence[Guarantee]) -> Guarantee:
    """Guarantee of releases from disjoint parts, one per part: the largest epsilon and the largest delta.

    Valid for add/remove neighbours when each record's part does not depend on the other records.
    """
    return Guarantee(
        epsilon=max((guarantee.epsilon for guarantee in guarantees), default=0.0),
        delta=max((guarantee.delta for guarantee in guarantees), default=0.0),
        accountant="parallel",
    )


def amplify_by_sampling(guarantee: Guarantee, probability: float) -> Guarantee:
    """Guarantee of a mechanism on a secret sample that includes each record independently with one probability.

    Not valid for samples of a fixed size, splits in file order, or samples that others can recompute.

    Source: Bindschaedler, Shokri, Gunter 2017, Theorem 4 (Li, Qardaji, Su 2012).
    """
    return joint_split([(probability, guarantee)])


def joint_split(parts: Sequence[tuple[float | Fraction, Guarantee]]) -> Guarantee:
    """Guarantee of one release from each part of a secret random split into disjoint parts.

    Each record is assigned, independently of the others, to part a with probability p_a, or to none. With eta the sum
    of p_a, epsilon = ln(1 + sum of p_a (e^epsilon_a - 1)) and delta = eta * (largest delta_a), for add/remove
    neighbours.

    Proof. Let F be the distribution of all outputs without the new record, and F_a that with the record in part a. The
    distribution with the record is F' = (1 - eta) F + sum p_a F_a. Adding: F_a <= e^epsilon_a F + delta_a, so that F'
    <= (1 + sum p_a (e^epsilon_a - 1)) F + sum p_a delta_a. Removing: F_a >= e^-epsilon_a (F - delta_a), so that F <=
    (F' + sum p_a e^-epsilon_a delta_a) / m with m = 1 - eta + sum p_a e^-epsilon_a. Let E be e^epsilon_a with
    probability p_a and 1 otherwise: m is the mean of 1 / E, and by Jensen 1 / m is at most the mean of E, which is
    e^epsilon. And sum p_a e^-epsilon_a / m <= eta, since z / (1 - eta + z) increases in z and z <= eta.

    Args:
        parts: for each part, its probability and the guarantee of the release from it.

    Raises:
        InvalidInput: a probability is not in (0, 1], or their sum exceeds 1.
    """
    kept = float(sum(probability for probability, _ in parts))
    if any(probability <= 0 for probability, _ in parts) or kept > 1 + 1e-12:
        raise InvalidInput(f"the probabilities of the parts must be above 0 and sum to at most 1, got a sum of {kept}.")
    kept = min(kept, 1.0)
    growth = sum(float(probability) * _expm1(guarantee.epsilon) for probability, guarantee in parts)
    most = max((guarantee.epsilon for _, guarantee in parts), default=0.0)
    return Guarantee(
        epsilon=min(log1p(growth), most),  # e^epsilon may overflow; the largest epsilon always bounds the mean
        delta=kept * max((guarantee.delta for _, guarantee in parts), default=0.0),
        accountant="joint_split",
    )


def advanced_composition(epsilons: Sequence[tuple[float, int]], slack: float) -> float:
    """Epsilon of several adaptive releases from the same rows, at an additional delta of `slack`.

    sqrt(2 ln(1/slack) sum of epsilon^2) + sum of epsilon (e^epsilon - 1); deltas are summed.

    Args:
        epsilons: pairs of the epsilon of one output and the number of such outputs.
        slack: the additional delta, in (0, 1).

    Source: Bindschaedler, Shokri, Gunter 2017, Theorem 3 (Dwork, Rothblum, Vadhan 2010); different epsilons:
        Kairouz, Oh, Viswanath 2015, Theorem 3.5, whose terms are no larger.
    """
    require_delta(slack)
    spread = sum(times * epsilon**2 for epsilon, times in epsilons)
    drift = sum(times * epsilon * _expm1(epsilon) for epsilon, times in epsilons)
    return sqrt(2 * log(1 / slack) * spread) + drift


def zcdp_to_epsilon(rho: float, delta: float) -> float:
    """Smallest epsilon known to follow from rho-zCDP at a given delta.

    Source: Canonne, Kamath, Steinke 2020, Proposition 12, minimised over all orders above 1.
    """
    require_delta(delta)
    if rho == 0:
        return 0.0

    def epsilon(log_order_minus_one: float) -> float:
        excess = exp(log_order_minus_one)
        order = 1 + excess
        return rho * order + (log(1 / delta) - log(order)) / excess - log1p(1 / excess)

    near = 0.5 * log(log(1 / delta) / rho)
    return max(0.0, _least(epsilon, near - 4, near + 4))


def epsilon_to_zcdp(epsilon: float, delta: float) -> float:
    """Largest rho for which rho-zCDP is known to imply (epsilon, delta)-differential privacy.

    Source: Canonne, Kamath, Steinke 2020, Proposition 12, inverted.
    """
    require_delta(delta)
    if epsilon <= 0:
        raise InvalidInput(f"epsilon must be above 0, got {epsilon}.")
    log_odds = log(1 / delta)
    low = (
        epsilon / (sqrt(log_odds + epsilon) + sqrt(log_odds))
    ) ** 2  # sufficient by the simpler bound of Bun and Steinke 2016
    high = low
    while zcdp_to_epsilon(high, delta) < epsilon:
        high *= 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if zcdp_to_epsilon(middle, delta) < epsilon else (low, middle)
    return low * (1 - 1e-9)  # so that conversion back stays below epsilon


def optimal_composition(*, epsilon: float, delta: float, times: int, total_delta: float) -> float:
    """Smallest epsilon of `times` adaptive (epsilon, delta) releases from the same rows at a total delta.

    The worst such release discloses the record with probability delta and is randomized response otherwise, so the
    total privacy loss is epsilon * (2 J - times) with J binomial.

    Returns:
        Epsilon, or infinity if total_delta is too small for the individual deltas.

    Source: Kairouz, Oh, Viswanath 2015, Theorem 3.3.
    """
    require_delta(total_delta)
    open_mass = -expm1(times * log1p(-delta))
    if open_mass >= total_delta:
        return inf
    target = (total_delta - open_mass) / (1 - open_mass) * (1 - _FACTORIAL_ERROR)
    truth = 1 / (1 + exp(-epsilon))
    # Losses below 0, and losses so extreme that their probability vanishes, do not contribute.
    reach = _BINOMIAL_REACH * (sqrt(times * truth * (1 - truth)) + 1)
    first = max(times // 2, int(times * truth - reach))
    j = np.arange(first, min(times, int(times * truth + reach)) + 1)
    losses = epsilon * (2 * j - times)
    log_truth, log_lie = -log1p(exp(-epsilon)), -epsilon - log1p(exp(-epsilon))
    log_ways = lgamma(times + 1) - _log_factorials(j) - _log_factorials(times - j)
    probabilities = np.exp(log_ways + j * log_truth + (times - j) * log_lie)

    def masses(index: int) -> tuple[float, float]:
        tail = probabilities[index:]
        return float(tail.sum()), float((tail * np.exp(losses[index] - losses[index:])).sum())

    def hockey_stick(index: int) -> float:
        mass, discounted = masses(index)
        return mass - discounted

    found = bisect_left(range(len(j)), -target, key=lambda index: -hockey_stick(index))
    mass, discounted = masses(found)
    return max(0.0, float(losses[found]) + log((mass - target) / discounted)) if mass > target else 0.0


def _least(function: Callable[[float], float], low: float, high: float) -> float:
    """The minimum of a unimodal function on an interval."""
    first, second = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_first, at_second = function(first), function(second)
    for _ in range(_GOLDEN_STEPS):
        if at_first < at_second:
            high, second, at_second = second, first, at_first
            first = high - _GOLDEN * (high - low)
            at_first = function(first)
        else:
            low, first, at_first = first, second, at_second
            second = low + _GOLDEN * (high - low)
            at_second = function(second)
    return min(at_first, at_second)


def _log_factorials(numbers: NDArray[np.int64]) -> NDArray[np.float64]:
    """Logarithm of the factorial of each number."""
    return np.fromiter((lgamma(number + 1) for number in numbers.tolist()), np.float64, len(numbers))


def _expm1(value: float) -> float:
    try:
        return expm1(value)
    except OverflowError:
        return inf
