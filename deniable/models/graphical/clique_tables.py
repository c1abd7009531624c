"""Integer masses of the cliques of a graphical model, and the weights that follow from them, with NumPy alone.

Drawing and scoring records does not belong here (junction_tree_net).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Domain
from deniable.foundation.errors import InvalidInput
from deniable.models.graphical.junction_tree import Attributes

Masses = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class CliqueTable:
    """The masses of a clique.

    Attributes:
        separator: the attributes that belong to an earlier clique, by column number.
        new: the other attributes, in the order in which they are drawn.
        masses: integers, shape (sizes of the separator ..., sizes of the new attributes ...).
    """

    separator: Attributes
    new: tuple[int, ...]
    masses: Masses

    def of(self, place: int) -> Masses:
        """Masses of a new attribute, one row for each value of the separator and of the new attributes before it.

        Args:
            place: its index among the new attributes.
        """
        kept = len(self.separator) + place + 1
        table = self.masses.sum(axis=tuple(range(kept, self.masses.ndim)))
        rows = table.reshape(-1, table.shape[-1])
        # Given values that never occur, the attribute has its marginal distribution.
        return np.asarray(np.where(rows.sum(axis=1, keepdims=True) > 0, rows, rows.sum(axis=0)), np.int64)


def cliques_in(domain: Domain, document: Mapping[str, Any]) -> tuple[CliqueTable, ...]:
    """The cliques that a model's document states, in their order.

    Raises:
        InvalidInput: masses are not whole numbers, one for each cell of their clique.
    """
    cliques = []
    for entry in document["cliques"]:
        separator, new = (tuple(map(domain.index, entry[name])) for name in ("separator", "attributes"))
        shape = [domain.cardinalities[i] for i in (*separator, *new)]
        masses = np.asarray(entry["masses"])
        if masses.dtype != np.int64 or masses.shape != (prod(shape),):
            raise InvalidInput(f"a clique must have {prod(shape)} whole masses, got {masses.size} of {masses.dtype}.")
        cliques.append(CliqueTable(separator, new, masses.reshape(shape)))
    return tuple(cliques)


def weights_of(rows: Masses) -> NDArray[np.uint64]:
    """Weights out of 2^32, proportional to the masses of each row, by rounding down running sums."""
    running = np.cumsum(rows, axis=1).astype(np.uint64)
    ends = (running << np.uint64(32)) // running[:, -1:]
    return np.diff(ends, axis=1, prepend=np.zeros((len(rows), 1), np.uint64))
