"""`noise: none` is for public tables: refused for what a ledger knows as confidential, free, and without any claim."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deniable.foundation.errors import InvalidInput, Refused
from deniable.foundation.tables import FamilyCounts
from deniable.learners.cfs.given_graph import graph_in_spec
from deniable.learners.cfs.parameters import ParameterMechanism, WithoutNoise
from deniable.privacy.loss import TRIVIAL
from deniable.privacy.neighbours import NOTHING_HIDDEN, PUBLIC_RECORDS
from flows.cli.planning import show_plan
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import load_spec
from stores.ledger.accounts import admit
from stores.ledger.charging import open_ledger, policy_of, require_not_confidential
from stores.ledger.state_ledger import state_ledger
from stores.tables.tables import read_codes
from stores.tracking.client import recording
from tasks.data.account import account
from tasks.learning.planned_step import planned_step
from tests.mechanisms.test_given_graph import GIVEN, GRAPH, ORDER
from tests.published import Published, faults, with_change
from tests.small_release import SCHEMA, SPEC, write_small_release
from tests.whole_release import Drawn, drawn_release

LEARNER: dict[str, Any] = {
    "kind": "cfs",
    "noise": "none",
    "graph": {**GRAPH, "order": ORDER},
    "accept_no_differential_privacy": True,
}
OPEN: dict[str, Any] = {**GIVEN, "learner": LEARNER, "budget": None}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    made = drawn_release(tmp_path_factory.mktemp("open"), **OPEN)
    made.publish()
    return made


@pytest.fixture(scope="module")
def published(drawn: Drawn) -> Published:
    return Published.of(drawn)


def test_the_baseline_has_noise_exactly_where_counts_have(tmp_path: Path) -> None:
    assert isinstance(plan_release(load_spec(write_small_release(tmp_path / "open", **OPEN))).baseline, WithoutNoise)
    noisy = plan_release(load_spec(write_small_release(tmp_path / "confidential"))).baseline
    assert isinstance(noisy, ParameterMechanism)
    assert noisy.events


def test_it_costs_nothing_and_claims_nothing(tmp_path: Path) -> None:
    spec = load_spec(write_small_release(tmp_path, **OPEN))
    accounts = plan_release(spec).accounts
    assert (accounts.steps, accounts.total, accounts.model_stated, accounts.parameters) == ((), None, None, None)
    assert (accounts.model, accounts.relation) == (TRIVIAL, PUBLIC_RECORDS)
    assert accounts.relation.kind == NOTHING_HIDDEN.kind
    assert accounts.why_none == "counts have no noise, because the table is public"


def test_the_model_has_the_exact_counts(drawn: Drawn) -> None:
    """Its probabilities are those of the counts, to the rounding of the model."""
    workspace = drawn.workspace
    domain = workspace.spec.domain
    graph = graph_in_spec(domain, LEARNER["graph"])
    counts = FamilyCounts(domain, graph.parents)
    for codes in read_codes(workspace.vault / "parameters.parquet", domain):
        counts.add(codes)
    net = WithoutNoise().run(counts, graph, lambda **_: pytest.fail("it must draw nothing"))
    place = domain.index("sex")
    exact = (counts.tables[place] + 0.5) / (counts.tables[place].sum() + 1)
    np.testing.assert_allclose(net.weights[place] / 2**32, exact, atol=2**-31)
    assert Published.of(drawn).document("model.json") == net.document()


def test_it_is_marked_everywhere_and_verifies(published: Published) -> None:
    assert faults(published.verify()) == ""
    record, statement = published.record, published.document("privacy.json")
    assert record["cost"]["total"] is None
    assert (record["cost"]["model"]["delta"], record["cost"]["steps"]) == (1, [])
    assert not [entry for entry in record["ledger"]["entries"] if "charge" in entry]
    assert (statement["total"], statement["definition"].startswith("none")) == (None, True)
    assert statement["model"] == {
        "structure": None,
        "parameters": None,
        "noise": "none: the counts are exact",
        "choices": statement["model"]["choices"],
    }
    words = published.files["PRIVACY.md"].decode()
    for said in (
        "**The release has no differential privacy**: counts have no noise, because the table is public",
        "no noise was added, nothing was charged, and **nothing is guaranteed**",
        "Records that are not public",
    ):
        assert said in words
    assert "With respect to all records" not in words
    assert "**without noise**" in published.files["README.md"].decode()
    page = published.files["index.html"].decode()
    assert "The release has no differential privacy" in page
    assert "format of a public table" in page
    assert "without noise, because the table is public" in page
    assert "is (ε, δ)-differentially private" not in page


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("total", {"epsilon": 1.0, "delta": 0.0, "accountant": "basic"}),
        ("model", {"epsilon": 0.0, "delta": 0.0, "accountant": "basic"}),
    ],
)
def test_a_record_that_claims_something_does_not_verify(published: Published, name: str, value: Any) -> None:
    changed = with_change(published.record, ("cost", name), lambda _: value)
    assert f"cost.{name}" in faults(published.signed_again(changed).verify())


def test_the_records_in_mlflow_claim_no_epsilon(drawn: Drawn) -> None:
    workspace = drawn.workspace
    with recording(workspace.state) as client:
        run = client.get_run(workspace.mlflow_run_id)
        (model,) = [client.get_logged_model(out.model_id) for out in run.outputs.model_outputs]
    figures = {metric.key: metric.value for metric in model.metrics}
    assert (figures["epsilon.model"], figures["delta.model"]) == (sys.float_info.max, 1), "MLflow stores infinity so"
    assert "**without any guarantee**: counts have no noise" in model.tags["mlflow.note.content"]


def test_the_plan_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = load_spec(write_small_release(tmp_path / "spec", **OPEN))
    assert show_plan(spec, tmp_path / "state") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "no differential privacy: counts have no noise, because the table is public" in said
    assert "Nothing is guaranteed, and nothing is charged. The table must be public." in said
    assert "not covered Records that are not public" in said


@pytest.mark.parametrize("how", ["name", "place", "content"])
def test_what_a_ledger_knows_as_confidential_is_refused(
    tmp_path: Path, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the name of its dataset, by the place of its source, or by its content; nothing is read, drawn or written."""
    state, people = tmp_path / "state", SPEC["budget"] | {"dataset": "people-by-household"}
    confidential = load_spec(write_small_release(tmp_path / "spec", budget=people))
    asked = OPEN if how == "name" else {**OPEN, "dataset": "others.py"}
    path = write_small_release(tmp_path / ("spec" if how == "place" else "open"), **asked)
    (path.parent / "others.py").write_text(SCHEMA)
    ledger = state_ledger(state)
    assert confidential.budget is not None
    admit(state, confidential, ledger, policy_of(confidential, confidential.budget))
    if how != "content":
        table = path.parent / "people.csv"
        table.write_bytes(table.read_bytes() + b"20,f,none,no\n")
    spec = load_spec(path)
    before = ledger.entries()
    with pytest.raises(Refused, match="noise: none must be of a table that the ledger does not know as confidential"):
        require_not_confidential(state, spec)
    assert show_plan(spec, state) == 1
    assert "would be refused" in capsys.readouterr().out
    assert ledger.entries() == before


