"""The exact posterior of the confidential counts and the population's shares given synthetic sets, for their users.

It models the synthesis: the counts x of n people are multinomial with shares p that have a Dirichlet prior, and each
set is Dirichlet-multinomial with parameters x_j + alpha. All of this is public, so everything here is computed from a
release alone, and costs nothing more. With two categories no simulation is needed: the posterior of x is a list of n +
1 probabilities, and that of p a mixture of Beta distributions. With more, compositions are enumerated if there are
few, and otherwise x moves by unit transfers (a Gibbs sampler).

Needs NumPy alone. Combining rules do not belong here (combining).

Source: Charest 2010, section 4, with the sum over x in place of its Markov chain.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import comb, exp, lgamma, log

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import ReleaseKey, WordStream

Floats = NDArray[np.float64]
Sets = Sequence[Sequence[int]]

MOST_COMPOSITIONS = 1_000_000
"""Largest number of possible counts for which the posterior is enumerated."""
MOST_CATEGORIES = 10_000
MOST_PEOPLE = 10_000_000
_STEPS_OF_BISECTION = 60
_WORDS_A_FLOAT = 2


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
        sweeps: 0 if the posterior was enumerated; otherwise the number of sweeps of the Gibbs sampler.
    """

    mean: Floats
    deviation: Floats
    mean_counts: Floats
    sweeps: int


def multinomial_posterior(
    sets: Sets,
    *,
    people: int,
    alpha: float,
    prior: Sequence[int] | None = None,
    shared: bool = False,
    sweeps: int = 2000,
    key: ReleaseKey | None = None,
) -> MultinomialPosterior:
    """The posterior of several categories.

    Args:
        sets: the counts of the K categories in each set.
        people: public number of people, n.
        alpha: prior weight of each category in the synthesis, above 0.
        prior: integer parameters of the analyst's Dirichlet prior on the shares; 1 each by default.
        shared: whether all sets were drawn from one urn.
        sweeps: number of sweeps of the Gibbs sampler, with n transfers each, after a tenth as many for burn-in; used
            only if there are more than MOST_COMPOSITIONS possible counts.
        key: key of the sampler; a new one by default. It protects nothing: everything here is public.

    Raises:
        InvalidInput: the numbers cannot be those of a release.
    """
    categories = len(sets[0]) if sets else 0
    if not 2 <= categories <= MOST_CATEGORIES:
        raise InvalidInput(f"there must be sets of 2 to {MOST_CATEGORIES:,} categories, got {categories}.")
    own = tuple(prior or (1,) * categories)
    _require(people, alpha, own)
    if len(own) != categories or any(len(counts) != categories for counts in sets):
        raise InvalidInput(f"every set and the prior must have the same {categories} categories, got others.")
    if any(count < 0 for counts in sets for count in counts):
        raise InvalidInput("a count must be 0 or more, got a negative one.")
    drawn = [tuple(map(sum, zip(*sets, strict=True)))] if shared else [tuple(counts) for counts in sets]
    few = people + categories <= MOST_COMPOSITIONS and comb(people + categories - 1, categories - 1)
    if few and few <= MOST_COMPOSITIONS:
        return _enumerated(drawn, people, alpha, own)
    stream = (key or ReleaseKey.generate()).stream(step="posterior", mechanism="gibbs", inputs="", parameters={})
    return _sampled(drawn, people, alpha, own, sweeps, stream)


def _enumerated(drawn: Sets, people: int, alpha: float, prior: tuple[int, ...]) -> MultinomialPosterior:
    scores = _scores(drawn, people, alpha, prior)
    compositions = np.array(list(_compositions(people, len(prior))))
    logs = sum((scores[k][compositions[:, k]] for k in range(len(prior))), start=np.zeros(len(compositions)))
    weights = _normalised(logs)
    total = people + sum(prior)
    means = (compositions + np.array(prior)) / total
    mean = (weights[:, None] * means).sum(axis=0)
    second = (weights[:, None] * (means**2 + means * (1 - means) / (total + 1))).sum(axis=0)
    expected = (weights[:, None] * compositions).sum(axis=0)
    return MultinomialPosterior(mean, np.sqrt(second - mean**2), expected, 0)


def _sampled(
    drawn: Sets, people: int, alpha: float, prior: tuple[int, ...], sweeps: int, stream: WordStream
) -> MultinomialPosterior:
    """Gibbs sampler that moves one person at a time between two categories; shares are averaged given counts."""
    categories = len(prior)
    scores = _scores(drawn, people, alpha, prior)
    counts = [people // categories + (k < people % categories) for k in range(categories)]
    total = people + sum(prior)
    own = np.array(prior)
    sums = np.zeros((3, categories))
    burn_in = max(sweeps // 10, 1)
    for sweep in range(burn_in + sweeps):
        words = stream.take(people * 3).tolist()
        for move in range(people):
            given, taken, chance = words[3 * move : 3 * move + 3]
            source, target = given * categories >> 32, taken * categories >> 32
            if source == target or counts[source] == 0:
                continue
            gain = (
                scores[source][counts[source] - 1]
                - scores[source][counts[source]]
                + scores[target][counts[target] + 1]
                - scores[target][counts[target]]
            )
            if gain >= 0 or chance < exp(gain) * (1 << 32):
                counts[source] -= 1
                counts[target] += 1
        if sweep >= burn_in:
            found = np.array(counts)
            means = (found + own) / total
            sums += np.array([means, means**2 + means * (1 - means) / (total + 1), found])
    mean, second, expected = sums / sweeps
    return MultinomialPosterior(mean, np.sqrt(second - mean**2), expected, sweeps)


def _scores(drawn: Sets, people: int, alpha: float, prior: tuple[int, ...]) -> list[Floats]:
    """For each category, the logarithm of its factor in the posterior of x, for each count 0..n, up to a constant."""
    numbers = np.arange(people + 1)
    base = _log_gammas(people, alpha)
    factorials = _log_gammas(people, 1.0)
    scores = []
    for k, weight in enumerate(prior):
        score = _log_gammas(people, float(weight)) - factorials
        for counts in drawn:
            score = score + _log_gammas(people, alpha, counts[k]) - base
        scores.append(score[numbers])
    return scores


def _compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """All compositions of a total into parts."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _compositions(total - first, parts - 1):
            yield (first, *rest)


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
