"""Distance of a public table from its predecessor, by attribute and by pair.

Both tables are public, and so is every figure here: real data are used only through the releases.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import pi, sqrt

import numpy as np
from numpy.typing import NDArray

from deniable.evaluation.utility import MarginalCounts, count_marginals, marginals_of_order, total_variation
from deniable.foundation.domain import Codes


@dataclass(frozen=True)
class Moved:
    """The change of a one- or two-way marginal.

    Attributes:
        attributes: names of the attributes.
        distance: total variation distance, in [0, 1].
        by_chance: the expected distance between two samples of these sizes from one population.
    """

    attributes: tuple[str, ...]
    distance: float
    by_chance: float


@dataclass(frozen=True)
class Drift:
    """The change of a table.

    Attributes:
        attributes: for each attribute, in the order of the table.
        pairs: for each pair of attributes, in descending order of distance.
        rows: numbers of records of the previous and of this table.
    """

    attributes: tuple[Moved, ...]
    pairs: tuple[Moved, ...]
    rows: tuple[int, int]

    @property
    def figures(self) -> dict[str, float]:
        """The mean and the largest distances, by name."""
        named = {"1way": self.attributes, "2way": self.pairs}
        return {
            f"drift_{order}_{name}": float(summary([item.distance for item in moved]))
            for order, moved in named.items()
            if moved
            for name, summary in (("mean", np.mean), ("max", np.max))
        }


def drift(before: Iterable[Codes], after: Iterable[Codes], names: Sequence[str], cardinalities: Sequence[int]) -> Drift:
    """Measure the change of a table.

    Args:
        before: chunks of value codes of the previous table, shapes (rows, m).
        after: chunks of value codes of this table, shapes (rows, m).
        names: names of the m attributes.
        cardinalities: number of values of each.

    Returns:
        The distances.

    Raises:
        InvalidInput: a table is empty, or a code is not in the domain.
    """
    orders = {order: marginals_of_order(cardinalities, order) for order in (1, 2)}
    marginals = (*orders[1], *orders[2])
    first = count_marginals(before, tuple(cardinalities), marginals)
    second = count_marginals(after, tuple(cardinalities), marginals)
    distances, chances = total_variation(first, second), expected_by_chance(first, second)
    moved = [
        Moved(tuple(names[j] for j in marginal), float(distance), float(chance))
        for marginal, distance, chance in zip(marginals, distances, chances, strict=True)
    ]
    attributes, pairs = moved[: len(orders[1])], moved[len(orders[1]) :]
    farthest = sorted(pairs, key=lambda item: (-item.distance, item.attributes))
    return Drift(tuple(attributes), tuple(farthest), (first.rows, second.rows))


def expected_by_chance(first: MarginalCounts, second: MarginalCounts) -> NDArray[np.float64]:
    """The expected total variation distance between two samples of one population.

    Half the sum over the cells of E|Z| = sqrt(2 / pi) sd(Z), where Z is normal with variance p (1 - p) (1/n + 1/n')
    and p is the cell's share in the pooled sample.

    Args:
        first: counts of one table, M marginals.
        second: counts of the other in the same marginals.

    Returns:
        Distances, shape (M,).
    """
    share = (first.counts + second.counts) / (first.rows + second.rows)
    deviation = np.sqrt(share * (1 - share) * (1 / first.rows + 1 / second.rows))
    return np.asarray(np.add.reduceat(deviation, first.starts[:-1]) * sqrt(2 / pi) / 2)
