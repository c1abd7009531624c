"""The run of a discovery in MLflow, next to the releases of its dataset. Everything in it is public.

Its final content follows from the signed record and the answers alone, so an audit can compare it with them
(tasks.audit.compare_discovery_run).
"""

import getpass
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mlflow import MlflowClient
from mlflow.entities import Metric, Param, Run, RunTag

from deniable.discovery.answers import Answers, RangeAnswer, ValuesAnswer
from deniable.discovery.plan import DiscoveryPlan
from deniable.ledger.entries import digest_of
from schemas.spec.release_spec import ReleaseSpec
from stores.record.discovery_record import read_discovery
from stores.tracking.client import PARENT, USER, recording
from stores.tracking.experiment_page import DESCRIPTION
from stores.tracking.release_run import recorded_run
from stores.tracking.release_search import (
    APPROVED_BY,
    DISCOVERY,
    EPSILON_TOTAL,
    GUARANTEE,
    NOBODY,
    PUBLISHED_DAY,
    day_number,
)
from stores.tracking.run_artifacts import artifact_digests
from stores.tracking.run_links import prefect_link, prefect_tags
from stores.tracking.run_tree import RunsUnreachable, RunsUnreadable, reading_runs
from stores.vault.actors import operator
from stores.vault.workspace import Workspace

_MOST_NAMED = 40
_ACTIVE = "active"


@dataclass(frozen=True)
class Shown:
    """MLflow's content for a finished discovery, besides its files.

    Attributes:
        parameters: its parameters.
        metrics: its figures.
        tags: its tags, without those of MLflow and of links.
    """

    parameters: Mapping[str, str]
    metrics: Mapping[str, float]
    tags: Mapping[str, str]


@dataclass(frozen=True)
class StepFound:
    """A step's run in MLflow.

    Attributes:
        name: the step.
        status: its outcome.
        metrics: its figures, written exactly.
    """

    name: str
    status: str
    metrics: Mapping[str, str]


@dataclass(frozen=True)
class RunFound:
    """MLflow's content for a discovery.

    Attributes:
        status: its outcome.
        is_deleted: whether the run was deleted.
        parameters: its parameters.
        metrics: its figures, written exactly.
        tags: its tags.
        files: SHA-256 of its files, by path.
        steps: the runs of its steps, including interrupted ones that were repeated.
    """

    status: str
    is_deleted: bool
    parameters: Mapping[str, str]
    metrics: Mapping[str, str]
    tags: Mapping[str, str]
    files: Mapping[str, str]
    steps: tuple[StepFound, ...]


def found_run(state: Path, run_id: str) -> RunFound:
    """Read the run of a discovery and those of its steps.

    Raises:
        RunsUnreadable: MLflow does not answer, or has no such run.
    """
    try:
        with reading_runs(state) as client:
            run = client.get_run(run_id)
            below = client.search_runs([run.info.experiment_id], f"tags.`{PARENT}` = '{run_id}'")
            files = artifact_digests(state, run.info.artifact_uri, client.tracking_uri)
    except RunsUnreachable:
        raise
    except RunsUnreadable:
        msg = f"MLflow must have the run {run_id} of the discovery, and has not, or cannot be read."
        raise RunsUnreadable(msg) from None
    return RunFound(
        status=run.info.status,
        is_deleted=run.info.lifecycle_stage != _ACTIVE,
        parameters=run.data.params,
        metrics=_exactly(run),
        tags=run.data.tags,
        files=files,
        steps=tuple(StepFound(each.data.tags.get("step", ""), each.info.status, _exactly(each)) for each in below),
    )


def _exactly(run: Run) -> dict[str, str]:
    return {name: repr(float(value)) for name, value in run.data.metrics.items()}


