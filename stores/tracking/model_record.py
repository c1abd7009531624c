"""The model of a release as an MLflow model: listed with its run and its cost, loaded by its address, and drawn from.

It contains only public material: the model, the schema, and the code that draws from them. It is registered once its
release is public (stores.tracking.registry), which is not decided when a model is learnt.

The folder is assembled here and not by `mlflow.pyfunc.save_model`, which records paths of this machine in it, copies
the lock file of the project in which it is started, and runs the code that it saves in a way that is not thread-safe.
"""

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from math import inf
from pathlib import Path
from platform import python_version
from tempfile import TemporaryDirectory

from mlflow import MlflowClient, pyfunc
from mlflow.entities import LoggedModel, LoggedModelOutput, Metric
from mlflow.exceptions import MlflowException
from mlflow.models import Model, ModelSignature
from mlflow.types import ColSpec, DataType, Schema

from deniable.foundation.errors import Refused
from deniable.learners.entry import LearnerEntry
from deniable.learners.registry import relation_of
from deniable.privacy.loss import TRIVIAL, Guarantee
from deniable.record.schema_document import describe_domain
from schemas.references import Audience, Reference
from schemas.spec.release_spec import ReleaseSpec
from stores.publication.release_folder import SCHEMA, write_document
from stores.servers.ui_links import mlflow_pages, run_page
from stores.statement.statement import TEMPLATES, in_words
from stores.tables.columns import columns_of
from stores.tracking.client import recording
from stores.tracking.experiment_page import DESCRIPTION
from stores.tracking.step_run import StepRecord, as_dataset
from stores.vault.private_files import make_private_folder
from stores.vault.workspace import Workspace

_CODE = Path(__file__).with_name("model_code.py")
_USER = "mlflow.user"
_LOADER = "mlflow.pyfunc.loaders.code_model"
_ASKED = Schema([ColSpec(DataType.long, "records"), ColSpec(DataType.string, "draw")])
# What the code needs, besides `deniable` itself, which must not come from a package index, where anyone may
# publish something under that name. Nothing is looked up: MLflow would import the model and call pip.
_REQUIRED = ("cryptography", "mlflow", "numba", "numpy", "pandas", "scipy")


def record_model(step: StepRecord, model: Reference, guarantee: Guarantee) -> str:
    """Log the model that a step has made, with the run of the step and the run of the release.

    Args:
        step: the record of the step.
        model: the model, `model.json`.
        guarantee: the cost of the whole model, including its graph.

    Returns:
        The model's id; its address is `models:/ID`.

    Raises:
        Refused: the model is not public.
        RecordFailed: MLflow does not accept it.
    """
    if model.audience is not Audience.PUBLIC:
        raise Refused(
            f"a model must be public to be logged, got {model.name}, which is {model.audience.value}; log a public one."
        )
    workspace = step.workspace
    with recording(workspace.state) as client, _temporary_folder(workspace) as folder:
        with _logged_model(client, step) as logged:
            description = _description(workspace, guarantee, logged)
            client.set_logged_model_tags(logged.model_id, {DESCRIPTION: description})
            _write_folder(folder, model.path, workspace.spec, logged)
            client.log_model_artifacts(logged.model_id, str(folder))
            now = int(time.time() * 1000)
            cost = {"epsilon.model": inf if guarantee == TRIVIAL else guarantee.epsilon, "delta.model": guarantee.delta}
            metrics = [
                Metric(name, _short(value), now, 0, model_id=logged.model_id, **_learnt_from(step))
                for name, value in cost.items()
            ]
            client.log_batch(step.run_id, metrics=metrics)
        for run_id in (step.run_id, workspace.mlflow_run_id):
            client.log_outputs(run_id, [LoggedModelOutput(logged.model_id, step=0)])
    return logged.model_id


@contextmanager
def _temporary_folder(workspace: Workspace) -> Iterator[Path]:
    """A folder in the staging area; publication removes anything that a killed step has left there."""
    with TemporaryDirectory(dir=make_private_folder(workspace.staging)) as folder:
        yield Path(folder)


