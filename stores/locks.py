"""File locks: only one process at a time works on something; the kernel releases a lock when its process ends.

A lock is taken on the file itself, so a key or a copy of the ledger needs no second file next to it. The choice of what
to lock, and the message to a process that finds a lock, do not belong here.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import lock_descriptor

from stores.own_files import own_descriptor

_BETWEEN_ATTEMPTS_S = 0.02


def lock(descriptor: int, *, wait: bool) -> bool:
    """Lock an open file or folder until its descriptor is closed.

    Args:
        descriptor: descriptor of the file or folder.
        wait: whether to wait until no other process has it locked.

    Returns:
        Whether it is locked now; always true after waiting.

    Raises:
        OSError: it cannot be locked, regardless of other processes.
    """
    return lock_descriptor(descriptor, blocking=wait, poll_interval=_BETWEEN_ATTEMPTS_S)


@contextmanager
def locked(place: Path, *, wait: bool) -> Iterator[bool]:
    """Lock a file during the context; it is created if it does not exist, and its content is left unchanged.

    Args:
        place: the file.
        wait: whether to wait until no other process has it locked.

    Yields:
        Whether it is locked.

    Raises:
        NotOurFile: something else is in the place of the file.
        OSError: it cannot be opened or locked, regardless of other processes.
    """
    with os.fdopen(own_descriptor(place, os.O_RDWR | os.O_CREAT, sets_mode=True), "r+b") as file:
        yield lock(file.fileno(), wait=wait)
