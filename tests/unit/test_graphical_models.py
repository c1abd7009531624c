"""Graphical models against the whole joint distribution, which is written out for tables this small."""

import json
import os
import platform
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable.foundation.errors import InvalidInput
from deniable.models.graphical.belief_propagation import propagate
from deniable.models.graphical.elementary import exponential, logarithm
from deniable.models.graphical.fitting import ImpossibleCells, NoisyTable, fit, fixed_total
from deniable.models.graphical.graphical_model import GraphicalModel
from deniable.models.graphical.junction_tree import JunctionTree

SIZES = (2, 3, 4, 2, 3, 2)
GRAPHS = {
    "a chain": [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)],
    "a star": [(0, 2), (1, 2), (2, 3), (2, 4), (2, 5)],
    "a cycle": [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5)],
    "triples": [(0, 1, 2), (1, 2, 3), (3, 4), (0, 5)],
    "unrelated parts": [(0, 1), (2, 3, 4)],
    "no table at all": [],
}

Joint = NDArray[np.float64]


def expanded(table: Joint, attributes: tuple[int, ...]) -> Joint:
    """A table in the shape of the joint distribution."""
    return table.reshape([SIZES[i] if i in attributes else 1 for i in range(len(SIZES))])


def summed(joint: Joint, attributes: tuple[int, ...]) -> Joint:
    """A marginal of the joint distribution."""
    return joint.sum(axis=tuple(i for i in range(joint.ndim) if i not in attributes))


@pytest.mark.parametrize("sets", GRAPHS.values(), ids=GRAPHS)
def test_a_junction_tree_contains_each_set_and_keeps_the_cliques_of_an_attribute_together(
    sets: list[tuple[int, ...]],
) -> None:
    tree = JunctionTree.of(SIZES, sets)
    assert all(tree.home(own) is not None for own in sets)
    assert {i for clique in tree.cliques for i in clique} == set(range(len(SIZES)))
    for attribute in range(len(SIZES)):
        # Joined by separators that contain it, so that one clique fewer has the attribute in its separator.
        holding = sum(attribute in clique for clique in tree.cliques)
        assert sum(attribute in separator for separator in tree.separators) == holding - 1
    for number, parent in enumerate(tree.parents[1:], 1):
        assert parent < number
        assert set(tree.separators[number]) == set(tree.cliques[number]) & set(tree.cliques[parent])
    assert tree.bytes == 8 * sum(int(np.prod([SIZES[i] for i in clique])) for clique in tree.cliques)


def test_the_cells_of_a_cycle_are_those_of_its_best_triangulation() -> None:
    # A cycle through four attributes of 10, 2, 10, 2 values: the chord must join the two with few values.
    assert JunctionTree.of((10, 2, 10, 2), [(0, 1), (1, 2), (2, 3), (0, 3)]).cells == 10 * 2 * 2 * 2


@pytest.mark.parametrize("sets", GRAPHS.values(), ids=GRAPHS)
@pytest.mark.parametrize("with_zeros", [False, True])
def test_propagation_and_elimination_give_the_marginals_of_the_joint_distribution(
    sets: list[tuple[int, ...]], *, with_zeros: bool
) -> None:
    draws = np.random.default_rng(4)
    tree = JunctionTree.of(SIZES, sets)
    potentials = [3 * draws.normal(size=tree.shape(clique)) for clique in tree.cliques]
    if with_zeros:
        for table in potentials:
            table[draws.random(table.shape) < 0.2] = -np.inf
    joint = np.exp(sum(expanded(table, clique) for table, clique in zip(potentials, tree.cliques, strict=True)))
    joint = np.broadcast_to(joint, SIZES)
    beliefs = propagate(tree, potentials)
    assert beliefs.log_partition == pytest.approx(np.log(joint.sum()), rel=1e-12)
    joint = joint / joint.sum()
    model = GraphicalModel(tree, tuple(7 * table for table in beliefs.tables), 7.0)
    for size in range(4):
        for attributes in combinations(range(len(SIZES)), size):
            assert model.marginal(attributes) == pytest.approx(7 * summed(joint, attributes), abs=1e-12)
    assert model.marginal(tuple(range(len(SIZES)))) == pytest.approx(7 * joint, abs=1e-12)


