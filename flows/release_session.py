"""Opens and closes a release: its name, its key, its record in MLflow, and what remains after a failure."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import sleep

from prefect import runtime

from deniable.foundation.errors import DeniableError, InvalidInput, Refused
from deniable.foundation.keys import ReleaseKey
from flows.interruption import is_of_a_signal
from schemas.regular_files import read_regular
from schemas.spec.release_spec import ReleaseSpec
from stores.ledger.charging import was_charged
from stores.ledger.state_ledger import state_ledger
from stores.releases.resumable_releases import (
    ResumableRelease,
    destroy_left_keys,
    find_release,
    has_begun,
    note_beginning,
    note_reported,
    note_work,
    releases_of,
    require_same_code,
    spec_digest,
    sweep_claims,
    unfinished_release,
)
from stores.tracking.release_run import recorded_release
from stores.vault.actors import note_start
from stores.vault.custody import end_custody, keep_key, require_same_key
from stores.vault.lease import leased, turn
from stores.vault.pending_approval import Held
from stores.vault.private_files import PRIVATE_FOLDER, make_private_folder
from stores.vault.scratch import is_scratch, sweep_scratch
from stores.vault.workspace import Workspace
from tasks.running.cancellation import allow_steps, stop_steps

_PATIENCE_S = 30.0
_LONGEST_KEY = 1024


@dataclass(frozen=True)
class _Chosen:
    """The release to work on, reserved for this process.

    Attributes:
        release_id: its name.
        begun: its entry in the vault; None for a new release.
        turn: the lock that prevents others from choosing meanwhile; close it once the vault has the entry.
    """

    release_id: str
    begun: ResumableRelease | None
    turn: ExitStack


@contextmanager
def opened_release(
    spec: ReleaseSpec, state: Path, key_file: Path | None = None, *, anew: bool = False, begun_as: str | None = None
) -> Iterator[Workspace]:
    """Open a new release, or one of the same spec whose end was not reported, and close it when the block ends.

    A release that fails before anything is charged leaves only MLflow's record: its data or its spec must be changed
    first. A release that fails later is kept, because its draws are paid for, and the next run resumes where it
    stopped. A release that is interrupted is kept as well, whether or not anything was charged, as it is if its process
    is killed. For a release that is finished but not reported, only the workspace is opened:
    `stores.releases.resumable_releases.ended_with` returns what to report.

    Args:
        spec: what is to be released.
        state: the state folder.
        key_file: an existing key to use; by default a new one is made.
        anew: whether to begin another release even if one of this spec is unfinished.
        begun_as: the release to resume, if there are several; by default the newest.

    Yields:
        The workspace of the release.

    Raises:
        Refused: a release of that name is under way, finished, or of another spec; the state folder is a scratch folder
            of replays; or other code has drawn under the key.
        InvalidInput: the file does not contain a key.
    """
    if is_scratch(state):
        msg = f"a release must be kept in a state folder, got the scratch folder {state}; name another with --state."
        raise Refused(msg)
    # A release that could not be charged must not begin.
    state_ledger(state)
    destroy_left_keys(state)
    sweep_claims(state)
    sweep_scratch(state)
    with _chosen(spec, state, anew=anew or key_file is not None, begun_as=begun_as) as chosen:
        release_id, begun = chosen.release_id, chosen.begun
        if begun is not None and begun.finished:
            yield Workspace(state=state, release_id=release_id, spec=spec, mlflow_run_id=begun.mlflow_run)
            return
        allow_steps(release_id)
        # The record is closed last: on a full disk, there is room for it only after the files are removed.
        with _recorded_or_gone(state, release_id, spec, fresh=begun is None) as run_id:
            workspace = Workspace(state=state, release_id=release_id, spec=spec, mlflow_run_id=run_id)
            try:
                workspace.sweep()
                if begun is None:
                    keep_key(workspace, _given_key(workspace, key_file) if key_file else None)
                    note_start(workspace)
                    note_beginning(workspace, runtime.flow_run.id)
                    chosen.turn.close()
                else:
                    require_same_key(workspace, begun.commitment)
                    note_work(state, release_id, runtime.flow_run.id)
                yield workspace
                end_custody(workspace)
            except BaseException as error:
                # Steps in other threads must end before their files are removed, or they would write new ones.
                stop_steps(release_id, _PATIENCE_S)
                if isinstance(error, Held) or _is_interrupted(error, workspace) or _is_paid_for(workspace):
                    shutil.rmtree(workspace.staging, ignore_errors=True)
                else:
                    _discard(workspace)
                raise


@contextmanager
def _chosen(spec: ReleaseSpec, state: Path, *, anew: bool, begun_as: str | None) -> Iterator[_Chosen]:
    """Choose the release to work on, and reserve it.

    Of several commands on one dataset, only one chooses at a time, until the vault lists the release that it began.
    Otherwise each command would find nothing to resume, and would begin and pay for its own release.
    """
    with ExitStack() as kept:
        mine = kept.enter_context(ExitStack())
        mine.enter_context(turn(state, spec.dataset_name))
        begun = _to_go_on_with(spec, state, anew=anew, begun_as=begun_as)
        vault = state / "vault" / begun.release_id if begun else new_vault(state, spec.name)
        release_id = vault.name
        kept.enter_context(leased(vault))
        if begun is not None:
            # The release may have ended before it was reserved for this process.
            begun = find_release(state, release_id)
            mine.close()
        yield _Chosen(release_id, begun, mine)


def _to_go_on_with(spec: ReleaseSpec, state: Path, *, anew: bool, begun_as: str | None) -> ResumableRelease | None:
    """Return the release that is unfinished or not reported; None if a new one is to begin."""
    if begun_as is not None:
        return _unfinished_of(state, spec, begun_as)
    if not anew:
        return unfinished_release(state, spec)
    for begun in releases_of(state, spec):
        # A user who requests another release knows about the finished ones.
        if begun.finished and begun.spec == spec_digest(spec):
            note_reported(state, begun.release_id)
    return None


def _unfinished_of(state: Path, spec: ReleaseSpec, release_id: str) -> ResumableRelease:
    """Return the unfinished release of that name, which must be of the given spec."""
    begun = find_release(state, release_id)
    if begun.ended or begun.spec != spec_digest(spec):
        msg = f"{release_id} must be unfinished and of the spec that it was begun with to be resumed, and is not."
        raise Refused(msg)
    return begun


@contextmanager
def _recorded_or_gone(state: Path, release_id: str, spec: ReleaseSpec, *, fresh: bool) -> Iterator[str]:
    """Return MLflow's record of the release; if MLflow does not accept one, a new release leaves no trace."""
    opened = False
    try:
        with recorded_release(state, release_id, spec) as run_id:
            opened = True
            yield run_id
    except BaseException:
        if fresh and not opened:
            shutil.rmtree(state / "vault" / release_id, ignore_errors=True)
        raise


