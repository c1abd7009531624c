"""Estimates of measured tables agree with each other, and are those of generalized least squares in full."""

import copy
import json
from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable.foundation.domain import Attribute, Domain
from deniable.measurements import estimates
from deniable.measurements.consistency import ConsistentTables, Constraint, Observation
from deniable.measurements.document import Measurements, Universe
from deniable.measurements.estimates import KnownTotals, check_consistent, consistent
from deniable.measurements.noisy_tables import MeasuredTable, NoiseLaw, Release
from deniable.record.schema_document import describe_domain

Document = dict[str, Any]
Cells = NDArray[np.float64]
BUCKETS = ((0, 0, 1, 2, 2), (0, 1, 2), (0, 1), (0, 0, 1, 1), (0,))
DOMAIN = Domain(
    tuple(Attribute(f"a{i}", tuple(range(len(own))), "nominal", tuple(own)) for i, own in enumerate(BUCKETS)),
)


def released(shape: tuple[int, ...], law: NoiseLaw, turn: int, draw: np.random.Generator) -> Release:
    sums = draw.integers(-20, 300, size=shape)
    return Release(np.asarray(sums, np.int64), law, turn)


def measured(
    tables: list[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]], law: str = "gaussian", seed: int = 1
) -> Measurements:
    """Made-up measurements: attributes, those by values and those of which differences are released."""
    draw = np.random.default_rng(seed)
    found = []
    for turn, (attributes, by_values, differences) in enumerate(tables, 1):
        cells = [len(BUCKETS[i]) if i in by_values else max(BUCKETS[i]) + 1 for i in attributes]
        shape = tuple(1 if i in differences else size for i, size in zip(attributes, cells, strict=True))
        noise = NoiseLaw(law, Fraction(int(draw.integers(4, 60)), 3))  # type: ignore[arg-type]
        found.append(
            MeasuredTable(attributes, (released(shape, noise, turn, draw),), by_values, differences, "made up")
        )
    return Measurements(
        domain=DOMAIN,
        learner="made up",
        universe=Universe("parameters"),
        buckets=tuple(np.asarray(own) for own in BUCKETS),
        tables=tuple(found),
        choices=(),
        records=500.0,
        order=tuple(range(len(DOMAIN))),
    )


ALONE = [((i,), (i,), ()) for i in range(len(BUCKETS))]
SYSTEMS: dict[str, list[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]]] = {
    "single attributes by values": ALONE,
    "pairs by buckets": [*ALONE, ((0, 1), (), ()), ((1, 3), (), ()), ((0, 3), (), ())],
    "differences": [*ALONE, ((0, 2), (), (2,)), ((0, 3), (), ()), ((2, 3), (), (2, 3)), ((0, 2, 3), (), (2, 3))],
    "pairs and a triple": [*ALONE, ((0, 1), (), ()), ((0, 1, 2), (), ()), ((1, 2), (), ())],
    "values in tables of several": [*ALONE, ((0, 1), (0,), ()), ((0, 3), (0, 3), ()), ((0, 2), (), ())],
    "families": [((0, 1, 2), (0, 1, 2), ()), ((0, 3), (3,), ()), ((0, 1, 4), (1,), ())],
    "no single attributes": [((0, 1), (), ()), ((1, 2), (), ()), ((2, 3), (), ())],
}


def along(i: int, *, by_values: bool, is_difference: bool) -> Cells:
    """What an axis shows of the values of an attribute."""
    values = len(BUCKETS[i])
    shown = np.eye(values) if by_values else np.eye(max(BUCKETS[i]) + 1)[list(BUCKETS[i])].T
    return np.diff(shown, axis=0) if is_difference else shown


def design(attributes: tuple[int, ...], by_values: tuple[int, ...], differences: tuple[int, ...] = ()) -> Cells:
    """What a table shows of the joint counts of all values."""
    parts = [
        along(i, by_values=i in by_values, is_difference=i in differences)
        if i in attributes
        else np.ones((1, len(own)))
        for i, own in enumerate(BUCKETS)
    ]
    return reduce(np.kron, parts)


def in_full(found: Measurements, wanted: Cells) -> tuple[Cells, Cells]:
    """Estimates and variances of linear functions of all joint counts, by dense generalized least squares."""
    shown = np.concatenate(
        [design(t.attributes, t.by_values, t.differences) / np.sqrt(t.variance) for t in found.tables]
    )
    seen = np.concatenate([np.ravel(t.values) / np.sqrt(t.variance) for t in found.tables])
    inverse = np.linalg.pinv(shown.T @ shown, rcond=1e-10, hermitian=True)
    reached = wanted @ inverse @ (shown.T @ shown)
    assert np.allclose(reached, wanted, atol=1e-6), "it can be estimated"
    return wanted @ inverse @ shown.T @ seen, np.einsum("ij,jk,ik->i", wanted, inverse, wanted)


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
@pytest.mark.parametrize("system", SYSTEMS)
def test_estimates_are_those_of_generalized_least_squares_worked_out_in_full(system: str, law: str) -> None:
    found = measured(SYSTEMS[system], law)
    document = consistent(found)
    several = {table.attributes for table in found.tables if len(table.attributes) > 1}
    shown = [DOMAIN.subset(table["attributes"]) for table in document["tables"]]
    assert {attributes for attributes in shown if len(attributes) > 1} == several
    for table, attributes in zip(document["tables"], shown, strict=True):
        counts, variances = in_full(found, design(attributes, DOMAIN.subset(table["by_values"])))
        assert np.allclose(np.ravel(table["estimates"]), counts, rtol=1e-6, atol=1e-6), table["attributes"]
        assert np.allclose(np.ravel(table["variances"]), variances, rtol=1e-6, atol=1e-6), table["attributes"]
    counts, variances = in_full(found, np.ones((1, len(counts_of_all()))))
    assert document["records"] == pytest.approx(counts[0])
    assert document["records_variance"] == pytest.approx(variances[0])


