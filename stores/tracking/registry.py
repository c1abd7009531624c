"""The models of a dataset's releases in MLflow's registry: one version per release, and which one is current.

A model is registered once its release is public, never before. Its name is reserved when the release begins, before
anything is charged. The model itself is logged when it is learnt (stores.tracking.model_record); the text of its
version is in `templates/VERSION.md.jinja`.
"""

import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from mlflow import MlflowClient
from mlflow.entities.model_registry import ModelVersion
from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import PERMISSION_DENIED, RESOURCE_ALREADY_EXISTS, RESOURCE_DOES_NOT_EXIST, ErrorCode

from deniable.foundation.errors import Refused
from deniable.privacy.loss import TRIVIAL
from deniable.record.standing import ReleaseStanding
from schemas.provenance import RECORD, Provenance, Spent
from stores.servers.ui_links import artifact_page, mlflow_pages, registered_name, releases_page, run_page
from stores.statement.statement import TEMPLATES, statement_in_short
from stores.tracking.client import recording
from stores.tracking.release_search import APPROVED_BY, NOBODY
from stores.tracking.step_run import model_of
from stores.vault.workspace import Workspace

CURRENT = "current"
"""The alias of the version of the most recently published release that is in force."""

# The tag by which the page of a logged model finds its versions.
_VERSIONS = "mlflow.modelVersions"
_RELEASE, _PUBLISHED = "release", "published"


def register_model(workspace: Workspace, record: Provenance, record_digest: str) -> ModelVersion:
    """Register the model of a published release; repeated calls register it only once.

    Args:
        workspace: the release.
        record: its public record.
        record_digest: SHA-256 of that record's file.

    Returns:
        Its version.

    Raises:
        Refused: the release is not public, or has logged no model.
        RecordFailed: MLflow does not accept it.
    """
    if not workspace.release_folder.is_dir():
        raise Refused(
            f"a model must belong to a published release to be registered, got one of {workspace.release_id}; publish "
            "that release first."
        )
    name = registered_name(record.release.dataset)
    with recording(workspace.state) as client:
        run = client.get_run(workspace.mlflow_run_id)
        model = model_of(client, run)
        if model is None:
            raise Refused(
                f"a release must have logged a model before it is registered, got none for {run.info.run_name}; check "
                "its run."
            )
        _make_registered_model(client, name, record.release.dataset, run.info.experiment_id)
        version = version_of(client, name, workspace.release_id) or client.create_model_version(
            name,
            source=model.model_uri,
            run_id=workspace.mlflow_run_id,
            model_id=model.model_id,
            tags=_tags(record, record_digest),
            description=_description(workspace, record, run.info.experiment_id),
        )
        named = [{"name": name, "version": str(version.version)}]
        client.set_logged_model_tags(model.model_id, {_VERSIONS: json.dumps(named)})
        return version


def make_current(workspace: Workspace, version: ModelVersion) -> None:
    """Make a version `models:/DATASET@current`, unless the current one belongs to a later published release.

    Args:
        workspace: the release of the version.
        version: the version.

    Raises:
        RecordFailed: MLflow does not accept it.
    """
    with recording(workspace.state) as client:
        current = current_version(client, version.name)
        if current is None or _order(current) <= _order(version):
            client.set_registered_model_alias(version.name, CURRENT, version.version)


def leave_current(state: Path, standings: Iterable[ReleaseStanding]) -> None:
    """Make no version current whose release is withdrawn or superseded: the last one in force is, or none.

    Args:
        state: the state folder.
        standings: whether each public release still holds.

    Raises:
        RecordFailed: MLflow does not accept it.
    """
    known = tuple(standings)
    ended = {each.release for each in known if each.standing != "in force"}
    with recording(state, patiently=False) as client:
        for dataset in sorted({each.dataset for each in known}):
            name = registered_name(dataset)
            current = current_version(client, name)
            # A server may have the models of other ledgers, of which this one knows nothing.
            if current is None or current.tags.get(_RELEASE) not in ended:
                continue
            versions = client.search_model_versions(f"name = '{name}'")
            left = [version for version in versions if version.tags.get(_RELEASE) not in ended]
            if left:
                client.set_registered_model_alias(name, CURRENT, max(left, key=_order).version)
            else:
                client.delete_registered_model_alias(name, CURRENT)


