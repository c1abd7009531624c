"""File locks: one process at a time works on something; the kernel ends a lock with its process, however that ends.

A lock is taken on the file itself, so that a key or a copy of the ledger needs no second file beside it. What is kept
to one process, and what those who come second are told, does not belong here.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import lock_descriptor

_BETWEEN_ATTEMPTS_S = 0.02


def lock(descriptor: int, *, wait: bool) -> bool:
    """Lock an open file or folder until its descriptor is closed.

    Args:
        descriptor: of the file or folder.
        wait: whether to wait until nobody else has it locked.

    Returns:
        Whether it is locked now; always so after waiting.

    Raises:
        OSError: it cannot be locked, whoever else has it.
    """
    return lock_descriptor(descriptor, blocking=wait, poll_interval=_BETWEEN_ATTEMPTS_S)


@contextmanager
def locked(place: Path, *, wait: bool) -> Iterator[bool]:
    """Lock a file meanwhile, made where there is none; what it holds is left as it is.

    Args:
        place: the file.
        wait: whether to wait until nobody else has it locked.

    Yields:
        Whether it is locked.

    Raises:
        OSError: it cannot be opened or locked, whoever else has it.
    """
    with place.open("a") as file:
        yield lock(file.fileno(), wait=wait)
