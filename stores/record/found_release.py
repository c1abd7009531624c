"""A release or a discovery in search results: the content of its signed record, and the differences in MLflow.

Anyone with write access to MLflow can change what it shows for a release. The signed record cannot be changed: it is
read from the public folder, or else from MLflow's copy, and is accepted if a trusted key signed it for this very run.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from math import inf, isinf
from pathlib import Path
from typing import Any

from mlflow import MlflowClient
from mlflow.entities import Run
from mlflow.exceptions import MlflowException

from deniable.foundation.errors import DeniableError, Refused
from deniable.privacy.rounding import rounded_up
from deniable.record.trust import TrustedKeys
from schemas.provenance import RECORD, Provenance
from stores.keys.signed_record import read_record
from stores.record.discovery_record import discovery_place, trusted_discovery
from stores.record.record_reader import trusted_content
from stores.tracking.release_search import (
    APPROVED_BY,
    DISCOVERY,
    EPSILON_TOTAL,
    GUARANTEE,
    NOBODY,
    PUBLISHED_DAY,
    day_number,
)
from stores.tracking.run_artifacts import read_artifact

DATASET, PUBLISHED, STARTED_BY = "dataset", "published", "started_by"
_RELEASE = "release"
_ARTIFACT = f"public/{RECORD}"
_UNKNOWN = "?"
_DAY = len("2026-11-20")

Told = Mapping[str, str]
"""The facts about a release, by the names of MLflow's tags."""


@dataclass(frozen=True)
class FoundRelease:
    """A release that was found.

    Attributes:
        told: its facts, from its record, or from MLflow if no record can be trusted.
        page: experiment and run that show it; None if MLflow has none.
        doubt: why its record is not trusted; empty if it is trusted.
        otherwise: differences of MLflow from the record, one phrase each.
    """

    told: Told
    page: tuple[str, str] | None
    doubt: str = ""
    otherwise: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Facts:
    """The content of a record about a release or a discovery.

    Attributes:
        told: the facts that are shown.
        run: its run in MLflow; empty for the first discoveries, which had none.
        day: the day of publication.
        epsilon: its cost; infinite if no epsilon bounds it.
    """

    told: Told
    run: str
    day: str
    epsilon: float


@dataclass(frozen=True)
class Wanted:
    """The search conditions; None for no condition.

    Attributes:
        dataset: name of the dataset.
        since: first day of publication.
        epsilon_above: the whole release cost more than this.
        approved_by: the approver.
    """

    dataset: str | None = None
    since: date | None = None
    epsilon_above: float | None = None
    approved_by: str | None = None

    def has(self, facts: _Facts) -> bool:
        """Whether a release or a discovery meets the conditions."""
        told = facts.told
        return (
            self.dataset in {None, told[DATASET]}
            and self.approved_by in {None, told[APPROVED_BY]}
            and (self.since is None or facts.day >= self.since.isoformat())
            and (self.epsilon_above is None or facts.epsilon > self.epsilon_above)
        )


def found_release(client: MlflowClient, state: Path, run: Run, trusted: TrustedKeys) -> FoundRelease:
    """Compare what MLflow shows for a release with its record.

    Args:
        client: the MLflow client.
        state: the state folder, which may contain the public folder.
        run: the release's run.
        trusted: the trusted keys.

    Raises:
        MlflowException: MLflow does not answer.
    """
    page = run.info.experiment_id, run.info.run_id
    try:
        facts = _stated_of(client, state, run, trusted)
    except DeniableError as error:
        return FoundRelease(reported_by_mlflow(run), page, doubt=str(error))
    return FoundRelease(facts.told, page, otherwise=tuple(_otherwise(facts, run)))


def not_held(run: Run, why: str) -> FoundRelease:
    """A release known only from MLflow, with the reason."""
    return FoundRelease(reported_by_mlflow(run), (run.info.experiment_id, run.info.run_id), doubt=why)


def unseen_releases(
    client: MlflowClient, state: Path, wanted: Wanted, seen: set[str], trusted: TrustedKeys
) -> Iterator[FoundRelease]:
    """The releases in a state folder that meet the conditions but were not found by MLflow's search.

    Args:
        client: the MLflow client.
        state: the state folder.
        wanted: the search conditions.
        seen: runs that the search found.
        trusted: the trusted keys.
    """
    for kind, read in (("release", _read_release), ("discovery", _read_discovery)):
        folder = state / "releases" if kind == "release" else discovery_place(state, "")
        for place in sorted(folder.glob(f"*/{RECORD}"), reverse=True):
            with suppress(DeniableError, OSError):
                facts = read(read_record(place), str(place), trusted)
                if facts.run not in seen and wanted.has(facts):
                    otherwise = (f"it does not find the {kind}",) if facts.run else ()
                    yield FoundRelease(facts.told, _page_of(client, facts.run), otherwise=otherwise)


