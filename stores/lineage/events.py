"""What happens to a release and its steps, as OpenLineage events: in a file of the state folder, and sent.

Events are internal, as MLflow is: their times depend on confidential data, and a step that fails says so at once. They
name what is not public by its digest under the release's key, and quote no message. Replays and rehearsals, which
happen in scratch folders, have no events.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from deniable.catalogues.lineage_events import Event, EventType, LineageEvents, run_id
from deniable.foundation.checks import printable
from deniable.foundation.errors import InvalidInput
from stores.lineage.receiver import receiver
from stores.own_files import own_descriptor, read_own_text
from stores.vault.pending_approval import Held
from stores.vault.private_files import make_private_folder
from stores.vault.scratch import is_scratch
from stores.vault.step_log import StepDraft
from stores.vault.workspace import Workspace

LINEAGE = "lineage"
"""The folder of a state folder with the events of each release."""


def file_of_events(state: Path, release_id: str) -> Path:
    """The file with a release's events, a line each."""
    return state / LINEAGE / f"{release_id}.jsonl"


def events_of(state: Path, release_id: str) -> list[Event]:
    """The events of a release so far, in order; a line that a killed process did not finish is left out.

    Raises:
        InvalidInput: there are none.
    """
    place = file_of_events(state, release_id)
    if Path(release_id).name != release_id or not place.is_file():
        raise InvalidInput(
            f"RELEASE must be the name of a release that ran in {state}, got {printable(release_id)}, of which there "
            "are no events; deniable release find lists releases."
        )
    lines = read_own_text(place).splitlines()
    return [event for line in lines if (event := _read(line)) is not None]


@contextmanager
def release_events(state: Path, release_id: str, dataset: str) -> Iterator[None]:
    """Tell that a release starts or goes on, and how the block ends."""
    about = LineageEvents(dataset, release_id, version("deniable"))
    with _told(_Run(state, about, run_id(release_id), about.job())):
        yield


@contextmanager
def step_events(workspace: Workspace, step: str, run: str, draft: StepDraft) -> Iterator[None]:
    """Tell that a step starts, and how the block ends.

    Args:
        workspace: the release.
        step: name of the step.
        run: what identifies this run of it.
        draft: what the step has done so far; its inputs are there when the block begins.
    """
    about = LineageEvents(workspace.spec.dataset_name, workspace.release_id, version("deniable"))
    parent = about.of_release(run_id(workspace.release_id))
    with _told(_Run(workspace.state, about, run_id(workspace.release_id, run), about.job(step), parent, draft)):
        yield


@dataclass(frozen=True)
class _Run:
    """A run whose events are reported: of a release, or of a step, which has facets and a draft."""

    state: Path
    about: LineageEvents
    run: str
    job: str
    parent: dict[str, Any] = field(default_factory=dict)
    draft: StepDraft = field(default_factory=StepDraft)

    def tell(self, kind: EventType) -> None:
        # Steps of a discovery belong to no release.
        if is_scratch(self.state) or (self.parent and not file_of_events(self.state, self.about.release).exists()):
            return
        facets = dict(self.parent)
        # A step that failed may have spent before it did.
        if self.parent and (kind == "COMPLETE" or self.draft.cost is not None):
            spent = None if self.draft.cost is None else self.draft.cost.model_dump(mode="json")
            facets |= self.about.cost(spent, len(self.draft.events))
        event = self.about.event(
            kind,
            f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%f}Z",
            self.run,
            self.job,
            facets,
            [self.about.read_or_made(item.name, item.digest) for item in self.draft.inputs],
            [self.about.read_or_made(item.name, item.digest) for item in self.draft.outputs],
        )
        _append(file_of_events(self.state, self.about.release), event)
        server = receiver(self.about.release)
        if server is not None:
            server.send([event])


@contextmanager
def _told(run: _Run) -> Iterator[None]:
    run.tell("START")
    try:
        yield
    except BaseException as error:
        failed: EventType = "FAIL" if isinstance(error, Exception) else "ABORT"
        with suppress(OSError):  # such as a full disk, which the error itself tells better
            run.tell("RUNNING" if isinstance(error, Held) else failed)
        raise
    run.tell("COMPLETE")


def _append(place: Path, event: Event) -> None:
    """Append a line in one write, so that the lines of several processes do not mix."""
    make_private_folder(place.parent)
    descriptor = own_descriptor(place, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        os.write(descriptor, (json.dumps(event, separators=(",", ":")) + "\n").encode())
    finally:
        os.close(descriptor)


def _read(line: str) -> Event | None:
    try:
        event: Event = json.loads(line)
    except ValueError:
        return None
    return event
