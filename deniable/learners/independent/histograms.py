"""Noisy histograms: counts in public bins, discrete Laplace noise, and the resulting probabilities.

The histograms of d attributes share one epsilon. Adding or removing a record changes one count in each by 1, so noise
of scale d / epsilon suffices, and the number of rows need not be known.

Source: Ping, Stoyanovich, Howe 2017 (independent attribute mode), there on probabilities instead of counts.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.keys import StreamOpener
from deniable.foundation.noise import DiscreteLaplace
from deniable.foundation.tables import Counts, FamilyCounts
from deniable.learners.cfs.parameters import integer_weights
from deniable.models.bayes_net import UNIT, BayesNet
from deniable.models.graph import Graph
from deniable.privacy.common_events import count_events, noised_tables
from deniable.privacy.loss import MechanismEvent


def laplace_scale(tables: int, epsilon: Fraction) -> Fraction:
    """Noise scale at which several tables cost epsilon in total, if a row changes one count in each by 1."""
    return max(tables, 1) / epsilon


def probabilities_of(noisy: Counts) -> NDArray[np.float64]:
    """Shares of noisy counts in each row; negative counts are set to 0, and a row without positive counts is uniform.

    Args:
        noisy: shape (rows, values).

    Returns:
        Shares of the same shape, with row sums of 1.
    """
    counts = np.maximum(noisy, 0)
    total = counts.sum(axis=1, keepdims=True)
    return np.asarray(np.where(total > 0, counts / np.maximum(total, 1), 1 / noisy.shape[1]), np.float64)


def bin_of_value(attribute: Attribute, bins: int) -> NDArray[np.int64]:
    """The bin of each value, shape (cardinality,): bins of equal width for numeric attributes with many values."""
    values = np.arange(attribute.cardinality)
    if not attribute.is_ordered or attribute.cardinality <= bins:
        return values
    return values * bins // attribute.cardinality


@dataclass(frozen=True)
class Histograms:
    """The cost and the parameters of all histograms.

    Attributes:
        domain: the public domain.
        epsilon: total epsilon of the histograms.
        bins: number of bins of a numeric attribute with more values.
    """

    domain: Domain
    epsilon: Fraction
    bins: int

    @property
    def scale(self) -> Fraction:
        """Scale of the noise."""
        return laplace_scale(noised_tables(self.domain), self.epsilon)

    @property
    def events(self) -> tuple[MechanismEvent, ...]:
        """The mechanisms applied to the data, fixed before any row is read."""
        return count_events(noised_tables(self.domain), "laplace", self.scale)

    def run(self, counts: FamilyCounts, graph: Graph, open_stream: StreamOpener) -> BayesNet:
        """Add noise to the counts of the bins, and divide each bin's share equally among its values.

        Args:
            counts: one-way counts of the attributes.
            graph: the graph without edges.
            open_stream: opens the streams of this step.
        """
        law = DiscreteLaplace(self.scale)
        weights = []
        for attribute, (table,) in zip(self.domain.attributes, counts.tables, strict=True):
            if attribute.cardinality == 1:
                weights.append(np.full((1, 1), UNIT, np.uint64))
                continue
            own = bin_of_value(attribute, self.bins)
            sizes = np.bincount(own)
            counted = np.zeros(len(sizes), np.int64)
            np.add.at(counted, own, table)
            parameters = {
                "scale": self.scale,
                "attribute": attribute.name,
                "bins": own.tolist(),
                "domain": self.domain.digest,
            }
            noise = law.sample(open_stream(mechanism="histogram", parameters=parameters), len(counted))
            shares = probabilities_of((counted + noise)[None, :]) / sizes
            weights.append(integer_weights(shares[:, own]))
        return BayesNet(self.domain, graph, tuple(weights))