def version_of(client: MlflowClient, name: str, release_id: str) -> ModelVersion | None:
    """The version of a release among the models of its dataset."""
    found = client.search_model_versions(f"tags.`{_RELEASE}` = '{release_id}'")
    return next((version for version in found if version.name == name), None)


def current_version(client: MlflowClient, name: str) -> ModelVersion | None:
    """The current version; None if there is none."""
    with suppress(MlflowException):
        return client.get_model_version_by_alias(name, CURRENT)
    return None


def _order(version: ModelVersion) -> tuple[str, int]:
    """Sort key of versions: the order of publication."""
    return version.tags[_PUBLISHED], int(version.version)


def reserve_name(client: MlflowClient, dataset: str, experiment: str) -> None:
    """Make the registered model of a dataset, or make sure that its user may write to the one that exists.

    What only fails when a model is registered would strand a release that is charged and public.

    Args:
        client: MLflow.
        dataset: the dataset.
        experiment: id of its experiment.

    Raises:
        Refused: the name belongs to another account, or to something other than a model.
    """
    name = registered_name(dataset)
    try:
        _make_registered_model(client, name, dataset, experiment)
        client.set_registered_model_tag(name, "dataset", dataset)
    except MlflowException as error:
        # A prompt has a name among those of models, and MLflow then finds no such model.
        if error.error_code not in map(ErrorCode.Name, (PERMISSION_DENIED, RESOURCE_DOES_NOT_EXIST)):
            raise
    else:
        return
    raise Refused(
        f"the registered model {name} in MLflow must be one to which this account may add versions, and is not; ask "
        "MLflow's administrator to rename or to hand over what has this name. Nothing was charged."
    )


def _make_registered_model(client: MlflowClient, name: str, dataset: str, experiment: str) -> None:
    """Create the entry that all releases of a dataset share, when the first of them begins."""
    description = TEMPLATES.get_template("REGISTERED.md.jinja").render(
        dataset=dataset, name=name, releases=releases_page(experiment), current=CURRENT, pages=mlflow_pages()
    )
    try:
        client.create_registered_model(name, tags={"dataset": dataset}, description=description)
    except MlflowException as error:
        if error.error_code != ErrorCode.Name(RESOURCE_ALREADY_EXISTS):
            raise


def _tags(record: Provenance, record_digest: str) -> dict[str, str]:
    """The tags that distinguish versions, and that link a version to its release."""
    total, approval = record.cost.total, record.people.approval
    return {
        _RELEASE: record.release.id,
        _PUBLISHED: record.signed.time,
        "guarantee": record.cost.kind,
        "epsilon.model": _shown(_epsilon_of(record.cost.model)),
        "epsilon.total": _shown(total.epsilon if total is not None else None),
        APPROVED_BY: approval.by if approval is not None else NOBODY,
        "record": record_digest,
    }


def _description(workspace: Workspace, record: Provenance, experiment: str) -> str:
    """The text of a version's page, in Markdown."""
    release = run_page(experiment, workspace.mlflow_run_id)
    return TEMPLATES.get_template("VERSION.md.jinja").render(
        record=record,
        in_short=" ".join(statement_in_short(workspace.plan.accounts).split()),
        release=release,
        signed=artifact_page(experiment, workspace.mlflow_run_id, f"public/{RECORD}"),
    )


def _epsilon_of(spent: Spent) -> float | None:
    """The epsilon of a cost; None for the trivial one, which claims nothing."""
    return None if spent.accountant == TRIVIAL.accountant else spent.epsilon


def _shown(epsilon: float | None) -> str:
    return "infinite" if epsilon is None else repr(epsilon)