def shown_of(record: Mapping[str, Any], answers: Answers) -> Shown:
    """Return what MLflow must show for a discovery.

    Args:
        record: the content of its signed record.
        answers: what it released.
    """
    named, charge = record["discovery"], record["entry"]["content"]
    claim, signed = charge["claim"], record["signed"]["time"]
    values = [each for each in answers.answers if isinstance(each, ValuesAnswer)]
    ranges = [each for each in answers.answers if isinstance(each, RangeAnswer)]
    return Shown(
        parameters=_parameters(answers.plan, named["unit"]),
        metrics={
            EPSILON_TOTAL: float(Fraction(claim["epsilon"])),
            "delta.total": float(Fraction(claim["delta"])),
            PUBLISHED_DAY: float(day_number(date.fromisoformat(signed[:10]))),
            "public/values_proposed": float(sum(len(each.values) for each in values)),
            "public/ranges_proposed": float(sum(answers.range_of(each) is not None for each in ranges)),
        },
        tags={
            DISCOVERY: named["id"],
            "dataset": named["dataset"],
            GUARANTEE: DISCOVERY,
            "started_by": record["people"]["started_by"],
            APPROVED_BY: NOBODY,
            "published": signed,
            "ledger.entry": str(record["entry"]["number"]),
            "key.commitment": charge["commitment"],
            "code.package": record["code"]["package"],
        },
    )


@contextmanager
def recorded_discovery(state: Path, discovery: str, spec: ReleaseSpec, plan: DiscoveryPlan, unit: str) -> Iterator[str]:
    """Open the run of a discovery in the experiment of its dataset, and close it at the end of the block.

    A resumed discovery continues in its existing run.

    Args:
        state: the state folder.
        discovery: its name.
        spec: the spec of its source.
        plan: what is requested.
        unit: the privacy unit, in words.

    Yields:
        The id of the run.

    Raises:
        RecordFailed: MLflow does not accept the record.
    """

    def begun(client: MlflowClient, experiment: str) -> Run:
        run = client.create_run(
            experiment,
            run_name=discovery,
            tags={
                DISCOVERY: discovery,
                "dataset": spec.dataset_name,
                GUARANTEE: DISCOVERY,
                "started_by": operator(),
                APPROVED_BY: NOBODY,
                "deniable.version": version("deniable"),
                USER: getpass.getuser(),
                DESCRIPTION: f"Values and ranges for the schema of {spec.dataset_name}, proposed under differential "
                f"privacy: discovery `{discovery}`. {prefect_link()}",
                **prefect_tags(),
            },
        )
        stated = _parameters(plan, unit).items()
        client.log_batch(run.info.run_id, params=[Param(name, value) for name, value in stated])
        return run

    with recorded_run(state, discovery, spec, begun) as run_id:
        yield run_id


def complete_discovery(workspace: Workspace, folder: Path, answers: Answers) -> None:
    """Write the content of a published discovery's record to MLflow.

    Args:
        workspace: the discovery.
        folder: its public folder.
        answers: what it released.
    """
    shown, now = shown_of(read_discovery(folder), answers), int(time.time() * 1000)
    with recording(workspace.state) as client:
        client.log_batch(
            workspace.mlflow_run_id,
            metrics=[Metric(name, value, now, 0) for name, value in shown.metrics.items()],
            tags=[RunTag(name, value) for name, value in shown.tags.items()],
        )


def _parameters(plan: DiscoveryPlan, unit: str) -> dict[str, str]:
    """Return the parameters of a discovery; its document has the whole plan."""
    asked = {kind: [each.column for each in plan.questions if each.kind == kind] for kind in ("values", "range")}
    return {
        "epsilon": str(plan.epsilon),
        "delta": str(plan.delta),
        "privacy_unit": unit,
        "columns_of_values": _names(asked["values"]),
        "columns_of_numbers": _names(asked["range"]),
        "plan": digest_of(plan.document()),
    }


def _names(columns: Sequence[str]) -> str:
    """Return the names of columns; of many, only the first ones."""
    more = len(columns) - _MOST_NAMED
    return ", ".join(columns[:_MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "") or "none"