def test_elementary_functions_are_right_to_the_last_digits() -> None:
    numbers = np.concatenate([np.linspace(-700, 700, 20_001), np.linspace(-1, 1, 2_001)])
    assert exponential(numbers) == pytest.approx(np.exp(numbers), rel=1e-15)
    assert logarithm(np.exp(numbers)) == pytest.approx(numbers, rel=1e-15, abs=3e-16)
    assert exponential(np.array([-np.inf, -1000.0, 0.0])).tolist() == [0.0, 0.0, 1.0]
    assert logarithm(np.array([0.0, 1.0, 5e-324])).tolist()[:2] == [-np.inf, 0.0]


FIRST = np.array([[132.428, 124.549, 244.365], [173.633, 318.029, -21.358]])
SECOND = np.array([[116.021, 186.826], [287.215, 171.134], [278.498, -46.497]])


def test_two_tables_of_a_lecture_are_fitted_with_their_mean_total(shared: Path) -> None:
    known = json.loads((shared / "vectors" / "vectors2.json").read_text())["mst"]
    tables = [NoisyTable((0, 1), FIRST, 1.0), NoisyTable((1, 2), SECOND, 1.0)]
    assert fixed_total(tables) == pytest.approx(known["total"])
    fitted = fit((2, 3, 2), tables, tolerance=1e-12)
    found = [*fitted.model.marginal((0, 1)).ravel(), *fitted.model.marginal((1, 2)).ravel()]
    assert fitted.converged
    assert found == pytest.approx(known["pgm_total_fixed"], abs=1.1e-3)
    # The lecture fits less closely, by a hundredth of a record.
    assert found == pytest.approx(known["slide"], abs=0.012)
    # With a free total, as least squares above 0 have it, there would be 34 records too many.
    assert known["pgm_slide_two_marginals"] == pytest.approx(
        [131.624, 128.492, 261.431, 172.829, 321.972, 0.0, 116.825, 187.63, 283.272, 167.191, 261.432, 0.0]
    )
    free = fit((2, 3, 2), tables, total=sum(known["pgm_slide_two_marginals"][:6]), tolerance=1e-12)
    assert free.loss < fitted.loss
    assert [*free.model.marginal((0, 1)).ravel()] == pytest.approx(known["pgm_slide_two_marginals"][:6], abs=2e-3)


def test_the_fit_is_the_weighted_least_squares_solution() -> None:
    draws = np.random.default_rng(1)
    sizes, sets = (2, 3, 2), [(0, 1), (1, 2), (0,)]
    joint = draws.random(sizes) * 100
    deviations = [3.0, 8.0, np.array([2.0, 5.0])]
    tables = [
        NoisyTable(own, noisy_sum(joint, own) + draws.normal(size=[sizes[i] for i in own]) * deviation, deviation)
        for own, deviation in zip(sets, deviations, strict=True)
    ]
    fitted = fit(sizes, tables, tolerance=1e-13)
    found = fitted.model.marginal((0, 1, 2))
    assert (found > 0).all()
    # No cell of the joint distribution can give to another with gain: the slope is the same in all of them.
    slope = np.zeros(sizes)
    for own in tables:
        residual = (fitted.model.marginal(own.attributes) - own.counts) / np.square(own.deviation)
        slope += residual.reshape([sizes[i] if i in own.attributes else 1 for i in range(3)])
    assert np.ptp(slope) < 1e-5
    assert found.sum() == pytest.approx(fixed_total(tables))


def noisy_sum(joint: Joint, attributes: tuple[int, ...]) -> Joint:
    """A marginal without noise."""
    return joint.sum(axis=tuple(i for i in range(3) if i not in attributes))


def test_impossible_cells_stay_empty_and_the_rest_is_fitted() -> None:
    impossible = np.zeros((2, 3), bool)
    impossible[0, 1] = impossible[1, 2] = True
    tables = [NoisyTable((0,), np.array([40.0, 60.0]), 1.0), NoisyTable((1, 2), np.full((3, 4), 25 / 3), 1.0)]
    model = fit((2, 3, 4), tables, impossible=[ImpossibleCells((0, 1), impossible)], tolerance=1e-12).model
    assert (model.marginal((0, 1))[impossible] == 0).all()
    assert (model.marginal((0, 1, 2))[impossible] == 0).all()
    assert model.marginal((0,)) == pytest.approx([40, 60], abs=0.01)
    assert model.marginal((1,)) == pytest.approx([100 / 3] * 3, abs=0.01)


