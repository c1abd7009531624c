"""A graph that a spec states: public, so that no record is read for it, and the same in the release as in the spec."""

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any, Final

from deniable.foundation.checks import Check, found
from deniable.foundation.domain import Domain
from deniable.foundation.errors import InvalidInput
from deniable.models.graph import Graph, topological_order
from deniable.privacy.planned import Document

FILE: Final = "graph.json"
MOST_CELLS: Final = 20_000_000
"""Largest number of counts of one attribute; all of them are in memory, and published as probabilities."""
_SAME = "the graph is the one that the spec states"


def cells_of(domain: Domain, child: str, parents: Sequence[str]) -> int:
    """Number of counts of an attribute by its parents' buckets."""
    return domain.cardinalities[domain.index(child)] * prod(domain.bucket_counts[i] for i in domain.subset(parents))


def graph_in_spec(domain: Domain, asked: Mapping[str, Any]) -> Graph:
    """The graph of a spec's entry; no strength of its edges is known, so their similarities are 0.

    Args:
        domain: the public domain.
        asked: `parents`, by name, and perhaps `order`.

    Raises:
        InvalidInput: it is not acyclic, or an attribute comes before one of its parents.
    """
    names, order = domain.names, asked.get("order")
    parents = tuple(domain.subset(asked["parents"].get(name, ())) for name in names)
    if order is None:
        places = topological_order(domain, parents)
    else:
        places = domain.subset(order)
        at = {attribute: place for place, attribute in enumerate(places)}
        for child, those in enumerate(parents):
            late = [names[parent] for parent in those if at[parent] > at[child]]
            if late:
                raise InvalidInput(
                    f"the order of a graph must have parents first, got {names[child]} before {', '.join(late)}."
                )
    return Graph(parents=parents, order=places, similarity=tuple((0.0,) * len(those) for those in parents))


def check_graph(record: Document, described: Document, document: Document) -> tuple[Check, ...]:
    """Check that a release has the graph that its spec states.

    Args:
        record: the record's predicate.
        described: `schema.json`.
        document: `graph.json`; empty if it cannot be read.
    """

    def faults() -> Iterator[str]:
        domain = Domain.from_document(described).modelled
        right = graph_in_spec(domain, record["spec"]["document"]["learner"]["graph"])
        if document != right.document(domain):
            yield f"{FILE} must have the order and the parents in the spec, and no others"

    return (Check(_SAME, found(faults)),)
