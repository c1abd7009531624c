"""Releases that were begun: which spec they are of, whether somebody works on one, and which were never finished.

What a release has done so far is for the journal.
"""

import json
import shutil
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile

from deniable.foundation.errors import InvalidInput, Refused
from schemas.catalog import code_digest, schema_code
from schemas.references import Audience
from schemas.spec.release_spec import ReleaseSpec
from stores.ledger.charging import charged_under, is_charged
from stores.vault.lease import LEASE, is_leased, leased
from stores.vault.workspace import Workspace

_RECORD = "release.json"
_END = "end.json"

# What decides neither what is drawn nor what it costs; to change it does not begin another release.
_WITHOUT_EFFECT = {"title", "evaluation", "thresholds", "decision", "budget", "refresh"}


@dataclass(frozen=True)
class ResumableRelease:
    """What the vault says of a release.

    Attributes:
        release_id: the release's name.
        dataset: the dataset's name.
        spec: digest of what it is of.
        commitment: commitment to its key.
        finished: whether nothing is left to do.
        destroy_key: whether its key is to be destroyed when it is finished.
        reported: whether whoever started it was told of its end; notes of earlier versions do not say, and were.
        mlflow_run: its run in MLflow.
        code: digest of the code that has worked on it; empty where several have, or an earlier version noted none.
        runs: Prefect's runs that worked on it: the one that began it, then those that went on with it.
    """

    release_id: str
    dataset: str
    spec: str
    commitment: str
    finished: bool
    destroy_key: bool
    reported: bool = True
    mlflow_run: str = ""
    code: str = ""
    runs: tuple[str, ...] = ()

    @property
    def ended(self) -> bool:
        """Whether it is finished and reported, so that the same command begins another release."""
        return self.finished and self.reported


def spec_digest(spec: ReleaseSpec) -> str:
    """Digest of all in a spec, and in the schema that it names, that decides what is drawn."""
    said = spec.model_dump(mode="json", fallback=str, exclude=_WITHOUT_EFFECT)
    facts = [said, spec.domain.digest, schema_code(spec.dataset, spec.folder)]
    return sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def note_beginning(workspace: Workspace, run: str | None = None) -> None:
    """Note in the vault what the release is of; from now on it can be taken up again.

    Args:
        workspace: the release.
        run: Prefect's run that begins it.
    """
    _write(workspace, finished=False, runs=(run,) if run else ())


def note_work(state: Path, release_id: str, run: str | None) -> None:
    """Note that a run of Prefect's goes on with a release."""
    begun = find_release(state, release_id)
    if run and run not in begun.runs:
        _replace(state, replace(begun, runs=(*begun.runs, run)))


def releases_of_run(state: Path, run: str) -> list[ResumableRelease]:
    """The releases that a run of Prefect's has begun or gone on with, the oldest first."""
    return [begun for begun in begun_releases(state) if run in begun.runs]


def note_end(workspace: Workspace, said: str) -> None:
    """Note that nothing is left to do but to tell whoever started the release.

    Args:
        workspace: the release.
        said: what is to be told, as `ended_with` gives it back.
    """
    with workspace.writing(_END, Audience.RESTRICTED) as path:
        path.write_text(said, encoding="utf-8")
    _write(workspace, finished=True)


def note_reported(state: Path, release_id: str) -> None:
    """Note that whoever started a finished release was told of its end: the same command begins another from now on."""
    begun = find_release(state, release_id)
    if begun.finished and not begun.reported:
        _replace(state, replace(begun, reported=True))


def _replace(state: Path, begun: ResumableRelease) -> None:
    """Note something else of a release, whole or not at all."""
    place = state / "vault" / begun.release_id / _RECORD
    with NamedTemporaryFile("w", dir=place.parent, prefix=f".{_RECORD}.", delete=False) as file:
        temporary = Path(file.name)
        try:
            file.write(json.dumps(asdict(begun)))
            file.flush()
            temporary.replace(place)
        finally:
            temporary.unlink(missing_ok=True)


