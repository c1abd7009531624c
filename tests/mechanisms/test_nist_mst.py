"""NIST-MST: which tables follow from a public file, and what is refused as one."""

import json
from contextlib import AbstractContextManager
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from itertools import combinations
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ruamel.yaml import YAML

from deniable.cli.dispatch import main
from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.errors import InvalidInput, Refused
from deniable.foundation.tables import PairCounts
from deniable.learners.mst.plan import Layout, MstRecipe
from deniable.learners.nist_mst.public_selection import (
    Thresholds,
    WeightedTable,
    mutual_information,
    tables_of,
    weight_of,
)
from deniable.learners.nist_mst.verification import check_measured, check_selection
from deniable.mechanisms import PublicTable
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import ReleaseSpec, load_spec
from stores.tables.sources.reading import Source
from tasks.data import public_rows
from tasks.data.public_rows import PublicCounter
from tests.mechanisms.table import LEARNERS
from tests.small_release import made_up_people, write_small_release

Document = dict[str, Any]
SIZES = (2, 3, 4, 2, 1)
DOMAIN = Domain(
    tuple(Attribute(f"a{i}", tuple(range(size)), "nominal", tuple(range(size))) for i, size in enumerate(SIZES))
)
INFORMATION = {(0, 1): 0.3, (0, 2): 0.2, (0, 3): 0.0001, (1, 2): 0.25, (1, 3): 0.05, (2, 3): 0.05}
ALL = Thresholds(pair=0.001, triple=0.1, max_cells=10_000)


def attributes(tables: tuple[WeightedTable, ...]) -> list[tuple[int, ...]]:
    return [each.attributes for each in tables]


def test_mutual_information_is_in_nats_and_is_that_of_shares() -> None:
    assert mutual_information([[50, 0], [0, 50]]) == round(log(2), 6)
    assert mutual_information([[5, 5], [5, 5]]) == 0
    assert mutual_information([[0, 0], [0, 0]]) == 0
    counts = np.array([[3, 1, 0], [2, 2, 9]])
    shares = counts / counts.sum()
    outer = np.outer(shares.sum(1), shares.sum(0))
    expected = sum(p * np.log(p / q) for p, q in zip(shares.ravel(), outer.ravel(), strict=True) if p)
    assert mutual_information(counts.tolist()) == pytest.approx(expected, abs=1e-6)


def test_a_maximum_spanning_tree_and_triples_of_strong_neighbours_follow() -> None:
    # Of the two pairs with .05 the first is taken.
    assert attributes(tables_of(DOMAIN, INFORMATION, ALL)) == [(0, 1), (1, 2), (1, 3), (0, 1, 2)]
    assert attributes(tables_of(DOMAIN, INFORMATION, replace(ALL, triple=0.04))) == [
        (0, 1),
        (1, 2),
        (1, 3),
        (0, 1, 2),
        (0, 1, 3),
        (1, 2, 3),
    ]
    assert attributes(tables_of(DOMAIN, INFORMATION, replace(ALL, triple=1.0))) == [(0, 1), (1, 2), (1, 3)]


def test_triples_name_attributes_in_order_the_strongest_first() -> None:
    """Attributes are numbered beyond 8, where a set of numbers is not in their order."""
    domain = Domain(tuple(Attribute(f"a{i}", (0, 1), "nominal", (0, 1)) for i in range(18)))
    information = {(2, 3): 0.5, (1, 8): 0.49, (8, 17): 0.48, (3, 4): 0.15}
    weak = {(i, j): 0.0 for j in range(18) for i in range(j)}
    found = attributes(tables_of(domain, {**weak, **information}, replace(ALL, pair=0.1, triple=0.1)))
    assert found[-2:] == [(1, 8, 17), (2, 3, 4)]


def test_weak_pairs_are_pruned_and_large_tables_left_out() -> None:
    assert attributes(tables_of(DOMAIN, INFORMATION, replace(ALL, pair=0.1))) == [(0, 1), (1, 2), (0, 1, 2)]
    assert attributes(tables_of(DOMAIN, INFORMATION, replace(ALL, pair=9.0))) == []
    # The tree of pairs has 6 + 12 + 6 cells, and 1 more for the constant; the triple would have 24 instead of 18.
    assert attributes(tables_of(DOMAIN, INFORMATION, replace(ALL, max_cells=25))) == [(0, 1), (1, 2), (1, 3)]
    assert attributes(tables_of(DOMAIN, INFORMATION, replace(ALL, max_cells=31)))[-1] == (0, 1, 2)


def test_weights_minimise_the_expected_error() -> None:
    assert [weight_of(cells) for cells in (1, 8, 27, 1000)] == [1, 2, 3, 10]
    cells = {(0, 1): 8, (1, 2): 1000}

    def error(weights: tuple[int, ...]) -> float:
        layout = Layout.of_cliques(DOMAIN, list(cells), weights)
        return sum(
            size * variance**0.5 for size, variance in zip(cells.values(), layout.table_variances(1.0), strict=True)
        )

    best = error((2, 10))
    assert all(best <= error(others) for others in ((1, 10), (3, 10), (1, 1), (2, 8), (2, 13)))