def test_a_model_to_start_from_may_have_other_cliques() -> None:
    draws = np.random.default_rng(2)
    first = [NoisyTable((0, 1), draws.random((2, 3)) * 50, 1.0), NoisyTable((1, 2), draws.random((3, 2)) * 50, 1.0)]
    more = [*first, NoisyTable((0, 2), draws.random((2, 2)) * 80, 2.0)]
    begun = fit((2, 3, 2), first).model
    kept = fit((2, 3, 2), more, start=begun, total=begun.total, iterations=0).model
    assert kept.marginal((0, 1, 2)) == pytest.approx(begun.marginal((0, 1, 2)), rel=1e-9)
    warm, cold = (fit((2, 3, 2), more, start=start, tolerance=1e-12) for start in (begun, None))
    for own in more:
        assert warm.model.marginal(own.attributes) == pytest.approx(cold.model.marginal(own.attributes), rel=1e-4)


def test_a_fit_ends_when_it_is_told_to() -> None:
    tables = [NoisyTable((0, 1), FIRST, 1.0), NoisyTable((1, 2), SECOND, 1.0)]
    seen: list[float] = []

    def three(iteration: int, loss: float) -> bool:
        seen.append(loss)
        return iteration < 3

    fitted = fit((2, 3, 2), tables, may_go_on=three)
    assert (fitted.iterations, fitted.converged) == (3, False)
    assert seen == sorted(seen, reverse=True)
    assert fitted.model.marginal((0, 1)).sum() == pytest.approx(fitted.model.total)


def test_the_total_is_at_least_one_and_no_table_is_needed() -> None:
    assert fixed_total([NoisyTable((0,), np.array([-30.0, 10.0]), 1.0)]) == 1
    assert fit((2, 2), [NoisyTable((0,), np.array([-30.0, 10.0]), 1.0)]).model.marginal((0,)).sum() == pytest.approx(1)
    assert fit((2, 3), []).model.marginal((0, 1)) == pytest.approx(np.full((2, 3), 1 / 6))


@pytest.mark.parametrize(
    ("tables", "impossible", "refusal"),
    [
        ([NoisyTable((1, 0), np.zeros((3, 2)), 1.0)], [], "in ascending order"),
        ([NoisyTable((0, 1), np.zeros((3, 2)), 1.0)], [], r"the shape \(2, 3\), got \(3, 2\)"),
        ([NoisyTable((0,), np.array([np.nan, 1.0]), 1.0)], [], "must be finite"),
        ([NoisyTable((0,), np.zeros(2), 0.0)], [], "deviations above 0"),
        ([], [ImpossibleCells((0,), np.ones(2, bool))], "some record must be possible"),
    ],
)
def test_what_is_no_table_is_refused(tables: list[NoisyTable], impossible: list[ImpossibleCells], refusal: str) -> None:
    with pytest.raises(InvalidInput, match=refusal):
        fit((2, 3), tables, impossible=impossible)


_MADE = """
import hashlib
import numpy as np
from deniable.models.graphical.fitting import NoisyTable, fit

draws = np.random.default_rng(3)
sizes = (7, 41, 5, 30)
tables = [
    NoisyTable(own, np.round(draws.gamma(0.3, 100.0, [sizes[i] for i in own])), 10.0)
    for own in [(0, 1), (1, 2), (2, 3), (0, 2, 3)]
]
model = fit(sizes, tables, iterations=60).model
spread = model.marginal((1, 3))
print(hashlib.sha256(b"".join(np.asarray(table).tobytes() for table in (*model.tables, spread))).hexdigest())
print(hashlib.sha256(np.exp(draws.normal(size=10_000)).tobytes()).hexdigest())
"""


def _digests(**chosen: str) -> list[str]:
    """Digests of a model and of NumPy's exponentials, in a process of its own."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("NPY_")}
    done = subprocess.run(
        [sys.executable, "-c", _MADE], env=others | chosen, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


# What NumPy chooses among on this processor; it may be told to leave each out.
_FOUND = np.show_config(mode="dicts")["SIMD Extensions"]["found"]


@pytest.mark.skipif(
    platform.machine() != "x86_64" or not {"X86_V4", "AVX512_SKX"} & set(_FOUND),
    reason="needs a processor with AVX-512, on which NumPy has other exponentials than on one without",
)
def test_a_model_is_the_same_whatever_numpy_chooses_for_a_processor() -> None:
    wide, narrow = _digests(), _digests(NPY_DISABLE_CPU_FEATURES=" ".join(_FOUND))
    assert wide[0] == narrow[0]
    # NumPy's own exponentials are not: the two are told apart.
    assert wide[1] != narrow[1]
