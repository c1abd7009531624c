"""An acyclic dependency graph over a domain and its topological order.

Learning a graph does not belong here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from deniable.foundation.domain import Domain, Parents
from deniable.foundation.errors import InvalidInput


def topological_order(domain: Domain, parents: Parents) -> tuple[int, ...]:
    """Order parents before children (Kahn 1962); ties are broken by fewest values, then by first column.

    Attributes with few values come first because the first attributes are those copied from a seed: the fewer their
    combinations of values, the more records share them.
    """
    waiting = {child: set(those) for child, those in enumerate(parents)}
    order: list[int] = []
    sizes = domain.cardinalities
    while waiting:
        free = [child for child, those in waiting.items() if not those]
        if not free:
            msg = "a graph must be acyclic to be ordered, got a cycle; learn it again."
            raise InvalidInput(msg)
        first = min(free, key=lambda child: (sizes[child], child))
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
        order: the attributes, parents before children (sigma in the paper).
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

    def document(self, domain: Domain) -> dict[str, Any]:
        """The graph in names, ready for JSON."""
        names = domain.names
        return {
            "order": [names[i] for i in self.order],
            "parents": {
                names[child]: [
                    {"name": names[parent], "similarity": similarity}
                    for parent, similarity in zip(parents, self.similarity[child], strict=True)
                ]
                for child, parents in enumerate(self.parents)
            },
        }

    @classmethod
    def from_document(cls, domain: Domain, document: Mapping[str, Any]) -> "Graph":
        """The graph that a document describes."""
        edges = [document["parents"][name] for name in domain.names]
        return cls(
            parents=tuple(tuple(domain.index(edge["name"]) for edge in those) for those in edges),
            order=tuple(domain.index(name) for name in document["order"]),
            similarity=tuple(tuple(float(edge["similarity"]) for edge in those) for those in edges),
        )
