"""The run of a step in MLflow: its inputs, outputs and costs, every figure and file with its audience.

Only explicit run ids are used: the fluent interface keeps its active run in a thread-local variable and silently opens
stray runs in worker threads. Nothing restricted is ever written here: restricted inputs and outputs have only a name
and a keyed digest, without a location or a number of rows.
"""

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from mlflow import MlflowClient
from mlflow.entities import Dataset, DatasetInput, InputTag, LoggedModel, LoggedModelInput, Metric, Param, Run, RunTag
from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

from deniable.foundation.errors import Refused
from deniable.privacy.loss import Guarantee, MechanismEvent
from deniable.samplers.registry import words_of
from schemas.provenance import Resource
from schemas.references import Audience, Reference
from schemas.spec.flow_steps import steps_of_run
from schemas.spec.release_spec import ReleaseSpec
from stores.lineage.events import step_events
from stores.tables.columns import columns_of
from stores.tracking.client import PARENT, USER, RecordFailed, client_of, closing_run, recording, tracking_uri
from stores.tracking.experiment_page import DESCRIPTION
from stores.tracking.run_links import TASK_RUN, link_from_prefect, prefect_tags
from stores.vault.step_log import StepDraft, note_step, resource
from stores.vault.workspace import Workspace

if TYPE_CHECKING:
    from mlflow.types import Schema

_NOTHING = Guarantee(0.0, 0.0, "basic")
_DIGEST_CHARACTERS = 36  # the longest that MLflow accepts
_DIGESTS = {"public": "SHA-256", "keyed": "HMAC-SHA256 under the release key"}
_MODEL = "model"
_MOST_AT_ONCE = 100  # parameters, and tags, that MLflow accepts in one request


@dataclass
class _Unsent:
    """What a step has recorded and has not yet sent to MLflow.

    Attributes:
        parameters: of the step.
        costs: figures of the step alone.
        figures: figures of the step and, unless it is a part, of the release.
        outputs: of the step.
    """

    parameters: dict[str, str] = field(default_factory=dict)
    costs: dict[str, float] = field(default_factory=dict)
    figures: dict[str, float] = field(default_factory=dict)
    outputs: list[Reference] = field(default_factory=list)


