"""Parameter learning: noisy counts, a Dirichlet posterior, conditional probability tables in integers.

The graph is given and public. Counts are read once, to add noise to them; the rest is post-processing.

Source: Bindschaedler, Shokri, Gunter 2017, section 3.4 (eq. 11-14).
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Domain
from deniable.foundation.keys import StreamOpener
from deniable.foundation.noise import DiscreteGaussian, DiscreteLaplace
from deniable.foundation.tables import Counts, FamilyCounts
from deniable.learners.cfs.entropies import Noise
from deniable.models.bayes_net import UNIT, BayesNet, Weights
from deniable.models.graph import Graph
from deniable.privacy.accounting import best, calibrate_discrete_gaussian, calibrate_discrete_laplace
from deniable.privacy.common_events import count_events, noised_tables
from deniable.privacy.loss import Guarantee, MechanismEvent

if TYPE_CHECKING:
    from deniable.foundation.keys import Parameter

Estimate = Literal["mean", "map", "sample"]
Probabilities = NDArray[np.float64]
Estimates = Counts | NDArray[np.float64]


def nearest_with_noisy_totals(noisy: Counts) -> Estimates:
    """The nearest non-negative counts with the noisy total of each configuration, or with total 0 if that is negative.

    Noise is as often negative as positive, so a sum of noisy counts is unbiased. Setting the negative ones to 0 and
    keeping the others would add about half the noise's mean size for each value that nobody has: with many values,
    more than the records of a configuration. The projection takes the excess back from all counts alike.

    Sums are of integers, and each count is one division of two integers, so it is the same on every machine.

    Args:
        noisy: counts with noise, shape (configurations, values).

    Returns:
        Estimates of the same shape.

    Source: Duchi, Shalev-Shwartz, Singer, Chandra 2008, figure 1.
    """
    total = np.maximum(noisy.sum(axis=1, keepdims=True), 0)
    largest = -np.sort(-noisy, axis=1)
    excess = np.cumsum(largest, axis=1) - total
    number = np.arange(1, noisy.shape[1] + 1)
    # The largest number of values that all stay above 0 if the excess of their sum is divided equally among them; none
    # with a total of 0.
    kept = np.where(number * largest > excess, number, 0).max(axis=1, keepdims=True)
    taken = np.take_along_axis(excess, np.maximum(kept - 1, 0), axis=1)
    return np.asarray(np.maximum(kept * noisy - taken, 0) * (kept > 0) / np.maximum(kept, 1))


def posterior_mean(counts: Estimates, prior: float) -> Probabilities:
    """Mean of the Dirichlet posterior of each configuration (eq. 11).

    Args:
        counts: non-negative counts, shape (configurations, values).
        prior: Dirichlet parameter of each value, positive.

    Returns:
        Probabilities of the same shape, with row sums of 1.
    """
    alpha = counts + prior
    return np.asarray(alpha / alpha.sum(axis=1, keepdims=True))


def posterior_mode(counts: Estimates, prior: float) -> Probabilities:
    """Mode of the Dirichlet posterior of each configuration (eq. 12).

    If a parameter is below 1, the density is unbounded as that value's probability tends to 0, and the mode lies on
    that face of the simplex: the value has probability 0. If no parameter exceeds 1, the mode is not unique and the
    mean is used.

    Args:
        counts: non-negative counts, shape (configurations, values).
        prior: Dirichlet parameter of each value, positive.

    Returns:
        Probabilities of the same shape, with row sums of 1.
    """
    above = np.maximum(counts + prior - 1, 0)
    total = above.sum(axis=1, keepdims=True)
    return np.where(total > 0, above / np.where(total > 0, total, 1), posterior_mean(counts, prior))


def posterior_sample(counts: Estimates, prior: float, words: NDArray[np.uint32]) -> Probabilities:
    """One draw from the Dirichlet posterior of each configuration.

    Gamma variates by inversion, in logarithms: for a small parameter a and uniform u the quantile is close to
    (u Gamma(a+1))^(1/a), which underflows long before its logarithm does.

    Args:
        counts: non-negative counts, shape (configurations, values).
        prior: Dirichlet parameter of each value, positive.
        words: fresh uniform words, two for each cell, shape (2 * counts.size,).

    Returns:
        Probabilities of the same shape, with row sums of 1.
    """
    alpha = counts + prior
    high, low = words.reshape(2, *counts.shape).astype(np.float64)
    uniform = (high + (low + 0.5) / UNIT) / UNIT
    # Slow to import, and needed only for draws.
    from scipy.special import gammaincinv, gammaln  # noqa: PLC0415

    quantile = gammaincinv(alpha, uniform)
    with np.errstate(divide="ignore"):
        logarithm = np.where(
            quantile > np.finfo(float).tiny, np.log(quantile), (np.log(uniform) + gammaln(alpha + 1)) / alpha
        )
    share = np.exp(logarithm - logarithm.max(axis=1, keepdims=True))
    return np.asarray(share / share.sum(axis=1, keepdims=True))


def integer_weights(probabilities: Probabilities) -> Weights:
    """Round each row to integers that sum to 2^32, by largest remainder; a positive probability becomes at least 1.

    Args:
        probabilities: shape (configurations, values), with row sums of 1.

    Returns:
        Weights of the same shape.
    """
    exact = probabilities * UNIT
    weights = np.floor(exact).astype(np.int64)
    remainder = exact - weights
    raised = (probabilities > 0) & (weights == 0)
    weights[raised] = 1
    remainder[raised] = 0
    missing = UNIT - weights.sum(axis=1)
    # The correction is at most a few units: the remainders of a row sum to less than its length.
    rank = np.argsort(np.argsort(-remainder, axis=1, kind="stable"), axis=1, kind="stable")
    weights += (rank < np.maximum(missing, 0)[:, None]) & (probabilities > 0)
    largest = weights.argmax(axis=1)
    rows = np.arange(len(weights))
    weights[rows, largest] += UNIT - weights.sum(axis=1)
    return weights.astype(np.uint64)


@dataclass(frozen=True)
class WithoutNoise:
    """Exact counts of each attribute by its parents' buckets, for a public table: nothing is guaranteed or charged.

    Attributes:
        prior: total Dirichlet mass of a configuration, divided equally among the values.
    """

    prior: Fraction = Fraction(1)

    def run(self, counts: FamilyCounts, graph: Graph, _: StreamOpener) -> BayesNet:
        """Estimate the probabilities by the posterior mean of the exact counts; no randomness is used.

        Args:
            counts: counts of the public rows, cross-classified by the parents in `graph`.
            graph: the graph.
        """
        sizes = zip(counts.domain.cardinalities, counts.tables, strict=True)
        return BayesNet(
            counts.domain,
            graph,
            tuple(integer_weights(posterior_mean(table, float(self.prior / size))) for size, table in sizes),
        )


@dataclass(frozen=True)
class ParameterRecipe:
    """The budget of the parameters, and the estimation of probabilities from noisy counts.

    Attributes:
        epsilon: total epsilon of all tables.
        delta: total delta of all tables.
        noise: discrete Laplace (the paper's, on integers) or discrete Gaussian.
        prior: total Dirichlet mass of a configuration, divided equally among the values.
        estimate: posterior mean, posterior mode (`map`), or one keyed draw from the posterior of each configuration
            (`sample`).
    """

    epsilon: Fraction
    delta: Fraction
    noise: Noise
    prior: Fraction
    estimate: Estimate

    def calibrate(self, domain: Domain) -> "ParameterMechanism":
        """Scale the noise to the budget; only the budget and the public domain are used.

        One row changes one cell of each attribute's table by 1, whatever the graph is. An attribute with one value has
        no table.

        Raises:
            InvalidInput: the budget does not suffice.
        """
        tables = noised_tables(domain)
        if self.noise == "laplace":
            amount = 1 / calibrate_discrete_laplace(outputs=max(tables, 1), epsilon=self.epsilon, delta=self.delta)
        else:
            amount = calibrate_discrete_gaussian(outputs=max(tables, 1), epsilon=self.epsilon, delta=self.delta)
        return ParameterMechanism(self, tables, amount)


@dataclass(frozen=True)
class ParameterMechanism:
    """Counts of each attribute by its parents' buckets, with independent noise in every cell, including empty ones.

    Attributes:
        recipe: the budget and the estimate.
        tables: number of tables with noise.
        amount: scale (Laplace) or variance (Gaussian) of the noise.
    """

    recipe: ParameterRecipe
    tables: int
    amount: Fraction

    @property
    def events(self) -> tuple[MechanismEvent, ...]:
        """The mechanisms applied to the data, fixed before any row is read."""
        return count_events(self.tables, self.recipe.noise, self.amount)

    @cached_property
    def guarantee(self) -> Guarantee:
        """Total cost of all tables by the tightest accountant."""
        return best(self.events, self.recipe.delta) if self.events else Guarantee(0.0, 0.0, "basic")

    def run(self, counts: FamilyCounts, graph: Graph, open_stream: StreamOpener) -> BayesNet:
        """Add noise to the counts, make them non-negative, and estimate the probabilities.

        Args:
            counts: counts of the parameters part, cross-classified by the parents in `graph`.
            graph: the graph.
            open_stream: opens the streams of this step.
        """
        domain = counts.domain
        law = DiscreteLaplace(self.amount) if self.recipe.noise == "laplace" else DiscreteGaussian(self.amount)
        weights = []
        for attribute, parents, table in zip(domain.attributes, counts.parents, counts.tables, strict=True):
            parameters: dict[str, Parameter] = {
                "noise": self.recipe.noise,
                "amount": self.amount,
                "attribute": attribute.name,
                "parents": [domain.names[parent] for parent in parents],
                "domain": domain.digest,
            }
            if attribute.cardinality == 1:
                weights.append(np.full(table.shape, UNIT, np.uint64))
                continue
            noise = law.sample(open_stream(mechanism="counts", parameters=parameters), table.size)
            noisy = nearest_with_noisy_totals(table + noise.reshape(table.shape))
            prior = float(self.recipe.prior / attribute.cardinality)
            if self.recipe.estimate == "mean":
                probabilities = posterior_mean(noisy, prior)
            elif self.recipe.estimate == "map":
                probabilities = posterior_mode(noisy, prior)
            else:
                words = open_stream(mechanism="posterior", parameters=parameters).take(2 * table.size)
                probabilities = posterior_sample(noisy, prior, words)
            weights.append(integer_weights(probabilities))
        return BayesNet(domain, graph, tuple(weights))
