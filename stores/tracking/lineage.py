"""The record of a release in MLflow: one run a release, one nested run a step, every figure with its audience.

MLflow is what auditors browse. Only explicit run ids are used: the fluent interface keeps its active run in a
thread-local variable and quietly opens stray runs in worker threads. No restricted thing is ever written here: of
restricted inputs and outputs there is a name and a keyed digest, no place and no number of rows.
"""

import getpass
import json
import logging
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import TYPE_CHECKING, Any

from mlflow import MlflowClient
from mlflow.entities import Dataset, DatasetInput, InputTag, LoggedModel, LoggedModelInput, Metric, Param, Run, RunTag
from mlflow.environment_variables import MLFLOW_HTTP_REQUEST_MAX_RETRIES
from mlflow.exceptions import MlflowException
from mlflow.utils.credentials import get_default_host_creds
from mlflow.utils.rest_utils import http_request
from sqlalchemy.exc import SQLAlchemyError

from deniable.foundation.errors import DeniableError, Refused
from deniable.privacy.loss import Guarantee, MechanismEvent
from schemas.provenance import Resource
from schemas.references import Audience, Reference
from schemas.spec.flow_steps import flow_steps
from schemas.spec.release_spec import ReleaseSpec
from stores.servers.mlflow_database import ready_client
from stores.servers.patience import ServerDown, is_given_up, note_answer
from stores.servers.prefect_failures import asking_prefect
from stores.servers.ui_links import (
    artifact_name,
    flow_run_page,
    mlflow_pages,
    mlflow_shown_when,
    prefect_shown_when,
    run_page,
)
from stores.tables.columns import columns_of
from stores.tracking.experiment_page import DESCRIPTION, experiment_of
from stores.tracking.history_moving import relocate
from stores.tracking.release_search import APPROVED_BY, NOBODY
from stores.vault.actors import operator
from stores.vault.disk import DISK_FULL, disk_is_full
from stores.vault.pending_approval import Held
from stores.vault.private_files import make_private_folder
from stores.vault.scratch import is_scratch
from stores.vault.step_log import StepDraft, note_step, resource
from stores.vault.workspace import Workspace

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from mlflow.types import Schema

_NOTHING = Guarantee(0.0, 0.0, "basic")
_NO_GUARANTEE = "none: privacy test 1 gives no differential privacy"
_DIGEST_CHARACTERS = 36  # the longest that MLflow takes
_DIGESTS = {"public": "SHA-256", "keyed": "HMAC-SHA256 under the release key"}
_PARENT = "mlflow.parentRunId"
_USER = "mlflow.user"
_FAILURE = "failure"
_WAITING = "SCHEDULED"  # what MLflow calls a run that goes on later
_MODEL = "model"
_ABOUT_A_RELEASE = "What it cost, how good it is, its files."
_FLOW_RUN, _TASK_RUN = "prefect.flow_run_id", "prefect.task_run_id"


_BRIEFLY = 2
"""How often a server is asked again that is not waited for: at once, and after four seconds."""

_one_at_a_time = Lock()

# MLflow logs its errors with the errors that they happened in, and those may quote records.
logging.getLogger("mlflow").setLevel(logging.CRITICAL)
logging.getLogger("urllib3.connectionpool").setLevel(logging.ERROR)  # tells of every time that it asks again


class RecordFailed(DeniableError):
    """MLflow or Prefect did not take what must be recorded."""


class RecordServerDown(RecordFailed, ServerDown):
    """MLflow's server does not answer, or the database below it."""


class UserRefused(RecordFailed):
    """MLflow does not know its user, or does not let them do what was asked."""


