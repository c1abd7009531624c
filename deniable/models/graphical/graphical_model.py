"""A graphical model: expected counts of a junction tree's cliques, and of any other set of attributes.

The joint distribution is the product of the cliques' tables divided by the product of the separators' tables.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from deniable.models.graphical.belief_propagation import expanded, summed
from deniable.models.graphical.elementary import Cells
from deniable.models.graphical.junction_tree import Attributes, JunctionTree


@dataclass(frozen=True, eq=False)
class GraphicalModel:
    """A joint distribution of the attributes, in expected counts.

    Attributes:
        tree: the junction tree.
        tables: the expected counts of each clique's cells; tables of neighbours agree on their separator.
        total: number of records, the sum of each table.
    """

    tree: JunctionTree
    tables: tuple[Cells, ...]
    total: float

    def marginal(self, attributes: Sequence[int]) -> Cells:
        """Expected counts of a table, by summing a clique's table or by variable elimination.

        Args:
            attributes: column numbers, in ascending order.
        """
        kept = tuple(attributes)
        home = self.tree.home(kept)
        if home is not None:
            return summed(self.tables[home], self.tree.cliques[home], kept)
        table, own = self._gathered(0, frozenset(kept))
        return summed(table, own, kept)

    def _gathered(self, number: int, kept: frozenset[int]) -> tuple[Cells, Attributes]:
        """Counts over a clique and the kept attributes below it, restricted to those needed elsewhere."""
        table, own = self.tables[number], self.tree.cliques[number]
        above, separators = self.tree.separators[number], self.tree.separators
        leading = [child for child in self.tree.children[number] if kept & self._below[child] - set(separators[child])]
        # Small tables are joined first, so that the result stays small for as long as possible.
        leading.sort(key=lambda child: prod(self.tree.shape(tuple(kept & self._below[child]))))
        for place, child in enumerate(leading):
            more, theirs = self._gathered(child, kept)
            wanted = tuple(i for i in theirs if i in kept or i in separators[child])
            more = summed(more, theirs, wanted)
            shares = _shares(more, wanted, separators[child])
            # Attributes that are neither kept nor shared with another child are summed out before the table grows.
            needed = {i for other in leading[place:] for i in separators[other]}
            least = tuple(i for i in own if i in kept or i in needed or i in above)
            table, own = summed(table, own, least), least
            joined = tuple(sorted({*own, *wanted}))
            table = expanded(table, own, joined) * expanded(shares, wanted, joined)
            own = joined
        return table, own

    @cached_property
    def _below(self) -> list[frozenset[int]]:
        """The attributes of each clique and of all cliques below it."""
        below = [frozenset(clique) for clique in self.tree.cliques]
        for number in reversed(range(1, len(below))):
            below[self.tree.parents[number]] |= below[number]
        return below


def _shares(table: Cells, own: Attributes, given: Attributes) -> Cells:
    """Conditional probabilities given some attributes; 0 where the condition never occurs."""
    whole = expanded(summed(table, own, given), given, own)
    return np.divide(table, whole, out=np.zeros_like(table), where=whole > 0)
