"""Releases that were started: their specs, whether a process works on them, and which were never finished.

The completed work of a release is in the journal.
"""

import json
import shutil
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path

from deniable.command_names import command_line
from deniable.foundation.errors import InvalidInput, Refused
from schemas.catalog import code_digest, schema_code
from schemas.references import Audience
from schemas.spec.release_spec import ReleaseSpec
from stores.ledger.charging import charged_under, is_charged
from stores.own_files import NotOurFile, read_own, read_own_text
from stores.record.discovery_record import DISCOVERY_NOTE
from stores.vault.disk import replace_whole
from stores.vault.lease import LEASE, leased
from stores.vault.workspace import Workspace

_RECORD = "release.json"
_END = "end.json"

# Entries that affect neither the draws nor the costs; changing them does not start another release.
_WITHOUT_EFFECT = {"title", "evaluation", "thresholds", "decision", "budget", "refresh", "publication"}


@dataclass(frozen=True)
class ResumableRelease:
    """The note of a release in the vault.

    Attributes:
        release_id: the release's name.
        dataset: the dataset's name.
        spec: digest of its spec.
        commitment: commitment to its key.
        finished: whether nothing is left to do.
        destroy_key: whether its key is to be destroyed when it is finished.
        reported: whether its end was reported to the user; notes of earlier versions lack this and count as reported.
        mlflow_run: its run in MLflow.
        code: digest of the code that worked on it; empty if there were several, or an earlier version noted none.
        runs: the Prefect runs that worked on it: first the one that started it, then those that resumed it.
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
        """Whether it is finished and reported, so that the same command starts another release."""
        return self.finished and self.reported


def spec_digest(spec: ReleaseSpec) -> str:
    """Digest of everything in a spec and its schema that affects the draws."""
    said = spec.model_dump(mode="json", fallback=str, exclude=_WITHOUT_EFFECT)
    facts = [said, spec.domain.digest, schema_code(spec.dataset, spec.folder)]
    return sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def note_beginning(workspace: Workspace, run: str | None = None) -> None:
    """Note the start of a release in the vault; from now on it can be resumed.

    Args:
        workspace: the release.
        run: the Prefect run that starts it.
    """
    _write(workspace, finished=False, runs=(run,) if run else ())


def note_work(state: Path, release_id: str, run: str | None) -> None:
    """Note that a Prefect run resumes a release."""
    begun = find_release(state, release_id)
    if run and run not in begun.runs:
        _replace(state, replace(begun, runs=(*begun.runs, run)))


def releases_of_run(state: Path, run: str) -> list[ResumableRelease]:
    """The releases that a Prefect run has started or resumed, the oldest first."""
    return [begun for begun in begun_releases(state) if run in begun.runs]


def note_end(workspace: Workspace, said: str) -> None:
    """Note that nothing is left to do except to report the end of the release to the user.

    Args:
        workspace: the release.
        said: the report, which `ended_with` returns.
    """
    with workspace.writing(_END, Audience.RESTRICTED) as path:
        path.write_text(said, encoding="utf-8")
    _write(workspace, finished=True)


def note_reported(state: Path, release_id: str) -> None:
    """Note that the end of a finished release was reported: from now on the same command starts another."""
    begun = find_release(state, release_id)
    if begun.finished and not begun.reported:
        _replace(state, replace(begun, reported=True))


def _replace(state: Path, begun: ResumableRelease) -> None:
    """Replace the note of a release, completely or not at all."""
    replace_whole(state / "vault" / begun.release_id / _RECORD, json.dumps(asdict(begun)))


def ended_with(workspace: Workspace) -> str | None:
    """The report on a finished release; None for one that is not finished."""
    if not find_release(workspace.state, workspace.release_id).finished:
        return None
    return read_own_text(workspace.vault / _END)


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
    """All releases in the state folder whose notes can be read, the oldest first."""
    return [begun for begun in map(_begun, _vaults(state)) if begun is not None]


def releases_of(state: Path, spec: ReleaseSpec) -> list[ResumableRelease]:
    """The started releases of a spec's dataset, the oldest first.

    The content of an unreadable note is not guessed, because a release might then be charged twice. Such a note blocks
    the datasets that it may belong to, and no others. It may belong to a spec's dataset if its folder is named like the
    spec's releases, if the readable part of it names the dataset, or if the ledger has charged the dataset for it; a
    release that was never charged cannot be charged twice.

    Raises:
        Refused: a note that may belong to the dataset cannot be read, or comes from a version with a different format.
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
    """Folders of the started releases, the oldest of a spec first."""
    return sorted(vault for vault in (state / "vault").glob("*") if _is_noted(vault))


def _is_noted(vault: Path) -> bool:
    """Whether a folder contains a note; a folder that cannot be read may contain one."""
    try:
        (vault / _RECORD).stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _begun(vault: Path) -> ResumableRelease | None:
    """The note of one release in the vault; None if it cannot be read."""
    try:
        said = json.loads(read_own(vault / _RECORD))
        return ResumableRelease(**{**said, "runs": tuple(said.get("runs", ()))})
    except (AttributeError, NotOurFile, OSError, TypeError, ValueError):
        return None


