"""Exact moments of beta-binomial sets over sampling and synthesis: the cost of more sets at a fixed total epsilon.

Everything here is a function of public numbers. Needs NumPy alone.

Source: Charest 2010, tables 1 and 2, with corrected units: the first is in percentage points, the second in 1e-4.
"""

from dataclasses import dataclass
from math import exp, expm1, lgamma, log, log1p

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.errors import InvalidInput


@dataclass(frozen=True)
class Moments:
    """The mean of M synthetic shares, over samples of n people with share p and over the synthesis.

    Attributes:
        alpha: prior weight of each of the two categories.
        mean: expected mean of the shares.
        variance: its variance.
        missing: expectation of T_m, the variance by the rule for missing data.
        full: expectation of T_M, the variance by the rule for fully synthetic data; None for one set.
    """

    alpha: float
    mean: float
    variance: float
    missing: float | None
    full: float | None


def prior_weight(epsilon: float, sets: int, size: int, *, shared: bool = False) -> float:
    """Alpha before it is rounded up to a multiple of 2^-20: n~/(e^(epsilon/M) - 1), or M n~/(e^epsilon - 1) if shared.

    Args:
        epsilon: total epsilon of all sets.
        sets: number of sets, M.
        size: number of records in a set, n~.
        shared: whether all sets are drawn from one urn.

    Raises:
        InvalidInput: epsilon is not above 0.
    """
    if not epsilon > 0 or sets < 1 or size < 1:
        raise InvalidInput(f"epsilon must be above 0, and sets and size 1 or more, got {epsilon:g}, {sets} and {size}.")
    return sets * size / expm1(epsilon) if shared else size / expm1(epsilon / sets)


def moments(*, share: float, epsilon: float, sets: int, people: int, size: int) -> Moments:
    """Moments of the mean of M beta-binomial shares from separate urns.

    Args:
        share: share p of the first category in the population.
        epsilon: total epsilon.
        sets: number of sets, M.
        people: number of people, n.
        size: number of records in a set.
    """
    alpha = prior_weight(epsilon, sets, size)
    counts = np.arange(people + 1)
    law = binomial_law(people, share)
    total = 2 * alpha + people
    means = (alpha + counts) / total
    within = means * (1 - means) * (total + size) / (size * (total + 1))
    mean = float((law * means).sum())
    between = float((law * within).sum())
    spread = between / sets + float((law * means**2).sum()) - mean**2
    # E[q (1 - q)] / size = (mu - mu^2 - Var) / size, given the counts.
    own = float((law * (means - means**2 - within)).sum()) / size
    if sets == 1:
        return Moments(alpha, mean, spread, None, None)
    return Moments(alpha, mean, spread, (1 + 1 / sets) * between + own, (1 + 1 / sets) * between - own)


def binomial_law(trials: int, share: float) -> NDArray[np.float64]:
    """Binomial probabilities of 0..trials."""
    if share in {0.0, 1.0}:
        return np.asarray(np.arange(trials + 1) == trials * share, np.float64)
    whole = lgamma(trials + 1.0)
    return np.array(
        [
            exp(whole - lgamma(k + 1.0) - lgamma(trials - k + 1.0) + k * log(share) + (trials - k) * log1p(-share))
            for k in range(trials + 1)
        ]
    )


def beta_binomial_law(size: int, first: float, second: float) -> NDArray[np.float64]:
    """Beta-binomial probabilities of 0..size, with parameters above 0."""
    whole = lgamma(size + 1.0) + lgamma(first + second) - lgamma(first) - lgamma(second) - lgamma(size + first + second)
    return np.array(
        [
            exp(whole - lgamma(k + 1.0) - lgamma(size - k + 1.0) + lgamma(k + first) + lgamma((size - k) + second))
            for k in range(size + 1)
        ]
    )
