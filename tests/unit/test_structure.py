"""Entropies, correlations, merits and the greedy graph."""

import json
import math
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.errors import InvalidInput
from deniable.learners.cfs.entropies import (
    BETA_SHARE,
    GRID,
    EntropyRecipe,
    _noise_to_sensitivity,
    canonical,
    entropy,
    entropy_queries,
    entropy_sensitivity,
    grid_sensitivity,
)
from deniable.learners.cfs.structure import greedy_graph, merit, symmetrical_uncertainty


def domain(*sizes: tuple[int, int]) -> Domain:
    """Attributes of (values, buckets)."""
    return Domain(
        tuple(
            Attribute(f"x{i}", tuple(range(values)), "nominal", tuple(min(v, buckets - 1) for v in range(values)))
            for i, (values, buckets) in enumerate(sizes)
        )
    )


def test_entropy_and_symmetrical_uncertainty_of_hand_computed_counts() -> None:
    joint = np.array([[4, 1], [1, 2]])
    h_x, h_y, h_xy = entropy(joint.sum(axis=1)), entropy(joint.sum(axis=0)), entropy(joint)
    assert h_x == pytest.approx(0.954434002925, abs=1e-12)
    assert h_xy == pytest.approx(1.75, abs=1e-15)
    assert symmetrical_uncertainty(h_x, h_y, h_xy) == pytest.approx(0.166452583796, abs=1e-12)
    assert symmetrical_uncertainty(1.0, 1.0, 2.0) == 0
    assert symmetrical_uncertainty(1.0, 1.0, 1.0) == 1
    assert symmetrical_uncertainty(0.0, 0.0, 0.0) == 0
    assert symmetrical_uncertainty(-0.1, 0.05, 0.0) == 0
    assert symmetrical_uncertainty(1.0, 1.0, 2.5) == 0


def test_the_entropy_of_no_rows_and_of_one_value_is_zero() -> None:
    assert entropy(np.zeros(3, np.int64)) == 0
    assert entropy(np.array([7, 0])) == 0


def test_merit_of_hand_computed_correlations() -> None:
    assert merit(np.array([]), np.zeros((0, 0))) == 0
    assert merit(np.array([0.6]), np.ones((1, 1))) == pytest.approx(0.6)
    for between, expected in ((0.2, 0.710046946805), (0.9, 0.564288093647)):
        assert merit(np.array([0.6, 0.5]), np.array([[1, between], [between, 1]])) == pytest.approx(expected)
    among = np.array([[1, 0.2, 0.1], [0.2, 1, 0.3], [0.1, 0.3, 1]])
    assert merit(np.array([0.6, 0.5, 0.4]), among) == pytest.approx(0.731925054711)


def test_sensitivity_is_the_largest_change_over_all_small_tables() -> None:
    """Every table of 8 rows in three cells, with one row added to any cell."""
    largest = 0.0
    for counts in product(range(9), repeat=3):
        if sum(counts) == 8:
            for cell in range(3):
                more = np.array(counts)
                more[cell] += 1
                largest = max(largest, abs(entropy(more) - entropy(np.array(counts))))
    assert largest == pytest.approx(0.5032583348, abs=1e-10)
    assert entropy_sensitivity(8) == pytest.approx(largest, abs=1e-12)
    assert grid_sensitivity(8) >= largest * GRID + 1


def test_sensitivity_falls_with_the_number_of_rows_and_meets_the_vectors(shared: Path) -> None:
    values = [entropy_sensitivity(rows) for rows in (1, 2, 10, 100, 10_000, 1_000_000)]
    assert values == sorted(values, reverse=True)
    assert values[0] == 1
    vectors = json.loads((shared / "vectors" / "vectors.json").read_text())
    for rows in (100, 280_000):
        exact, _, _ = vectors[f"Delta_H n={rows}: exact replace, simple (log2 n+1/ln2)/n, paper"]
        # H_b(1/n) for replaced rows is that of added rows for one row fewer
        assert entropy_sensitivity(rows - 1) == pytest.approx(float(exact), rel=1e-9)
    for rows in (4, 8, 12, 16):
        _, added, _ = vectors[f"entropy sens n={rows}: replace=Hb(1/n), add=Hb(1/(n+1)), paper bound"]
        assert entropy_sensitivity(rows) == pytest.approx(float(added), rel=1e-9)


