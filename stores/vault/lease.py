"""The lease of a release: who has it works on the release, and nobody else does; and the turn to choose one."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from deniable.foundation.errors import Refused
from stores.locks import lock, locked

LEASE = "lease"
LOCKS = "locks"
"""Folder of a state folder in which processes show each other what they are at."""
_PRIVATE_FOLDER = 0o700

_kept: list[ExitStack] = []
"""What is kept until this process ends."""


class UnderWay(Refused):
    """Another process works on the release."""


@contextmanager
def leased(vault: Path) -> Iterator[None]:
    """Keep all others from working on a release; the kernel ends the lease with the process, however that ends.

    Raises:
        UnderWay: somebody works on it.
    """
    with locked(vault / LEASE, wait=False) as is_mine:
        if not is_mine:
            msg = f"a release must be worked on by one process, and another is at {vault.name}; wait until it is done."
            raise UnderWay(msg)
        yield


@contextmanager
def all_leased(state: Path, what: str) -> Iterator[None]:
    """Keep every release of a state folder from going on meanwhile.

    Args:
        state: the state folder.
        what: what is done meanwhile, to be read after `while`.

    Raises:
        Refused: somebody works on one.
    """
    with ExitStack() as kept:
        for vault in sorted((state / "vault").glob("*/")):
            try:
                kept.enter_context(leased(vault))
            except Refused:
                msg = f"no release may be under way while {what}, and {vault.name} is; wait until it is done."
                raise Refused(msg) from None
        yield


def is_leased(vault: Path) -> bool:
    """Whether somebody works on a release just now."""
    try:
        with leased(vault):
            return False
    except UnderWay:
        return True


def under_way(state: Path) -> Iterator[str]:
    """Names of the releases that somebody works on just now."""
    return (vault.name for vault in sorted((state / "vault").glob("*/")) if is_leased(vault))


@contextmanager
def turn(state: Path, name: str) -> Iterator[None]:
    """Wait for one's turn at something that one process of a state folder does at a time.

    The kernel ends the turn with the process, however that ends.

    Args:
        state: the state folder.
        name: what it is done to.
    """
    with locked(_place(state, name), wait=True):
        yield


def forget_turn(state: Path, name: str) -> None:
    """Leave nothing of one's turn at something that nobody else ever waits for."""
    _place(state, name).unlink()


def keep_while_alive(state: Path, name: str) -> None:
    """Have others see that this process lives, until it ends, however it ends.

    Raises:
        UnderWay: another process does under the same name.
    """
    kept = ExitStack()
    if not kept.enter_context(locked(_place(state, name), wait=False)):
        kept.close()
        raise UnderWay(f"a process must have a name of its own, and another lives as {name}; wait until it has ended.")
    _kept.append(kept)


def has_died(state: Path, name: str) -> bool:
    """Whether a process had others see that it lives, and does no longer."""
    try:
        with (state / LOCKS / f"{name}.lock").open("r+") as handle:
            return lock(handle.fileno(), wait=False)
    except OSError:
        return False


def _place(state: Path, name: str) -> Path:
    folder = state / LOCKS
    folder.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
    return folder / f"{name}.lock"