@contextmanager
def _logged_model(client: MlflowClient, step: StepRecord) -> Iterator[LoggedModel]:
    """Create an entry among the models; it becomes READY if the block succeeds, and FAILED otherwise."""
    workspace, learner = step.workspace, step.workspace.spec.learner
    release = client.get_run(workspace.mlflow_run_id)
    logged = client.create_logged_model(
        release.info.experiment_id,
        name=workspace.release_id,
        source_run_id=step.run_id,
        tags={
            "release": workspace.release_id,
            "audience": Audience.PUBLIC.value,
            _USER: release.data.tags[_USER],
        },
        params={"learner": learner.kind, **_plain(learner)},
    )
    try:
        yield logged
    except BaseException:
        with suppress(MlflowException):
            client.finalize_logged_model(logged.model_id, "FAILED")
        raise
    client.finalize_logged_model(logged.model_id, "READY")


def _plain(learner: LearnerEntry) -> dict[str, str]:
    """The learner's parameters in the spec, except its budgets."""
    said = learner.model_dump(exclude={"kind", "structure"})
    inner = said.pop("parameters", {})
    return {name: str(value) for name, value in {**said, **inner}.items() if name not in ("epsilon", "delta")}


def _description(workspace: Workspace, guarantee: Guarantee, logged: LoggedModel) -> str:
    """The text of the model's page, in Markdown."""
    person = workspace.spec.person
    return TEMPLATES.get_template("MODEL.md.jinja").render(
        release=workspace.release_id,
        release_page=run_page(logged.experiment_id, workspace.mlflow_run_id),
        title=workspace.spec.title,
        attributes=workspace.spec.domain.names,
        guarantee=guarantee,
        relation=relation_of(dict(workspace.spec.learner), None if person is None else person.document()),
        words=in_words,
        kind=workspace.spec.synthesis.guarantee,
        model_id=logged.model_id,
        pages=mlflow_pages(),
    )


def _learnt_from(step: StepRecord) -> dict[str, str]:
    """The records that the model was learnt from, under their names in the run of the step."""
    read = [as_dataset(item, "input").dataset for item in step.draft.inputs if item.audience is Audience.RESTRICTED]
    return {"dataset_name": read[0].name, "dataset_digest": read[0].digest} if read else {}


def _short(value: float) -> float:
    """A figure in twelve digits, which fit on the page of a model; with more, the exponent is cut off."""
    return float(f"{value:.12g}")


def _write_folder(folder: Path, model: Path, spec: ReleaseSpec, logged: LoggedModel) -> None:
    """Assemble the folder from which MLflow loads a model: description, code, input files and requirements."""
    domain = spec.domain
    shutil.copyfile(_CODE, folder / _CODE.name)
    shutil.copyfile(model, folder / "model.json")
    write_document(folder / SCHEMA, describe_domain(domain, spec.titles, spec.labels))
    pins = [f"{package}=={version(package)}" for package in _REQUIRED]
    own = f"# and deniable {version('deniable')}, from its own source"
    (folder / "requirements.txt").write_text("\n".join([*pins, own, ""]), encoding="utf-8")
    environment = f"python: {python_version()}\ndependencies: [-r requirements.txt]\n"
    (folder / "python_env.yaml").write_text(environment, encoding="utf-8")

    described = Model(
        run_id=logged.source_run_id,
        model_id=logged.model_id,
        model_uuid=logged.model_id,
        signature=ModelSignature(_ASKED, columns_of(domain)),
    )
    pyfunc.add_to_model(
        described,
        _LOADER,
        python_env="python_env.yaml",
        model_code_path=_CODE.name,
        artifacts={"model": _beside("model.json"), "schema": _beside(SCHEMA)},
    )
    described.save(folder / "MLmodel")


def _beside(name: str) -> dict[str, str]:
    """A file of the folder in MLflow's notation."""
    return {"path": name, "uri": name}