def test_the_third_of_rho_that_choices_would_cost_goes_to_the_tables() -> None:
    recipe = MstRecipe(Fraction(1), Fraction(1, 10**9))
    plan = recipe.calibrate(DOMAIN, Layout.of_cliques(DOMAIN, [(0, 1), (1, 2)], (1, 2)))
    costs = [float(event.outputs * event.rho) for event in plan.events if event.rho is not None]
    assert [event.query for event in plan.events[4:]] == ["table of a0 and a1", "table of a1 and a2"]
    assert sum(costs[:4]) == pytest.approx(sum(costs) / 3, rel=2e-3)
    assert costs[5] == pytest.approx(4 * costs[4], rel=4e-3)
    assert 0.995 <= plan.guarantee.epsilon <= 1


@pytest.fixture
def asked() -> Document:
    return deepcopy(LEARNERS["nist_mst"].asked)


def run_of(folder: Path, **changes: Any) -> tuple[Any, Any]:
    """The spec, and the step that reads the public file."""
    spec = load_spec(write_small_release(folder, **changes))
    step = next(step for step in plan_release(spec).steps if step.public is not None)
    return spec, step


def select(folder: Path, **changes: Any) -> Any:
    """Carry out the step that reads the public file."""
    spec, step = run_of(folder, **changes)
    return step.run(PublicCounter(spec, step.public, folder / "cache"), {}, lambda **_: None)


def test_the_step_publishes_what_the_tables_follow_from(tmp_path: Path, asked: Document) -> None:
    document = select(tmp_path, **asked).products["selection"]
    assert document["sha256"] == asked["learner"]["selection"]["sha256"]
    assert document["tables"] == asked["learner"]["selection"]["tables"]
    assert len(document["information"]) == 6


def test_a_file_that_is_missing_is_refused(tmp_path: Path, asked: Document) -> None:
    asked["learner"]["selection"]["public_file"] = "nowhere.csv"
    with pytest.raises(InvalidInput, match=r"the public file must exist, and .*nowhere.csv does not"):
        select(tmp_path, **asked)


def test_a_file_with_another_digest_is_refused(tmp_path: Path, asked: Document) -> None:
    asked["learner"]["selection"]["sha256"] = "0" * 64
    with pytest.raises(InvalidInput, match=r"must have the SHA-256 0000"):
        select(tmp_path, **asked)


def test_the_confidential_source_is_refused_under_its_name_and_as_a_copy(tmp_path: Path, asked: Document) -> None:
    spec, step = run_of(tmp_path, **asked)
    (tmp_path / "copy.csv").write_bytes((tmp_path / "people.csv").read_bytes())
    (tmp_path / "link.csv").symlink_to(tmp_path / "people.csv")
    for name in ("people.csv", "copy.csv", "link.csv"):
        counter = PublicCounter(spec, PublicTable(path=name, sha256=step.public.sha256), tmp_path / "cache")
        with pytest.raises(Refused, match="must not be the source of the release"):
            counter.count(lambda: PairCounts(spec.domain), "")


def written(folder: Path, name: str, frame: pd.DataFrame) -> PublicTable:
    path = folder / name
    if name.endswith("parquet"):
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False)
    return PublicTable(path=name, sha256=load_digest(path))


def test_the_records_of_the_source_are_refused_in_any_encoding_and_order(tmp_path: Path, asked: Document) -> None:
    spec, _ = run_of(tmp_path, **asked)
    people = pd.read_csv(tmp_path / "people.csv", dtype=str)
    reordered = people.sample(frac=1, random_state=3)[["school", "age", "employed", "sex"]]
    less = people.drop(index=7)
    other = people.copy()
    other.loc[7, "sex"] = {"f": "m", "m": "f"}[people.loc[7, "sex"]]

    def counted(name: str, frame: pd.DataFrame) -> PairCounts:
        table = written(tmp_path, name, frame)
        return PublicCounter(spec, table, tmp_path / "cache").count(lambda: PairCounts(spec.domain), "")

    copies = {"copy.csv": reordered, "copy.parquet": people, "gzipped.csv.gz": reordered}
    for name, frame in {**copies, "less.csv": less, "other.parquet": other, "half.csv": people[::2]}.items():
        with pytest.raises(Refused, match=rf"{name} must be about other people than the source of the release"):
            counted(name, frame)
    fresh = pd.DataFrame(made_up_people(len(people), b"other people"), columns=people.columns)
    assert counted("fresh.csv", fresh).rows == len(people)