def counts_of_all() -> Cells:
    return np.zeros(int(np.prod([len(own) for own in BUCKETS])))


@pytest.mark.parametrize("system", SYSTEMS)
def test_tables_agree_on_the_records_and_on_what_they_share(system: str) -> None:
    document = consistent(measured(SYSTEMS[system]))
    sums: dict[tuple[str, ...], Cells] = {}
    for table in document["tables"]:
        counts = np.asarray(table["estimates"])
        for axis, name in enumerate(table["attributes"]):
            if name in table["by_values"]:
                coarse = np.zeros(max(document["buckets"][name]) + 1)
                np.add.at(coarse, document["buckets"][name], counts)
                counts = coarse
            assert counts.shape[axis] == max(document["buckets"][name]) + 1
        assert counts.sum() == pytest.approx(document["records"])
        for size in range(1, counts.ndim + 1):
            for kept in combinations(range(counts.ndim), size):
                summed = counts.sum(axis=tuple(axis for axis in range(counts.ndim) if axis not in kept))
                names = tuple(table["attributes"][axis] for axis in kept)
                assert np.allclose(sums.setdefault(names, summed), summed, atol=1e-6), names


def test_a_table_that_was_not_measured_is_not_estimated() -> None:
    # Of a0 by a1 by a2 only differences of a2 are known: a2 by itself and with each other attribute, but not a1.
    document = consistent(measured([((0,), (0,), ()), ((0, 1, 2), (), (2,))]))
    assert [table["attributes"] for table in document["tables"]] == [["a0"], ["a2"]]
    nothing = consistent(measured([((2,), (), (2,))]))
    assert (nothing["records"], nothing["tables"]) == (None, [])


@pytest.fixture(scope="module")
def vectors(shared: Path) -> Document:
    known: Document = json.loads((shared / "vectors" / "vectors2.json").read_text())
    return known


def test_the_marginal_of_the_vectors(vectors: Document) -> None:
    known = vectors["inference"]
    document = known["doc"]
    singles, (ab, bc) = document["attributes"], document["tables"]
    buckets = document["buckets"]["b"]
    of_b = np.zeros(max(buckets) + 1)
    np.add.at(of_b, buckets, singles["b"]["noisy"])
    noise = {name: singles[name]["deviation"] ** 2 for name in "abc"}
    found = ConsistentTables(
        (2, 3, 2),
        (
            Observation((0,), np.asarray(singles["a"]["noisy"]), noise["a"]),
            Observation((1,), of_b, noise["b"], {1: np.bincount(buckets).astype(float)}),
            Observation((2,), np.asarray(singles["c"]["noisy"]), noise["c"]),
            Observation((0, 1), np.asarray(ab["noisy"]), ab["deviation"] ** 2, {}, (0,)),
            Observation((1, 2), np.asarray(bc["noisy"]), bc["deviation"] ** 2),
        ),
    )
    marginal, records = found.table((0, 1)), found.table(())
    assert np.allclose(marginal.counts, known["marginal_ab"], atol=1e-8)
    assert marginal.variances[1, 2] ** 0.5 == pytest.approx(known["sd_cell_a1_b2"])
    assert (float(records.counts), float(records.variances) ** 0.5) == pytest.approx((known["N"], known["sd_N"]))
    assert found.has((0, 1))
    assert not found.has((0, 2))


def test_the_total_and_the_two_sexes_of_the_slide(vectors: Document) -> None:
    """Three Laplace counts at epsilon 1/2, 1/5 and 1/4, of which the last two sum to the first."""
    total = Observation((), np.asarray(2005.0), 8.0)
    sexes = Observation((0,), np.asarray([1001.0, 995.0]), 1.0, {0: np.asarray([50.0, 32.0])})
    found = ConsistentTables((2,), (total, sexes))
    known = vectors["consistency"]
    assert float(found.table(()).counts) == pytest.approx(known["total"])
    assert found.table((0,)).counts.tolist() == pytest.approx([known["male"], known["female"]])
    alone = ConsistentTables((2,), (sexes,))
    assert float(alone.table(()).counts) == pytest.approx(1996), "without the total there is nothing to agree with"
    public = ConsistentTables((2,), (sexes,), (Constraint(np.asarray([2005.0])),))
    assert float(public.table(()).counts) == 2005
    assert float(public.table(()).variances) == pytest.approx(0, abs=1e-12)
    assert public.table((0,)).counts.tolist() == pytest.approx([1001 + 9 * 50 / 82, 995 + 9 * 32 / 82])


