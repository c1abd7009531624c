"""Scratch folders: state folders for replays, separate from everything that is kept.

A scratch folder contains its own ledger, MLflow store and key, regardless of the environment: a repeated run must not
be charged, recorded or published again. The repeated run itself belongs to flows.replay.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp

from deniable.foundation.errors import Refused
from stores.vault.lease import LEASE, leased
from stores.vault.private_files import make_private_folder

_FOLDER = "scratch"
_SUFFIX = ".scratch"


def is_scratch(state: Path) -> bool:
    """Whether a state folder is a scratch folder; this follows from its name, even if it has been removed."""
    return state.name.endswith(_SUFFIX)


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
    folder = Path(mkdtemp(dir=make_private_folder(state / _FOLDER), prefix=f"{name}-", suffix=_SUFFIX))
    try:
        with leased(folder):
            yield folder
    finally:
        if keep:
            (folder / LEASE).unlink(missing_ok=True)
        else:
            shutil.rmtree(folder, ignore_errors=True)


def sweep_scratch(state: Path) -> None:
    """Remove the scratch folders of killed processes; folders that are kept have no lease."""
    for lease in (state / _FOLDER).glob(f"*{_SUFFIX}/{LEASE}"):
        with suppress(Refused, FileNotFoundError), leased(lease.parent):
            shutil.rmtree(lease.parent, ignore_errors=True)