def test_the_source_is_read_once_however_often_public_rows_are_counted(
    tmp_path: Path, asked: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, _ = run_of(tmp_path, **asked)
    people = pd.DataFrame(made_up_people(1000, b"other people"), columns=["age", "sex", "school", "employed"])
    counter = PublicCounter(spec, written(tmp_path, "others.csv", people), tmp_path / "cache")
    read: list[object] = []
    opened = public_rows.opened_source

    def noted(given: ReleaseSpec, cache: Path) -> AbstractContextManager[Source]:
        read.append(given.source)
        return opened(given, cache)

    monkeypatch.setattr(public_rows, "opened_source", noted)
    for _ in range(3):
        assert counter.count(lambda: PairCounts(spec.domain), "").rows == len(people)
    assert read.count(spec.source) == 1
    assert len(read) == 4


def test_tables_that_do_not_follow_from_the_file_are_refused(tmp_path: Path, asked: Document) -> None:
    asked["learner"]["selection"]["tables"].pop()
    with pytest.raises(Refused, match="must list the tables that follow from the public file"):
        select(tmp_path, **asked)


def test_rows_that_are_invalid_do_not_count_and_some_must_be_valid(tmp_path: Path, asked: Document) -> None:
    spec, _ = run_of(tmp_path, **asked)
    (tmp_path / "more.csv").write_text("age,sex,school,employed\n99,f,none,no\n20,m,none,no\n21,,some,yes\n")
    (tmp_path / "none.csv").write_text("age,sex,school,employed\n99,f,none,no\n")
    digests = {name: load_digest(tmp_path / name) for name in ("more.csv", "none.csv")}

    def counted(name: str) -> PairCounts:
        counter = PublicCounter(spec, PublicTable(path=name, sha256=digests[name]), tmp_path / "cache")
        return counter.count(lambda: PairCounts(spec.domain), "")

    assert counted("more.csv").rows == 1
    with pytest.raises(Refused, match=r"none.csv must have valid rows, got none"):
        counted("none.csv")


def load_digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def test_a_spec_without_tables_says_how_to_get_them(
    tmp_path: Path, asked: Document, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stated = deepcopy(asked["learner"]["selection"])
    for name in ("sha256", "tables"):
        del asked["learner"]["selection"][name]
    spec = load_spec(write_small_release(tmp_path / "spec", **asked))
    with pytest.raises(InvalidInput, match=r"add the lines that `deniable mechanisms select SPEC` prints"):
        list(plan_release(spec).steps)
    monkeypatch.setenv("DENIABLE_STATE", str(tmp_path / "state"))
    assert main(["mechanisms", "select", str(tmp_path / "spec" / "spec.yaml")]) == 0
    printed = YAML(typ="safe").load(capsys.readouterr().out)
    assert printed == {"selection": stated}


@pytest.mark.parametrize(
    ("place", "value", "refusal"),
    [
        ("public_file", "public.txt", "public_file"),
        ("sha256", "abc", "sha256"),
        ("tables", [{"attributes": ["school", "nothing"]}], "must be attributes of the dataset, got nothing"),
        ("tables", [{"attributes": ["school", "age"]}], "must be different, in the order"),
        ("tables", [{"attributes": ["age"]}], "at least 2 items"),
        ("least_information", 0, "greater than 0"),
    ],
)
def test_a_wrong_selection_is_refused_with_its_place(
    tmp_path: Path, asked: Document, place: str, value: object, refusal: str
) -> None:
    asked["learner"]["selection"][place] = value
    with pytest.raises(InvalidInput) as refused:
        load_spec(write_small_release(tmp_path, **asked))
    assert "learner" in str(refused.value)
    assert refusal in str(refused.value) or place in str(refused.value)


@pytest.fixture
def published(tmp_path: Path, asked: Document) -> tuple[Document, Document, Document]:
    """The record's spec, the schema and the selection, as far as the check reads them."""
    spec, step = run_of(tmp_path, **asked)
    made = step.run(PublicCounter(spec, step.public, tmp_path / "cache"), {}, lambda **_: None)
    record = {"spec": {"document": json.loads(spec.model_dump_json())}}
    described = {
        "attributes": [
            {
                "name": each.name,
                "kind": each.kind,
                "values": [
                    {"value": value, "bucket": bucket} for value, bucket in zip(each.values, each.buckets, strict=True)
                ],
            }
            for each in spec.domain.attributes
        ],
        "target": spec.domain.target,
    }
    return record, described, json.loads(json.dumps(made.products["selection"]))


def test_the_selection_is_verified_offline(published: tuple[Document, Document, Document]) -> None:
    (check,) = check_selection(*published)
    assert check.faults == ()


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda found: found["information"][0].update(nats=0.9), "do not follow from the mutual information"),
        (lambda found: found["information"].pop(), "each pair of attributes once"),
        (lambda found: found.update(sha256="0" * 64), "must be of the file with the digest"),
        (lambda found: found["tables"].pop(), "must have the tables that the spec lists"),
        (lambda found: found.update(format="other"), "must be of the format"),
        (lambda found: found.clear(), "is missing"),
    ],
)
def test_a_selection_that_was_altered_does_not_hold(
    published: tuple[Document, Document, Document], change: Any, fault: str
) -> None:
    record, described, document = published
    change(document)
    (check,) = check_selection(record, described, document)
    assert fault in " ".join(check.faults)


def test_measurements_of_other_tables_do_not_hold(published: tuple[Document, Document, Document]) -> None:
    record, described, _ = published
    (check, *_) = check_measured(record | {"cost": {"steps": []}}, described, {})
    assert check.faults


def test_all_pairs_are_there() -> None:
    assert list(INFORMATION) == list(combinations(range(4), 2))