def test_all_entropies_are_asked_for_and_equal_ones_once() -> None:
    m = 5
    assert len(entropy_queries(domain(*[(6, 3)] * m))) == m * (3 * m + 1) // 2
    assert len(entropy_queries(domain(*[(3, 3)] * m))) == m + m * (m - 1) // 2
    assert entropy_queries(domain((1, 1), (1, 1))) == ()
    mixed = domain((6, 3), (2, 2), (1, 1))
    assert canonical(mixed, ((1, True), (0, False))) == ((0, False), (1, False))
    assert canonical(mixed, ((2, False), (0, True))) == ((0, True),)


def test_the_greedy_graph_takes_the_strongest_parents_and_stays_acyclic() -> None:
    table = domain((3, 3), (3, 3), (3, 3))
    similar = np.array([[1.0, 0.8, 0.1], [0.8, 1.0, 0.5], [0.1, 0.5, 1.0]])
    parents, total = greedy_graph(table, similar, similar, 9, (2, 1, 0))
    assert parents[2] == (1,)
    assert parents[1] == (0,)
    assert parents[0] == ()
    assert total == pytest.approx(0.5 + 0.8)


def test_parents_cost_no_more_configurations_than_allowed() -> None:
    table = domain((4, 4), (4, 4), (4, 4))
    similar = np.full((3, 3), 0.6) + np.eye(3) * 0.4
    similar[0, 1] = similar[1, 0] = similar[1, 2] = similar[2, 1] = 0.1
    independent = np.eye(3)
    wide, _ = greedy_graph(table, similar, independent, 16, (0, 1, 2))
    narrow, _ = greedy_graph(table, similar, independent, 15, (0, 1, 2))
    none, total = greedy_graph(table, similar, independent, 1, (0, 1, 2))
    assert max(math.prod(4 for _ in those) for those in wide) == 16
    assert max(math.prod(4 for _ in those) for those in narrow) == 4
    assert none == ((), (), ())
    assert total == 0


def test_one_category_attributes_are_never_parents() -> None:
    table = domain((1, 1), (3, 3))
    parents, _ = greedy_graph(table, np.ones((2, 2)), np.ones((2, 2)), 100, (0, 1))
    assert all(0 not in those for those in parents)


@pytest.mark.parametrize("delta", [Fraction(1, 10**5), Fraction(1, 10**9)])
def test_the_noise_of_entropies_is_no_more_than_their_budget_asks_for(delta: Fraction) -> None:
    recipe = EntropyRecipe(epsilon=Fraction(1), delta=delta, epsilon_rows=Fraction(1, 20), noise="laplace")
    one = recipe.calibrate(Domain((Attribute("a", (0, 1), "nominal", (0, 1)),)))
    assert _noise_to_sensitivity("laplace", 1, Fraction(1, 2), Fraction(0)) == 2
    beta = float(delta * BETA_SHARE)
    assert math.exp(-one.margin / 20) <= beta < math.exp(-(one.margin - 1) / 20)
    with pytest.raises(InvalidInput, match="epsilon_rows must be less than the structure's epsilon"):
        replace(recipe, epsilon_rows=Fraction(1)).calibrate(one.domain)


def test_a_table_without_entropies_charges_its_rows_and_their_bound_once() -> None:
    recipe = EntropyRecipe(epsilon=Fraction(1), delta=Fraction(1, 10**6), epsilon_rows=Fraction(1, 20), noise="laplace")
    none, some = (recipe.calibrate(Domain(attributes)) for attributes in ((one_value(),), (one_value(), two_values())))
    assert not none.queries
    assert some.queries
    assert none.events == some.events[:2]
    rows, bound = none.events
    assert (rows.outputs, rows.epsilon) == (1, Fraction(1, 20))
    assert (bound.outputs, bound.to_record()["delta_per_output"]) == (1, str(recipe.delta * BETA_SHARE))


def one_value() -> Attribute:
    return Attribute("a", (0,), "nominal", (0,))


def two_values() -> Attribute:
    return Attribute("b", (0, 1), "nominal", (0, 1))
