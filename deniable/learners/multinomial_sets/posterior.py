"""The exact posterior of the confidential counts and the population's shares given synthetic sets, for their users.

It models the synthesis: the counts x of n people are multinomial with shares p that have a Dirichlet prior, and each
set is Dirichlet-multinomial with parameters x_j + alpha. All of this is public, so everything here is computed from a
release alone, and costs nothing more. Nothing is simulated, so the same sets always have the same posterior.

With two categories the posterior of x is a list of n + 1 probabilities, and that of p a mixture of Beta distributions.
With K categories, with y_mk records of category k in set m, and an integer Dirichlet prior a,

    P(x | sets) ~ prod_k f_k(x_k),
    f_k(j) = Gamma(j + a_k) / Gamma(j + 1) prod_m Gamma(j + alpha + y_mk) / Gamma(j + alpha),

for the x that sum to n: the multinomial law with its shares summed out is prod_k Gamma(x_k + a_k) / Gamma(x_k + 1), and
a set has probability prod_k Gamma(x_k + alpha + y_mk) / Gamma(x_k + alpha), both up to factors of n alone. f_k(j + 1) /
f_k(j) = (1 + (a_k - 1) / (j + 1)) prod_m (1 + y_mk / (j + alpha)) does not increase with j, so the x_k are independent
log-concave numbers given their sum, whose means and variances are exact (given_sum). Given x, p_k is Beta(a_k + x_k,
..) with the mean (a_k + x_k) / (n + A), where A is the sum of the a_k.

Needs NumPy alone. Combining rules do not belong here (combining).

Source: Charest 2010, section 4, with sums over x in place of its Markov chain.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import lgamma, log

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.errors import InvalidInput
from deniable.learners.multinomial_sets.given_sum import Floats, Integers, moments_given_sum

Sets = Sequence[Sequence[int]]

MOST_CATEGORIES = 10_000
MOST_PEOPLE = 10_000_000
_STEPS_OF_BISECTION = 60


@dataclass(frozen=True)
class BinaryPosterior:
    """The posterior for two categories; the first is reported.

    Attributes:
        people: number of people, n.
        prior: integer parameters of the Beta prior of the share.
        weights: probability of each possible count x of the first category, 0..n, shape (n + 1,).
    """

    people: int
    prior: tuple[int, int]
    weights: Floats

    @property
    def mean_count(self) -> float:
        """Expected confidential count of the first category."""
        return float((self.weights * np.arange(self.people + 1)).sum())

    @property
    def mean(self) -> float:
        """Expected share of the first category in the population."""
        first, second = self.prior
        return (first + self.mean_count) / (first + second + self.people)

    @property
    def deviation(self) -> float:
        """Standard deviation of the share in the population."""
        total = sum(self.prior) + self.people
        means = (self.prior[0] + np.arange(self.people + 1)) / total
        within = means * (1 - means) / (total + 1)
        return float(np.sqrt((self.weights * (within + means**2)).sum() - self.mean**2))

    def distribution(self, share: float) -> float:
        """Posterior probability that the share in the population is at most `share`.

        The distribution function of a Beta distribution with integer parameters is a binomial tail, so the mixture is
        a sum of binomial probabilities.
        """
        if share <= 0 or share >= 1:
            return float(share >= 1)
        first, second = self.prior
        trials = first + second + self.people - 1
        successes = np.arange(first, first + self.people + 1)
        # The Beta distribution function for count j is the tail of a binomial distribution from first + j on.
        logs = self._log_binomial + successes * log(share) + (trials - successes) * np.log1p(-share)
        # Beyond first + n, for second - 1 more successes, every j counts.
        beyond = np.arange(first + self.people + 1, trials + 1)
        tail = np.exp(_log_choose(trials, beyond) + beyond * log(share) + (trials - beyond) * np.log1p(-share)).sum()
        return float(min((np.exp(logs) * np.cumsum(self.weights)).sum() + tail, 1.0))

    @cached_property
    def _log_binomial(self) -> Floats:
        first, second = self.prior
        return _log_choose(first + second + self.people - 1, np.arange(first, first + self.people + 1))

    def quantile(self, probability: float) -> float:
        """The quantile of the population's share under the posterior."""
        low, high = 0.0, 1.0
        for _ in range(_STEPS_OF_BISECTION):
            middle = (low + high) / 2
            if self.distribution(middle) < probability:
                low = middle
            else:
                high = middle
        return (low + high) / 2

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The equal-tailed credible interval of the share in the population.

        Raises:
            InvalidInput: the level is not in (0, 1).
        """
        if not 0 < level < 1:
            raise InvalidInput(f"the level must be in (0, 1), got {level:g}; give a probability such as 0.95.")
        return self.quantile((1 - level) / 2), self.quantile((1 + level) / 2)


def binary_posterior(
    sets: Sequence[int],
    *,
    size: int,
    people: int,
    alpha: float,
    prior: tuple[int, int] = (1, 1),
    shared: bool = False,
) -> BinaryPosterior:
    """The posterior of two categories from the synthetic counts of the first.

    Args:
        sets: the count of the first category in each set.
        size: number of records in a set.
        people: public number of people, n.
        alpha: prior weight of each category in the synthesis, above 0.
        prior: integer parameters of the analyst's Beta prior on the share.
        shared: whether all sets were drawn from one urn (shared probabilities), rather than each from its own.

    Raises:
        InvalidInput: the numbers cannot be those of a release.
    """
    _require(people, alpha, prior)
    if not sets or any(not 0 <= count <= size for count in sets):
        raise InvalidInput(f"there must be sets with counts from 0 to their size, {size}, got none or another count.")
    drawn = [(sum(sets), size * len(sets))] if shared else [(count, size) for count in sets]
    numbers = np.arange(people + 1)
    weights = _log_rising_pair(numbers, people, prior[0], prior[1], people)
    base = _log_gammas(people, alpha)
    for count, trials in drawn:
        # (n - j) + alpha, never alpha + n - j, which loses a small alpha.
        ups, downs = _log_gammas(people, alpha, count) - base, _log_gammas(people, alpha, trials - count) - base
        weights = weights + ups + downs[::-1]
    return BinaryPosterior(people, prior, _normalised(weights))


@dataclass(frozen=True)
class MultinomialPosterior:
    """The posterior for several categories.

    Attributes:
        mean: expected share of each category in the population, shape (K,).
        deviation: standard deviation of each share, shape (K,).
        mean_counts: expected confidential count of each category, shape (K,).
        count_deviation: standard deviation of each of these counts, shape (K,).
    """

    mean: Floats
    deviation: Floats
    mean_counts: Floats
    count_deviation: Floats


def multinomial_posterior(
    sets: Sets,
    *,
    people: int,
    alpha: float,
    prior: Sequence[int] | None = None,
    shared: bool = False,
) -> MultinomialPosterior:
    """The posterior of several categories.

    Args:
        sets: the counts of the K categories in each set.
        people: public number of people, n.
        alpha: prior weight of each category in the synthesis, above 0.
        prior: integer parameters of the analyst's Dirichlet prior on the shares; 1 each by default.
        shared: whether all sets were drawn from one urn.

    Raises:
        InvalidInput: the numbers cannot be those of a release, or are too many for the memory.
    """
    categories = len(sets[0]) if sets else 0
    if not 2 <= categories <= MOST_CATEGORIES:
        raise InvalidInput(f"there must be sets of 2 to {MOST_CATEGORIES:,} categories, got {categories}.")
    own = np.array(prior or (1,) * categories, np.int64)
    _require(people, alpha, own.tolist())
    if len(own) != categories or any(len(counts) != categories for counts in sets):
        raise InvalidInput(f"every set and the prior must have the same {categories} categories, got others.")
    if any(count < 0 for counts in sets for count in counts):
        raise InvalidInput("a count must be 0 or more, got a negative one.")
    drawn = np.array(sets, np.int64).T
    drawn = drawn.sum(axis=1, keepdims=True) if shared else np.sort(drawn, axis=1)
    # Categories with the same counts, in whatever order of the sets, have the same factor.
    factors, factor_of, several = np.unique(
        np.column_stack([own, drawn]), axis=0, return_inverse=True, return_counts=True
    )
    expected = int(own.sum() + drawn.sum())
    means, variances = moments_given_sum(_LogRatio(factors, alpha), several, people, expected)
    counts, spread = means[factor_of.ravel()], variances[factor_of.ravel()]
    total = people + int(own.sum())
    share, between = (counts + own) / total, spread / total**2
    # The variance of p is that of its mean given x, and the mean of p (1 - p) / (n + A + 1) given x.
    within = (share * (1 - share) - between) / (total + 1)
    return MultinomialPosterior(share, np.sqrt(between + within), counts, np.sqrt(spread))


@dataclass(frozen=True)
class _LogRatio:
    """Ln f(j + 1) / f(j) of the factors of the posterior.

    Attributes:
        factors: a and the counts in all sets of each factor, shape (factors, 1 + sets).
        alpha: prior weight of a category.
    """

    factors: Integers
    alpha: float

    def __call__(self, factors: Integers, numbers: Floats) -> Floats:
        own = self.factors[factors].T.reshape(-1, len(factors), *(1,) * (numbers.ndim - 1))
        found = np.log1p((own[0] - 1) / (numbers + 1))
        for counts in own[1:]:
            found += np.log1p(counts / (numbers + self.alpha))
        return np.asarray(found)


def _log_gammas(people: int, alpha: float, shift: int = 0) -> Floats:
    """Ln Gamma(j + shift + alpha) for j = 0..n, shape (n + 1,)."""
    return np.array([lgamma((j + shift) + alpha) for j in range(people + 1)])


def _log_rising_pair(numbers: NDArray[np.int64], people: int, first: int, second: int, size: int) -> Floats:
    """Logarithm of the beta-binomial probability of each count, up to a constant."""
    factorials = np.array([lgamma(j + 1.0) for j in range(size + 1)])
    ups = np.array([lgamma(float(j + first)) for j in range(people + 1)])
    downs = np.array([lgamma(float(j + second)) for j in range(people + 1)])
    logs: Floats = ups[numbers] + downs[people - numbers] - factorials[numbers] - factorials[people - numbers]
    return logs


def _log_choose(trials: int, numbers: NDArray[np.int64]) -> Floats:
    whole = lgamma(trials + 1.0)
    return np.array([whole - lgamma(k + 1.0) - lgamma(trials - k + 1.0) for k in numbers.tolist()])


def _normalised(logs: Floats) -> Floats:
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum(), np.float64)


def _require(people: int, alpha: float, prior: Sequence[int]) -> None:
    if not 1 <= people <= MOST_PEOPLE:
        raise InvalidInput(f"the number of people must be from 1 to {MOST_PEOPLE:,}, got {people}; it must be public.")
    if not alpha > 0:
        raise InvalidInput(f"alpha must be above 0, got {alpha:g}; a release states it.")
    if any(weight < 1 for weight in prior):
        raise InvalidInput("the parameters of the prior must be whole numbers of 1 or more, got another.")