def ended_with(workspace: Workspace) -> str | None:
    """What is to be told of a finished release; None of one that is not finished."""
    if not find_release(workspace.state, workspace.release_id).finished:
        return None
    return (workspace.vault / _END).read_text(encoding="utf-8")


def _write(workspace: Workspace, *, finished: bool, runs: tuple[str, ...] = ()) -> None:
    before = _begun(workspace.vault)
    begun = ResumableRelease(
        release_id=workspace.release_id,
        dataset=workspace.spec.dataset_name,
        spec=spec_digest(workspace.spec),
        commitment=workspace.key().commitment(),
        finished=finished,
        destroy_key=workspace.spec.key.custodian == "destroyed",
        reported=False,
        mlflow_run=workspace.mlflow_run_id,
        code=code_digest() if before is None or before.code == code_digest() else "",
        runs=runs if before is None else before.runs,
    )
    with workspace.writing(_RECORD, Audience.RESTRICTED) as path:
        path.write_text(json.dumps(asdict(begun)))


def begun_releases(state: Path) -> list[ResumableRelease]:
    """All releases that the state folder knows and whose notes can be read, the oldest first."""
    return [begun for begun in map(_begun, _vaults(state)) if begun is not None]


def releases_of(state: Path, spec: ReleaseSpec) -> list[ResumableRelease]:
    """The releases of a spec's dataset that were begun, the oldest first.

    What a note says that cannot be read is not guessed at: what was paid for might be paid for again. It stops the
    datasets that it may be of, and no other. It may be of a spec's dataset where its folder is called as the spec's
    releases are (the name is a part of what a release is of), where what is left of it names the dataset, or where the
    ledger has charged the dataset for it: what never was charged has nothing to be paid for again.

    Raises:
        Refused: a note that may be of the dataset cannot be read, or is of a version that noted other things.
    """
    found = []
    for vault in _vaults(state):
        begun = _begun(vault)
        if begun is None and _may_be_of(spec, state, vault):
            raise _unreadable(vault)
        if begun is not None and begun.dataset == spec.dataset_name:
            found.append(begun)
    return found


def _vaults(state: Path) -> list[Path]:
    """Folders of the releases that were begun, the oldest of a spec first."""
    return sorted(vault for vault in (state / "vault").glob("*") if _is_noted(vault))


def _is_noted(vault: Path) -> bool:
    """Whether there is a note in a folder; one that may not be looked into may hold one."""
    try:
        (vault / _RECORD).stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _begun(vault: Path) -> ResumableRelease | None:
    """What the vault says of one release; None where that cannot be read."""
    try:
        said = json.loads((vault / _RECORD).read_text())
        return ResumableRelease(**{**said, "runs": tuple(said.get("runs", ()))})
    except (AttributeError, OSError, TypeError, ValueError):
        return None


def _may_be_of(spec: ReleaseSpec, state: Path, vault: Path) -> bool:
    """Whether a note that cannot be read may be of a spec's dataset."""
    return (
        vault.name.rpartition("-")[0] == spec.name
        or _named_dataset(vault) == spec.dataset_name
        or is_charged(state, spec.dataset_name, vault.name)
    )


def _named_dataset(vault: Path) -> object:
    """The dataset that a note names which says otherwise what this version does not understand."""
    try:
        said = json.loads((vault / _RECORD).read_text())
    except (OSError, ValueError):
        return None
    return said.get("dataset") if isinstance(said, dict) else None


def _unreadable(vault: Path) -> Refused:
    msg = (
        f"{vault / _RECORD} must be as this version of the program writes it, and is not, so that {vault.name} might "
        f"be paid for twice; go on with it by the version that it was begun with, or a later one, or bring the folder "
        f"{vault} back from a backup."
    )
    return Refused(msg)


def unfinished_release(state: Path, spec: ReleaseSpec) -> ResumableRelease | None:
    """The release of a spec that was begun and whose end was never reported, the newest if there are several.

    One that is finished is only to be reported: between its end and that of its command, the command may be killed.

    Raises:
        Refused: a note that may be of the spec's dataset cannot be read.
    """
    digest = spec_digest(spec)
    unfinished = [begun for begun in releases_of(state, spec) if not begun.ended and begun.spec == digest]
    return unfinished[-1] if unfinished else None


