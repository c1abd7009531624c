"""Belief propagation on a junction tree: computes the cliques' marginals from their potentials, in logarithms.

Every sum has a fixed order, and exponentials and logarithms have the same digits everywhere, so that the marginals are
identical on every processor.

Source: Lauritzen and Spiegelhalter 1988; Koller and Friedman 2009, section 10.3.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deniable.foundation.errors import InvalidInput
from deniable.models.graphical.elementary import Cells, exponential, logarithm
from deniable.models.graphical.junction_tree import Attributes, JunctionTree


@dataclass(frozen=True, eq=False)
class Beliefs:
    """Marginals of the cliques.

    Attributes:
        tables: the probabilities of each clique's cells.
        log_partition: logarithm of the sum of the unnormalised joint distribution.
    """

    tables: tuple[Cells, ...]
    log_partition: float


def expanded(table: Cells, own: Attributes, wider: Attributes) -> Cells:
    """Reshape a table of some attributes so that it broadcasts with a table of more attributes."""
    sizes = dict(zip(own, table.shape, strict=True))
    return table.reshape([sizes.get(i, 1) for i in wider])


def summed(table: Cells, own: Attributes, kept: Attributes) -> Cells:
    """Sum a table over all but some of its attributes."""
    dropped = tuple(axis for axis, i in enumerate(own) if i not in kept)
    return np.ascontiguousarray(table).sum(axis=dropped) if dropped else table


def log_summed(table: Cells, own: Attributes, kept: Attributes) -> Cells:
    """Sum a table, given by its logarithms, over all but some attributes; return logarithms."""
    dropped = tuple(axis for axis, i in enumerate(own) if i not in kept)
    if not dropped:
        return table
    highest = table.max(axis=dropped, keepdims=True)
    highest = np.where(highest > -np.inf, highest, 0.0)
    sums = exponential(table - highest).sum(axis=dropped)
    return logarithm(sums) + highest.reshape(sums.shape)


def propagate(tree: JunctionTree, potentials: Sequence[Cells]) -> Beliefs:
    """Compute the marginals of all cliques.

    Args:
        tree: the junction tree.
        potentials: the logarithm of each clique's factor, minus infinity for impossible cells.

    Raises:
        InvalidInput: no record is possible.
    """
    gathered = list(potentials)
    upward: list[Cells] = [np.zeros(())] * len(gathered)
    for number in reversed(range(1, len(gathered))):
        clique, parent = tree.cliques[number], tree.parents[number]
        upward[number] = log_summed(gathered[number], clique, tree.separators[number])
        gathered[parent] = gathered[parent] + expanded(upward[number], tree.separators[number], tree.cliques[parent])
    log_partition = float(log_summed(gathered[0], tree.cliques[0], ()))
    if log_partition == -np.inf:
        raise InvalidInput("some record must be possible, got impossible combinations that leave none; allow more.")
    tables = [exponential(gathered[0] - log_partition)]
    for number in range(1, len(gathered)):
        clique, separator = tree.cliques[number], tree.separators[number]
        above = summed(tables[tree.parents[number]], tree.cliques[tree.parents[number]], separator)
        possible = (above > 0) & (upward[number] > -np.inf)
        ratio = np.where(possible, logarithm(above) - np.where(possible, upward[number], 0.0), -np.inf)
        tables.append(exponential(gathered[number] + expanded(ratio, separator, clique)))
    return Beliefs(tuple(tables), log_partition)
