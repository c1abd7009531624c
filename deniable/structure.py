"""Structure learning: noisy entropies, symmetrical uncertainty, CFS merit, an acyclic graph.

Rows are never seen and counts only once, to draw the noisy entropies; everything after that is post-processing. Probability
tables do not belong here.

Source: Bindschaedler, Shokri, Gunter 2017, sections 3.3 and 3.5, eq. 4-10; Hall 1999 for the merit.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, permutations
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from deniable.accounting import best, calibrate_discrete_gaussian, calibrate_discrete_laplace
from deniable.domain import Domain
from deniable.graph import Graph, topological_order
from deniable.keys import WordStream
from deniable.loss import Guarantee, MechanismEvent
from deniable.noise import DiscreteGaussian, DiscreteLaplace
from deniable.tables import Counts, PairCounts, Parents, bucketize, configuration_count

Noise = Literal["laplace", "gaussian"]
View = tuple[int, bool]
"""An attribute's number and whether it is seen in buckets."""
Query = tuple[View, ...]
"""The views whose joint entropy is asked for."""
Similarities = NDArray[np.float64]

GRID = 2**32
"""Entropies are released as integers, in units of 2^-32 bit: integers can be noised exactly."""

BETA_SHARE = Fraction(1, 10)
"""Share of the structure's delta that pays for the lower bound on the row count being wrong."""

MAX_ORDERS = 32
"""Attribute orders that the greedy search is tried with."""


class StreamOpener(Protocol):
    """Opens the stream of one mechanism of a step whose key and inputs are fixed."""

    def __call__(self, *, mechanism: str, parameters: dict[str, str | int | Fraction]) -> WordStream:
        """Open the stream of a mechanism with exactly these parameters."""


# ---- which entropies


def canonical(domain: Domain, views: Query) -> Query:
    """Reduce a query to what it depends on: identity buckets are full resolution, constants carry no entropy."""
    reduced = []
    for attribute, coarse in views:
        description = domain.attributes[attribute]
        size = description.bucket_count if coarse else description.cardinality
        if size > 1:
            reduced.append((attribute, coarse and size < description.cardinality))
    return tuple(sorted(reduced))


def entropy_queries(domain: Domain) -> tuple[Query, ...]:
    """The distinct entropies that CFS needs.

    There are m of H(x_i), m of H(bkt x_i), m(m-1) of H(x_i, bkt x_j) and m(m-1)/2 of H(bkt x_i, bkt x_j), m(3m+1)/2 in
    all; those that are equal by the public buckets alone are asked for once.
    """
    m = len(domain)
    wanted: list[Query] = [((i, coarse),) for coarse in (False, True) for i in range(m)]
    wanted += [((i, False), (j, True)) for i, j in permutations(range(m), 2)]
    wanted += [((i, True), (j, True)) for i, j in combinations(range(m), 2)]
    queries = dict.fromkeys(canonical(domain, query) for query in wanted)
    queries.pop((), None)
    return tuple(queries)


def entropy(counts: Counts) -> float:
    """Shannon entropy of a table of counts, in bits; 0 for an empty table.

    The sum is rounded once (fsum), so that its value does not depend on the order or the width of vector units.
    """
    cells = [count for count in counts.ravel().tolist() if count]
    total = sum(cells)
    if total == 0:
        return 0.0
    return max(0.0, math.log2(total) - math.fsum(count * math.log2(count) for count in cells) / total)


def entropy_sensitivity(rows: int) -> float:
    """Largest change of an entropy, in bits, when one row is added to `rows` rows: H_b(1/(n+1)).

    Moving from n to n+1 rows moves the distribution to (n p + e)/(n+1) for a point mass e. The entropy changes most when
    all of p sits in one cell and e in another, which is the binary entropy of 1/(n+1); it decreases in n, so that a lower
    bound on n is safe. Bindschaedler, Shokri, Gunter 2017, eq. 9 is twice this and for replaced rows.

    Args:
        rows: number of rows of the smaller table, at least 1.
    """
    share = 1 / (rows + 1)
    return -share * math.log2(share) - (1 - share) * math.log1p(-share) / math.log(2)


