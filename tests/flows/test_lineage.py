"""MLflow holds what was done, at what cost, on what; with everything's audience, and nothing restricted."""

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest
from mlflow import MlflowClient
from mlflow.entities import Run
from mlflow.store.db import utils as mlflow_databases
from prefect import flow

from deniable.foundation.errors import Refused
from deniable.foundation.keys import ReleaseKey
from deniable.privacy.loss import DiscreteLaplaceEvent, Guarantee
from deniable.roles import Role
from schemas.references import Audience, Reference
from schemas.spec.flow_steps import DISCOVERY_STEPS, flow_steps
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import ReleaseSpec, load_spec
from stores.servers.ui_links import TRAINING_PAGES
from stores.tracking import client as tracking_client
from stores.tracking.client import RecordFailed
from stores.tracking.release_run import log_totals, recorded_release
from stores.tracking.step_run import StepRecord, recorded_step
from stores.vault.workspace import Workspace
from tasks.running.step import as_task
from tests.isolation import own_state
from tests.small_release import write_small_release

ROOT = Path(__file__).resolve().parents[2]


@cache
def listed() -> ReleaseSpec:
    budget = {"dataset": "listed_people", "epsilon": 9, "delta": 0.1}
    return load_spec(write_small_release(own_state() / "listed", budget=budget))


@pytest.fixture
def client(state: Path) -> MlflowClient:
    return MlflowClient(f"sqlite:///{state}/mlflow/mlflow.db")


@contextmanager
def release_named(name: str, state: Path) -> Iterator[Workspace]:
    with recorded_release(state, name, listed()) as run_id:
        workspace = Workspace(state=state, release_id=name, spec=listed(), mlflow_run_id=run_id)
        workspace.vault.mkdir(parents=True)
        (workspace.vault / "key").write_bytes(ReleaseKey.generate().secret)
        yield workspace


def steps_of(workspace: Workspace, client: MlflowClient) -> dict[str, Run]:
    experiment = client.get_run(workspace.mlflow_run_id).info.experiment_id
    children = client.search_runs([experiment], f"tags.`mlflow.parentRunId` = '{workspace.mlflow_run_id}'")
    return {(run.info.run_name or "").partition(" ")[2]: run for run in children}


def test_a_release_is_one_run_in_the_experiment_of_its_dataset(state: Path, client: MlflowClient) -> None:
    with release_named("one-run", state) as workspace:
        pass
    run = client.get_run(workspace.mlflow_run_id)
    experiment = client.get_experiment(run.info.experiment_id)
    assert (experiment.name, run.info.run_name, run.info.status) == ("listed_people", "one-run", "FINISHED")
    assert experiment.artifact_location.startswith(str(state))
    assert "Made-up people" in run.data.tags["mlflow.note.content"]


def test_a_step_is_a_nested_run_with_its_parameters_figures_and_costs(state: Path, client: MlflowClient) -> None:
    guarantee = Guarantee(0.5, 1e-9, "basic")
    event = DiscreteLaplaceEvent(query="counts", part="parameters", outputs=1, sensitivity=1, scale=Fraction(2))
    with release_named("nested", state) as workspace, recorded_step(workspace, "learn_parameters") as step:
        step.parameters(prior=Fraction(1, 2))
        step.figures({"cells": 12}, Audience.PUBLIC)
        step.figures({"rows": 3000}, Audience.INTERNAL)
        step.spent(guarantee, [event])
    run = steps_of(workspace, client)["learn_parameters"]
    assert run.info.status == "FINISHED"
    assert run.data.params == {"prior": "1/2"}
    assert run.data.metrics == {"public/cells": 12, "internal/rows": 3000, "epsilon": 0.5, "delta": 1e-9}
    events = Path(client.download_artifacts(run.info.run_id, "public/events.json")).read_text()
    assert '"discrete_laplace"' in events


