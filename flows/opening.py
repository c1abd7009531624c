"""Opens a release and closes it, however it goes: a name, a key, a record in MLflow, and nothing left of a failure."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from prefect import get_client
from prefect.context import FlowRunContext

from deniable.errors import InvalidInput, Refused
from deniable.keys import ReleaseKey
from schemas.release_spec import ReleaseSpec
from stores.lineage import recorded_release
from stores.workspace import PRIVATE_FILE, PRIVATE_FOLDER, Workspace, make_private_folder
from tasks.progress import stop_steps

_PATIENCE_S = 30.0


@contextmanager
def opened_release(spec: ReleaseSpec, state: Path, key_file: Path | None = None) -> Iterator[Workspace]:
    """Open a release; when the block ends in any other way than well, leave nothing of it but MLflow's record.

    Args:
        spec: what is to be released.
        state: the state folder.
        key_file: a key to use again, for a replay; by default a new one is made.

    Yields:
        The workspace of the release.

    Raises:
        Refused: a release of that name is under way or done.
        InvalidInput: the file holds no key.
    """
    release_id = f"{spec.name}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    # The record is closed last: on a full disk there is room for that only when the files are gone.
    with recorded_release(state, release_id, spec) as run_id:
        workspace = Workspace(state=state, release_id=release_id, spec=spec, mlflow_run_id=run_id)
        _claim(workspace)
        try:
            _write_key(workspace.vault / "key", key_file)
            _name_prefect_run(release_id)
            yield workspace
        except BaseException:
            # The steps of other threads must be over before their files go, or they would write new ones.
            stop_steps(release_id, _PATIENCE_S)
            _discard(workspace)
            raise


def _claim(workspace: Workspace) -> None:
    """Make the release's vault, which is what makes its name unique."""
    make_private_folder(workspace.vault.parent)
    try:
        workspace.vault.mkdir(mode=PRIVATE_FOLDER)
    except FileExistsError:
        msg = f"a release must have a name of its own, and {workspace.release_id} is taken; start again in a second."
        raise Refused(msg) from None


def _write_key(path: Path, key_file: Path | None) -> None:
    """Put the release's key into its vault."""
    if key_file is None:
        key = ReleaseKey.generate()
    else:
        try:
            key = ReleaseKey(key_file.read_bytes())
        except OSError:
            msg = f"the key file must be readable, got {key_file}, which is not; check its path and its owner."
            raise InvalidInput(msg) from None
    path.touch(mode=PRIVATE_FILE, exist_ok=False)
    path.write_bytes(key.secret)


def _name_prefect_run(release_id: str) -> None:
    """Call the Prefect run by the release's name."""
    context = FlowRunContext.get()
    if context is not None and context.flow_run is not None:
        with get_client(sync_client=True) as client:
            client.update_flow_run(context.flow_run.id, name=release_id)


def _discard(workspace: Workspace) -> None:
    """Remove what the release left, but for the details of an error, which cleared staff will want to read."""
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