@dataclass(frozen=True)
class StepRecord:
    """The record of a step in MLflow.

    Parameters, figures and outputs are sent together when the step ends, whether or not it succeeds: a request for each
    of them would take as long as the step. Files are sent at once.

    Attributes:
        workspace: the release.
        run_id: the step's MLflow run.
        artifacts: the address of the run's files; MLflow would request the run again to find it.
        headline: whether figures and files are also written to the release's own run, where releases are compared.
        costs: the costs that the step has recorded so far.
    """

    workspace: Workspace
    run_id: str
    artifacts: str
    headline: bool = True
    costs: list[Guarantee | None] = field(default_factory=list)
    draft: StepDraft = field(default_factory=StepDraft)
    _unsent: _Unsent = field(default_factory=_Unsent)

    def parameters(self, **values: object) -> None:
        """Record public parameters of the step."""
        said = {name: str(value) for name, value in values.items()}
        self.draft.parameters.update(said)
        self._unsent.parameters.update(said)

    def figures(self, values: Mapping[str, float], audience: Audience) -> None:
        """Record figures by name, each as `internal/NAME` or `public/NAME`.

        Raises:
            Refused: the figures are restricted.
        """
        named = {f"{_may_be_recorded(name, audience)}/{name}": float(value) for name, value in values.items()}
        self.draft.figures.update(named)
        self._unsent.figures.update(named)

    def spent(self, guarantee: Guarantee | None, events: Sequence[MechanismEvent] = ()) -> None:
        """Record the cost of the step: `epsilon` and `delta` of its run, and the events for the accountant.

        A successful step that never calls this is recorded as spending nothing.

        Args:
            guarantee: its cost; None if there is no differential privacy.
            events: the mechanisms applied to the data.
        """
        self.costs.append(guarantee)
        self.draft.spent(guarantee, events)
        self._cost("", guarantee, events)

    def planned(self, guarantee: Guarantee | None, events: Sequence[MechanismEvent]) -> None:
        """Record the cost of later steps, as `planned.epsilon` and `planned.delta`; this spends nothing."""
        self._cost("planned.", guarantee, events)

    def _cost(self, prefix: str, guarantee: Guarantee | None, events: Sequence[MechanismEvent]) -> None:
        if guarantee is None:
            why = words_of(self.workspace.spec.synthesis.guarantee).WHY_NONE
            self.parameters(**{f"{prefix}guarantee": f"none, and no differential privacy: {why}"})
        else:
            self._unsent.costs.update({f"{prefix}epsilon": guarantee.epsilon, f"{prefix}delta": guarantee.delta})
        if events:
            self.document([event.to_record() for event in events], f"{prefix}events.json", Audience.PUBLIC)

    def artifact(self, path: Path, audience: Audience) -> None:
        """Record a file in the folder of its audience, with the step and, unless it is a part, with the release.

        Raises:
            Refused: the file is restricted, or is in the vault.
        """
        folder = _may_be_recorded(path.name, audience)
        if path.resolve().is_relative_to(self.workspace.vault.resolve()):
            msg = f"artifact {path.name} must not be in the vault, got one that is; keep files of the vault there."
            raise Refused(msg)
        self.draft.artifact(path.name, audience, path.read_bytes())
        with recording(self.workspace.state) as client:
            self._keep(str(path), folder)
            if self.headline:
                client.log_artifact(self.workspace.mlflow_run_id, str(path), folder)

    def drawing(self, svg: str, file_name: str, audience: Audience) -> None:
        """Record a picture that is the text of an SVG file, in the folder of its audience.

        Raises:
            Refused: the picture is restricted.
        """
        self._made(file_name, audience, lambda path: path.write_text(svg, encoding="utf-8"))

    def document(self, value: Any, file_name: str, audience: Audience) -> None:
        """Record a JSON document in the folder of its audience; values without a JSON type are written as text.

        Raises:
            Refused: the document is restricted.
        """
        text = json.dumps(value, indent=2, default=str)
        self._made(file_name, audience, lambda path: path.write_text(text, encoding="utf-8"))

    def _made(self, file_name: str, audience: Audience, write: Callable[[Path], object]) -> None:
        """Record a file created for this purpose; MLflow itself would create it in the shared temporary folder."""
        folder = _may_be_recorded(file_name, audience)
        with TemporaryDirectory(dir=self.workspace.state) as temporary:
            path = Path(temporary) / file_name
            write(path)
            self.draft.artifact(file_name, audience, path.read_bytes())
            with recording(self.workspace.state):
                self._keep(str(path), folder)

    @cached_property
    def _keep(self) -> Callable[[str, str], object]:
        """Writes a file into a folder of the run; MLflow's own function, which has no types."""
        return get_artifact_repository(self.artifacts, tracking_uri(self.workspace.state)).log_artifact

    def output(self, reference: Reference) -> Reference:
        """Record an output of the step, and return its reference."""
        self.draft.outputs.append(resource(reference))
        self._unsent.outputs.append(reference)
        return reference

    def send(self) -> None:
        """Send what was not sent yet.

        Raises:
            RecordFailed: MLflow does not accept it.
        """
        unsent = self._unsent
        if unsent.outputs:
            self._lineage(unsent.outputs, "output")
        with recording(self.workspace.state) as client:
            _log(client, self.run_id, unsent.costs | unsent.figures, unsent.parameters)
            if self.headline:
                _log(client, self.workspace.mlflow_run_id, unsent.figures, {})
        for told in (unsent.parameters, unsent.costs, unsent.figures, unsent.outputs):
            told.clear()

    def _lineage(self, references: Sequence[Reference], role: str) -> None:
        with recording(self.workspace.state) as client:
            client.log_inputs(
                self.run_id, datasets=[as_dataset(item, role, self._columns(item)) for item in references]
            )

    def _columns(self, item: Reference) -> "Schema | None":
        """The columns of a public table; those of other tables are not shown."""
        is_table = item.rows is not None and item.audience is Audience.PUBLIC
        return columns_of(self.workspace.spec.domain) if is_table else None


