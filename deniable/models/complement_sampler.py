"""A network conditioned on records that begin with none of some prefixes: one word per value, without rejection.

A value is drawn with its probability times the conditional probability that the rest avoids the prefixes, which is
computed once for every initial part of a prefix. Once no prefix can be completed, the network is unchanged. Shares are
again multiples of 2^-32, so that sampler and density agree exactly. The choice of prefixes does not belong here.
"""

# numba infers the types of kernels
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, disallow-untyped-decorators=False

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Codes
from deniable.foundation.tables import Counts
from deniable.kernels import kernel
from deniable.models.sequential_kernels import Network, factor_of

_UNIT = 4294967296.0
_NOWHERE = -1


class ComplementSampler(NamedTuple):
    """The initial parts of prefixes as a tree for compiled code; nodes are sorted by length, shortest first.

    Attributes:
        length: number of attributes of a prefix.
        start: start of each node's values in `child` and `bound`; complete prefixes have none.
        child: number of the node that a value leads to, -1 if no prefix continues with the value.
        bound: end of each value's share of [0, 2^32).
        mass: for each node, the conditional probability of completing none of the prefixes.
    """

    length: int
    start: Counts
    child: Counts
    bound: NDArray[np.uint64]
    mass: NDArray[np.float64]

    @property
    def share(self) -> float:
        """Probability under the network of beginning with none of the prefixes."""
        return float(self.mass[0]) if len(self.mass) else 1.0


@kernel
def _weigh(net, beginnings, first, tree):
    """Fill in shares and masses of the nodes of one length, given those of greater length."""
    position = beginnings.shape[1]
    record = np.zeros(tree.length, np.uint16)
    _, start, child, bound, mass = tree
    for number in range(len(beginnings)):
        node = first + number
        record[:position] = beginnings[number]
        size = start[node + 1] - start[node]
        running = np.zeros(size)
        total = 0.0
        for value in range(size):
            record[position] = value
            after = child[start[node] + value]
            total += factor_of(net, position, record) * (mass[after] if after >= 0 else 1.0)
            running[value] = total
        mass[node] = total
        if total > 0:
            for value in range(size):
                bound[start[node] + value] = np.uint64(running[value] / total * _UNIT)


@numba.njit(nogil=True, cache=True, inline="always")
def complement_place(tree, node, word):
    """Position in `child` and `bound` of the value that a word selects at a node."""
    nearest = tree.start[node]
    furthest = tree.start[node + 1] - 1
    while nearest < furthest:
        between = (nearest + furthest) >> 1
        if np.uint64(word) < tree.bound[between]:
            furthest = between
        else:
            nearest = between + 1
    return nearest


@kernel
def complement_density(net, tree, record):
    """Probability of a record, conditional on beginning with none of the prefixes."""
    found = 1.0
    node = 0 if len(tree.mass) else _NOWHERE
    for position in range(len(record)):
        if node < 0:
            found *= factor_of(net, position, record)
        elif position == tree.length:
            return 0.0
        else:
            place = tree.start[node] + record[position]
            before = tree.bound[place - 1] if record[position] > 0 else np.uint64(0)
            found *= float(tree.bound[place] - before) / _UNIT
            node = tree.child[place]
    return found if node < 0 else 0.0


def complement(net: Network, cells: Codes) -> ComplementSampler:
    """Condition a network on avoiding some prefixes.

    Args:
        net: the network.
        cells: the prefixes, codes of its first attributes, in lexicographic order, shape (v, L).
    """
    length = cells.shape[1]
    if not len(cells):
        none = np.zeros(0, np.int64)
        return ComplementSampler(length, np.zeros(1, np.int64), none, none.astype(np.uint64), none.astype(np.float64))
    sizes = [net.domain.cardinalities[column] for column in net.order[:length].tolist()]
    # The number of each prefix's initial part of each length, among the nodes of that length.
    numbers = [np.zeros(len(cells), np.int64)]
    for position in range(length):
        new = (cells[1:, : position + 1] != cells[:-1, : position + 1]).any(axis=1)
        numbers.append(np.concatenate([[0], np.cumsum(new)]))
    counts = [int(those[-1]) + 1 for those in numbers]
    firsts = np.concatenate([[0], np.cumsum(counts)]).tolist()
    widths = np.repeat([*sizes, 0], counts)
    start = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
    tree = ComplementSampler(
        length=length,
        start=start,
        child=np.full(start[-1], _NOWHERE, np.int64),
        bound=np.zeros(start[-1], np.uint64),
        mass=np.zeros(firsts[-1], np.float64),
    )
    for position in range(length):
        nodes = firsts[position] + numbers[position]
        tree.child[start[nodes] + cells[:, position]] = firsts[position + 1] + numbers[position + 1]
    for position in reversed(range(length)):
        _, example = np.unique(numbers[position], return_index=True)
        _weigh(net.arrays, np.ascontiguousarray(cells[example, :position]), firsts[position], tree)
    return tree