def test_a_step_is_refused_that_the_ledger_came_to_know_meanwhile(drawn: Drawn, tmp_path: Path) -> None:
    there = drawn.moved_to(tmp_path / "state")
    workspace = there.workspace
    confidential = load_spec(write_small_release(tmp_path / "spec"))
    assert confidential.budget is not None
    open_ledger(workspace).set_policy(policy_of(confidential, confidential.budget))
    (_, step) = workspace.plan.learning
    codes = next(item for item in there.learnt if item.name == "graph")
    with pytest.raises(Refused, match="does not know as confidential"):
        planned_step(workspace, step.task, codes, (codes,))
    with pytest.raises(Refused, match="does not know as confidential"):
        account(workspace)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"learner": LEARNER | {"accept_no_differential_privacy": False}}, "must be true if noise is none"),
        ({"learner": LEARNER | {"parameters": {"epsilon": 1, "delta": 1e-6}}}, "must be left out if noise is none"),
        ({"learner": {**LEARNER, "graph": None}}, "must be given, the budget with which the graph is learnt, or graph"),
        (
            {"learner": GIVEN["learner"] | {"accept_no_differential_privacy": True}},
            "must be left out unless noise is none",
        ),
        ({"budget": {"epsilon": 1, "delta": 1}}, "a budget is for a confidential table"),
        ({"epsilon": 1}, "must be left out if learner.noise is none, because nothing is guaranteed"),
        (
            {"synthesis": SPEC["synthesis"], "split": {"seeds": 0.4, "parameters": 0.4, "holdout": 0.2}},
            "must be seedless if learner.noise is none",
        ),
    ],
)
def test_a_spec_that_mixes_both_is_refused_in_a_sentence(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        load_spec(write_small_release(tmp_path, **{**OPEN, **changes}))
    assert said in str(refusal.value)
