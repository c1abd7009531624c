"""The flows of the deployments: what a form of Prefect's can ask for, checked again where it runs.

A form can be sent unchecked, so what is asked for is typed here. What the flows do is that of the command line.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.concurrency.sync import concurrency
from prefect.states import Completed
from pydantic import Field

from flows import audit as auditing
from flows import refresh as refreshing
from flows import release as releasing
from flows import replay as replaying
from flows.environment import state_folder
from flows.specs import spec_places
from schemas.release_spec import TABLE_SUFFIXES, load_spec

DATASET_LIMIT = "deniable-dataset-{}"
"""Name of the concurrency limit of a dataset: its releases wait for each other."""

SpecName = StrEnum("SpecName", {name: name for name in spec_places()})  # type: ignore[misc] # named by what there is
SpecName.__doc__ = "A release spec that ships, or that lies in a folder of DENIABLE_SPECS."

ReleaseName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_]+-\d{8}T\d{6}Z$", examples=["acs_ma-20261120T104151Z"])]

_TABLE = "|".join(re.escape(suffix) for suffix in TABLE_SUFFIXES)
Arrival = Annotated[str, Field(pattern=rf"^/.+({_TABLE})$", examples=["/data/people-2026.parquet"])]


@flow(name="release", flow_run_name="release of {spec}", persist_result=False)
def release(spec: SpecName, begin_another: bool = False) -> State[Any]:  # noqa: FBT001, FBT002 - a box of a form
    """Release what a spec describes, or go on with the release of it that was not finished.

    Args:
        spec: the release spec.
        begin_another: begin another release although one of this spec is not finished.

    Returns:
        The release's name, as the run's message.

    Raises:
        DeniableError: the release failed, was refused, or could not be finished; running it again goes on with it.
    """
    place = spec_places()[spec]
    with _alone(load_spec(place).dataset_name):
        released = releasing.release.fn(place, anew=begin_another)
    return Completed(message=f"published {released.workspace.release_id}")


@flow(name="refresh", flow_run_name="refresh of {spec}", persist_result=False)
def refresh(spec: SpecName, source: Arrival | None = None) -> State[Any]:
    """Release what arrives of a dataset, unless exactly that is published; spend no more than this refresh may.

    Args:
        spec: the release spec, with an entry `refresh`.
        source: path, on the worker's machine, of the file that arrives; by default where the spec says.

    Returns:
        What was done, as the run's message; how far the table moved is an artifact of the run.

    Raises:
        DeniableError: the refresh failed or was refused; what was published before is untouched.
    """
    place = spec_places()[spec]
    with _alone(load_spec(place).dataset_name):
        done = refreshing.refresh.fn(place, source=Path(source) if source else None)
    return Completed(message=done.in_words)


@flow(name="audit", flow_run_name="audit of {release}", persist_result=False)
def audit(release: ReleaseName | None = None) -> State[Any]:
    """See that nobody has touched a release, its runs in MLflow or its charges since its record was signed.

    Args:
        release: the release's name; all published releases if none is given.

    Returns:
        What was found, as the run's message; the findings are an artifact of the run.

    Raises:
        AuditFailed: something is not as it was.
    """
    names = [release] if release else published_releases(state_folder())
    failed: list[auditing.AuditFailed] = []
    for name in names:
        try:
            auditing.audit.fn(name)
        except auditing.AuditFailed as failure:
            failed.append(failure)
    if failed:
        raise failed[0]
    return Completed(message=f"{len(names)} of {len(names)} releases are as they were when their records were signed")


@flow(name="replay", flow_run_name="replay of {release}", persist_result=False)
def replay(release: ReleaseName) -> State[Any]:
    """Run a published release again from its record, and see that every step gives the same bytes.

    Args:
        release: the release's name.

    Returns:
        The verdict, as the run's message.

    Raises:
        ReplayDiffers: a step gave something else; the message says which, and why.
    """
    return Completed(message=replaying.replay.fn(release, state_folder()).verdict)


def published_releases(state: Path) -> list[str]:
    """Names of the releases that were published, the oldest first."""
    return sorted(path.name for path in (state / "releases").glob("*/"))


@contextmanager
def _alone(dataset: str) -> Iterator[None]:
    """Wait until no other run works on the dataset; `python -m flows deploy` makes the limit that this needs."""
    with concurrency(DATASET_LIMIT.format(dataset), occupy=1, strict=True):
        yield
