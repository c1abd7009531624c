"""A discovery is a flow of Prefect and a run of MLflow beside releases: found, audited, and charged once if killed."""

import json
import shutil
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from mlflow import MlflowClient
from mlflow.entities import Metric
from mlflow.tracking._tracking_service import utils
from prefect.client.orchestration import get_client

from deniable.cli.dispatch import main
from deniable.cli.dispatch import main as respondent
from deniable.discovery.plan import DiscoveryPlan, asked
from deniable.foundation.errors import Refused
from deniable.verification.discovery import DOCUMENT
from deniable.verification.release import RECORD
from flows import entrypoints
from flows.survey import survey
from infra.stack.backup import back_up, put_back, require_consistent
from reports.figures.spending import spending
from schemas.spec.release_spec import load_spec
from stores.ledger.state_ledger import state_ledger
from stores.record.discovery_record import read_discovery
from stores.releases import discoveries
from stores.tracking.client import PARENT, tracking_uri
from stores.tracking.history_moving import relocate
from stores.vault.workspace import Workspace, file_digest
from tasks.discovery.answer_questions import drawn
from tests.extent import is_night
from tests.flows.command import environment, variables_of_this_server
from tests.flows.test_schema_discover import SCHEMA, SPEC
from tests.mlflow_copies import mlflow_uri
from tests.mutants.mutant import ROOT
from tests.unit.test_local import ANSWERS
from tests.unit.test_local import DOCUMENT as DOCUMENT_OF_SURVEY
from tests.warm import run_module

PLAN = DiscoveryPlan(questions=asked(["charge"], ["age"]), epsilon=Fraction(2), delta=Fraction(1, 10**6))
OPTIONS = ("--column", "charge", "--range", "age", "--epsilon", "2", "--delta", "1e-6")
MOMENTS = [
    ("during", "copy_columns", 0),
    ("before", "answer_questions", 0),
    ("writing", "events.json", 1),  # between the reservation and the draw
    ("before", "publish_discovery", 1),
    ("renaming", "discoveries/", 1),
    ("after", "publish_discovery", 1),
]
BY_DAY = MOMENTS[2:4]


def write_people(folder: Path) -> Path:
    rows = [f"{number},f,{['theft', 'fraud'][number % 2]},{20 + number % 20}.5" for number in range(1200)]
    (folder / "people.csv").write_text("\n".join(["person,sex,charge,age", *rows]) + "\n")
    (folder / "people.py").write_text(SCHEMA)
    (folder / "people.yaml").write_text(SPEC)
    return folder / "people.yaml"


@pytest.mark.usefixtures("prefect")
def test_a_discovery_killed_at_every_step_repeats_its_draws_and_is_charged_once(tmp_path: Path) -> None:
    spec, state = write_people(tmp_path), tmp_path / "state"
    told = {**environment(tmp_path / "home"), **variables_of_this_server()}

    def killed(moment: str, step: str) -> int:
        words = [str(spec), str(state), moment, step, "--discover", *OPTIONS]
        return run_module("tests.flows.killed", words, env=told, cwd=ROOT).returncode

    outputs = set()
    for moment, step, charged in MOMENTS if is_night() else BY_DAY:
        assert killed(moment, step) == -signal.SIGKILL, (moment, step)
        found = state_ledger(state).charges("people")
        assert len(found) == charged, (moment, step)
        outputs |= {each.output for each in found if each.output is not None}
        if moment == "writing":
            assert [each.output for each in found] == [None], "it was reserved, and nothing was drawn"
    assert killed("never", "none") == 0
    ((charge,), (place,)) = state_ledger(state).charges("people"), (state / "discoveries").iterdir()
    assert outputs == {charge.output} == {file_digest(place / DOCUMENT)}, "every repetition drew the same"
    workspace = Workspace(state=state, release_id=place.name, spec=load_spec(spec), mlflow_run_id="")
    begun = discoveries.begun_as(workspace)
    assert begun is not None
    assert begun.finished
    snapshot = discoveries.require_same_copy(workspace, workspace.vault / discoveries.SNAPSHOT, begun.snapshot)
    assert drawn(workspace, PLAN, snapshot) == discoveries.released_answers(state, place.name)
    assert main(["audit", "release", place.name, "--state", str(state)]) == 0


