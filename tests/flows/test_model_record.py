"""A release's model is found in MLflow where an auditor looks, is loaded by its address alone, and is drawn from."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import mlflow
import pandas as pd
import pytest
from mlflow import MlflowClient
from mlflow.entities import LoggedModel

from deniable.foundation.domain import Domain
from deniable.foundation.errors import InvalidInput, Refused
from deniable.models.bayes_net import BayesNet
from deniable.models.graph import Graph
from deniable.privacy.loss import Guarantee
from schemas.references import Audience, Reference
from schemas.spec.release_spec import load_spec
from stores.servers.ui_links import TRAINING_PAGES
from stores.tracking.client import RecordFailed
from stores.tracking.model_record import record_model
from stores.tracking.release_run import recorded_release
from stores.tracking.step_run import StepRecord, recorded_step
from stores.vault.workspace import Workspace
from tests.small_release import write_small_release
from tests.warm.pools import pool
from tests.whole_release import drawn_release

GUARANTEE = Guarantee(0.5, 4.0000000000000007e-10, "joint_split")
PUBLIC_FILES = {"MLmodel", "model.json", "python_env.yaml", "requirements.txt", "schema.json", "model_code.py"}
DRAW_ALONE = """
import json, sys
import mlflow

mlflow.set_tracking_uri(sys.argv[1])
model = mlflow.pyfunc.load_model(sys.argv[2])
assert not {"schemas", "stores", "reports", "tasks", "infra", "flows"} & set(sys.modules)
print(json.dumps(model.predict({"records": 5, "draw": "a test"}).to_dict("list")))
"""


@pytest.fixture(scope="module")
def client(state: Path) -> MlflowClient:
    return MlflowClient(f"sqlite:///{state}/mlflow/mlflow.db")


@pytest.fixture(scope="module")
def spec_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small_release(tmp_path_factory.mktemp("spec"))


@contextmanager
def learning_step(name: str, state: Path, spec_path: Path) -> Iterator[StepRecord]:
    spec = load_spec(spec_path)
    with recorded_release(state, name, spec) as run_id:
        workspace = Workspace(state=state, release_id=name, spec=spec, mlflow_run_id=run_id)
        with recorded_step(workspace, "learn_parameters") as step:
            yield step


def made_model(workspace: Workspace) -> Reference:
    """A model by hand: every attribute by itself, and every value as likely as any, but for the first."""
    domain = workspace.spec.domain
    with workspace.writing("model.json", Audience.PUBLIC) as path:
        path.write_text(json.dumps(uniform(domain).document()))
    return workspace.refer("model", "model.json", Audience.PUBLIC)


def uniform(domain: Domain) -> BayesNet:
    weights = [[2**32 // values] * values for values in domain.cardinalities]
    for row in weights:
        row[0] += 2**32 - sum(row)
    document = {
        "format": "deniable/bayes-net/1",
        "graph": Graph.without_edges(domain).document(domain),
        "weights": {name: [row] for name, row in zip(domain.names, weights, strict=True)},
    }
    return BayesNet.from_document(domain, document)


@pytest.fixture(scope="module")
def logged(state: Path, spec_path: Path, client: MlflowClient) -> LoggedModel:
    with learning_step("logged-model", state, spec_path) as step:
        model_id = record_model(step, made_model(step.workspace), GUARANTEE)
    return client.get_logged_model(model_id)


def files_of(model: LoggedModel) -> dict[str, str]:
    folder = Path(model.artifact_location.removeprefix("file://"))
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def load(model: LoggedModel) -> Any:
    return mlflow.pyfunc.load_model(f"models:/{model.model_id}")


def test_a_model_is_found_from_the_runs_of_the_step_and_of_the_release(
    logged: LoggedModel, client: MlflowClient
) -> None:
    step = client.get_run(logged.source_run_id)
    of_the_release = client.get_run(step.data.tags["mlflow.parentRunId"])
    assert (step.info.run_name, of_the_release.info.run_name) == ("07 learn_parameters", "logged-model")
    for run in (step, of_the_release):
        assert [output.model_id for output in run.outputs.model_outputs] == [logged.model_id]


def test_a_model_says_what_it_is_what_it_cost_and_that_it_is_drawn_from_without_seeds(logged: LoggedModel) -> None:
    assert (logged.name, str(logged.status)) == ("logged-model", "READY")
    assert (logged.tags["release"], logged.tags["audience"]) == ("logged-model", "public")
    assert {metric.key: (metric.value, metric.step) for metric in logged.metrics} == {
        "epsilon.model": (0.5, 0),
        "delta.model": (4e-10, 0),
    }
    description = logged.tags["mlflow.note.content"]
    cost = "epsilon = 0.5, delta = 4e-10,"
    for words in ("without seeds", cost, logged.model_uri, "passed a privacy test", "#/experiments/"):
        assert words in description


def test_every_link_to_mlflow_opens_the_pages_on_which_releases_are_found(logged: LoggedModel) -> None:
    links = [piece.partition(")")[0] for piece in logged.tags["mlflow.note.content"].split("#/experiments/")[1:]]
    assert links
    assert all(link.endswith(f"?{TRAINING_PAGES}") for link in links)


def test_a_model_names_the_records_that_it_was_learnt_from_as_its_step_does(
    state: Path, spec_path: Path, client: MlflowClient
) -> None:
    with recorded_release(state, "learnt-from", load_spec(spec_path)) as run_id:
        workspace = Workspace(state=state, release_id="learnt-from", spec=load_spec(spec_path), mlflow_run_id=run_id)
        part = Reference(name="parameters", path=spec_path, digest="ab" * 32, rows=7, audience=Audience.RESTRICTED)
        with recorded_step(workspace, "learn_parameters", inputs=[part]) as step:
            model_id = record_model(step, made_model(workspace), GUARANTEE)
    [read] = client.get_run(step.run_id).inputs.dataset_inputs
    for metric in client.get_logged_model(model_id).metrics:
        assert (metric.dataset_name, metric.dataset_digest) == (read.dataset.name, read.dataset.digest)


def test_a_model_costs_on_its_own_page_and_leaves_the_cost_of_the_step_alone(
    state: Path, spec_path: Path, client: MlflowClient
) -> None:
    with learning_step("two-costs", state, spec_path) as step:
        step.spent(Guarantee(2, 1e-6, "basic"))
        record_model(step, made_model(step.workspace), GUARANTEE)
    metrics = client.get_run(step.run_id).data.metrics
    assert (metrics["epsilon"], metrics["epsilon.model"]) == (2, 0.5)


def test_a_model_holds_public_files_and_no_place_on_this_machine(logged: LoggedModel, state: Path) -> None:
    files = files_of(logged)
    assert set(files) - {"registered_model_meta"} == PUBLIC_FILES  # MLflow leaves that one where it loads a model
    for name, text in files.items():
        assert str(state) not in text, name
        assert str(Path(__file__).parents[2]) not in text, name


def test_a_model_is_loaded_by_its_address_in_another_process_without_this_project(
    logged: LoggedModel, state: Path, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", DRAW_ALONE, f"sqlite:///{state}/mlflow/mlflow.db", logged.model_uri],
        env={name: value for name, value in os.environ.items() if not name.startswith(("MLFLOW_", "PREFECT_"))},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    here = load(logged).predict({"records": 5, "draw": "a test"})
    assert json.loads(done.stdout) == here.to_dict("list")


def test_what_is_drawn_lies_in_the_domain_in_the_tables_own_values(logged: LoggedModel, spec_path: Path) -> None:
    domain = load_spec(spec_path).domain
    records = load(logged).predict(pd.DataFrame([{"records": 2000, "draw": "the domain"}]))
    assert len(records) == 2000
    assert tuple(records.columns) == domain.names
    for attribute in domain.attributes:
        assert set(records[attribute.name]) == set(attribute.values)
    assert records["age"].dtype == "int64"


def test_a_draw_of_one_name_is_the_same_and_of_another_name_another(logged: LoggedModel) -> None:
    model = load(logged)
    first, again, longer, other = (
        model.predict({"records": records, "draw": draw})
        for records, draw in [(50, "a"), (50, "a"), (80, "a"), (50, "b")]
    )
    assert first.equals(again)
    assert first.equals(longer.head(50))
    assert not first.equals(other)


@pytest.mark.parametrize(
    "asked", [{"records": [0], "draw": ["a"]}, {"records": [5, 5], "draw": ["a", "b"]}], ids=["none", "two at a time"]
)
def test_a_draw_that_makes_no_sense_is_refused(asked: dict[str, list[Any]], logged: LoggedModel) -> None:
    with pytest.raises(InvalidInput, match="a draw must"):
        load(logged).predict(pd.DataFrame(asked))


def test_a_model_that_is_not_public_is_not_logged(state: Path, spec_path: Path) -> None:
    with learning_step("internal-model", state, spec_path) as step:
        model = made_model(step.workspace).model_copy(update={"audience": Audience.INTERNAL})
        with pytest.raises(Refused, match="public"):
            record_model(step, model, GUARANTEE)


def test_a_model_that_mlflow_does_not_take_is_one_clear_sentence_and_failed(
    state: Path, spec_path: Path, client: MlflowClient
) -> None:
    with learning_step("model-not-taken", state, spec_path) as step:
        model = made_model(step.workspace)
        model.path.unlink()
        with pytest.raises(RecordFailed, match="MLflow must take the record"):
            record_model(step, model, GUARANTEE)
    experiment = client.get_run(step.run_id).info.experiment_id
    (left,) = client.search_logged_models([experiment], "name = 'model-not-taken'")
    assert str(left.status) == "FAILED"


def record_one(workspace: Workspace) -> str:
    with recorded_step(workspace, "learn_parameters") as step:
        return record_model(step, made_model(workspace), GUARANTEE)


@pytest.mark.parametrize(
    "executor",
    [partial(ThreadPoolExecutor, 4), partial(pool, 1)],
    ids=["four threads", "another process"],
)
def test_models_are_logged_from_threads_and_from_processes(
    executor: Callable[[], Executor], state: Path, spec_path: Path, client: MlflowClient
) -> None:
    with ExitStack() as releases, executor() as workers:
        workspaces = []
        for number in range(4):
            name = f"{type(workers).__name__}-{number}"
            workspaces.append(releases.enter_context(learning_step(name, state, spec_path)).workspace)
        ids = list(workers.map(record_one, workspaces))
    models = [client.get_logged_model(model_id) for model_id in ids]
    assert [model.name for model in models] == [workspace.release_id for workspace in workspaces]
    for model in models:
        assert str(model.status) == "READY"
        assert set(files_of(model)) == PUBLIC_FILES
        assert model.model_id in files_of(model)["MLmodel"]


def test_a_release_logs_the_model_that_it_publishes_at_the_cost_that_it_states(
    tmp_path: Path, client: MlflowClient
) -> None:
    made = drawn_release(tmp_path)
    made.publish()
    run = client.get_run(made.workspace.mlflow_run_id)
    (output,) = run.outputs.model_outputs
    model = client.get_logged_model(output.model_id)
    files = files_of(model)
    for name in ("model.json", "schema.json"):
        assert files[name] == (made.workspace.release_folder / name).read_text()
    costs = {metric.key: metric.value for metric in model.metrics}
    assert costs["epsilon.model"] == pytest.approx(made.accounts.model.epsilon, rel=1e-11)
    assert costs["delta.model"] == pytest.approx(made.accounts.model.delta, rel=1e-11)
    key = made.workspace.key()
    assert not any(key.secret.hex() in text or key.commitment() in text for text in files.values())
