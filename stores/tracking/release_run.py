"""The run of a release in MLflow, in the experiment of its dataset: the parent of the runs of its steps."""

import getpass
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mlflow import MlflowClient
from mlflow.entities import LifecycleStage, Metric, Param, Run, RunTag
from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import PERMISSION_DENIED, ErrorCode

from deniable.foundation.errors import Refused
from deniable.mechanisms import MODEL
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import ReleaseSpec
from stores.lineage.events import release_events
from stores.tracking.client import FAILURE, PARENT, USER, RecordFailed, closing_run, place_of_artifacts, recording
from stores.tracking.experiment_page import DESCRIPTION, experiment_of
from stores.tracking.history_moving import relocate
from stores.tracking.registry import reserve_name
from stores.tracking.release_search import APPROVED_BY, NOBODY
from stores.tracking.run_links import link_from_prefect, prefect_link, prefect_tags
from stores.vault.actors import operator
from stores.vault.private_files import make_private_folder
from stores.vault.workspace import Workspace


@contextmanager
def recorded_release(state: Path, release_id: str, spec: ReleaseSpec) -> Iterator[str]:
    """Open the run of a release in the experiment of its dataset, and close it at the end of the block.

    A resumed release continues in its existing run.

    Args:
        state: the state folder, which contains MLflow's database and artifacts unless MLFLOW_TRACKING_URI is set.
        release_id: the release's name.
        spec: the specification of the release.

    Yields:
        The id of the run.

    Raises:
        RecordFailed: MLflow does not accept the record.
    """

    def begun(client: MlflowClient, experiment: str) -> Run:
        if MODEL.name in plan_release(spec).products:
            reserve_name(client, spec.dataset_name, experiment)
        return _new_run(client, experiment, release_id, spec)

    with release_events(state, release_id, spec.dataset_name), recorded_run(state, release_id, spec, begun) as run_id:
        yield run_id


@contextmanager
def recorded_run(state: Path, name: str, spec: ReleaseSpec, begun: Callable[[MlflowClient, str], Run]) -> Iterator[str]:
    """Open a run in the experiment of a dataset, new or existing, and close it at the end of the block.

    Args:
        state: the state folder.
        name: name of the run, unique in the experiment.
        spec: the specification, which names the dataset.
        begun: creates the run, if there is none, from the client and the experiment's id.

    Yields:
        The id of the run.

    Raises:
        RecordFailed: MLflow does not accept the record.
    """
    make_private_folder(state / "mlflow")
    with recording(state) as client:
        own = place_of_artifacts(state, spec.dataset_name)
        experiment = _writable_experiment(client, spec, own)
        if own is not None and not client.get_experiment(experiment).artifact_location.startswith(f"{state}/"):
            relocate(state)
        runs = client.search_runs([experiment], f"attributes.run_name = '{name}'")
        run = runs[0] if runs else begun(client, experiment)
        if runs:
            client.update_run(run.info.run_id, status="RUNNING")
            if FAILURE in run.data.tags:  # the failed step keeps its message
                client.delete_tag(run.info.run_id, FAILURE)
            for tag, value in prefect_tags().items():
                client.set_tag(run.info.run_id, tag, value)
    link_from_prefect(state, name, run)
    try:
        _close_open_steps(state, experiment, run.info.run_id)
        with closing_run(state, run.info.run_id):
            yield run.info.run_id
    finally:
        with suppress(RecordFailed):
            _close_open_steps(state, experiment, run.info.run_id)


def _writable_experiment(client: MlflowClient, spec: ReleaseSpec, artifacts: str | None) -> str:
    """The experiment of a dataset, to which this account may write.

    Raises:
        Refused: it was deleted, or it belongs to another account.
    """
    name = spec.dataset_name
    found = client.get_experiment_by_name(name)
    try:
        if found is None or found.lifecycle_stage == LifecycleStage.ACTIVE:
            number = experiment_of(client, spec, artifacts)
            client.set_experiment_tag(number, "dataset", name)
            return number
    except MlflowException as error:
        if found is None or error.error_code != ErrorCode.Name(PERMISSION_DENIED):
            raise
    raise Refused(
        f"the experiment {name} in MLflow must be one to which this account may write, and belongs to another account "
        "or was deleted; ask MLflow's administrator to rename, hand over or restore it."
    )


def _new_run(client: MlflowClient, experiment: str, release_id: str, spec: ReleaseSpec) -> Run:
    """Create the run of a new release."""
    from stores.statement.statement import as_text  # noqa: PLC0415 - imports privacy accounting

    run = client.create_run(
        experiment,
        run_name=release_id,
        tags={
            "release": release_id,
            "dataset": spec.dataset_name,
            "guarantee": spec.synthesis.guarantee,
            "started_by": operator(),
            APPROVED_BY: NOBODY,
            "deniable.version": version("deniable"),
            USER: getpass.getuser(),
            DESCRIPTION: f"**{as_text(spec.title)}**, release `{release_id}`. {prefect_link()}",
            **prefect_tags(),
        },
    )
    client.log_batch(run.info.run_id, params=list(_spec_parameters(spec.model_dump())))
    return run


def log_totals(workspace: Workspace, totals: Mapping[str, float]) -> None:
    """Write figures without a step into the run of the release; infinite ones exceed all others in a search.

    MLflow stores infinity as 1.8e308, which looks like a figure: a tag of the same name states that it is infinite.
    """
    now = int(time.time() * 1000)
    with recording(workspace.state) as client:
        client.log_batch(
            workspace.mlflow_run_id,
            metrics=[Metric(name, value, now, 0) for name, value in totals.items()],
            tags=[RunTag(name, "infinite") for name, value in totals.items() if math.isinf(value)],
        )


def tag_release(workspace: Workspace, tags: Mapping[str, str]) -> None:
    """Tag the run of the release."""
    with recording(workspace.state) as client:
        client.log_batch(workspace.mlflow_run_id, tags=[RunTag(name, value) for name, value in tags.items()])


def end_refused(state: Path, run_id: str, tags: Mapping[str, str], said: str) -> None:
    """End the run of a release that a person refused while no process was working on it."""
    with recording(state) as client:
        for name, value in {**tags, FAILURE: said}.items():
            client.set_tag(run_id, name, value)
        client.set_terminated(run_id, "FAILED")


def _close_open_steps(state: Path, experiment_id: str, run_id: str) -> None:
    """Close the runs of steps that are no longer running, for instance after the machine failed."""
    with recording(state) as client:
        for run in client.search_runs(
            [experiment_id], f"tags.`{PARENT}` = '{run_id}' and attributes.status = 'RUNNING'"
        ):
            client.set_terminated(run.info.run_id, "KILLED")


def _spec_parameters(values: Mapping[Any, Any], place: str = "") -> Iterator[Param]:
    """The spec as parameters for comparing releases; the location of the source is left out as confidential."""
    for key, value in values.items():
        name = f"{place}{key}"
        if isinstance(value, Mapping) and name != "source":
            yield from _spec_parameters(value, f"{name}.")
        elif value is not None and name not in {"name", "title", "source"}:
            yield Param(name, ", ".join(map(str, value)) if isinstance(value, tuple) else str(value))