@dataclass(frozen=True)
class Made:
    """A discovery that the command made."""

    folder: Path

    @property
    def discovery(self) -> str:
        return self.folder.name

    @property
    def record(self) -> Mapping[str, Any]:
        return read_discovery(self.folder)


@pytest.fixture(scope="module")
def discovered(tmp_path_factory: pytest.TempPathFactory, prefect: None) -> Path:
    """A state folder with a discovery, which tests must not change."""
    folder = tmp_path_factory.mktemp("discovered")
    state = folder / "state"
    assert main(["table", "discover", str(write_people(folder)), "--state", str(state), *OPTIONS]) == 0
    return state


@pytest.fixture
def state(discovered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it."""
    write_people(tmp_path)
    state = tmp_path / "state"
    shutil.copytree(discovered, state)
    relocate(state)
    utils._artifact_repos_cache.clear()  # MLflow stores the location of a run's files
    monkeypatch.setenv("MLFLOW_TRACKING_URI", mlflow_uri(state))
    return state


@pytest.fixture
def made(state: Path) -> Made:
    (place,) = (state / "discoveries").iterdir()
    return Made(place)


def test_its_run_is_beside_releases_with_what_each_step_spent(made: Made, state: Path) -> None:
    record = made.record
    client = MlflowClient(tracking_uri(state))
    run = client.get_run(record["runs"]["mlflow_run"])
    assert client.get_experiment(run.info.experiment_id).name == "people"
    assert run.data.metrics["epsilon.total"] == 2
    assert run.data.params["columns_of_values"] == "charge"
    assert {item.path for item in client.list_artifacts(run.info.run_id, "public")} == {
        f"public/{DOCUMENT}",
        f"public/{RECORD}",
    }
    steps = client.search_runs([run.info.experiment_id], f"tags.`{PARENT}` = '{run.info.run_id}'")
    spent = {step.info.run_name: (step.data.metrics["epsilon"], step.data.metrics["delta"] > 0) for step in steps}
    assert spent == {
        "01 copy_columns": (0, False),
        "02 answer_questions": (2, True),
        "03 publish_discovery": (0, False),
    }
    with get_client(sync_client=True) as prefect_client:
        flow_run = prefect_client.read_flow_run(record["runs"]["prefect_flow_run"])
        assert flow_run.state is not None
        assert flow_run.state.is_completed()
        assert "charge" in json.dumps(flow_run.parameters, default=str)


def test_it_is_found_and_audited_and_shown_in_the_ledger(
    made: Made, state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def said(*words: str) -> tuple[int, str]:
        status = main([*words, "--state", str(state)])
        out = capsys.readouterr()
        return status, out.out + out.err

    status, audited = said("audit", "release", made.discovery)
    assert status == 0, audited
    assert said("audit", "release", str(made.folder))[0] == 0
    status, found = said("release", "find", "--dataset", "people", "--epsilon-above", "1.5")
    assert status == 0
    assert f"{made.discovery}  " in found
    assert "epsilon 2  discovery  started by" in found
    assert "as signed" in found
    assert "1 discovery, shown" in found
    assert said("release", "find", "--epsilon-above", "2")[1].endswith("No published release or discovery matches.\n")
    assert "answered" in said("budget", "show", "people")[1]

    run = made.record["runs"]["mlflow_run"]
    client = MlflowClient(tracking_uri(state))
    client.log_batch(run, metrics=[Metric("epsilon.total", 1.0, int(time.time() * 1000) + 10, 0)])
    status, audited = said("audit", "release", made.discovery)
    assert status == 1
    assert "metric epsilon.total was changed; it is now 1.0" in audited
    assert "it does not find the discovery" in said("release", "find", "--epsilon-above", "1.5")[1]
    assert "epsilon.total is 1" in said("release", "find", "--epsilon-above", "0.5")[1]
    client.log_batch(run, metrics=[Metric("epsilon.total", 2.0, int(time.time() * 1000) + 20, 0)])
    assert said("audit", "release", made.discovery)[0] == 0
    client.log_batch(run, metrics=[Metric("another", 2.0, 0, 0)])
    client.set_tag(run, "started_by", "nobody")
    (step,) = [
        each
        for each in client.search_runs([client.get_run(run).info.experiment_id], f"tags.`{PARENT}` = '{run}'")
        if each.data.tags["step"] == "answer_questions"
    ]
    client.log_batch(step.info.run_id, metrics=[Metric("epsilon", 0.5, int(time.time() * 1000) + 10, 0)])
    status, audited = said("audit", "release", made.discovery)
    assert status == 1
    for fault in (
        "metric another was added",
        "tag started_by was changed; it is now nobody",
        "metric epsilon of step answer_questions was changed; it is now 0.5",
    ):
        assert fault in audited
    artifacts = _artifacts_of(client, run)
    answers, record = artifacts / "public" / DOCUMENT, artifacts / "public" / RECORD
    answers.write_text(answers.read_text() + " ")
    record.unlink()
    (artifacts / "public" / "another.json").write_text("{}")
    status, audited = said("audit", "release", made.discovery)
    assert status == 1
    for fault in (
        f"artifact public/{DOCUMENT} was changed",
        f"artifact public/{RECORD} was deleted",
        "artifact public/another.json was added",
    ):
        assert fault in audited
    client.delete_run(run)
    assert "the run was deleted" in said("audit", "release", made.discovery)[1]
    (state / "mlflow" / "mlflow.db").rename(state / "mlflow" / "lost.db")
    assert "FAILED  MLflow's run can be compared" in said("audit", "release", made.discovery)[1]


def _artifacts_of(client: MlflowClient, run: str) -> Path:
    """The folder in which MLflow has the artifacts of a run."""
    return Path(unquote(urlsplit(client.get_run(run).info.artifact_uri).path))


def test_discoveries_and_surveys_are_in_a_backup_and_verified_when_it_is_restored(
    made: Made, state: Path, tmp_path: Path
) -> None:
    document, answers, responses = (tmp_path / name for name in ("survey.json", "answers.json", "responses.jsonl"))
    document.write_text(json.dumps({**DOCUMENT_OF_SURVEY, "survey": "earlier"}), encoding="utf-8")
    answers.write_text(json.dumps(ANSWERS), encoding="utf-8")
    words = ["--key", str(tmp_path / "key"), "--answers", str(answers), "--out", str(responses)]
    assert respondent(["data", "respond", str(document), *words]) == 0
    survey(document, responses, state)
    shutil.rmtree(state / "releases", ignore_errors=True)
    back_up(state, tmp_path / "copy")
    elsewhere = tmp_path / "elsewhere"
    put_back(tmp_path / "copy", elsewhere)
    assert require_consistent(elsewhere) == 0
    for place in (f"discoveries/{made.discovery}/{DOCUMENT}", "surveys/earlier/responses.csv"):
        restored = (elsewhere / place).read_bytes()
        assert restored == (state / place).read_bytes()
        (elsewhere / place).write_bytes(restored + b" ")
        with pytest.raises(Refused, match=rf"the restored {Path(place).parent.name} must verify, and does not"):
            require_consistent(elsewhere)
        (elsewhere / place).write_bytes(restored)


def test_a_discovery_takes_no_refresh_from_the_budget_line(made: Made, state: Path, tmp_path: Path) -> None:
    planned = "refresh: {budget: {kind: equal_share, refreshes: 4}}\n"
    (tmp_path / "people.yaml").write_text(SPEC.replace("epsilon: 1\n", "epsilon: 0.5\n") + planned)
    spec = load_spec(tmp_path / "people.yaml")
    found = spending(Workspace(state=state, release_id="people-1", spec=spec, mlflow_run_id=""))
    assert found is not None
    assert [(each.epsilon, each.is_discovery) for each in found.history] == [(2, True)]
    assert len(found.planned) == 4


def test_another_charge_for_a_discovery_is_named(
    made: Made, state: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = replace(PLAN, epsilon=Fraction(1))
    charge = discoveries.charge_of(load_spec(tmp_path / "people.yaml"), plan, made.discovery, inputs="0" * 64)
    state_ledger(state).reserve(charge)
    assert main(["audit", "release", made.discovery, "--state", str(state)]) == 1
    said = capsys.readouterr().out
    assert "FAILED  the discovery was charged only what the record shows" in said
    assert "charges it for step discover" in said


def test_the_audit_of_everything_audits_discoveries(made: Made, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DENIABLE_STATE", str(state))
    message = "1 of 1 releases and discoveries are as they were when their records were signed"
    assert entrypoints.audit(return_state=True).message == message
    (made.folder / DOCUMENT).write_text("{}")
    ended = entrypoints.audit(return_state=True)
    assert ended.is_failed()
    assert made.discovery in str(ended.message)