@dataclass(frozen=True)
class StepRecord:
    """What a step leaves behind in MLflow.

    Attributes:
        workspace: the release.
        run_id: the step's MLflow run.
        headline: whether figures and files also stand in the release's own run, where releases are compared.
        costs: what the step said so far that it cost.
    """

    workspace: Workspace
    run_id: str
    headline: bool = True
    costs: list[Guarantee | None] = field(default_factory=list)
    draft: StepDraft = field(default_factory=StepDraft)

    def parameters(self, **values: object) -> None:
        """Record public parameters of the step."""
        self.draft.parameters.update({name: str(value) for name, value in values.items()})
        with recording(self.workspace.state) as client:
            client.log_batch(self.run_id, params=[Param(name, str(value)) for name, value in values.items()])

    def figures(self, values: Mapping[str, float], audience: Audience) -> None:
        """Record figures by name, each as `internal/NAME` or `public/NAME`, in one go.

        Raises:
            Refused: the figures are restricted.
        """
        named = {f"{_may_be_recorded(name, audience)}/{name}": float(value) for name, value in values.items()}
        self.draft.figures.update(named)
        self._metrics(named)

    def spent(self, guarantee: Guarantee | None, events: Sequence[MechanismEvent] = ()) -> None:
        """Record what the step cost: `epsilon` and `delta` of its run, and the events that an accountant reads.

        A step that never says so is recorded, when it has ended well, as one that spends nothing.

        Args:
            guarantee: what it cost; None where there is no differential privacy.
            events: what was done to the data.
        """
        self.costs.append(guarantee)
        self.draft.spent(guarantee, events)
        self._cost("", guarantee, events)

    def planned(self, guarantee: Guarantee | None, events: Sequence[MechanismEvent]) -> None:
        """Record what other steps will cost, as `planned.epsilon` and `planned.delta`; nothing is spent by that."""
        self._cost("planned.", guarantee, events)

    def _cost(self, prefix: str, guarantee: Guarantee | None, events: Sequence[MechanismEvent]) -> None:
        if guarantee is None:
            self.parameters(**{f"{prefix}guarantee": _NO_GUARANTEE})
        else:
            costs = {f"{prefix}epsilon": guarantee.epsilon, f"{prefix}delta": guarantee.delta}
            _log_metrics(self.workspace.state, self.run_id, costs)
        if events:
            self.document([event.to_record() for event in events], f"{prefix}events.json", Audience.PUBLIC)

    def artifact(self, path: Path, audience: Audience) -> None:
        """Record a file in the folder of its audience, with the step and, but for parts, with the release.

        Raises:
            Refused: the file is restricted, or lies in the vault.
        """
        folder = _may_be_recorded(path.name, audience)
        if path.resolve().is_relative_to(self.workspace.vault.resolve()):
            msg = f"artifact {path.name} must not lie in the vault, got one that does; what lies there stays there."
            raise Refused(msg)
        self.draft.artifact(path.name, audience, path.read_bytes())
        with recording(self.workspace.state) as client:
            for run_id in (self.run_id, self.workspace.mlflow_run_id) if self.headline else (self.run_id,):
                client.log_artifact(run_id, str(path), folder)

    def plot(self, figure: "Figure", file_name: str, audience: Audience) -> None:
        """Record a matplotlib figure in the folder of its audience.

        Raises:
            Refused: the figure is restricted.
        """
        self._made(file_name, audience, figure.savefig)

    def document(self, value: Any, file_name: str, audience: Audience) -> None:
        """Record a JSON document in the folder of its audience; what JSON does not know is written as text.

        Raises:
            Refused: the document is restricted.
        """
        text = json.dumps(value, indent=2, default=str)
        self._made(file_name, audience, lambda path: path.write_text(text, encoding="utf-8"))

    def _made(self, file_name: str, audience: Audience, write: Callable[[Path], object]) -> None:
        """Record a file that is made for that; MLflow itself would make it in the folder of all temporary files."""
        folder = _may_be_recorded(file_name, audience)
        with TemporaryDirectory(dir=self.workspace.state) as temporary:
            path = Path(temporary) / file_name
            write(path)
            self.draft.artifact(file_name, audience, path.read_bytes())
            with recording(self.workspace.state) as client:
                client.log_artifact(self.run_id, str(path), folder)

    def output(self, reference: Reference) -> Reference:
        """Record that the step made a thing, and return its reference."""
        self.draft.outputs.append(resource(reference))
        self._lineage([reference], "output")
        return reference

    def _lineage(self, references: Sequence[Reference], role: str) -> None:
        with recording(self.workspace.state) as client:
            client.log_inputs(
                self.run_id, datasets=[as_dataset(item, role, self._columns(item)) for item in references]
            )

    def _columns(self, item: Reference) -> "Schema | None":
        """The columns of a public table, the only one that may be shown to have any."""
        is_table = item.rows is not None and item.audience is Audience.PUBLIC
        return columns_of(self.workspace.spec.domain) if is_table else None

    def _metrics(self, values: Mapping[str, float]) -> None:
        _log_metrics(self.workspace.state, self.run_id, values)
        if self.headline:
            _log_metrics(self.workspace.state, self.workspace.mlflow_run_id, values)


