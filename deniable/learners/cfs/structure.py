"""Structure learning: noisy entropies, symmetrical uncertainty, CFS merit, an acyclic graph.

Everything here is post-processing of noisy entropies. Counts and probability tables do not belong here.

Source: Bindschaedler, Shokri, Gunter 2017, section 3.3 (eq. 4-6); Hall 1999 for the merit.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Domain, Parents
from deniable.foundation.keys import StreamOpener
from deniable.foundation.tables import PairCounts, configuration_count
from deniable.learners.cfs.entropies import EntropyMechanism, EntropyRecipe, Noise, NoisyEntropies
from deniable.models.graph import Graph, topological_order
from deniable.privacy.loss import Guarantee, MechanismEvent

Similarities = NDArray[np.float64]

MAX_ORDERS = 32
"""Number of attribute orders in which the greedy search is run."""


def symmetrical_uncertainty(first: float, second: float, joint: float) -> float:
    """SU = 2 - 2 H(X,Y) / (H(X) + H(Y)), clamped to [0, 1]; 0 if the denominator is not positive (eq. 5)."""
    total = first + second
    return min(1.0, max(0.0, 2 - 2 * joint / total)) if total > 0 else 0.0


def merit(to_child: NDArray[np.float64], among: Similarities) -> float:
    """CFS merit of a parent set (eq. 4).

    Args:
        to_child: correlation of the child with each parent, shape (p,).
        among: correlations of the parents with each other, shape (p, p); the diagonal is unused.

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
    """Greedily give each attribute in turn the parents that increase its merit most, keeping the graph acyclic.

    Args:
        domain: the table's domain, m attributes.
        to_child: SU(x_i, bkt x_j) at [i, j], shape (m, m).
        among: SU(bkt x_i, bkt x_j), shape (m, m).
        max_cost: largest number of parent configurations of an attribute (eq. 6).
        order: the order in which attributes choose their parents; public.

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
    """Public attribute orders for the greedy search: the column order and its rotations, forwards and backwards."""
    rotations = [tuple((start + i) % m for i in range(m)) for start in range(m)]
    return tuple(dict.fromkeys(order for rotation in rotations for order in (rotation, rotation[::-1])))[:MAX_ORDERS]


def similarities(entropies: NoisyEntropies) -> tuple[Similarities, Similarities]:
    """Symmetrical uncertainties of all pairs (eq. 5).

    Returns:
        SU(x_i, bkt x_j) at [i, j] and SU(bkt x_i, bkt x_j), both of shape (m, m), diagonals 1.
    """
    m = len(entropies.domain)
    to_child, among = np.eye(m), np.eye(m)
    for i in range(m):
        for j in range(m):
            if i != j:
                h_i, h_j = entropies.of((i, False)), entropies.of((j, True))
                to_child[i, j] = symmetrical_uncertainty(h_i, h_j, entropies.of((i, False), (j, True)))
                h_i = entropies.of((i, True))
                among[i, j] = symmetrical_uncertainty(h_i, h_j, entropies.of((i, True), (j, True)))
    return to_child, among


def learn_graph(entropies: NoisyEntropies, max_cost: int) -> Graph:
    """The acyclic graph with the largest total merit found by greedy search over public attribute orders.

    Args:
        entropies: noisy entropies.
        max_cost: largest number of parent configurations of an attribute (eq. 6).
    """
    domain = entropies.domain
    to_child, among = similarities(entropies)
    found = [greedy_graph(domain, to_child, among, max_cost, order) for order in search_orders(len(domain))]
    parents, _ = max(found, key=lambda item: item[1])
    return Graph(
        parents=parents,
        order=topological_order(domain, parents),
        similarity=tuple(tuple(float(to_child[child, j]) for j in those) for child, those in enumerate(parents)),
    )


@dataclass(frozen=True)
class StructureRecipe:
    """The budget of a graph, and the largest number of parent configurations.

    Attributes:
        epsilon: epsilon of the whole structure, including the row count.
        delta: delta of the whole structure.
        epsilon_rows: epsilon of the noisy row count, less than `epsilon`.
        max_cost: largest number of parent configurations of an attribute (eq. 6).
        noise: discrete Laplace (the paper's, on integers) or discrete Gaussian.
    """

    epsilon: Fraction
    delta: Fraction
    epsilon_rows: Fraction
    max_cost: int
    noise: Noise

    def calibrate(self, domain: Domain) -> "StructureMechanism":
        """Scale the noise to the budget; only the budget and the public domain are used.

        Raises:
            InvalidInput: the budget does not suffice.
        """
        recipe = EntropyRecipe(self.epsilon, self.delta, self.epsilon_rows, self.noise)
        return StructureMechanism(recipe.calibrate(domain), self.max_cost)


@dataclass(frozen=True)
class StructureMechanism:
    """Noisy entropies, and the graph that follows from them.

    Attributes:
        entropies: the mechanism that reads the counts.
        max_cost: largest number of parent configurations of an attribute.
    """

    entropies: EntropyMechanism
    max_cost: int

    @property
    def events(self) -> tuple[MechanismEvent, ...]:
        """The mechanisms applied to the data, fixed before any row is read."""
        return self.entropies.events

    @property
    def guarantee(self) -> Guarantee:
        """Total cost."""
        return self.entropies.guarantee

    def run(self, counts: PairCounts, open_stream: StreamOpener) -> Graph:
        """Draw the noisy entropies and search for the graph.

        Args:
            counts: counts of the structure part.
            open_stream: opens the streams of this step.

        Raises:
            Refused: the structure part is too small.
        """
        return learn_graph(self.entropies.run(counts, open_stream), self.max_cost)
