"""A spec of `cfs` may state the graph: no record is read for it, and the release has that graph and no other."""

from pathlib import Path
from typing import Any

import pytest

from deniable.foundation.errors import InvalidInput
from flows.cli.planning import show_plan
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import ReleaseSpec, load_spec
from tests.published import Published, faults
from tests.small_release import SPEC, write_small_release
from tests.whole_release import drawn_release

GRAPH: dict[str, Any] = {"parents": {"employed": ["school", "age"], "school": ["sex"]}}
ORDER = ["sex", "age", "school", "employed"]
PARAMETERS = SPEC["learner"]["parameters"]
GIVEN: dict[str, Any] = {
    "learner": {"kind": "cfs", "noise": "laplace", "graph": {**GRAPH, "order": ORDER}, "parameters": PARAMETERS},
    "split": {"parameters": 0.8, "holdout": 0.2},
    "synthesis": {"guarantee": "seedless", "records": 400, "chunk_candidates": 128},
}


def with_graph(folder: Path, graph: dict[str, Any] | None, **changes: Any) -> ReleaseSpec:
    """Load a spec with another graph."""
    learner = GIVEN["learner"] | {"graph": graph}
    if graph is None:
        del learner["graph"]
    return load_spec(write_small_release(folder, **{**GIVEN, "learner": learner, **changes}))


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Published:
    drawn = drawn_release(tmp_path_factory.mktemp("given"), **GIVEN)
    drawn.publish()
    return Published.of(drawn)


@pytest.mark.slow
def test_a_release_has_the_graph_of_its_spec_and_says_that_it_must_be_public(published: Published) -> None:
    assert faults(published.verify()) == ""
    graph = published.document("graph.json")
    assert graph["order"] == ORDER
    assert {child: [each["name"] for each in those] for child, those in graph["parents"].items() if those} == GRAPH[
        "parents"
    ]
    statement = published.files["PRIVACY.md"].decode()
    assert "A graph that is not public" in statement
    assert "stated in the spec, and was not learnt from the records" in statement
    assert [step["step"] for step in published.record["cost"]["steps"]] == ["learn_parameters"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        lambda graph: graph["parents"]["employed"].pop(),
        lambda graph: graph["parents"]["employed"].reverse(),
        lambda graph: graph["order"].reverse(),
        lambda graph: graph.clear(),
    ],
)
def test_another_graph_than_that_of_the_spec_does_not_verify(published: Published, change: Any) -> None:
    graph = published.document("graph.json")
    change(graph)
    assert "graph.json must have the order and the parents in the spec" in faults(
        published.with_document("graph.json", graph).verify()
    )


def test_a_given_graph_costs_nothing_and_its_digest_is_shown(tmp_path: Path) -> None:
    given = with_graph(tmp_path / "given", GRAPH)
    structure, parameters = plan_release(given).steps
    assert (structure.part, structure.events, parameters.part) == (None, (), "parameters")
    other = with_graph(tmp_path / "other", {"parents": {}})
    digests = {next(iter(plan_release(spec).steps)).shown["graph_sha256"] for spec in (given, other)}
    assert len(digests) == 2
    assert plan_release(given).accounts.total == plan_release(other).accounts.total


@pytest.mark.parametrize(
    ("graph", "said"),
    [
        ({"parents": {"employed": ["employed"]}}, "must list others, each once, as parents of employed"),
        ({"parents": {"employed": ["sex", "sex"]}}, "must list others, each once, as parents of employed"),
        (
            {"parents": {"employed": ["height"]}},
            "must name attributes of the schema, age, sex, school, employed; got height",
        ),
        ({"parents": {"employed": ["sex"], "sex": ["employed"]}}, "must have no cycle"),
        ({**GRAPH, "order": ["employed", "sex", "age", "school"]}, "must have parents first, got employed before"),
        ({**GRAPH, "order": ["sex", "age", "school"]}, "must list each attribute of the dataset once, got a list with"),
        ({"parents": {}, "edges": 3}, "learner.graph.edges: is not a key"),
        (None, "learner.structure: must be given, the budget with which the graph is learnt, or graph instead"),
    ],
)
def test_a_graph_that_cannot_be_is_refused_in_a_sentence(
    tmp_path: Path, graph: dict[str, Any] | None, said: str
) -> None:
    with pytest.raises(InvalidInput, match="in 1 of its entries") as refusal:
        with_graph(tmp_path, graph)
    assert said in str(refusal.value)


def test_a_graph_whose_tables_would_not_fit_is_refused(tmp_path: Path) -> None:
    values = ", ".join(f'"c{number}": numeric(0, 999)' for number in range(5))
    schema = f"from schemas.table import numeric, table\n\nschema = table({{{values}}}, description='x', target='c0')\n"
    asked = SPEC["evaluation"] | {"quasi_identifiers": ["c1"], "known": ["c1"], "sensitive": ["c2"]}
    with pytest.raises(InvalidInput, match=r"at most 20,000,000 counts.*got 1,000,000,000,000,000 for c0"):
        with_graph(tmp_path, {"parents": {"c0": ["c1", "c2", "c3", "c4"]}}, schema=schema, evaluation=asked)


def test_a_disjoint_split_needs_seeds_only_where_records_start_from_them(tmp_path: Path) -> None:
    assert "seeds" not in with_graph(tmp_path / "seedless", GRAPH).split.probabilities
    with pytest.raises(InvalidInput, match=r"must start from no seeds.*got tested_seeds; or give split.seeds"):
        with_graph(tmp_path / "tested", GRAPH, synthesis=SPEC["synthesis"])
    with pytest.raises(InvalidInput, match=r"must learn the structure if split\.structure is positive"):
        with_graph(tmp_path / "structure", GRAPH, split={"structure": 0.1, "parameters": 0.7, "holdout": 0.2})


def test_one_epsilon_for_the_whole_release_suffices_with_a_given_graph(tmp_path: Path) -> None:
    path = write_small_release(tmp_path)
    path.write_text(
        "name: small\ndataset: people.py\nsource: people.csv\nepsilon: 1\n"
        "learner: {kind: cfs, noise: laplace, graph: {parents: {employed: [school]}}}\n"
    )
    total = plan_release(load_spec(path)).accounts.total
    assert total is not None
    assert 0.99 < total.epsilon <= 1


@pytest.mark.parametrize(
    ("changes", "said", "remedy"),
    [
        (
            {},
            "fewer than 960 records, the noise is more than the records of most rows of counts: age has 20 counts for",
            "each of up to 12 combinations of its parents' buckets, each with a mean noise of 4; then lower structure.",
        ),
        (
            GIVEN,
            "fewer than 96 records, the noise is more than the records of most rows of counts: employed has 2 counts",
            "for each of 12 combinations of its parents' buckets, each with a mean noise of 4; then leave out a parent",
        ),
    ],
)
def test_the_plan_says_when_noise_exceeds_the_records_of_a_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, Any], said: str, remedy: str
) -> None:
    show_plan(load_spec(write_small_release(tmp_path / "spec", **changes)), tmp_path / "state")
    assert f"{said} {remedy}" in " ".join(capsys.readouterr().out.split())


def test_the_plan_of_independent_attributes_has_no_such_caution(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    show_plan(with_graph(tmp_path / "spec", {"parents": {}}), tmp_path / "state")
    assert "caution" not in capsys.readouterr().out
