"""The network as a sampler and a density."""

from hashlib import sha256

import numpy as np
import pytest

from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.errors import InvalidInput
from deniable.learners.cfs.parameters import integer_weights
from deniable.models.bayes_net import UNIT, BayesNet
from deniable.models.graph import Graph, topological_order

DOMAIN = Domain(
    (
        Attribute("a", (0, 1, 2, 3), "numeric", (0, 0, 1, 1)),
        Attribute("b", ("x", "y"), "nominal", (0, 1)),
        Attribute("c", ("p", "q", "r"), "nominal", (0, 1, 2)),
    )
)
PARENTS = ((1,), (), (0, 1))
TABLES = (
    np.array([[0.1, 0.2, 0.3, 0.4], [0.7, 0.1, 0.1, 0.1]]),
    np.array([[0.25, 0.75]]),
    np.array([[0.5, 0.25, 0.25], [0.2, 0.3, 0.5], [0.0, 0.5, 0.5], [1.0, 0.0, 0.0]]),
)


def net() -> BayesNet:
    graph = Graph(PARENTS, topological_order(DOMAIN, PARENTS), ((0.0,), (), (0.0, 0.0)))
    return BayesNet(DOMAIN, graph, tuple(integer_weights(table) for table in TABLES))


def words(size: int, name: str) -> np.ndarray:
    seed = int.from_bytes(sha256(name.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).integers(0, UNIT, size, dtype=np.uint32)


def joint() -> np.ndarray:
    """Pr{a, b, c} from the tables by hand."""
    a, b, c = TABLES
    bucket = [0, 0, 1, 1]
    return np.array([[b[0, y] * a[y, x] * c[2 * bucket[x] + y] for y in range(2)] for x in range(4)])


def chi_squared(records: np.ndarray, probabilities: np.ndarray) -> float:
    """Pearson's statistic over its degrees of freedom, over the cells that can occur."""
    observed = np.zeros(probabilities.shape)
    np.add.at(observed, tuple(records.T), 1)
    possible = probabilities > 0
    assert observed[~possible].sum() == 0
    expected = probabilities[possible] * len(records)
    return float(((observed[possible] - expected) ** 2 / expected).sum() / (possible.sum() - 1))


def test_whole_records_follow_the_product_of_the_tables() -> None:
    records = net().sample(words(3 * 200_000, "whole records"))
    assert chi_squared(records, joint()) < 4
    moved = joint()
    moved[0, 0, 0] += 0.005
    moved[3, 1, 0] -= 0.005
    assert chi_squared(records, moved) > 4


def test_a_word_draws_the_value_whose_share_it_falls_in() -> None:
    first = net().sample(np.array([0, 0, 0], np.uint32))
    last = net().sample(np.array([UNIT - 1] * 3, np.uint32))
    assert first.tolist() == [[0, 0, 0]]
    # a=3, b=1 has only c=0
    assert last.tolist() == [[3, 1, 0]]


def test_positions_and_columns_are_each_others_inverse() -> None:
    codes = net().sample(words(300, "positions"))
    assert np.array_equal(net().in_columns(net().in_order(codes)), codes)


def test_a_network_whose_children_come_before_their_parents_is_refused() -> None:
    with pytest.raises(InvalidInput, match="parents of a must come before"):
        BayesNet(DOMAIN, Graph(PARENTS, (0, 1, 2), ((0.0,), (), (0.0, 0.0))), net().weights)


def test_a_network_whose_weights_do_not_add_up_is_refused() -> None:
    weights = list(net().weights)
    weights[1] = weights[1] - np.array([[1, 0]], np.uint64)
    with pytest.raises(InvalidInput, match=r"add up to 2\^32"):
        BayesNet(DOMAIN, net().graph, tuple(weights))
