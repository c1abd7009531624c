"""Scratch folders, which exist for as long as a process works: the table of a ZIP file, the state folder of a replay.

The state folder of a replay contains its own ledger, MLflow store and key, regardless of the environment: a repeated
run must not be charged, recorded or published again. The repeated run itself belongs to flows.replay.
"""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp

from deniable.foundation.errors import Refused
from stores.vault.lease import LEASE, leased, turn
from stores.vault.private_files import make_private_folder

_FOLDER = "scratch"
_SUFFIX = ".scratch"


def is_scratch(state: Path) -> bool:
    """Whether a state folder is a scratch folder; this follows from its name, even if it has been removed."""
    return state.name.endswith(_SUFFIX)


def state_of(state: Path) -> Path:
    """The state folder that contains a scratch folder; any other state folder itself."""
    return state.parent.parent if is_scratch(state) else state


@contextmanager
def scratch_folder(state: Path, name: str, *, keep: bool = False) -> Iterator[Path]:
    """Make a scratch folder that only its owner may enter, and remove it when the block ends, with or without an error.

    Args:
        state: the state folder that contains it, on the disk for confidential data.
        name: start of its name.
        keep: whether to keep it.

    Yields:
        The scratch folder.
    """
    sweep_scratch(state)
    with ExitStack() as kept:
        with turn(state, _FOLDER):
            folder = Path(mkdtemp(dir=make_private_folder(state / _FOLDER), prefix=f"{name}-", suffix=_SUFFIX))
            kept.enter_context(leased(folder))
        try:
            yield folder
        finally:
            if keep:
                (folder / LEASE).unlink(missing_ok=True)
            else:
                shutil.rmtree(folder, ignore_errors=True)


def sweep_scratch(state: Path) -> None:
    """Remove the scratch folders of killed processes; folders that are kept have no lease."""
    if not (left := list((state / _FOLDER).glob(f"*{_SUFFIX}/{LEASE}"))):
        return
    # In its turn, no process has made a folder whose lease it does not have yet.
    with turn(state, _FOLDER):
        for lease in left:
            with suppress(Refused, FileNotFoundError), leased(lease.parent):
                shutil.rmtree(lease.parent, ignore_errors=True)
