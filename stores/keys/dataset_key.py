"""The key of a dataset: recognises arriving snapshots and serves as the lock for refreshes. Never a release's key.

It is created at the first use and kept next to the signing key, readable by its owner alone. If it is lost, arriving
snapshots are recognised by new commitments to the snapshots in the vault.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from deniable.foundation.errors import InvalidInput, Refused
from deniable.foundation.keys import ReleaseKey, new_secret
from stores.keys.secret_file import make_once
from stores.keys.trust_file import make_keys_folder
from stores.locks import lock
from stores.own_files import own_descriptor

_OTHERS = 0o077


class DatasetInUse(Refused):
    """Another refresh of the dataset is in progress."""


@contextmanager
def dataset_to_itself(state: Path, dataset: str) -> Iterator[ReleaseKey]:
    """Prevent other refreshes of a dataset during the context; the kernel ends the lock when the process ends.

    Args:
        state: the state folder.
        dataset: the dataset's name.

    Yields:
        The dataset's key.

    Raises:
        DatasetInUse: another refresh of it is in progress.
        InvalidInput: the key cannot be read or created, or other accounts may read it.
    """
    place = state / "keys" / f"dataset-{dataset}.key"
    make_keys_folder(place.parent)
    if not place.exists():
        _make(place)
    with _opened(place) as file:
        _lock(file, dataset)
        yield _key_in(file.read(), place, stat.S_IMODE(os.fstat(file.fileno()).st_mode))


def _opened(place: Path) -> IO[bytes]:
    try:
        return os.fdopen(own_descriptor(place, os.O_RDONLY, sets_mode=True), "rb")
    except OSError as error:
        raise InvalidInput(f"the key of a dataset must be readable, got {place}: {error.strerror}.") from None


def _lock(file: IO[bytes], dataset: str) -> None:
    if not lock(file.fileno(), wait=False):
        raise DatasetInUse(
            f"a dataset must be refreshed by one process at a time, and another is at {dataset}; wait until it is done."
        )


def _key_in(held: bytes, place: Path, mode: int) -> ReleaseKey:
    if mode & _OTHERS:
        raise InvalidInput(
            f"the key of a dataset must be readable by its owner alone, got mode {mode:04o} of {place}; run chmod 600."
        )
    try:
        return ReleaseKey(held)
    except InvalidInput:
        raise InvalidInput(
            f"the key of a dataset must be 32 bytes, got {place}, which holds something else; remove it, and a new "
            "one is created."
        ) from None


def _make(place: Path) -> None:
    """Create a key, completely or not at all; if two processes do so at the same time, one of them wins."""
    try:
        make_once(place, new_secret())
    except OSError as error:
        raise InvalidInput(
            f"the key of a dataset must be in a folder that can be written to, got {place.parent}: {error.strerror}."
        ) from None