def _is_interrupted(error: BaseException, workspace: Workspace) -> bool:
    """Whether a release that had begun was ended by a signal or a cancellation, and not by a failure of its own."""
    if isinstance(error, Exception) and not is_of_a_signal(error):
        return False
    return has_begun(workspace.vault)


def _is_paid_for(workspace: Workspace) -> bool:
    """Whether anything was charged; if the ledger is unavailable, True, so that nothing paid for is deleted."""
    try:
        return was_charged(workspace)
    except DeniableError:
        return True


def new_vault(state: Path, name: str) -> Path:
    """Make the vault of a new release, whose name has the second; if that is taken, wait for the next."""
    make_private_folder(state / "vault")
    while True:
        now = datetime.now(UTC)
        vault = state / "vault" / f"{name}-{now:%Y%m%dT%H%M%SZ}"
        try:
            vault.mkdir(mode=PRIVATE_FOLDER)
        except FileExistsError:
            sleep(1 - now.microsecond / 1e6)
        else:
            return vault


def read_key(key_file: Path) -> ReleaseKey:
    """Read the key in a file.

    Raises:
        InvalidInput: the file does not contain a key, or cannot be read.
    """
    try:
        return ReleaseKey(read_regular(key_file, "the key file", _LONGEST_KEY))
    except OSError:
        msg = f"the key file must be readable, got {key_file}, which is not; check its path and its owner."
    except InvalidInput:
        msg = f"the key file must hold the 32 bytes of a release key, got {key_file}, which does not; name another."
    raise InvalidInput(msg)


def _given_key(workspace: Workspace, key_file: Path) -> ReleaseKey:
    """Read the key in a file, and require that only this code has drawn under it."""
    key = read_key(key_file)
    require_same_code(workspace.state, workspace.spec.dataset_name, key.commitment())
    return key


def _discard(workspace: Workspace) -> None:
    """Remove what the release left, except the details of an error, which cleared staff may need."""
    errors = workspace.vault / "errors"
    kept = errors.rename(workspace.vault.with_name(f"{workspace.release_id}.errors")) if errors.is_dir() else None
    published = workspace.release_folder.exists()
    if published:
        shutil.rmtree(workspace.staging, ignore_errors=True)
    else:
        workspace.discard()
    if kept is not None:
        workspace.vault.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
        kept.rename(errors)
