"""From counts to a model: attributes, pools, a tree of pairs or public sets of attributes, and the fit of all tables.

Counts leave this module only through the private queries; everything else is a function of their answers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from deniable.foundation.domain import Domain
from deniable.learners.loglinear.estimation.counting import Counter, Partition
from deniable.learners.mst.measuring import Queries
from deniable.learners.mst.pooling import Pooled, Within, pooled, sizes_of, without_noise
from deniable.learners.mst.selection import choose_tree, dependence, expected_counts
from deniable.measurements.noisy_tables import MeasuredTable
from deniable.models.graphical.fitting import Fit, ImpossibleCells, NoisyTable, fit

# The loss is half a chi-squared statistic of the noisy counts: a thousandth of it in 20 iterations is within the noise.
_TOLERANCE = 1e-3


@dataclass(frozen=True, eq=False)
class Learnt:
    """The public result of learning.

    Attributes:
        pools: the pooled values of each attribute.
        fitted: the model of the pooled values.
    """

    pools: tuple[Pooled, ...]
    fitted: Fit


def learn(queries: Queries, counter: Counter, within: Within) -> Learnt:
    """Carry out a plan.

    Args:
        queries: the private queries; afterwards they hold the releases.
        counter: counts tables of the confidential rows.
        within: the division of a pool's records among its values.
    """
    plan = queries.plan
    domain, counted = plan.domain, plan.layout.counted
    ones = counter.tables(Partition.finest(domain), [(i,) for i in counted]) if counted else []
    pools = [without_noise(size) for size in domain.cardinalities]
    for attribute, counts in zip(counted, ones, strict=True):
        released = queries.measure_one(attribute, counts).releases[0].sums
        pools[attribute] = pooled(released, plan.one_way_variance, within)
    if plan.layout.choices:
        _measure_tree(queries, counter, pools)
    elif plan.layout.cliques:
        buckets = Partition(tuple(own.bucket_of for own in pools))
        tables = counter.tables(buckets, plan.layout.cliques)
        for clique, counts in zip(plan.layout.cliques, tables, strict=True):
            queries.measure_several(clique, counts, [pools[i].bucket_of for i in clique], "public")
    return Learnt(tuple(pools), fitted(queries.tables, pools, domain))


def _measure_tree(queries: Queries, counter: Counter, pools: Sequence[Pooled]) -> None:
    """Choose the pairs of a tree and release their counts; all pairs are counted in one pass over the rows."""
    counted = queries.plan.layout.counted
    pairs = list(combinations(counted, 2))
    buckets = Partition(tuple(own.bucket_of for own in pools))
    counts = dict(zip(pairs, counter.tables(buckets, pairs), strict=True))
    alone = fitted(queries.tables, pools, queries.plan.domain).model
    margins = {i: alone.marginal((i,)) for i in counted}
    scores = {(a, b): dependence(counts[a, b], expected_counts(margins[a], margins[b], alone.total)) for a, b in pairs}

    def choose(those: Sequence[tuple[int, int]]) -> int:
        return queries.choose([scores[pair] for pair in those], those)

    for pair in choose_tree(counted, choose):
        queries.measure_several(pair, counts[pair], [pools[i].bucket_of for i in pair], "tree")


def fitted(tables: Sequence[MeasuredTable], pools: Sequence[Pooled], domain: Domain) -> Fit:
    """The model of pooled values that best fits the released tables, with the domain's structural zeros."""
    return fit(
        sizes_of(pools),
        [noisy_table(table, pools) for table in tables],
        impossible=[own for table in tables for own in impossible_cells(table.attributes, pools, domain)],
        tolerance=_TOLERANCE,
    )


def impossible_cells(attributes: Sequence[int], pools: Sequence[Pooled], domain: Domain) -> Iterator[ImpossibleCells]:
    """For each pair of a table's attributes, the combinations of pooled values that the domain's rules forbid."""
    for pair in combinations(attributes, 2):
        relation = domain.restricted_pairs.get(pair)
        if relation is None:
            continue
        possible = np.zeros((pools[pair[0]].size, pools[pair[1]].size), bool)
        classes = [
            np.unique(np.stack([own, pools[i].bucket_of]), axis=1)
            for own, i in zip(relation.classes, pair, strict=True)
        ]
        (first, first_pool), (second, second_pool) = classes
        np.logical_or.at(possible, np.ix_(first_pool, second_pool), relation.allowed[np.ix_(first, second)])
        if not possible.all():
            yield ImpossibleCells(pair, ~possible)


def noisy_table(table: MeasuredTable, pools: Sequence[Pooled]) -> NoisyTable:
    """A released table over pooled values; in a one-way table, a pool has the summed noise of its values."""
    deviation = np.sqrt(table.variance)
    if not table.by_values:
        return NoisyTable(table.attributes, table.values, float(deviation))
    (attribute,) = table.attributes
    own = pools[attribute]
    return NoisyTable(table.attributes, own.counts.astype(np.float64), deviation * np.sqrt(own.values))
