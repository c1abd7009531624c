"""Releases that were begun: which spec they are of, whether somebody works on one, and which were never finished.

What a release has done so far is for the journal.
"""

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import IO

from deniable.errors import InvalidInput, Refused
from schemas.release_spec import ReleaseSpec
from stores.workspace import PRIVATE_FILE, Workspace

_RECORD = "release.json"
_LEASE = "lease"


@dataclass(frozen=True)
class Begun:
    """What the vault says of a release.

    Attributes:
        release_id: the release's name.
        spec: digest of what it is of.
        mlflow_run_id: its run in MLflow.
        finished: whether nothing is left to do.
    """

    release_id: str
    spec: str
    mlflow_run_id: str
    finished: bool


def spec_digest(spec: ReleaseSpec) -> str:
    """Digest of a spec and of the folder that its paths are relative to."""
    said = json.dumps([str(spec.folder), spec.model_dump(mode="json", fallback=str)], sort_keys=True)
    return sha256(said.encode()).hexdigest()


def note_beginning(workspace: Workspace) -> None:
    """Note in the vault what the release is of; from now on it can be taken up again."""
    _write(workspace, finished=False)


def note_end(workspace: Workspace) -> None:
    """Note that nothing is left to do."""
    _write(workspace, finished=True)


def _write(workspace: Workspace, *, finished: bool) -> None:
    said = {
        "release_id": workspace.release_id,
        "spec": spec_digest(workspace.spec),
        "mlflow_run_id": workspace.mlflow_run_id,
        "finished": finished,
    }
    temporary = workspace.vault / f".{_RECORD}"
    temporary.write_text(json.dumps(said))
    temporary.chmod(PRIVATE_FILE)
    temporary.replace(workspace.vault / _RECORD)


def begun_releases(state: Path) -> list[Begun]:
    """All releases that the state folder knows, the oldest first."""
    found = []
    for path in sorted((state / "vault").glob(f"*/{_RECORD}")):
        said = json.loads(path.read_text())
        found.append(Begun(said["release_id"], said["spec"], said["mlflow_run_id"], said["finished"]))
    return found


def unfinished_release(state: Path, spec: ReleaseSpec) -> Begun | None:
    """The release of a spec that was begun and never finished, the newest if there are several."""
    digest = spec_digest(spec)
    unfinished = [begun for begun in begun_releases(state) if not begun.finished and begun.spec == digest]
    return unfinished[-1] if unfinished else None


def find_release(state: Path, release_id: str) -> Begun:
    """A release by its name.

    Raises:
        InvalidInput: there is none of that name.
    """
    for begun in begun_releases(state):
        if begun.release_id == release_id:
            return begun
    msg = f"the release must be one that was begun, got {release_id}, of which {state} knows nothing; check its name."
    raise InvalidInput(msg)


@contextmanager
def leased(vault: Path) -> Iterator[None]:
    """Keep all others from working on a release; the kernel ends the lease with the process, however that ends.

    Raises:
        Refused: somebody works on it.
    """
    with (vault / _LEASE).open("w") as handle:
        _lock(handle, vault.name)
        yield


def _lock(handle: IO[str], release_id: str) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        msg = f"a release must be worked on by one process, and another is at {release_id}; wait until it is done."
        raise Refused(msg) from None
