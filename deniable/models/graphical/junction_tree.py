"""Junction trees: the cliques of a triangulated graph, joined so that each attribute's cliques are connected.

Source: Koller and Friedman 2009, chapters 9 and 10.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod

from deniable.foundation.errors import InvalidInput

Attributes = tuple[int, ...]
"""Column numbers of a table's attributes, in ascending order."""

_BYTES_OF_A_CELL = 8


@dataclass(frozen=True)
class JunctionTree:
    """Cliques and the tree that joins them; cliques of unrelated attributes are joined by an empty separator.

    Attributes:
        sizes: number of values of each attribute.
        cliques: the attributes of each clique, every clique after its parent.
        parents: number of each clique's parent; -1 for the first.
        separators: attributes that each clique shares with its parent.
    """

    sizes: tuple[int, ...]
    cliques: tuple[Attributes, ...]
    parents: tuple[int, ...]
    separators: tuple[Attributes, ...]

    @classmethod
    def of(cls, sizes: Sequence[int], sets: Iterable[Iterable[int]]) -> "JunctionTree":
        """A tree whose cliques contain given sets of attributes, with as few cells as two heuristics achieve.

        Args:
            sizes: number of values of each attribute.
            sets: sets of attributes, each of which some clique must contain.

        Raises:
            InvalidInput: an attribute does not exist.
        """
        wanted = [tuple(sorted(set(own))) for own in sets]
        if any(not 0 <= i < len(sizes) for own in wanted for i in own):
            raise InvalidInput(f"the attributes of a table must be numbered 0 to {len(sizes) - 1}, got {wanted}.")
        found = [_maximal(_eliminated(sizes, wanted, by_cells=by_cells)) for by_cells in (True, False)]
        cliques = min(found, key=lambda own: sum(prod(sizes[i] for i in clique) for clique in own))
        return cls(tuple(sizes), *_joined(cliques))

    def shape(self, attributes: Attributes) -> tuple[int, ...]:
        """The shape of a table of some attributes."""
        return tuple(self.sizes[i] for i in attributes)

    @cached_property
    def cells(self) -> int:
        """Total number of cells of the cliques' tables."""
        return sum(prod(self.shape(clique)) for clique in self.cliques)

    @property
    def bytes(self) -> int:
        """Total size of the cliques' tables, at 8 bytes per cell."""
        return _BYTES_OF_A_CELL * self.cells

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Numbers of each clique's children."""
        below: list[list[int]] = [[] for _ in self.cliques]
        for child, parent in enumerate(self.parents):
            if parent >= 0:
                below[parent].append(child)
        return tuple(map(tuple, below))

    def home(self, attributes: Iterable[int]) -> int | None:
        """The smallest clique that contains some attributes; None if there is none."""
        inside = set(attributes)
        containing = [number for number, clique in enumerate(self.cliques) if inside <= set(clique)]
        return min(containing, key=lambda number: (prod(self.shape(self.cliques[number])), number), default=None)


def _eliminated(sizes: Sequence[int], sets: Iterable[Attributes], *, by_cells: bool) -> list[Attributes]:
    """The cliques that result from greedy elimination of attributes, cheapest first.

    The cost of an attribute is the number of cells of its clique, or the number of edges that its elimination adds.
    """
    neighbours: dict[int, set[int]] = {i: set() for i in range(len(sizes))}
    for own in sets:
        for a, b in combinations(own, 2):
            neighbours[a].add(b)
            neighbours[b].add(a)
    cliques = []
    while neighbours:
        costs = {i: _cost(sizes, neighbours, i, by_cells=by_cells) for i in neighbours}
        cheapest = min(neighbours, key=lambda i: (costs[i], i))
        around = neighbours.pop(cheapest)
        cliques.append(tuple(sorted({cheapest, *around})))
        for i in around:
            neighbours[i] |= around
            neighbours[i] -= {i, cheapest}
    return cliques


def _cost(sizes: Sequence[int], neighbours: Mapping[int, set[int]], i: int, *, by_cells: bool) -> tuple[int, int]:
    cells = prod(sizes[j] for j in (i, *neighbours[i]))
    added = sum(b not in neighbours[a] for a, b in combinations(sorted(neighbours[i]), 2))
    return (cells, added) if by_cells else (added, cells)


def _maximal(cliques: Sequence[Attributes]) -> list[Attributes]:
    """The maximal cliques, in ascending order."""
    distinct = sorted(set(cliques))
    return [own for own in distinct if not any(set(own) < set(other) for other in distinct)]


def _joined(
    cliques: Sequence[Attributes],
) -> tuple[tuple[Attributes, ...], tuple[int, ...], tuple[Attributes, ...]]:
    """A maximum spanning tree by size of separators (Prim), with cliques in the order in which they join it."""
    order, parents = [cliques[0]], [-1]
    separators: list[Attributes] = [()]
    nearest = dict.fromkeys(cliques[1:], 0)
    while nearest:
        chosen = max(nearest, key=lambda own: (len(_common(own, order[nearest[own]])), [-i for i in own]))
        parent = nearest.pop(chosen)
        order.append(chosen)
        parents.append(parent)
        separators.append(_common(chosen, order[parent]))
        for own, place in nearest.items():
            if len(_common(own, chosen)) > len(_common(own, order[place])):
                nearest[own] = len(order) - 1
    return tuple(order), tuple(parents), tuple(separators)


def _common(one: Attributes, other: Attributes) -> Attributes:
    return tuple(i for i in one if i in other)