def grid_sensitivity(rows: int) -> int:
    """Sensitivity of an entropy in grid units: rounding moves each of two values by half a unit, floats by far less."""
    return math.floor(entropy_sensitivity(rows) * GRID) + 2


def count_table(counts: PairCounts, query: Query) -> Counts:
    """The joint counts of a query's views."""
    domain = counts.domain
    numbers = [attribute for attribute, _ in query]
    table = counts.one(*numbers) if len(numbers) == 1 else counts.pair(*numbers)
    for axis, (attribute, coarse) in enumerate(query):
        if coarse:
            table = bucketize(table, domain.attributes[attribute].bucket_of, axis)
    return table


# ---- the graph


def symmetrical_uncertainty(first: float, second: float, joint: float) -> float:
    """SU = 2 - 2 H(X,Y) / (H(X) + H(Y)), clamped to [0, 1]; 0 where the denominator is not positive (eq. 5)."""
    total = first + second
    return min(1.0, max(0.0, 2 - 2 * joint / total)) if total > 0 else 0.0


def merit(to_child: NDArray[np.float64], among: Similarities) -> float:
    """CFS merit of a parent set (eq. 4).

    Args:
        to_child: correlation of the child with each parent, shape (p,).
        among: correlations of the parents with each other, shape (p, p); the diagonal is not read.

    Returns:
        sum of `to_child` / sqrt(p + sum of `among` over ordered pairs); 0 for the empty set.
    """
    p = len(to_child)
    if p == 0:
        return 0.0
    return float(to_child.sum() / math.sqrt(p + among.sum() - np.trace(among)))


def greedy_graph(
    domain: Domain, to_child: Similarities, among: Similarities, max_cost: int, order: tuple[int, ...]
) -> tuple[Parents, float]:
    """Give each attribute in turn the parents that raise its merit most, while the graph stays acyclic.

    Args:
        domain: the table's domain, m attributes.
        to_child: SU(x_i, bkt x_j) at [i, j], shape (m, m).
        among: SU(bkt x_i, bkt x_j), shape (m, m).
        max_cost: largest number of parent configurations of an attribute (eq. 6).
        order: the attributes in the order in which they choose; public.

    Returns:
        The parents of each attribute, in the order in which they were chosen, and the sum of the merits.
    """
    m = len(domain)
    parents: list[list[int]] = [[] for _ in range(m)]
    descends = np.eye(m, dtype=bool)
    """descends[a, b]: b is a or descends from a."""
    total = 0.0
    for child in order:
        chosen = parents[child]
        reached = 0.0
        while True:
            room = max_cost // configuration_count(domain, tuple(chosen))
            candidates = [
                j
                for j in range(m)
                if j not in chosen and not descends[child, j] and 1 < domain.bucket_counts[j] <= room
            ]
            scores = [
                merit(to_child[child, [*chosen, j]], among[np.ix_([*chosen, j], [*chosen, j])]) for j in candidates
            ]
            if not scores or max(scores) <= reached:
                break
            reached = max(scores)
            parent = candidates[scores.index(reached)]
            chosen.append(parent)
            descends |= np.outer(descends[:, parent], descends[child])
        total += reached
    return tuple(tuple(chosen) for chosen in parents), total


def search_orders(m: int) -> tuple[tuple[int, ...], ...]:
    """Public orders to try the greedy search with: the columns' order and its rotations, each also backwards."""
    rotations = [tuple((start + i) % m for i in range(m)) for start in range(m)]
    return tuple(dict.fromkeys(order for rotation in rotations for order in (rotation, rotation[::-1])))[:MAX_ORDERS]


# ---- the mechanism


@dataclass(frozen=True)
class StructureRecipe:
    """What a structure may cost and how large it may become.

    Attributes:
        epsilon: epsilon of the whole structure, row count included.
        delta: delta of the whole structure.
        epsilon_rows: epsilon of the noisy row count; a part of `epsilon`.
        max_cost: largest number of parent configurations of an attribute.
        noise: discrete Laplace (the paper's, on integers) or discrete Gaussian.
    """

    epsilon: Fraction
    delta: Fraction
    epsilon_rows: Fraction
    max_cost: int
    noise: Noise