def test_figures_of_steps_also_stand_in_the_run_of_the_release_but_not_those_of_parts(
    state: Path, client: MlflowClient
) -> None:
    with release_named("headlines", state) as workspace:
        with recorded_step(workspace, "evaluate_utility") as step:
            step.figures({"tvd_2way": 0.05}, Audience.INTERNAL)
        with recorded_step(workspace, "synthesize", part="chunks 0-3") as step:
            step.figures({"passed": 7}, Audience.INTERNAL)
    assert client.get_run(workspace.mlflow_run_id).data.metrics == {"internal/tvd_2way": 0.05}
    assert steps_of(workspace, client)["synthesize chunks 0-3"].data.metrics == {
        "internal/passed": 7,
        "epsilon": 0,
        "delta": 0,
    }


def test_only_a_step_that_ends_well_is_said_to_spend_nothing(state: Path, client: MlflowClient) -> None:
    with (
        pytest.raises(ValueError, match="bad"),
        release_named("spending", state) as workspace,
        recorded_step(workspace, "clean"),
    ):
        raise ValueError("bad")
    assert steps_of(workspace, client)["clean"].data.metrics == {}


def test_every_step_there_is_has_its_description(tmp_path: Path) -> None:
    texts = [path.read_text() for path in (ROOT / "tasks").rglob("*.py") if path.stem != "planned_step"]
    found = [re.findall(r'recorded_step\(\s*workspace,\s*(?:"(\w+)"|Role\.(\w+))', text) for text in texts]
    named = [[name or str(Role[role]) for name, role in names] for names in found]
    assert sum("recorded_step(" in text for text in texts) == sum(bool(names) for names in named)
    spec = load_spec(write_small_release(tmp_path, people=[]))
    planned = {step.task for step in plan_release(spec).steps}
    steps = planned | {name for names in named for name in names}
    assert flow_steps(spec).keys() == steps - DISCOVERY_STEPS.keys()
    assert DISCOVERY_STEPS.keys() <= steps


def test_totals_stand_in_the_run_of_the_release_and_infinite_ones_above_all_others(
    state: Path, client: MlflowClient
) -> None:
    with release_named("totals", state) as workspace:
        log_totals(workspace, {"epsilon.model": 3.5, "epsilon.total": float("inf")})
    run = client.get_run(workspace.mlflow_run_id)
    assert run.data.metrics == {"epsilon.model": 3.5, "epsilon.total": sys.float_info.max}
    assert run.data.tags["epsilon.total"] == "infinite"
    above = client.search_runs([run.info.experiment_id], "metrics.epsilon.total > 1e300")
    assert [found.info.run_name for found in above] == ["totals"]


def test_inputs_and_outputs_are_recorded_by_name_and_keyed_digest_alone(state: Path, client: MlflowClient) -> None:
    with release_named("digests", state) as workspace:
        with workspace.writing("codes.parquet", Audience.RESTRICTED) as path:
            path.write_bytes(b"confidential")
        codes = workspace.refer("codes", "codes.parquet", Audience.RESTRICTED, rows=3017)
        with recorded_step(workspace, "split", inputs=[codes]) as step:
            assert step.output(codes) is codes
    inputs = steps_of(workspace, client)["split"].inputs.dataset_inputs
    assert [item.tags[0].value for item in inputs] == ["input", "output"] or len(inputs) == 1
    for item in inputs:
        assert (item.dataset.name, item.dataset.digest) == ("codes", codes.digest[:36])
        assert "3017" not in str(item.to_dictionary())
        assert str(codes.path) not in str(item.to_dictionary())


REFUSED_DEEDS: list[Callable[[StepRecord, Path], None]] = [
    lambda step, _: step.figures({"age": 41}, Audience.RESTRICTED),
    lambda step, path: step.artifact(path, Audience.RESTRICTED),
    lambda step, _: step.drawing("<svg/>", "ages.svg", Audience.RESTRICTED),
    lambda step, _: step.document({"age": 41}, "record.json", Audience.RESTRICTED),
]


