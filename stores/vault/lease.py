"""The lease of a release: only the process that has it works on the release; and turns for choosing a release."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from deniable.foundation.errors import Refused
from stores.locks import lock, locked
from stores.own_files import own_descriptor

LEASE = "lease"
LOCKS = "locks"
"""Folder in the state folder with the locks by which processes coordinate."""
_PRIVATE_FOLDER = 0o700

_kept: list[ExitStack] = []
"""Locks that are kept until this process ends."""


class UnderWay(Refused):
    """Another process is working on the release."""


@contextmanager
def leased(vault: Path) -> Iterator[None]:
    """Prevent other processes from working on a release; the kernel ends the lease when the process ends.

    Raises:
        UnderWay: another process is working on it.
    """
    with locked(vault / LEASE, wait=False) as is_mine:
        if not is_mine:
            msg = f"a release must be worked on by one process, and another is at {vault.name}; wait until it is done."
            raise UnderWay(msg)
        yield


@contextmanager
def all_leased(state: Path, what: str) -> Iterator[None]:
    """Prevent work on all releases of a state folder during the context.

    Args:
        state: the state folder.
        what: the work during the context, as a clause after `while`.

    Raises:
        Refused: a process is working on one of them.
    """
    with ExitStack() as kept:
        for vault in sorted((state / "vault").glob("*/")):
            try:
                kept.enter_context(leased(vault))
            except Refused:
                msg = f"no release may be in progress while {what}, and {vault.name} is; wait until it is done."
                raise Refused(msg) from None
        yield


def is_leased(vault: Path) -> bool:
    """Whether a process is working on a release."""
    try:
        with leased(vault):
            return False
    except UnderWay:
        return True


def under_way(state: Path) -> Iterator[str]:
    """Names of the releases that processes are working on."""
    return (vault.name for vault in sorted((state / "vault").glob("*/")) if is_leased(vault))


@contextmanager
def turn(state: Path, name: str) -> Iterator[None]:
    """Wait for a turn at work that only one process of a state folder may do at a time.

    The kernel ends the turn when the process ends.

    Args:
        state: the state folder.
        name: name of the lock.
    """
    with locked(_place(state, name), wait=True):
        yield


def forget_turn(state: Path, name: str) -> None:
    """Remove the lock of a turn that no other process ever waits for."""
    _place(state, name).unlink()


def keep_while_alive(state: Path, name: str) -> None:
    """Show other processes that this process is alive, until it ends.

    Raises:
        UnderWay: another process uses the same name.
    """
    kept = ExitStack()
    if not kept.enter_context(locked(_place(state, name), wait=False)):
        kept.close()
        raise UnderWay(f"a process must have a unique name, and another one runs as {name}; wait until it has ended.")
    _kept.append(kept)


def has_died(state: Path, name: str) -> bool:
    """Whether a process that had shown that it was alive has ended."""
    try:
        with os.fdopen(own_descriptor(state / LOCKS / f"{name}.lock", os.O_RDWR), "r+b") as handle:
            return lock(handle.fileno(), wait=False)
    except OSError:
        return False


def _place(state: Path, name: str) -> Path:
    folder = state / LOCKS
    folder.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
    return folder / f"{name}.lock"