def what_comes_next(state: Path, spec: ReleaseSpec, *, anew: bool = False) -> str:
    """Say in one sentence which release of a spec the next command goes on with, or that there is none.

    Args:
        state: the state folder.
        spec: the spec.
        anew: whether another release is to begin in any case.

    Raises:
        Refused: a note that may be of the spec's dataset cannot be read.
    """
    if anew:
        return f"A new release of {spec.name} begins, as was asked for, and is charged."
    begun = unfinished_release(state, spec)
    if begun is None:
        return f"A new release of {spec.name}, charged as planned: none that was begun is unfinished."
    if begun.finished:
        return (
            f"To be reported: {begun.release_id}, which is finished, and whose command ended before it said so; "
            "nothing is charged for that."
        )
    return (
        f"Going on with {begun.release_id}, which was not finished, from the data as they were then; python -m flows "
        f"discard {begun.release_id} gives it up."
    )


def other_unfinished_releases(state: Path, spec: ReleaseSpec) -> list[ResumableRelease]:
    """Unfinished releases of the same dataset, of other specs: paid for, and not gone on with.

    Raises:
        Refused: a note that may be of the spec's dataset cannot be read.
    """
    digest = spec_digest(spec)
    return [begun for begun in releases_of(state, spec) if not begun.finished and begun.spec != digest]


def destroy_left_keys(state: Path) -> None:
    """Destroy the keys that a process was killed before it destroyed.

    Where a note cannot be read, the key stays until it can: the release may not be finished, and would need it.
    """
    for begun in begun_releases(state):
        if begun.finished and begun.destroy_key:
            (state / "vault" / begun.release_id / "key").unlink(missing_ok=True)


def find_release(state: Path, release_id: str) -> ResumableRelease:
    """A release by its name.

    Raises:
        InvalidInput: there is none of that name.
        Refused: what the vault says of it cannot be read.
    """
    for vault in _vaults(state):
        if vault.name == release_id:
            begun = _begun(vault)
            if begun is None:
                raise _unreadable(vault)
            return begun
    msg = f"the release must be one that was begun, got {release_id}, of which {state} knows nothing; check its name."
    raise InvalidInput(msg)


def left_in_words(state: Path) -> list[str]:
    """Say of each release that a command would go on with, a line each, how far it is; the oldest of a spec first."""
    lines = []
    for begun in begun_releases(state):
        if not begun.ended:
            left = "finished, not reported" if begun.finished else "not finished"
            at_work = ", a command works on it now" if is_leased(state / "vault" / begun.release_id) else ""
            lines.append(f"{begun.release_id}  of the dataset {begun.dataset}: {left}{at_work}")
    return lines


def require_same_code(state: Path, dataset: str, commitment: str) -> None:
    """Refuse a key under which other code has drawn, or nobody can tell which: the same charge would give other noise.

    Args:
        state: the state folder.
        dataset: the dataset that pays.
        commitment: commitment to a key that is given, and not made for the release.

    Raises:
        Refused: it was charged for before, and not by this code.
    """
    for release_id in sorted(charged_under(state, dataset, commitment)):
        begun = _begun(state / "vault" / release_id)
        if begun is None or begun.code != code_digest():
            said = "nobody can tell by which code" if begun is None or not begun.code else "by other code"
            msg = (
                f"a key must be used again by the code that has drawn under it, got the key of {release_id}, drawn "
                f"{said}; compare by python -m flows replay {release_id}, which publishes nothing, or leave the key "
                "out."
            )
            raise Refused(msg)


def sweep_claims(state: Path) -> None:
    """Remove the vaults of releases that a process was killed in before it had noted what they are of."""
    for lease in (state / "vault").glob(f"*/{LEASE}"):
        if not (lease.parent / _RECORD).exists():
            with suppress(Refused), leased(lease.parent):
                if not (lease.parent / _RECORD).exists():
                    shutil.rmtree(lease.parent, ignore_errors=True)