@pytest.mark.parametrize("deed", REFUSED_DEEDS, ids=["figure", "artifact", "drawing", "document"])
def test_nothing_restricted_is_recorded(
    deed: Callable[[StepRecord, Path], None], state: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    path = tmp_path / "record.json"
    path.write_text("{}")
    name = f"restricted-{request.node.callspec.id}"
    with (
        pytest.raises(Refused, match="restricted"),
        release_named(name, state) as workspace,
        recorded_step(workspace, "clean") as step,
    ):
        deed(step, path)


def test_nothing_that_lies_in_the_vault_is_recorded_whatever_it_is_called(state: Path) -> None:
    with (
        pytest.raises(Refused, match="vault"),
        release_named("mislabelled", state) as workspace,
        recorded_step(workspace, "clean") as step,
    ):
        step.artifact(workspace.vault / "key", Audience.PUBLIC)


def test_artifacts_and_drawings_lie_in_the_folder_of_their_audience(
    state: Path, client: MlflowClient, tmp_path: Path
) -> None:
    path = tmp_path / "report.html"
    path.write_text("<p>")
    with release_named("folders", state) as workspace, recorded_step(workspace, "report") as step:
        step.artifact(path, Audience.INTERNAL)
        step.drawing("<svg/>", "graph.svg", Audience.PUBLIC)
    run_id = steps_of(workspace, client)["report"].info.run_id
    assert artifacts_of(run_id, client) == {"internal/report.html", "public/graph.svg"}
    assert artifacts_of(workspace.mlflow_run_id, client) == {"internal/report.html"}


def artifacts_of(run_id: str, client: MlflowClient) -> set[str]:
    return {item.path for folder in ("internal", "public") for item in client.list_artifacts(run_id, folder)}


@pytest.mark.parametrize(
    ("error", "status"), [(ValueError("bad"), "FAILED"), (KeyboardInterrupt(), "KILLED")], ids=["failed", "killed"]
)
def test_runs_say_how_they_ended(error: BaseException, status: str, state: Path, client: MlflowClient) -> None:
    with (
        pytest.raises(type(error)),
        release_named(f"ended-{status}", state) as workspace,
        recorded_step(workspace, "clean"),
    ):
        raise error
    assert client.get_run(workspace.mlflow_run_id).info.status == status
    assert steps_of(workspace, client)["clean"].info.status == status


def test_a_refusal_is_recorded_in_its_own_words_and_other_errors_are_not(state: Path, client: MlflowClient) -> None:
    for name, error in {"refusal": Refused("k is too large."), "surprise": ValueError("income-4711")}.items():
        with pytest.raises(type(error)), release_named(name, state) as workspace:
            raise error
        tags = client.get_run(workspace.mlflow_run_id).data.tags
        assert tags.get("failure") == ("k is too large." if name == "refusal" else None)


def test_a_release_that_was_taken_up_again_no_longer_says_why_it_failed_before(
    state: Path, client: MlflowClient
) -> None:
    with pytest.raises(Refused), release_named("taken-up", state) as workspace, recorded_step(workspace, "clean"):
        raise Refused("k is too large.")
    with recorded_release(state, "taken-up", listed()) as again:
        pass
    assert again == workspace.mlflow_run_id
    run = client.get_run(again)
    assert (run.info.status, run.data.tags.get("failure")) == ("FINISHED", None)
    assert steps_of(workspace, client)["clean"].data.tags["failure"] == "k is too large."


def test_a_release_says_from_the_start_who_began_it_and_that_nobody_approved_it_yet(
    state: Path, client: MlflowClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DENIABLE_OPERATOR", "ada")
    with release_named("begun", state) as workspace, recorded_step(workspace, "clean"):
        pass
    run = client.get_run(workspace.mlflow_run_id)
    said = ("started_by", "approved_by", "dataset", "guarantee")
    assert [run.data.tags[name] for name in said] == ["ada", "nobody", "listed_people", "tested_seeds"]
    assert run.data.params["evaluation.known"] == "age, sex"
    assert steps_of(workspace, client)["clean"].data.tags["mlflow.user"] == run.data.tags["mlflow.user"]


def test_a_step_that_never_ended_is_closed_with_its_release(state: Path, client: MlflowClient) -> None:
    with release_named("abandoned", state) as workspace:
        recorded_step(workspace, "synthesize").__enter__()
    assert steps_of(workspace, client)["synthesize"].info.status == "KILLED"


@pytest.mark.usefixtures("prefect")
def test_runs_of_prefect_and_mlflow_lead_to_each_other(state: Path, client: MlflowClient) -> None:
    def clean(workspace: Workspace) -> str:
        with recorded_step(workspace, "clean") as step:
            return step.run_id

    @flow
    def small_release() -> tuple[Workspace, str]:
        with release_named("linked", state) as workspace:
            return workspace, as_task(clean)(workspace)

    workspace, step_run_id = small_release()
    release_tags = client.get_run(workspace.mlflow_run_id).data.tags
    step_tags = client.get_run(step_run_id).data.tags
    assert release_tags["prefect.flow_run_id"] == step_tags["prefect.flow_run_id"]
    links = links_in_prefect()
    assert any(workspace.mlflow_run_id in text for text in links[release_tags["prefect.flow_run_id"]])
    assert any(step_run_id in text for text in links[step_tags["prefect.task_run_id"]])
    to_mlflow = [text for texts in links.values() for text in texts if "#/experiments/" in text]
    assert to_mlflow
    assert all(f"?{TRAINING_PAGES})" in text for text in to_mlflow)


def links_in_prefect() -> dict[str, list[str]]:
    """Texts of Prefect's newest artifacts, by the flow run or task run that made them."""
    from prefect.client.orchestration import get_client  # noqa: PLC0415 - a server must run
    from prefect.client.schemas.sorting import ArtifactSort  # noqa: PLC0415

    found: dict[str, list[str]] = {}
    with get_client(sync_client=True) as client:
        for artifact in client.read_artifacts(sort=ArtifactSort.CREATED_DESC, limit=200):
            for run_id in (artifact.flow_run_id, artifact.task_run_id):
                found.setdefault(str(run_id), []).append(str(artifact.data))
    return found


def test_a_record_that_mlflow_does_not_take_is_one_clear_sentence(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = tmp_path / "not-a-database.db"
    database.write_text("this is no database, whatever its name says")
    monkeypatch.setattr(mlflow_databases, "MAX_RETRY_COUNT", 3)  # of 10, after which it has waited 101 s
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{database}")
    with pytest.raises(RecordFailed, match="MLflow must take the record") as caught, release_named("broken", state):
        pass
    assert caught.value.__context__ is None


def test_a_password_in_the_address_of_mlflow_is_not_repeated(monkeypatch: pytest.MonkeyPatch, state: Path) -> None:
    monkeypatch.setattr(tracking_client, "client_of", lambda uri: (_ for _ in ()).throw(OSError(uri)))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "postgresql://prov:secret@127.0.0.1/mlflow")
    with pytest.raises(RecordFailed) as caught, release_named("secretive", state):
        pass
    assert "secret" not in str(caught.value)


def reference(name: str) -> Reference:
    return Reference(name=name, path=Path("nowhere"), digest="0" * 64, audience=Audience.RESTRICTED)


def test_what_a_step_reads_twice_is_recorded_once_as_input(state: Path, client: MlflowClient) -> None:
    with (
        release_named("inputs", state) as workspace,
        recorded_step(workspace, "gather", [reference("a"), reference("b")]),
    ):
        pass
    inputs = steps_of(workspace, client)["gather"].inputs.dataset_inputs
    assert {item.dataset.name for item in inputs} == {"a", "b"}
