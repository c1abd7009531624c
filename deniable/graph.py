"""An acyclic dependency graph over a domain and its topological order.

How a graph is learnt does not belong here.
"""

from dataclasses import dataclass

from deniable.domain import Domain
from deniable.errors import InvalidInput
from deniable.tables import Parents


def topological_order(domain: Domain, parents: Parents) -> tuple[int, ...]:
    """Parents before children (Kahn); among those that are free, the fewest values first, then the first column.

    Attributes of few values come first because a seed's copied attributes are the first ones: the fewer values they take
    together, the more records share them.
    """
    waiting = {child: set(those) for child, those in enumerate(parents)}
    order: list[int] = []
    while waiting:
        free = [child for child, those in waiting.items() if not those]
        if not free:
            msg = "a graph must be acyclic to be ordered, got a cycle; learn it again."
            raise InvalidInput(msg)
        first = min(free, key=lambda child: (domain.cardinalities[child], child))
        order.append(first)
        del waiting[first]
        for those in waiting.values():
            those.discard(first)
    return tuple(order)


@dataclass(frozen=True)
class Graph:
    """An acyclic dependency graph over a domain, learnt under differential privacy or given.

    Attributes:
        parents: the parents of each attribute, by column number.
        order: the attributes, parents before children: sigma.
        similarity: the noisy SU(x_i, bkt x_j) of each edge, in the shape of `parents`.
    """

    parents: Parents
    order: tuple[int, ...]
    similarity: tuple[tuple[float, ...], ...]

    @classmethod
    def without_edges(cls, domain: Domain) -> "Graph":
        """The graph of independent attributes."""
        none: Parents = ((),) * len(domain)
        return cls(parents=none, order=topological_order(domain, none), similarity=((),) * len(domain))