@contextmanager
def recorded_step(
    workspace: Workspace, name: str, inputs: Sequence[Reference] = (), *, part: str | None = None
) -> Iterator[StepRecord]:
    """Open the nested run of a step, and close it FINISHED, FAILED or KILLED as the block ends.

    Args:
        workspace: the release.
        name: name of the step.
        inputs: what the step reads.
        part: which part of a mapped step this is, such as `chunks 0-3`; the figures of parts stay with the parts.

    Yields:
        The record of the step.

    Raises:
        RecordFailed: MLflow does not take the record.
    """
    with recording(workspace.state) as client:
        experiment, user = _place_of_run(tracking_uri(workspace.state), workspace.mlflow_run_id)
        run = client.create_run(
            experiment,
            run_name=step_title(workspace.spec, name, part),
            tags={
                _PARENT: workspace.mlflow_run_id,
                "release": workspace.release_id,
                "step": name,
                _USER: user,
                DESCRIPTION: flow_steps(workspace.spec)[name],
                **_prefect_tags(),
            },
        )
        if any(item.name == _MODEL for item in inputs):
            model = model_of(client, client.get_run(workspace.mlflow_run_id))
            if model is not None:
                client.log_inputs(run.info.run_id, models=[LoggedModelInput(model.model_id)])
    _link_from_prefect(workspace.state, workspace.release_id, run)
    step = StepRecord(workspace, run.info.run_id, headline=part is None)
    with _closing(workspace.state, step.run_id):
        if inputs:
            step.draft.inputs.extend(resource(item) for item in inputs)
            step._lineage(inputs, "input")  # noqa: SLF001 - of the same module
        yield step
        if not step.costs:
            step.spent(_NOTHING)
    task_run = _prefect_tags().get(_TASK_RUN)
    note_step(workspace, step.draft.finished(name, part, mlflow_run=step.run_id, task_run=task_run))


def step_title(spec: ReleaseSpec, name: str, part: str | None = None) -> str:
    """What MLflow calls a step: its number among the steps of such a release, for pages list the last one first."""
    order = list(flow_steps(spec))
    return " ".join([f"{order.index(name) + 1:02d}", name, *([part] if part else [])])


@contextmanager
def recorded_release(state: Path, release_id: str, spec: ReleaseSpec) -> Iterator[str]:
    """Open the run of a release in the experiment of its dataset, and close it as the block ends.

    A release that is taken up again goes on in the run that it has.

    Args:
        state: the state folder, which holds MLflow's database and artifacts unless MLFLOW_TRACKING_URI is set.
        release_id: the release's name.
        spec: what is to be released.

    Yields:
        The id of the run.

    Raises:
        RecordFailed: MLflow does not take the record.
    """
    make_private_folder(state / "mlflow")
    with recording(state) as client:
        own = _place_of_artifacts(state, spec)
        experiment = experiment_of(client, spec, own)
        if own is not None and not client.get_experiment(experiment).artifact_location.startswith(f"{state}/"):
            relocate(state)
        runs = client.search_runs([experiment], f"attributes.run_name = '{release_id}'")
        run = runs[0] if runs else _new_run(client, experiment, release_id, spec)
        if runs:
            client.update_run(run.info.run_id, status="RUNNING")
            if _FAILURE in run.data.tags:  # the step that failed keeps what it said
                client.delete_tag(run.info.run_id, _FAILURE)
            for name, value in _prefect_tags().items():
                client.set_tag(run.info.run_id, name, value)
    _link_from_prefect(state, release_id, run)
    try:
        _close_open_steps(state, experiment, run.info.run_id)
        with _closing(state, run.info.run_id):
            yield run.info.run_id
    finally:
        with suppress(RecordFailed):
            _close_open_steps(state, experiment, run.info.run_id)


def _new_run(client: MlflowClient, experiment: str, release_id: str, spec: ReleaseSpec) -> Run:
    """The run of a release that begins."""
    from stores.statement.statement import as_text  # noqa: PLC0415 - imports what costs are worked out with

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
            _USER: getpass.getuser(),
            DESCRIPTION: f"**{as_text(spec.title)}**, release `{release_id}`. {_prefect_link()}",
            **_prefect_tags(),
        },
    )
    client.log_batch(run.info.run_id, params=list(_spec_parameters(spec.model_dump())))
    return run