def test_public_totals_are_kept_and_make_other_tables_more_precise() -> None:
    found = measured(SYSTEMS["pairs by buckets"])
    counts = (90, 160, 250)
    totals = (KnownTotals((500,)), KnownTotals(counts, 1))
    before, after = consistent(found), consistent(found, totals)
    assert after["records"] == pytest.approx(500)
    assert after["records_variance"] == pytest.approx(0, abs=1e-9)
    [single] = [table for table in after["tables"] if table["attributes"] == ["a1"]]
    assert (single["estimates"], single["variances"]) == (list(counts), [0, 0, 0])
    [pair] = [table for table in after["tables"] if table["attributes"] == ["a0", "a1"]]
    assert np.allclose(np.sum(pair["estimates"], axis=0), counts)
    for one, other in zip(before["tables"], after["tables"], strict=True):
        assert (np.asarray(other["variances"]) <= np.asarray(one["variances"]) + 1e-9).all()
    # A hard constraint is the limit of a count with hardly any noise.
    nearly = measured([*SYSTEMS["pairs by buckets"], ((1,), (), ())])
    sums = Release(np.asarray(counts, np.int64), NoiseLaw("gaussian", Fraction(1, 10**7)), len(nearly.tables))
    exact = Measurements(**{**vars(nearly), "tables": (*found.tables, MeasuredTable((1,), (sums,), (), (), "public"))})
    [soft] = [table for table in consistent(exact)["tables"] if table["attributes"] == ["a0", "a1"]]
    assert np.allclose(pair["estimates"], soft["estimates"], atol=1e-3)
    assert np.allclose(pair["variances"], soft["variances"], atol=1e-3)


def test_a_system_that_is_too_large_leaves_out_tables_with_uneven_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    found = measured(SYSTEMS["values in tables of several"])
    monkeypatch.setattr(estimates, "LARGEST_SYSTEM", 4)
    document = consistent(found)
    several = [table["attributes"] for table in document["tables"] if len(table["attributes"]) > 1]
    assert several == [["a0", "a3"], ["a0", "a2"]]


CHANGES: dict[str, tuple[Callable[[Document], Any], str]] = {
    "an estimate": (lambda found: found["tables"][-1]["estimates"][0].__setitem__(0, 7.0), "estimates of the table of"),
    "a variance": (lambda found: found["tables"][-1]["variances"][0].__setitem__(0, 7.0), "variances of the table of"),
    "the records": (lambda found: found.update(records=found["records"] + 0.01), "estimates of the records"),
    "no records": (lambda found: found.update(records=None), "records must be stated"),
    "a table less": (lambda found: found["tables"].pop(), "must have the tables that were measured"),
    "tables in another order": (lambda found: found["tables"].reverse(), "must come here"),
    "a row less": (lambda found: found["tables"][-1]["estimates"].pop(), "must have the shape"),
    "another meaning": (lambda found: found.update(meaning="Counts."), "meaning is not what follows"),
    "a total": (lambda found: found["totals"].append({"attribute": None, "counts": [3]}), "totals is not what follows"),
    "something besides": (lambda found: found.update(more=1), "no other entries"),
    "nothing": (lambda found: found.clear(), "is missing"),
    "no number": (lambda found: found["tables"][-1].update(estimates="many"), "cannot be evaluated"),
}


def described() -> Document:
    found: Document = json.loads(json.dumps(describe_domain(DOMAIN, {}, {})))
    return found


@pytest.mark.parametrize("change", CHANGES)
def test_what_was_changed_is_found(change: str) -> None:
    found = measured(SYSTEMS["pairs by buckets"])
    document = json.loads(json.dumps(consistent(found)))
    assert check_consistent(described(), found.document(), document).holds
    altered = copy.deepcopy(document)
    made, said = CHANGES[change]
    made(altered)
    assert said in "; ".join(check_consistent(described(), found.document(), altered).faults)


def test_other_measurements_have_other_estimates() -> None:
    found = measured(SYSTEMS["differences"])
    document, other = consistent(found), found.document()
    other["tables"][-1]["releases"][0]["sums"][0][0][0] += 1
    assert not check_consistent(described(), other, document).holds


def test_an_attribute_of_very_many_buckets_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its contrasts would fill a matrix of the square of their number; what is known of the others stays."""
    monkeypatch.setattr(estimates, "MOST_BUCKETS", 2)
    found = consistent(measured([((0,), (0,), ()), ((0, 2), (), ()), ((2,), (2,), ()), ((2, 3), (2,), ())]))
    assert [table["attributes"] for table in found["tables"]] == [["a2"], ["a3"], ["a2", "a3"]]
    assert found["records"] is not None
    assert consistent(measured([((0,), (0,), ())]))["tables"] == []