@contextmanager
def recorded_step(
    workspace: Workspace, name: str, inputs: Sequence[Reference] = (), *, part: str | None = None
) -> Iterator[StepRecord]:
    """Open the nested run of a step, and close it as FINISHED, FAILED or KILLED at the end of the block.

    Args:
        workspace: the release.
        name: name of the step.
        inputs: inputs of the step.
        part: the part of a mapped step, such as `chunks 0-3`; the figures of parts stay with the parts.

    Yields:
        The record of the step.

    Raises:
        RecordFailed: MLflow does not accept the record.
    """
    with recording(workspace.state) as client:
        experiment, user = _place_of_run(tracking_uri(workspace.state), workspace.mlflow_run_id)
        run = client.create_run(
            experiment,
            run_name=step_title(workspace.spec, name, part),
            tags={
                PARENT: workspace.mlflow_run_id,
                "release": workspace.release_id,
                "step": name,
                USER: user,
                DESCRIPTION: steps_of_run(workspace.spec, name)[name],
                **prefect_tags(),
            },
        )
        if any(item.name == _MODEL for item in inputs):
            model = model_of(client, client.get_run(workspace.mlflow_run_id))
            if model is not None:
                client.log_inputs(run.info.run_id, models=[LoggedModelInput(model.model_id)])
    link_from_prefect(workspace.state, workspace.release_id, run)
    step = StepRecord(workspace, run.info.run_id, run.info.artifact_uri, headline=part is None)
    step.draft.inputs.extend(resource(item) for item in inputs)
    with step_events(workspace, name, step.run_id, step.draft), closing_run(workspace.state, step.run_id):
        if inputs:
            step._lineage(inputs, "input")  # noqa: SLF001 - of the same module
        try:
            yield step
        except BaseException:
            with suppress(RecordFailed):
                step.send()
            raise
        if not step.costs:
            step.spent(_NOTHING)
        step.send()
    task_run = prefect_tags().get(TASK_RUN)
    note_step(workspace, step.draft.finished(name, part, mlflow_run=step.run_id, task_run=task_run))


def step_title(spec: ReleaseSpec, name: str, part: str | None = None) -> str:
    """Name of a step in MLflow, with its number among the steps, because pages list the last step first."""
    order = list(steps_of_run(spec, name))
    return " ".join([f"{order.index(name) + 1:02d}", name, *([part] if part else [])])


def as_dataset(item: Reference | Resource, role: str, columns: "Schema | None" = None) -> DatasetInput:
    """An input or output for MLflow's lineage: a name, and a digest that is keyed unless the item is public.

    Args:
        item: the input or output.
        role: `input` or `output`.
        columns: its columns, if it is a public table.
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


def model_of(client: MlflowClient, run: Run) -> LoggedModel | None:
    """The model that a release's run has made; the last one, if a step was repeated."""
    made = run.outputs.model_outputs if run.outputs else []
    models = [client.get_logged_model(output.model_id) for output in made]
    return max(models, key=lambda model: model.creation_timestamp, default=None)


@lru_cache
def _place_of_run(uri: str, run_id: str) -> tuple[str, str]:
    """The experiment and the user of a release's run; they are requested once, not by every step."""
    run = client_of(uri).get_run(run_id)
    return run.info.experiment_id, run.data.tags[USER]


def _may_be_recorded(name: str, audience: Audience) -> str:
    """The audience as a folder or prefix, unless it must not be recorded in MLflow."""
    if audience is Audience.RESTRICTED:
        msg = f"{name} must be internal or public to be recorded, got restricted; keep it in the vault."
        raise Refused(msg)
    return audience.value


def _log(client: MlflowClient, run_id: str, figures: Mapping[str, float], parameters: Mapping[str, str]) -> None:
    """Record figures without a step, and parameters; MLflow's model pages show the first step of a stepped one."""
    now = int(time.time() * 1000)
    metrics = [Metric(name, value, now, 0) for name, value in figures.items() if math.isfinite(value)]
    # MLflow stores infinity as 1.8e308, which looks like a figure.
    tags = [RunTag(name, str(value)) for name, value in figures.items() if not math.isfinite(value)]
    params = [Param(name, value) for name, value in parameters.items()]
    for first in range(0, max(len(metrics), len(tags), len(params)), _MOST_AT_ONCE):
        these = slice(first, first + _MOST_AT_ONCE)
        client.log_batch(run_id, metrics=metrics[these], tags=tags[these], params=params[these])