def log_totals(workspace: Workspace, totals: Mapping[str, float]) -> None:
    """Write figures, which have no step, into the run of the release; an infinite one is found above all others.

    MLflow keeps 1.8e308 for infinity, which reads like a figure: a tag of the same name says what it is.
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
    """End the run of a release that a person refused while no process was at work on it."""
    with recording(state) as client:
        for name, value in {**tags, _FAILURE: said}.items():
            client.set_tag(run_id, name, value)
        client.set_terminated(run_id, "FAILED")


@contextmanager
def _closing(state: Path, run_id: str) -> Iterator[None]:
    """Close a run as its block ends; an error within the block is worth more than one while closing."""
    try:
        yield
    except BaseException as error:
        with suppress(RecordFailed), recording(state) as client:
            if isinstance(error, DeniableError) and not isinstance(error, Held):
                client.set_tag(run_id, _FAILURE, str(error))
            if isinstance(error, Held):
                client.update_run(run_id, status=_WAITING)
            else:
                client.set_terminated(run_id, "FAILED" if isinstance(error, Exception) else "KILLED")
        raise
    with recording(state) as client:
        client.set_terminated(run_id, "FINISHED")


def _close_open_steps(state: Path, experiment_id: str, run_id: str) -> None:
    """Close the runs of steps that no longer run, as happens where the machine, not the step, gave up."""
    with recording(state) as client:
        for run in client.search_runs(
            [experiment_id], f"tags.`{_PARENT}` = '{run_id}' and attributes.status = 'RUNNING'"
        ):
            client.set_terminated(run.info.run_id, "KILLED")


def _spec_parameters(values: Mapping[Any, Any], place: str = "") -> Iterator[Param]:
    """What the spec says, as parameters to compare releases by; where the source lies is nobody's business there."""
    for key, value in values.items():
        name = f"{place}{key}"
        if isinstance(value, Mapping) and name != "source":
            yield from _spec_parameters(value, f"{name}.")
        elif value is not None and name not in {"name", "title", "source"}:
            yield Param(name, ", ".join(map(str, value)) if isinstance(value, tuple) else str(value))


def _may_be_recorded(name: str, audience: Audience) -> str:
    """The audience as a folder or prefix, unless it is one that MLflow must not see."""
    if audience is Audience.RESTRICTED:
        msg = f"{name} must be internal or public to be recorded, got restricted; keep it in the vault."
        raise Refused(msg)
    return audience.value


def as_dataset(item: Reference | Resource, role: str, columns: "Schema | None" = None) -> DatasetInput:
    """A thing as MLflow's lineage knows it: a name, and a digest that is keyed unless the thing is public.

    Args:
        item: the thing.
        role: `input` or `output`.
        columns: what columns it has, where it is a public table.
    """
    source = json.dumps({"audience": item.audience.value})
    how = _DIGESTS["public" if item.audience is Audience.PUBLIC else "keyed"]
    profile = {"audience": item.audience.value, "digest": f"{how}, the first {_DIGEST_CHARACTERS} of 64 characters"}
    dataset = Dataset(
        item.name,
        item.digest[:_DIGEST_CHARACTERS],
        f"deniable-{item.audience}",
        source,
        json.dumps({"mlflow_colspec": columns.to_dict()}) if columns is not None else None,
        json.dumps(profile),
    )
    return DatasetInput(dataset, tags=[InputTag("mlflow.data.context", role)])


def _log_metrics(state: Path, run_id: str, values: Mapping[str, float]) -> None:
    """Record metrics without a step; MLflow's model pages show the first step of a stepped one."""
    now = int(time.time() * 1000)
    with recording(state) as client:
        client.log_batch(
            run_id,
            metrics=[Metric(name, float(value), now, 0) for name, value in values.items() if math.isfinite(value)],
            # MLflow stores infinity as 1.8e308, which reads like a figure.
            tags=[RunTag(name, str(float(value))) for name, value in values.items() if not math.isfinite(value)],
        )


def _link_from_prefect(state: Path, release_id: str, run: Run) -> None:
    """Leave a link to the MLflow run with the Prefect run that this happens in; one in scratch will be gone."""
    name = str(run.info.run_name)
    if _prefect_tags() and not is_scratch(state):
        from prefect.artifacts import create_link_artifact  # noqa: PLC0415 - as in _prefect_tags

        page = f"{mlflow_pages()}/{run_page(run.info.experiment_id, run.info.run_id)}"
        link, what, about = f"{name} in MLflow ({mlflow_shown_when()})", "release", _ABOUT_A_RELEASE
        if name != release_id:
            what = name.lstrip("0123456789 ")
            about = f"What the step {what} of {release_id} read, made and spent."
        key = artifact_name(what, "in MLflow")
        asking_prefect(lambda: create_link_artifact(page, link, key=key, description=about))


def _prefect_link() -> str:
    """A link to the Prefect run that this happens in, in Markdown."""
    flow_run = _prefect_tags().get(_FLOW_RUN)
    if not flow_run:
        return ""
    return f"[How it ran, step by step]({flow_run_page(flow_run)}) ({prefect_shown_when()})."


