"""The lease of a release: who has it works on the release, and nobody else does."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from deniable.errors import Refused

LEASE = "lease"


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