def _may_be_of(spec: ReleaseSpec, state: Path, vault: Path) -> bool:
    """Whether an unreadable note may belong to a spec's dataset."""
    return (
        vault.name.rpartition("-")[0] == spec.name
        or _named_dataset(vault) == spec.dataset_name
        or is_charged(state, spec.dataset_name, vault.name)
    )


def _named_dataset(vault: Path) -> object:
    """The dataset named in a note that this version cannot otherwise read."""
    try:
        said = json.loads(read_own(vault / _RECORD))
    except (NotOurFile, OSError, ValueError):
        return None
    return said.get("dataset") if isinstance(said, dict) else None


def _unreadable(vault: Path) -> Refused:
    msg = (
        f"{vault / _RECORD} must be as this version of the program writes it, and is not, so that {vault.name} might "
        f"be charged twice; resume it with the version that started it, or a later one, or restore the folder "
        f"{vault} from a backup."
    )
    return Refused(msg)


def unfinished_release(state: Path, spec: ReleaseSpec) -> ResumableRelease | None:
    """The started release of a spec whose end was never reported; the newest if there are several.

    A finished release only remains to be reported: the command may have been killed between the two.

    Raises:
        Refused: a note that may belong to the spec's dataset cannot be read.
    """
    digest = spec_digest(spec)
    unfinished = [begun for begun in releases_of(state, spec) if not begun.ended and begun.spec == digest]
    return unfinished[-1] if unfinished else None


def what_comes_next(state: Path, spec: ReleaseSpec, *, anew: bool = False) -> str:
    """State in one sentence which release of a spec the next command resumes, or that there is none.

    Args:
        state: the state folder.
        spec: the spec.
        anew: whether to start another release in any case.

    Raises:
        Refused: a note that may belong to the spec's dataset cannot be read.
    """
    if anew:
        return f"A new release of {spec.name} starts, as requested, and is charged."
    begun = unfinished_release(state, spec)
    if begun is None:
        return f"A new release of {spec.name}, charged as planned: there is no unfinished release."
    if begun.finished:
        return (
            f"To be reported: {begun.release_id}, which is finished, but whose command ended before it reported that; "
            "nothing is charged for this."
        )
    return (
        f"Resuming {begun.release_id}, which was not finished, with the data as they were then; to abandon it, run "
        f"{command_line('release discard')} {begun.release_id}."
    )


def other_unfinished_releases(state: Path, spec: ReleaseSpec) -> list[ResumableRelease]:
    """Unfinished releases of the same dataset with other specs: charged, and not resumed.

    Raises:
        Refused: a note that may belong to the spec's dataset cannot be read.
    """
    digest = spec_digest(spec)
    return [begun for begun in releases_of(state, spec) if not begun.finished and begun.spec != digest]


def destroy_left_keys(state: Path) -> None:
    """Destroy the keys that a killed process should have destroyed.

    If a note cannot be read, the key is kept: the release may be unfinished and may still need it.
    """
    for begun in begun_releases(state):
        if begun.finished and begun.destroy_key:
            (state / "vault" / begun.release_id / "key").unlink(missing_ok=True)


def find_release(state: Path, release_id: str) -> ResumableRelease:
    """A release by its name.

    Raises:
        InvalidInput: there is no release of that name.
        Refused: its note in the vault cannot be read.
    """
    for vault in _vaults(state):
        if vault.name == release_id:
            begun = _begun(vault)
            if begun is None:
                raise _unreadable(vault)
            return begun
    msg = f"the release must be one that was started, got {release_id}, which is not in {state}; check its name."
    raise InvalidInput(msg)


def require_same_code(state: Path, dataset: str, commitment: str) -> None:
    """Refuse a key under which other or unknown code has drawn: the same charge would give different noise.

    Args:
        state: the state folder.
        dataset: the dataset that is charged.
        commitment: commitment to a key that was given, not generated for the release.

    Raises:
        Refused: the key was used in a charge before, and not by this code.
    """
    for release_id in sorted(charged_under(state, dataset, commitment)):
        begun = _begun(state / "vault" / release_id)
        if begun is None or begun.code != code_digest():
            said = "by unknown code" if begun is None or not begun.code else "by other code"
            msg = (
                f"a key must be reused only by the code that has drawn under it, got the key of {release_id}, drawn "
                f"{said}; compare by {command_line('audit replay')} {release_id}, which publishes nothing, or do "
                "not give "
                "a key."
            )
            raise Refused(msg)


def sweep_claims(state: Path) -> None:
    """Remove the vaults of releases and discoveries whose process was killed before it noted their start."""
    for lease in (state / "vault").glob(f"*/{LEASE}"):
        if not has_begun(lease.parent):
            with suppress(Refused), leased(lease.parent):
                if not has_begun(lease.parent):
                    shutil.rmtree(lease.parent, ignore_errors=True)


def has_begun(vault: Path) -> bool:
    """Whether the start of a release or a discovery is noted."""
    return any((vault / name).exists() for name in (_RECORD, DISCOVERY_NOTE))