def model_of(client: MlflowClient, run: Run) -> LoggedModel | None:
    """The model that a release's run has made; the last one, should a step have been done again."""
    made = run.outputs.model_outputs if run.outputs else []
    models = [client.get_logged_model(output.model_id) for output in made]
    return max(models, key=lambda model: model.creation_timestamp, default=None)


def _prefect_tags() -> dict[str, str]:
    """Ids of the Prefect runs that this happens in."""
    from prefect import runtime  # noqa: PLC0415 - who looks at MLflow alone does without Prefect, which takes a second

    tags = {_FLOW_RUN: runtime.flow_run.id, _TASK_RUN: runtime.task_run.id}
    return {name: str(value) for name, value in tags.items() if value}


def _place_of_artifacts(state: Path, spec: ReleaseSpec) -> str | None:
    """Where MLflow keeps a dataset's files; a server elsewhere decides that for itself."""
    own = tracking_uri(state).startswith("sqlite:")
    return str(state / "mlflow" / "artifacts" / spec.dataset_name) if own else None


def tracking_uri(state: Path) -> str:
    """Where MLflow keeps its records: MLFLOW_TRACKING_URI, else a database in the state folder, always in scratch."""
    named = None if is_scratch(state) else os.environ.get("MLFLOW_TRACKING_URI")
    return named or f"sqlite:///{state / 'mlflow' / 'mlflow.db'}"


@lru_cache
def _place_of_run(uri: str, run_id: str) -> tuple[str, str]:
    """The experiment and the user of a release's run, which are asked for once, and not by every step."""
    run = _client(uri).get_run(run_id)
    return run.info.experiment_id, run.data.tags[_USER]


@lru_cache
def _client(uri: str) -> MlflowClient:
    return ready_client(uri)


@contextmanager
def recording(state: Path, *, patiently: bool = True) -> Iterator[MlflowClient]:
    """Yield the client, to one thread at a time; what goes wrong with it is one clear sentence.

    MLflow's store has a few connections, and threads that find none free give up after half a minute. A server that
    does not answer may be starting again: it is waited for, but only once in vain. How long MLflow's client waits is
    a setting of the process's (infra.environment); a server that is not to be waited for must answer first.

    Args:
        state: the state folder.
        patiently: whether a server that does not answer is waited for, stores.servers.patience.
    """
    uri = tracking_uri(state)
    try:
        with _one_at_a_time:
            if uri.startswith("http") and (is_given_up(uri) or not patiently):
                _require_answer(uri)
            yield _client(uri)
    except (MlflowException, SQLAlchemyError, OSError) as error:
        note_answer(uri, answered=False)
        failed = _failure(state, uri, error)
    else:
        note_answer(uri, answered=True)
        return
    raise failed


def _require_answer(uri: str) -> None:
    """Ask a server for one experiment, and briefly: its own client would wait for as long as for any other question.

    Raises:
        MlflowException: neither it nor the database below it answers.
    """
    times = min(_BRIEFLY, MLFLOW_HTTP_REQUEST_MAX_RETRIES.get())  # type: ignore[no-untyped-call]
    who = get_default_host_creds(uri)  # type: ignore[no-untyped-call]
    question = {"max_results": 1}
    http_request(who, "/api/2.0/mlflow/experiments/search", "POST", max_retries=times, json=question)  # type: ignore[no-untyped-call]


def _failure(state: Path, uri: str, error: Exception) -> RecordFailed:
    """What to do where MLflow does not take or give a record."""
    if disk_is_full(state):
        return RecordFailed(DISK_FULL.format(state=state))
    place = uri.rpartition("@")[2]
    code = error.error_code if isinstance(error, MlflowException) else None
    if code == "UNAUTHENTICATED":
        return UserRefused(
            f"MLflow at {place} must accept its user, and refuses; correct MLFLOW_TRACKING_USERNAME and "
            "MLFLOW_TRACKING_PASSWORD."
        )
    if code == "PERMISSION_DENIED":
        said = f"MLflow at {place} must let its user write, and does not; work as a user who may, such as engineer."
        return UserRefused(said)
    if uri.startswith("http"):
        return RecordServerDown(
            f"MLflow must take the record of the release, and {place} does not; see that its server and its database "
            "run (make stack starts what is down; its log says more), and give the same command again."
        )
    return RecordFailed(
        f"MLflow must take the record of the release, and {place} does not; "
        "check that it can be reached, that its disk is not read-only, and that its version fits."
    )
