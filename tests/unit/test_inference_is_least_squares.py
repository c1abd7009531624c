"""Estimates of any linear query, and their variances, are those of explicit generalized least squares."""

import itertools
import json
from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.errors import InvalidInput
from deniable.inference.answers import Asked
from deniable.inference.estimation import Inference
from deniable.inference.laws import ErrorLaw
from deniable.inference.queries import Query
from deniable.inference.system import MeasuredSystem, NotMeasured
from deniable.measurements import consistency
from deniable.measurements.document import Measurements, Universe
from deniable.measurements.noisy_tables import MeasuredTable, NoiseLaw, Release
from tests.extent import drawn
from tests.inferred import EVERYTHING, measured, people
from tests.unit.test_consistent_estimates import BUCKETS, SYSTEMS, design
from tests.unit.test_consistent_estimates import measured as made_up


def random_system(draw: np.random.Generator) -> list[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]]:
    """Tables of one to three attributes, some by values, some with differences; of each resolution once."""
    found: dict[Any, tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = {}
    for _ in range(draw.integers(2, 8)):
        attributes = tuple(sorted(draw.choice(5, draw.integers(1, 4), replace=False).tolist()))
        by_values = tuple(i for i in attributes if draw.random() < 0.4)
        cells = {i: len(BUCKETS[i]) if i in by_values else max(BUCKETS[i]) + 1 for i in attributes}
        differences = tuple(i for i in attributes if cells[i] == 2 and draw.random() < 0.5)
        resolution = tuple(i for i in attributes if cells[i] == len(BUCKETS[i]))
        found[attributes, resolution] = (attributes, by_values, differences)
    return list(found.values())


def random_query(draw: np.random.Generator) -> dict[int, Any]:
    of = {}
    for i in draw.choice(5, draw.integers(0, 4), replace=False).tolist():
        by_buckets = draw.normal(size=max(BUCKETS[i]) + 1)[list(BUCKETS[i])]
        of[i] = draw.normal(size=len(BUCKETS[i])) if draw.random() < 0.4 else by_buckets
    return of


def in_full(found: Measurements) -> Callable[[Any], tuple[float, float] | None]:
    """Dense least squares: of a query estimate and variance; nothing if it cannot be estimated."""
    shown = np.concatenate(
        [design(t.attributes, t.by_values, t.differences) / np.sqrt(t.variance) for t in found.tables]
    )
    seen = np.concatenate([np.ravel(t.values) / np.sqrt(t.variance) for t in found.tables])
    values, vectors = np.linalg.eigh(shown.T @ shown)
    kept = values > values.max() * 1e-11
    directions, right = vectors[:, kept], vectors[:, kept].T @ shown.T @ seen

    def answer(wanted: Any) -> tuple[float, float] | None:
        own = wanted @ directions
        if not np.allclose(own @ directions.T, wanted, atol=1e-7):
            return None
        own = own / values[kept]
        return float(own @ right), float((own**2 * values[kept]).sum())

    return answer


SYSTEM_SEEDS = range(drawn(60))


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_the_closed_form_is_explicit_least_squares_on_random_systems(law: str) -> None:
    answered = refused = 0
    for seed in SYSTEM_SEEDS:
        draw = np.random.default_rng([7, seed])
        found = made_up(random_system(draw), law, seed)
        system, explicit = MeasuredSystem(found), in_full(found)
        for _ in range(6):
            of = random_query(draw)
            wanted = reduce(np.kron, [of.get(i, np.ones(len(own))) for i, own in enumerate(BUCKETS)])
            right = explicit(wanted)
            try:
                functional = system.functional(Query.product(of))
            except NotMeasured:
                assert right is None, (seed, sorted(of))
                refused += 1
                continue
            assert right is not None, (seed, sorted(of))
            estimate, variance = right
            assert system.value(functional) == pytest.approx(estimate, rel=1e-9, abs=1e-9 * variance**0.5 + 1e-9)
            assert system.variance(functional) == pytest.approx(variance, rel=1e-9)
            # The weights are another way to the same numbers.
            weights = system.weights(functional)
            assert sum((table.values * own).sum() for table, own in weights) == pytest.approx(estimate, rel=1e-8)
            assert sum((table.variance * own**2).sum() for table, own in weights) == pytest.approx(variance, rel=1e-8)
            assert sum(system.sources(functional).values()) == pytest.approx(1)
            for names, part in system.sources(functional).items():
                own = sum((t.variance * w**2).sum() for t, w in weights if found.domain.subset(names) == t.attributes)
                assert own == pytest.approx(part * variance, rel=1e-7, abs=1e-9 * variance)
            error = ErrorLaw.of(weights)
            assert error.variance == pytest.approx(variance, rel=1e-8)
            assert ErrorLaw.has_lattice(system.each_weights(functional), 0.0, variance) == (error.step > 0)
            answered += 1
    assert min(answered, refused) > len(SYSTEM_SEEDS) / 2, "both kinds of queries occur"


@pytest.mark.parametrize("system", SYSTEMS)
def test_covariances_are_those_of_sums(system: str) -> None:
    found = MeasuredSystem(made_up(SYSTEMS[system]))
    draw = np.random.default_rng(5)
    queries = []
    while len(queries) < 6:
        query = Query.product(random_query(draw))
        try:
            queries.append((query, found.functional(query)))
        except NotMeasured:
            continue
    for (one, first), (other, second) in itertools.pairwise(queries):
        both = found.variance(found.functional(one.plus(other.times(2.0))))
        parts = found.variance(first) + 4 * found.variance(second) + 4 * found.covariance(first, second)
        assert both == pytest.approx(parts, rel=1e-9)


def test_tables_are_what_their_cells_are_one_by_one() -> None:
    system = MeasuredSystem(measured(people(1, 1000)))
    everything = system.functional(Query.product({}))
    for attributes in [(0, 1), (1, 2), (2,), (0, 2)]:
        whole, shared = system.table(attributes), system.shared_with_records(attributes)
        for place in np.ndindex(whole.counts.shape):
            own = {i: (system.buckets[i] == b).astype(float) for i, b in zip(attributes, place, strict=True)}
            functional = system.functional(Query.product(own))
            assert whole.counts[place] == pytest.approx(system.value(functional))
            assert whole.variances[place] == pytest.approx(system.variance(functional))
            assert shared[place] == pytest.approx(system.covariance(functional, everything))


def test_values_are_told_apart_where_every_table_has_them() -> None:
    alone = MeasuredSystem(measured(people(1, 500), (((0,), (0,)), ((0, 1), (0, 1)))))
    assert alone.sizes == (6, 2, 3)
    mixed = MeasuredSystem(measured(people(1, 500), EVERYTHING))
    assert mixed.sizes == (3, 2, 3)
    with pytest.raises(NotMeasured, match="in buckets") as refused:
        mixed.functional(Query.product({0: np.eye(6)[0], 1: np.eye(2)[0]}))
    assert (refused.value.split, refused.value.relation) == ((0,), ())
    with pytest.raises(NotMeasured, match="must have been measured together, and was not") as refused:
        MeasuredSystem(measured(people(1, 500), EVERYTHING[:4])).functional(
            Query.product({1: np.eye(2)[0], 2: np.eye(3)[1]})
        )
    assert refused.value.relation == (1, 2)


def test_tables_of_many_divided_attributes_are_used_by_their_buckets() -> None:
    two = tuple(Attribute(f"b{i}", (0, 1), "nominal", (0, 0)) for i in range(12))
    domain = Domain((*two, Attribute("c", (0, 1, 2), "nominal", (0, 1, 2))))
    law = NoiseLaw("gaussian", Fraction(4))
    every = tuple(range(13))
    counts = np.full((2,) * 12 + (3,), 1, np.int64)
    pair = Release(np.full((1, 3), 4096, np.int64), law, 2)
    tables = (
        MeasuredTable(every, (Release(counts, law, 1),), every),
        *(MeasuredTable((i, 12), (pair,), (12,)) for i in range(12)),
    )
    own = tuple(attribute.bucket_of for attribute in domain.attributes)
    system = MeasuredSystem(Measurements(domain, "made up", Universe("p"), own, tables, (), 3.0, every))
    assert system.value(system.functional(Query.product({12: np.asarray([1.0, 0, 0])}))) == pytest.approx(4096)
    with pytest.raises(InvalidInput, match="at most 10 attributes, got 13"):
        system.functional(Query.product({i: np.asarray([1.0, 0, 0][: 2 + (i == 12)]) for i in every}))


def test_the_vectors(shared: Path) -> None:
    """The system of the vectors, with its decimals as sums over 100 draws."""
    known = json.loads((shared / "vectors" / "vectors2.json").read_text())["inference"]
    document, names = known["doc"], ("a", "b", "c")
    buckets = document["buckets"]
    domain = Domain(
        tuple(Attribute(name, tuple(range(len(own))), "nominal", tuple(own)) for name, own in buckets.items())
    )

    def table(attributes: tuple[int, ...], entry: Any, turn: int, by_values: tuple[int, ...] = ()) -> MeasuredTable:
        law = NoiseLaw("gaussian", Fraction(entry["deviation"]) ** 2 * 100)
        sums = np.rint(100 * np.asarray(entry["noisy"])).astype(np.int64)
        differences = domain.subset(entry.get("differences", ()))
        return MeasuredTable(attributes, (Release(sums, law, turn, 100),), by_values, differences, "made up")

    tables = [table((i,), document["attributes"][name], i + 1, (i,)) for i, name in enumerate(names)]
    tables += [
        table(domain.subset(entry["attributes"]), entry, turn) for turn, entry in enumerate(document["tables"], 4)
    ]
    own = tuple(np.asarray(each) for each in buckets.values())
    found = Measurements(domain, "made up", Universe("parameters"), own, tuple(tables), (), 377.0, (0, 1, 2))
    system = MeasuredSystem(found)
    assert np.allclose(system.table((0, 1)).counts, known["marginal_ab"], atol=1e-8)
    cell = system.functional(Query.product({0: np.asarray([0, 1.0]), 1: np.asarray([0, 0, 0, 1.0])}))
    assert system.value(cell) == pytest.approx(known["explicit_gls_cell"])
    assert system.variance(cell) ** 0.5 == pytest.approx(known["sd_cell_a1_b2"], rel=1e-9)
    assert system.variance(cell) ** 0.5 == pytest.approx(known["explicit_gls_sd"], rel=1e-9)
    assert (system.records, system.variance(system.functional(Query.product({}))) ** 0.5) == pytest.approx(
        (known["N"], known["sd_N"])
    )
    assert (system.is_measured((0, 1)), system.is_measured((0, 2))) == (known["in_span_ab"], known["in_span_ac"])


def test_a_question_takes_little_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work is counted, not timed: no table is looked at for an estimate with its variance, and one for its interval."""
    inference = Inference(measured(people(1, 500), amount=Fraction(9)), probability=Fraction(1))
    looked: list[int] = []
    weights = consistency._Information.weights
    monkeypatch.setattr(
        consistency._Information, "weights", lambda self, of: looked.append(len(self.attributes)) or weights(self, of)
    )
    functional = inference.functional(Query.product({0: np.asarray([1.0, 1, 0, 0, 0, 0]), 1: np.asarray([1.0, 0])}))
    inference.system.value(functional), inference.system.variance(functional)
    assert (len(functional), looked) == (4, [])
    assert inference.share("age=18..19 & sex=f", asked=Asked(estimand="population", sampling="simple random")).interval
    assert looked == [], "noise and sampling together are normal"
    assert inference.count("age=18..19 & sex=f").interval
    assert looked == [2], "that noise is on no lattice is seen in the first table"


def test_one_count_alone_is_on_a_lattice_and_has_the_exact_law_of_its_noise() -> None:
    income = people(1, 500)
    alone = Inference(measured(income, (((2,), (2,)),), amount=Fraction(1, 4)), probability=Fraction(1))
    functional = alone.functional(Query.product({2: np.asarray([1.0, 0, 0])}))
    assert alone.has_lattice(functional)
    assert alone.law(functional).step == 1
    assert alone.reach(functional, 0.95) == 1, "a normal number of this variance would reach 0.98"
    values = Inference(measured(income, (((0,), (0,)), ((0, 1), ())), amount=Fraction(1, 4)), probability=Fraction(1))
    single = values.functional(Query.product({0: np.eye(6)[2] - np.eye(6)[3]}))
    assert values.has_lattice(single), "two values of one bucket, from the table of one attribute alone"
    assert values.law(single).step == 1


def test_an_attribute_of_very_many_values_is_summed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its contrasts would fill a matrix of the square of their number; what is known of the others stays."""
    monkeypatch.setattr("deniable.inference.system._MOST_VALUES", 4)
    found = made_up([((0,), (0,), ()), ((0, 1), (0, 1), ()), ((0, 2), (2,), ())])
    alone, pair, _ = found.tables
    system = MeasuredSystem(found)
    assert system.is_large == (True, False, False, False, False)
    functional = system.functional(Query.product({1: np.array([1.0, 0, 0])}))
    weights = {table.attributes: own for table, own in system.weights(functional)}
    assert set(weights) == {(0,), (0, 1)}, "a table that has it by buckets says nothing more"
    assert np.ptp(weights[0,]) == pytest.approx(0, abs=1e-12), "all its values count alike"
    # The total is in both tables: their precisions are 1 over five and over fifteen variances.
    share = (1 / (5 * alone.variance)) / (1 / (5 * alone.variance) + 1 / (15 * pair.variance))
    in_pair = float(pair.values.sum())
    total = share * float(alone.values.sum()) + (1 - share) * in_pair
    assert system.value(functional) == pytest.approx(float(pair.values[:, 0].sum()) + (total - in_pair) / 3)
    # By itself it is divided, by both tables that have its values.
    own = system.functional(Query.product({0: np.arange(5.0)}))
    assert {table.attributes for table, _ in system.weights(own)} == {(0,), (0, 1)}
    assert sum((table.values * each).sum() for table, each in system.weights(own)) == pytest.approx(system.value(own))
