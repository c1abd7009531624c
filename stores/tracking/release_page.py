"""The page of a release in MLflow: tags and totals for searching, inputs and outputs, and links to everything else.

It is written once the release is public, from its signed record. Its text is in `templates/RELEASE.md.jinja`.
"""

import json
from collections.abc import Iterator, Sequence
from datetime import date
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory

from mlflow import MlflowClient
from mlflow.entities.model_registry import ModelVersion

from deniable.privacy.loss import TRIVIAL
from deniable.privacy.rounding import rounded_up
from schemas.provenance import RECORD, Provenance, Resource, Spent
from schemas.spec.flow_steps import flow_steps
from stores.servers.ui_links import (
    artifact_page,
    flow_run_page,
    releases_page,
    run_page,
    version_page,
)
from stores.statement.readers import readers
from stores.statement.statement import TEMPLATES, statement_in_short
from stores.tracking.client import recording
from stores.tracking.experiment_page import DESCRIPTION
from stores.tracking.release_run import log_totals, tag_release
from stores.tracking.release_search import APPROVED_BY, EPSILON_TOTAL, NOBODY, PUBLISHED_DAY, day_number
from stores.tracking.step_run import as_dataset, step_title
from stores.vault.step_log import noted_steps
from stores.vault.workspace import Workspace

READABLE_RECORD = "public/record.json"
"""The readable copy of the record; the signed envelope next to it is authoritative."""

_REPORT = "internal/report.html"
_SEAL = "seal"
_NONE = "none"


def complete_page(workspace: Workspace, record: Provenance, version: ModelVersion | None, *, sealing: str) -> None:
    """Complete the run of a published release with the information that an auditor looks for first.

    Args:
        workspace: the release.
        record: its public record.
        version: its model in the registry; None if it has none.
        sealing: the run of the current step, which is the last one.

    Raises:
        RecordFailed: MLflow does not accept it.
    """
    made = {item.name: item for step in record.steps for item in step.outputs}
    source, table = made["snapshot"], made["synthetic"]
    log_totals(workspace, _totals(record))
    with recording(workspace.state) as client:
        experiment, run_id = client.get_run(workspace.mlflow_run_id).info.experiment_id, workspace.mlflow_run_id
        client.log_inputs(run_id, datasets=[as_dataset(source, "input"), as_dataset(table, "output")])
        with TemporaryDirectory(dir=workspace.state) as temporary:
            readable = Path(temporary) / Path(READABLE_RECORD).name
            readable.write_text(json.dumps(record.to_predicate(), indent=2), encoding="utf-8")
            client.log_artifact(run_id, str(readable), str(Path(READABLE_RECORD).parent))
        previous = _run_of(client, experiment, record.release.previous)
        description = TEMPLATES.get_template("RELEASE.md.jinja").render(
            record=record,
            in_short=" ".join(statement_in_short(workspace.plan.accounts).split()),
            table=table,
            version=version,
            pages=_pages(experiment, run_id, record, version),
            previous=previous and run_page(experiment, previous),
            steps=list(_steps(workspace, experiment, sealing)),
            readers=readers(workspace.spec.key.custodian, workspace.spec.key.variable),
        )
    tag_release(workspace, _tags(record, table) | {DESCRIPTION: description})


def _pages(experiment: str, run_id: str, record: Provenance, version: ModelVersion | None) -> dict[str, str]:
    """The links in the description."""
    flow_run = record.runs.prefect_flow_run
    return {
        "record": artifact_page(experiment, run_id, READABLE_RECORD),
        "signed": artifact_page(experiment, run_id, f"public/{RECORD}"),
        "internal": artifact_page(experiment, run_id, f"internal/{RECORD}"),
        "report": artifact_page(experiment, run_id, _REPORT),
        "privacy": artifact_page(experiment, run_id, "public/PRIVACY.md"),
        "version": version_page(record.release.dataset, version.version) if version is not None else "",
        "prefect": flow_run_page(flow_run) if flow_run else "",
        "all": releases_page(experiment),
    }


def _steps(workspace: Workspace, experiment: str, sealing: str) -> Iterator[dict[str, str]]:
    """One line per step: the steps that have succeeded, and the last one, which is in progress."""
    for step in noted_steps(workspace, tuple(flow_steps(workspace.spec))):
        if step.step != _SEAL:
            yield {
                "title": step_title(workspace.spec, step.step, step.part),
                "page": run_page(experiment, step.mlflow_run or workspace.mlflow_run_id),
                "reads": _names(step.inputs),
                "makes": _names(step.outputs),
                "cost": _cost(step.cost),
            }
    title = step_title(workspace.spec, _SEAL)
    yield {"title": title, "page": run_page(experiment, sealing), "reads": "", "makes": "record", "cost": "0"}


def _names(things: Sequence[Resource]) -> str:
    """Names of inputs or outputs, each listed once."""
    return ", ".join(dict.fromkeys(item.name for item in things))


def _cost(spent: Spent | None) -> str:
    """The cost of a step."""
    if spent is None or spent.epsilon is None:
        return "no differential privacy"
    return f"{rounded_up(spent.epsilon)}, {rounded_up(spent.delta)}" if spent.epsilon or spent.delta else "0"


def _run_of(client: MlflowClient, experiment: str, release_id: str | None) -> str | None:
    """The run of another release of the dataset."""
    found = client.search_runs([experiment], f"attributes.run_name = '{release_id}'") if release_id else []
    return found[0].info.run_id if found else None


def _totals(record: Provenance) -> dict[str, float]:
    """The figures for searching and comparing releases; a cost without a finite epsilon exceeds all others."""
    cost = record.cost
    figures = {PUBLISHED_DAY: float(day_number(date.fromisoformat(record.release.published))), EPSILON_TOTAL: inf}
    record_cost = next((step.record for step in cost.steps if step.record is not None), None)
    for name, guarantee in {"model": cost.model, "record": record_cost, "total": cost.total}.items():
        if guarantee is not None:
            claimed = None if guarantee.accountant == TRIVIAL.accountant else guarantee.epsilon
            figures[f"epsilon.{name}"] = inf if claimed is None else claimed
            figures[f"delta.{name}"] = guarantee.delta
    return figures


def _tags(record: Provenance, table: Resource) -> dict[str, str]:
    """The tags for searching a release and for distinguishing it from all others."""
    approval, code = record.people.approval, record.code
    return {
        "started_by": record.people.started_by,
        APPROVED_BY: approval.by if approval is not None else NOBODY,
        "published": record.signed.time,
        "previous": record.release.previous or _NONE,
        "spec.digest": record.spec.digest,
        "data.commitment": record.input.commitment,
        "key.commitment": record.input.key,
        "table.digest": table.digest,
        "mlflow.source.name": "flows/release.py",
        "mlflow.source.type": "LOCAL",
        **({"mlflow.source.git.commit": code.commit} if code.commit else {}),
        "code.package": code.package,
        "code.commit": code.commit or "unknown",
        "code.dirty": {True: "yes", False: "no", None: "unknown"}[code.dirty],
    }
