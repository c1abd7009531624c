"""Parameter learning: noisy counts, a Dirichlet posterior, conditional probability tables in integers.

The graph is given and public; counts are seen once, to be noised; the rest is post-processing.

Source: Bindschaedler, Shokri, Gunter 2017, section 3.4 (eq. 11-14).
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv, gammaln

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


def posterior_mean(counts: Counts, prior: float) -> Probabilities:
    """Mean of the Dirichlet posterior of each configuration (eq. 11).

    Args:
        counts: non-negative counts, shape (configurations, values).
        prior: Dirichlet parameter of each value, positive.

    Returns:
        Probabilities, same shape, rows adding up to 1.
    """
    alpha = counts + prior
    return np.asarray(alpha / alpha.sum(axis=1, keepdims=True))


def posterior_mode(counts: Counts, prior: float) -> Probabilities:
    """Mode of the Dirichlet posterior of each configuration (eq. 12).

    Where a parameter is below 1 the density is unbounded towards 0 in that value and the mode lies on that face: the
    value gets probability 0. Where all are at most 1 there is no single mode and the mean is taken.

    Args:
        counts: non-negative counts, shape (configurations, values).
        prior: Dirichlet parameter of each value, positive.

    Returns:
        Probabilities, same shape, rows adding up to 1.
    """
    above = np.maximum(counts + prior - 1, 0)
    total = above.sum(axis=1, keepdims=True)
    return np.where(total > 0, above / np.where(total > 0, total, 1), posterior_mean(counts, prior))


def posterior_sample(counts: Counts, prior: float, words: NDArray[np.uint32]) -> Probabilities:
    """One draw from the Dirichlet posterior of each configuration.

    Gamma variates by inversion, in logarithms: for a small parameter a and uniform u the quantile is close to
    (u Gamma(a+1))^(1/a), which underflows long before its logarithm does.

    Args:
        counts: non-negative counts, shape (configurations, values).
        prior: Dirichlet parameter of each value, positive.
        words: fresh uniform words, two for each cell, shape (2 * counts.size,).

    Returns:
        Probabilities, same shape, rows adding up to 1.
    """
    alpha = counts + prior
    high, low = words.reshape(2, *counts.shape).astype(np.float64)
    uniform = (high + (low + 0.5) / UNIT) / UNIT
    quantile = gammaincinv(alpha, uniform)
    with np.errstate(divide="ignore"):
        logarithm = np.where(
            quantile > np.finfo(float).tiny, np.log(quantile), (np.log(uniform) + gammaln(alpha + 1)) / alpha
        )
    share = np.exp(logarithm - logarithm.max(axis=1, keepdims=True))
    return np.asarray(share / share.sum(axis=1, keepdims=True))


def integer_weights(probabilities: Probabilities) -> Weights:
    """Round each row to whole numbers that add up to 2^32, by largest remainder; what is positive stays at least 1.

    Args:
        probabilities: shape (configurations, values), rows adding up to 1.

    Returns:
        Weights, same shape.
    """
    exact = probabilities * UNIT
    weights = np.floor(exact).astype(np.int64)
    remainder = exact - weights
    raised = (probabilities > 0) & (weights == 0)
    weights[raised] = 1
    remainder[raised] = 0
    missing = UNIT - weights.sum(axis=1)
    # A handful of units at most, up or down: the remainders of a row add up to less than its length.
    rank = np.argsort(np.argsort(-remainder, axis=1, kind="stable"), axis=1, kind="stable")
    weights += (rank < np.maximum(missing, 0)[:, None]) & (probabilities > 0)
    largest = weights.argmax(axis=1)
    rows = np.arange(len(weights))
    weights[rows, largest] += UNIT - weights.sum(axis=1)
    return weights.astype(np.uint64)


@dataclass(frozen=True)
class ParameterRecipe:
    """What the parameters may cost, and how probabilities are made of noisy counts.

    Attributes:
        epsilon: epsilon of all tables together.
        delta: delta of all tables together.
        noise: discrete Laplace (the paper's, on integers) or discrete Gaussian.
        prior: total Dirichlet mass of a configuration, spread evenly over the values.
        estimate: posterior mean, posterior mode (`map`), or one keyed draw from the posterior a configuration
            (`sample`).
    """

    epsilon: Fraction
    delta: Fraction
    noise: Noise
    prior: Fraction
    estimate: Estimate

    def calibrate(self, domain: Domain) -> "ParameterMechanism":
        """Scale the noise, from the budget and the public domain alone.

        One row changes one cell of each attribute's table by 1, whatever the graph is; an attribute with one value has
        no table to noise.

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
    """All counts of each attribute by its parents' buckets, each with noise of its own, empty configurations included.

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
        """What is done to the data, known before it is read."""
        return count_events(self.tables, self.recipe.noise, self.amount)

    @cached_property
    def guarantee(self) -> Guarantee:
        """What all tables cost together, by the tightest accountant."""
        return best(self.events, self.recipe.delta) if self.events else Guarantee(0.0, 0.0, "basic")

    def run(self, counts: FamilyCounts, graph: Graph, open_stream: StreamOpener) -> BayesNet:
        """Noise the counts, clamp them at 0, and estimate the probabilities.

        Args:
            counts: counts of the parameters part, by the parents of `graph`.
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
            noisy = np.maximum(table + noise.reshape(table.shape), 0)
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
