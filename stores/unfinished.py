"""Releases that were begun: which spec they are of, whether somebody works on one, and which were never finished.

What a release has done so far is for the journal.
"""

import fcntl
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import IO

from deniable.errors import InvalidInput, Refused
from schemas.catalog import schema_code
from schemas.references import Audience
from schemas.release_spec import ReleaseSpec
from stores.workspace import Workspace

_RECORD = "release.json"
LEASE = "lease"


# What decides neither what is drawn nor what it costs; to change it does not begin another release.
_WITHOUT_EFFECT = {"title", "evaluation", "thresholds", "decision", "budget", "refresh"}


@dataclass(frozen=True)
class Begun:
    """What the vault says of a release.

    Attributes:
        release_id: the release's name.
        dataset: the dataset's name.
        spec: digest of what it is of.
        commitment: commitment to its key.
        finished: whether nothing is left to do.
        destroy_key: whether its key is to be destroyed when it is finished.
    """

    release_id: str
    dataset: str
    spec: str
    commitment: str
    finished: bool
    destroy_key: bool


def spec_digest(spec: ReleaseSpec) -> str:
    """Digest of all in a spec, and in the schema that it names, that decides what is drawn."""
    said = spec.model_dump(mode="json", fallback=str, exclude=_WITHOUT_EFFECT)
    facts = [said, spec.domain.digest, schema_code(spec.dataset, spec.folder)]
    return sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def note_beginning(workspace: Workspace) -> None:
    """Note in the vault what the release is of; from now on it can be taken up again."""
    _write(workspace, finished=False)


def note_end(workspace: Workspace) -> None:
    """Note that nothing is left to do."""
    _write(workspace, finished=True)


def _write(workspace: Workspace, *, finished: bool) -> None:
    begun = Begun(
        release_id=workspace.release_id,
        dataset=workspace.spec.dataset_name,
        spec=spec_digest(workspace.spec),
        commitment=workspace.key().commitment(),
        finished=finished,
        destroy_key=workspace.spec.key.custodian == "destroyed",
    )
    with workspace.writing(_RECORD, Audience.RESTRICTED) as path:
        path.write_text(json.dumps(asdict(begun)))


def begun_releases(state: Path) -> list[Begun]:
    """All releases that the state folder knows, the oldest first.

    Raises:
        Refused: one was begun by another version, which noted other things.
    """
    return [_begun(path) for path in sorted((state / "vault").glob(f"*/{_RECORD}"))]


def _begun(path: Path) -> Begun:
    """What the vault says of one release."""
    try:
        return Begun(**json.loads(path.read_text()))
    except (TypeError, ValueError):
        msg = (
            f"{path} must be as this version of the program writes it, and is not; go on with {path.parent.name} by "
            "the version that it was begun with, or a later one."
        )
    raise Refused(msg)


def unfinished_release(state: Path, spec: ReleaseSpec) -> Begun | None:
    """The release of a spec that was begun and never finished, the newest if there are several."""
    digest = spec_digest(spec)
    unfinished = [begun for begun in begun_releases(state) if not begun.finished and begun.spec == digest]
    return unfinished[-1] if unfinished else None


def other_unfinished_releases(state: Path, spec: ReleaseSpec) -> list[Begun]:
    """Unfinished releases of the same dataset, of other specs: paid for, and not gone on with."""
    digest, dataset = spec_digest(spec), spec.dataset_name
    unfinished = [begun for begun in begun_releases(state) if not begun.finished and begun.dataset == dataset]
    return [begun for begun in unfinished if begun.spec != digest]


def destroy_left_keys(state: Path) -> None:
    """Destroy the keys that a process was killed before it destroyed."""
    for begun in begun_releases(state):
        if begun.finished and begun.destroy_key:
            (state / "vault" / begun.release_id / "key").unlink(missing_ok=True)


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


def sweep_claims(state: Path) -> None:
    """Remove the vaults of releases that a process was killed in before it had noted what they are of."""
    for lease in (state / "vault").glob(f"*/{LEASE}"):
        if not (lease.parent / _RECORD).exists():
            with suppress(Refused), leased(lease.parent):
                if not (lease.parent / _RECORD).exists():
                    shutil.rmtree(lease.parent, ignore_errors=True)


@contextmanager
def leased(vault: Path) -> Iterator[None]:
    """Keep all others from working on a release; the kernel ends the lease with the process, however that ends.

    Raises:
        Refused: somebody works on it.
    """
    with (vault / LEASE).open("w") as handle:
        _lock(handle, vault.name)
        yield


def _lock(handle: IO[str], release_id: str) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        msg = f"a release must be worked on by one process, and another is at {release_id}; wait until it is done."
        raise Refused(msg) from None
