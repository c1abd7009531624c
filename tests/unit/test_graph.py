"""Dependency graphs and their order."""

import pytest

from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.errors import InvalidInput
from deniable.models.graph import Graph, topological_order


def domain(*sizes: int) -> Domain:
    return Domain(
        tuple(Attribute(f"x{i}", tuple(range(size)), "nominal", tuple(range(size))) for i, size in enumerate(sizes))
    )


def test_parents_come_before_children_and_few_values_before_many() -> None:
    assert topological_order(domain(9, 2, 5), ((), (), ())) == (1, 2, 0)
    assert topological_order(domain(9, 2, 5), ((), (0,), ())) == (2, 0, 1)


def test_a_cycle_has_no_order() -> None:
    with pytest.raises(InvalidInput, match="acyclic"):
        topological_order(domain(2, 2), ((1,), (0,)))


def test_the_graph_without_edges_orders_by_the_number_of_values() -> None:
    assert Graph.without_edges(domain(3, 2, 3)).order == (1, 0, 2)
