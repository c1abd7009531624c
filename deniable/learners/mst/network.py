"""From fitted tables of pooled values to a Bayesian network of all values, in integers.

The attributes that a clique adds, given those that it shares with the rest of the tree, get one conditional table
each. Parents are used by pooled value; a pool's records are divided among its values by their shares.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from deniable.foundation.domain import Domain
from deniable.learners.cfs.parameters import integer_weights
from deniable.learners.mst.pooling import Cells, Pooled
from deniable.models.bayes_net import UNIT, BayesNet
from deniable.models.graph import Graph, topological_order
from deniable.models.graphical.elementary import logarithm
from deniable.models.graphical.graphical_model import GraphicalModel

_DIGITS = 6


def with_buckets(domain: Domain, pools: Sequence[Pooled]) -> Domain:
    """The domain in which the buckets of parents are pooled values."""
    attributes = (
        replace(attribute, buckets=tuple(own.bucket_of.tolist()))
        for attribute, own in zip(domain.attributes, pools, strict=True)
    )
    return replace(domain, attributes=tuple(attributes))


def parents_of(model: GraphicalModel) -> tuple[tuple[int, ...], ...]:
    """The parents of each attribute: the clique's separator, and the attributes that the clique added earlier.

    A clique adds attributes with few values first.
    """
    sizes = model.tree.sizes
    parents: list[tuple[int, ...]] = [()] * len(sizes)
    placed: set[int] = set()
    for clique, separator in zip(model.tree.cliques, model.tree.separators, strict=True):
        before = list(separator)
        for attribute in sorted(set(clique) - placed, key=lambda i: (sizes[i], i)):
            parents[attribute] = tuple(sorted(before))
            before.append(attribute)
            placed.add(attribute)
    return tuple(parents)


def network_of(domain: Domain, pools: Sequence[Pooled], model: GraphicalModel) -> BayesNet:
    """The Bayesian network with the model's joint distribution of pooled values.

    Args:
        domain: the public domain.
        pools: the pooled values of each attribute.
        model: the fitted model of the pooled values.
    """
    coarse = with_buckets(domain, pools)
    parents = parents_of(model)
    weights, similarity = [], []
    for child, those in enumerate(parents):
        size = coarse.cardinalities[child]
        if size == 1:
            weights.append(np.full((int(np.prod([pools[i].size for i in those])), 1), UNIT, np.uint64))
            similarity.append((0.0,) * len(those))
            continue
        table = model.marginal(tuple(sorted((*those, child))))
        axis = sorted((*those, child)).index(child)
        rows = np.ascontiguousarray(np.moveaxis(table, axis, -1)).reshape(-1, pools[child].size)
        weights.append(integer_weights(_by_values(_conditional(rows), pools[child])))
        pairs = [model.marginal(tuple(sorted((parent, child)))) for parent in those]
        similarity.append(tuple(_similarity(pair) for pair in pairs))
    graph = Graph(parents=parents, order=topological_order(coarse, parents), similarity=tuple(similarity))
    return BayesNet(coarse, graph, tuple(weights), has_own_buckets=True)


def _conditional(table: Cells) -> Cells:
    """Shares in each row; for an empty row, those of all rows together, or equal shares if all are empty."""
    whole = table.sum(axis=0, keepdims=True)
    whole = whole / whole.sum() if whole.sum() > 0 else np.full_like(whole, 1 / whole.size)
    sums = table.sum(axis=1, keepdims=True)
    return np.where(sums > 0, table / np.where(sums > 0, sums, 1.0), whole)


def _by_values(shares: Cells, own: Pooled) -> Cells:
    """Shares of the values, from those of the buckets."""
    return shares[:, own.bucket_of] * own.shares


def _similarity(pair: Cells) -> float:
    """Symmetrical uncertainty of the two attributes of a table, 0 to 1."""
    shares = pair / pair.sum()
    one, other, both = (_entropy(own) for own in (shares.sum(axis=1), shares.sum(axis=0), shares.ravel()))
    if one + other <= 0:
        return 0.0
    # Negative zero and rounding errors below 0 become 0.
    return max(round(2 - 2 * both / (one + other), _DIGITS), 0.0) + 0.0


def _entropy(shares: Cells) -> float:
    held = np.ascontiguousarray(shares[shares > 0])
    return -float((held * logarithm(held)).sum())
