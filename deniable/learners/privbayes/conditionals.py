"""Noisy tables of a chosen network, and the Bayesian network that follows from them.

The first attributes have one joint table, by value; each further attribute has one by its parents' buckets. Sums, the
nearest non-negative counts with the same total, and division are post-processing of noisy integers.

Source: Zhang et al. 2017, Algorithm 1; Ping, Stoyanovich, Howe 2017 (correlated attribute mode).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import fsum, log2

import numpy as np

from deniable.foundation.keys import StreamOpener
from deniable.foundation.noise import DiscreteLaplace
from deniable.foundation.tables import Counts, configuration_strides
from deniable.learners.cfs.parameters import Estimates, Probabilities, integer_weights, nearest_with_noisy_totals
from deniable.learners.cfs.structure import symmetrical_uncertainty
from deniable.learners.privbayes.counting import Family, FamilyTables, by_values
from deniable.learners.privbayes.plan import NetworkPlan
from deniable.learners.privbayes.structure import Network
from deniable.measurements.noisy_tables import MeasuredTable, NoiseLaw, Release
from deniable.mechanisms import Counter
from deniable.models.bayes_net import UNIT, BayesNet, Weights
from deniable.models.graph import Graph

FIRST, FURTHER = "first", "further"
"""Reasons for tables: the joint table of the first attributes, and that of a further attribute with its parents."""

_DIGITS = 6


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """A released table.

    Attributes:
        family: the attribute and its parents.
        counts: noisy counts, shape (configurations of the parents' buckets, values).
    """

    family: Family
    counts: Counts


def learn_tables(
    plan: NetworkPlan, network: Network, counter: Counter, open_stream: StreamOpener
) -> tuple[tuple[NoisyTable, ...], tuple[MeasuredTable, ...]]:
    """Count the tables of a network, add noise, and marginalise the first one for each attribute in it.

    Args:
        plan: the budget.
        network: the chosen families.
        counter: counts the rows.
        open_stream: opens the streams of this step.

    Returns:
        A table for each family, and the released tables.
    """
    if not network:
        return (), ()
    domain = plan.domain
    together, others = network[: plan.degree + 1], network[plan.degree + 1 :]
    law = DiscreteLaplace(plan.scale)

    def noisy(table: Counts, family: Family, kind: str) -> Counts:
        stream = open_stream(
            mechanism="counts",
            parameters={
                "table": kind,
                "scale": plan.scale,
                "attribute": domain.names[family.child],
                "parents": [domain.names[parent] for parent in family.parents],
                "domain": domain.digest,
            },
        )
        return table + law.sample(stream, table.size).reshape(table.shape)

    last = together[-1]
    first = noisy(
        counter.count(partial(FamilyTables, by_values(domain), [last]), "first table").tables[0], last, "first"
    )
    joint = first.reshape([domain.cardinalities[i] for i in (*last.parents, last.child)])
    tables = [NoisyTable(family, _summed(plan, joint, last, family)) for family in together]
    released = [_released(plan, joint, last, 1, by_values=(*last.parents, last.child))]
    if others:
        counted = counter.count(partial(FamilyTables, domain, others), "further tables").tables
        for turn, (family, table) in enumerate(zip(others, counted, strict=True), 2):
            counts = noisy(table, family, "further")
            tables.append(NoisyTable(family, counts))
            by_buckets = counts.reshape([*(domain.bucket_counts[i] for i in family.parents), table.shape[1]])
            released.append(_released(plan, by_buckets, family, turn, by_values=(family.child,)))
    return tuple(tables), tuple(released)


def _released(plan: NetworkPlan, counts: Counts, family: Family, turn: int, by_values: Sequence[int]) -> MeasuredTable:
    """A released table, with its attributes in the order of the domain."""
    axes = (*family.parents, family.child)
    sums = np.ascontiguousarray(counts.transpose(np.argsort(axes)))
    return MeasuredTable(
        attributes=tuple(sorted(axes)),
        releases=(Release(sums=sums, noise=NoiseLaw("laplace", plan.scale), turn=turn),),
        by_values=tuple(sorted(by_values)),
        reason=FIRST if turn == 1 else FURTHER,
    )


def _summed(plan: NetworkPlan, joint: Counts, last: Family, family: Family) -> Counts:
    """Noisy counts of an attribute of the first table by its parents' buckets, summed over all other attributes."""
    axes = [*last.parents, last.child]
    kept = [*family.parents, family.child]
    table = joint.sum(axis=tuple(axis for axis, i in enumerate(axes) if i not in kept))
    table = np.moveaxis(table, [i for i in axes if i in kept].index(family.child), -1)
    for axis, parent in enumerate(family.parents):
        buckets = plan.domain.attributes[parent].bucket_of
        moved = np.moveaxis(table, axis, 0)
        coarse = np.zeros((plan.domain.bucket_counts[parent], *moved.shape[1:]), np.int64)
        np.add.at(coarse, buckets, moved)
        table = np.moveaxis(coarse, 0, axis)
    return np.ascontiguousarray(table.reshape(-1, plan.domain.cardinalities[family.child]))


def nearest_table(noisy: Counts) -> Estimates:
    """The nearest non-negative counts with the noisy total of the whole table, or 0 if that is negative.

    Setting negative counts to 0 and keeping the others would add about half the noise's mean size for each cell in
    which nobody is. All cells of the table have the same noise, and its total is known more precisely than that of any
    configuration, so the excess is taken back from all cells alike.

    Args:
        noisy: counts with noise, shape (configurations, values).

    Returns:
        Estimates of the same shape.
    """
    return nearest_with_noisy_totals(noisy.reshape(1, -1)).reshape(noisy.shape)


def weights_of(table: Counts) -> Weights:
    """Conditional probabilities given the parents; for an empty configuration, the marginal probabilities.

    Args:
        table: counts with noise, shape (configurations, values).
    """
    counts = nearest_table(table)
    shares = _shares(counts)
    shares[counts.sum(axis=1) == 0] = _shares(nearest_table(table.sum(axis=0, keepdims=True)))
    return integer_weights(shares)


def _shares(counts: Estimates) -> Probabilities:
    """Shares of non-negative counts in each row; those of a row without any are equal."""
    total = counts.sum(axis=1, keepdims=True)
    return np.where(total > 0, counts / np.where(total > 0, total, 1), 1 / counts.shape[1])


def network_of(plan: NetworkPlan, tables: Sequence[NoisyTable]) -> BayesNet:
    """The Bayesian network of noisy tables; attributes with one value come last and have no parents."""
    domain = plan.domain
    found = {table.family.child: table for table in tables}
    alone = [i for i in range(len(domain)) if i not in found]
    graph = Graph(
        parents=tuple(found[i].family.parents if i in found else () for i in range(len(domain))),
        order=(*(table.family.child for table in tables), *alone),
        similarity=tuple(_similarities(plan, found[i]) if i in found else () for i in range(len(domain))),
    )
    weights = tuple(
        weights_of(found[i].counts) if i in found else np.full((1, 1), UNIT, np.uint64) for i in range(len(domain))
    )
    return BayesNet(domain, graph, weights)


def _similarities(plan: NetworkPlan, table: NoisyTable) -> tuple[float, ...]:
    """Symmetrical uncertainty of an attribute and each parent's buckets, from noisy counts."""
    parents, child = table.family
    strides = configuration_strides(plan.domain, parents)
    counts = nearest_table(table.counts)
    found = []
    for parent, stride in zip(parents, strides, strict=True):
        bucket = np.arange(len(counts)) // stride % plan.domain.bucket_counts[parent]
        pair = np.zeros((plan.domain.bucket_counts[parent], plan.domain.cardinalities[child]))
        np.add.at(pair, bucket, counts)
        entropies = (_entropy(each) for each in (pair.sum(axis=1), pair.sum(axis=0), pair))
        # Logarithms on two machines differ in the last digits, and the graph is in the digest of the model.
        found.append(round(symmetrical_uncertainty(*entropies), _DIGITS))
    return tuple(found)


def _entropy(counts: Estimates) -> float:
    total = counts.sum()
    return -fsum(count / total * log2(count / total) for count in counts.ravel().tolist() if count)
