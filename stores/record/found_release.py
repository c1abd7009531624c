"""A release as a search shows it: what its signed record says, and where MLflow says otherwise.

Whoever may write to MLflow may change what it says of a release. Its record cannot be changed: it is read from the
public folder, or where there is none, from MLflow's copy, and counts if a trusted key signed it for this very run.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from math import inf, isinf
from pathlib import Path

from mlflow import MlflowClient
from mlflow.entities import Run
from mlflow.exceptions import MlflowException

from deniable.foundation.errors import DeniableError, Refused
from deniable.privacy.rounding import rounded_up
from deniable.record.trust import TrustedKeys
from schemas.provenance import RECORD, Provenance
from stores.record.record_reader import trusted_content, trusted_record
from stores.tracking.release_search import APPROVED_BY, EPSILON_TOTAL, NOBODY, PUBLISHED_DAY, day_number
from stores.tracking.run_artifacts import read_artifact

DATASET, PUBLISHED, GUARANTEE, STARTED_BY = "dataset", "published", "guarantee", "started_by"
_RELEASE = "release"
_ARTIFACT = f"public/{RECORD}"
_UNKNOWN = "?"

Told = Mapping[str, str]
"""What is said of a release, by the names of MLflow's tags."""


@dataclass(frozen=True)
class FoundRelease:
    """A release that was found.

    Attributes:
        told: what is said of it: by its record, or where none can be believed, by MLflow.
        page: experiment and run that show it; None where MLflow has none.
        doubt: why its record is not believed; empty where it is.
        otherwise: where MLflow does not say what the record does, a phrase each.
    """

    told: Told
    page: tuple[str, str] | None
    doubt: str = ""
    otherwise: tuple[str, ...] = ()


@dataclass(frozen=True)
class Wanted:
    """Which releases are looked for; None where any will do.

    Attributes:
        dataset: name of the dataset.
        since: first day of publication.
        epsilon_above: what the whole release cost more than.
        approved_by: who approved it.
    """

    dataset: str | None = None
    since: date | None = None
    epsilon_above: float | None = None
    approved_by: str | None = None

    def has(self, record: Provenance) -> bool:
        """Whether a record is that of such a release."""
        told = _told(record)
        return (
            self.dataset in {None, told[DATASET]}
            and self.approved_by in {None, told[APPROVED_BY]}
            and (self.since is None or record.release.published >= self.since.isoformat())
            and (self.epsilon_above is None or _epsilon(record) > self.epsilon_above)
        )


def found_release(client: MlflowClient, state: Path, run: Run, trusted: TrustedKeys) -> FoundRelease:
    """Hold what MLflow says of a release against its record.

    Args:
        client: MLflow's.
        state: the state folder, which may hold the public folder.
        run: the release's run.
        trusted: whose signatures count.

    Raises:
        MlflowException: MLflow does not answer.
    """
    page = run.info.experiment_id, run.info.run_id
    try:
        record = _record_of(client, state, run, trusted)
    except DeniableError as error:
        return FoundRelease(reported_by_mlflow(run), page, doubt=str(error))
    return FoundRelease(_told(record), page, otherwise=tuple(_otherwise(record, run)))


def not_held(run: Run, why: str) -> FoundRelease:
    """A release of which only MLflow has said anything yet, and why."""
    return FoundRelease(reported_by_mlflow(run), (run.info.experiment_id, run.info.run_id), doubt=why)


def unseen_releases(
    client: MlflowClient, state: Path, wanted: Wanted, seen: set[str], trusted: TrustedKeys
) -> Iterator[FoundRelease]:
    """The releases in a state folder that are looked for, and that MLflow's search did not find.

    Args:
        client: MLflow's.
        state: the state folder.
        wanted: which releases are looked for.
        seen: runs that the search found.
        trusted: whose signatures count.
    """
    for place in sorted(state.glob(f"releases/*/{RECORD}"), reverse=True):
        with suppress(DeniableError, OSError):
            record = trusted_record(place, trusted).record
            if record.runs.mlflow_run not in seen and wanted.has(record):
                page = _page_of(client, record.runs.mlflow_run)
                yield FoundRelease(_told(record), page, otherwise=("it does not find the release",))


def _page_of(client: MlflowClient, run_id: str) -> tuple[str, str] | None:
    """Experiment and run, where MLflow still has the run, deleted or not."""
    with suppress(MlflowException):
        return client.get_run(run_id).info.experiment_id, run_id
    return None


def reported_by_mlflow(run: Run) -> Told:
    """What MLflow says of a release."""
    tags, metrics = run.data.tags, run.data.metrics
    epsilon = tags.get(EPSILON_TOTAL) or (rounded_up(metrics[EPSILON_TOTAL]) if EPSILON_TOTAL in metrics else _UNKNOWN)
    names = (DATASET, PUBLISHED, GUARANTEE, STARTED_BY, APPROVED_BY)
    return {_RELEASE: run.info.run_name or "", EPSILON_TOTAL: epsilon} | {
        name: tags.get(name, _UNKNOWN) for name in names
    }


def _record_of(client: MlflowClient, state: Path, run: Run, trusted: TrustedKeys) -> Provenance:
    """The record of a run's release, if it is believed."""
    name = run.info.run_name or ""
    place = state / "releases" / name / RECORD
    if Path(name).name == name and place.is_file():
        with suppress(DeniableError):
            return _of_run(trusted_record(place, trusted).record, run)
    content = read_artifact(state, run.info.artifact_uri, client.tracking_uri, _ARTIFACT)
    if content is None:
        raise Refused("it has no record")
    return _of_run(trusted_content(content, f"{_ARTIFACT} in MLflow", trusted).record, run)


def _of_run(record: Provenance, run: Run) -> Provenance:
    """Refuse the record of another release, which whoever writes to MLflow can put anywhere."""
    if record.runs.mlflow_run != run.info.run_id:
        raise Refused(f"its record is that of {record.release.id}, which is another run")
    return record


def _told(record: Provenance) -> Told:
    """What a record says of its release."""
    approval, epsilon = record.people.approval, _epsilon(record)
    return {
        _RELEASE: record.release.id,
        DATASET: record.release.dataset,
        PUBLISHED: record.signed.time,
        EPSILON_TOTAL: "infinite" if isinf(epsilon) else rounded_up(epsilon),
        GUARANTEE: record.cost.kind,
        STARTED_BY: record.people.started_by,
        APPROVED_BY: approval.by if approval is not None else NOBODY,
    }


def _epsilon(record: Provenance) -> float:
    """What a release cost; what no epsilon bounds costs more than any."""
    total = record.cost.total
    return inf if total is None or total.epsilon is None else total.epsilon


def _otherwise(record: Provenance, run: Run) -> Iterator[str]:
    """Where MLflow does not say what a record does."""
    signed, shown = _told(record), reported_by_mlflow(run)
    for name, value in signed.items():
        if shown[name] != value:
            yield f"{name} is {shown[name]}"
    day = run.data.metrics.get(PUBLISHED_DAY)
    if day != day_number(date.fromisoformat(record.release.published)):
        yield f"{PUBLISHED_DAY} is {_UNKNOWN if day is None else f'{day:.0f}'}"
