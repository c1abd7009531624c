"""Scratch folders: state folders in which a release is run once more, apart from everything that is kept.

Whatever works on a scratch folder keeps its ledger, its MLflow store and its key in there, whatever the environment
names: nothing that is done again may be charged, recorded or published anew. What is done there is for flows.replay.
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
    """Whether a state folder is a scratch folder. Its name says so, also when it is gone already."""
    return state.name.endswith(_SUFFIX)


@contextmanager
def scratch_folder(state: Path, name: str, *, keep: bool = False) -> Iterator[Path]:
    """Make a scratch folder, which only its owner may enter, and remove it as the block ends, however it ends.

    Args:
        state: the state folder that it is made in, on the disk that is meant for confidential things.
        name: what its name begins with.
        keep: whether it is to stay.

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
    """Remove the scratch folders that a process was killed in; those that are kept have no lease."""
    for lease in (state / _FOLDER).glob(f"*{_SUFFIX}/{LEASE}"):
        with suppress(Refused, FileNotFoundError), leased(lease.parent):
            shutil.rmtree(lease.parent, ignore_errors=True)