def _page_of(client: MlflowClient, run_id: str) -> tuple[str, str] | None:
    """Experiment and run, if MLflow still has the run, deleted or not."""
    with suppress(MlflowException):
        return client.get_run(run_id).info.experiment_id, run_id
    return None


def reported_by_mlflow(run: Run) -> Told:
    """The facts about a release in MLflow."""
    tags, metrics = run.data.tags, run.data.metrics
    epsilon = tags.get(EPSILON_TOTAL) or (rounded_up(metrics[EPSILON_TOTAL]) if EPSILON_TOTAL in metrics else _UNKNOWN)
    names = (DATASET, PUBLISHED, GUARANTEE, STARTED_BY, APPROVED_BY)
    return {_RELEASE: run.info.run_name or "", EPSILON_TOTAL: epsilon} | {
        name: tags.get(name, _UNKNOWN) for name in names
    }


def _stated_of(client: MlflowClient, state: Path, run: Run, trusted: TrustedKeys) -> _Facts:
    """What the record of a run states, if it is trusted: the one in the state folder, or else MLflow's copy."""
    name = run.info.run_name or ""
    place, read = state / "releases" / name / RECORD, _read_release
    if DISCOVERY in run.data.tags:
        place, read = discovery_place(state, name) / RECORD, _read_discovery
    if Path(name).name == name and place.is_file():
        with suppress(DeniableError):
            return _of_run(read(read_record(place), str(place), trusted), run)
    content = read_artifact(state, run.info.artifact_uri, client.tracking_uri, _ARTIFACT)
    if content is None:
        raise Refused("it has no record")
    return _of_run(read(content, f"{_ARTIFACT} in MLflow", trusted), run)


def _of_run(facts: _Facts, run: Run) -> _Facts:
    """Refuse the record of something else, which anyone with write access to MLflow could have put there."""
    if facts.run != run.info.run_id:
        raise Refused(f"its record is that of {facts.told[_RELEASE]}, which is another run")
    return facts


def _read_release(content: bytes, place: str, trusted: TrustedKeys) -> _Facts:
    return _facts(trusted_content(content, place, trusted).record)


def _read_discovery(content: bytes, place: str, trusted: TrustedKeys) -> _Facts:
    return _facts_of_discovery(trusted_discovery(content, place, trusted))


def _facts_of_discovery(stated: Mapping[str, Any]) -> _Facts:
    """The facts about a discovery in its record."""
    named, time = stated["discovery"], stated["signed"]["time"]
    epsilon = Fraction(stated["entry"]["content"]["claim"]["epsilon"])
    told = {
        _RELEASE: named["id"],
        DATASET: named["dataset"],
        PUBLISHED: time,
        EPSILON_TOTAL: rounded_up(epsilon),
        GUARANTEE: DISCOVERY,
        STARTED_BY: stated.get("people", {}).get("started_by", _UNKNOWN),
        APPROVED_BY: NOBODY,
    }
    return _Facts(told, stated.get("runs", {}).get("mlflow_run", ""), time[:_DAY], float(epsilon))


def _facts(record: Provenance) -> _Facts:
    """The facts about a release in its record."""
    approval, epsilon = record.people.approval, _epsilon(record)
    told = {
        _RELEASE: record.release.id,
        DATASET: record.release.dataset,
        PUBLISHED: record.signed.time,
        EPSILON_TOTAL: "infinite" if isinf(epsilon) else rounded_up(epsilon),
        GUARANTEE: record.cost.kind,
        STARTED_BY: record.people.started_by,
        APPROVED_BY: approval.by if approval is not None else NOBODY,
    }
    return _Facts(told, record.runs.mlflow_run, record.release.published, epsilon)


def _epsilon(record: Provenance) -> float:
    """Epsilon of a release; infinite if no epsilon bounds its cost."""
    total = record.cost.total
    return inf if total is None or total.epsilon is None else total.epsilon


def _otherwise(facts: _Facts, run: Run) -> Iterator[str]:
    """The differences of MLflow from a record."""
    shown = reported_by_mlflow(run)
    for name, value in facts.told.items():
        if shown[name] != value:
            yield f"{name} is {shown[name]}"
    day = run.data.metrics.get(PUBLISHED_DAY)
    if day != day_number(date.fromisoformat(facts.day)):
        yield f"{PUBLISHED_DAY} is {_UNKNOWN if day is None else f'{day:.0f}'}"
