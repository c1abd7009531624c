"""Cancellation: stops the steps of a release, in this process and in those to which it sends steps.

A step checks whether it must stop whenever it reports progress; compiled code is not interrupted.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Condition
from typing import Protocol

from deniable.foundation.errors import DeniableError


class OtherProcesses(Protocol):
    """The processes to which steps are sent."""

    def allow(self, release: str) -> None:
        """Allow steps of a release to begin there."""

    def stop(self, release: str, patience_s: float) -> None:
        """Prevent further steps of a release there, stop the running ones, and wait for them."""


class StepStopped(DeniableError):
    """A part of a step was stopped together with its release."""


_running = Condition()
_running_steps: list[str] = []
_stopped_releases: dict[str, type[BaseException]] = {}
_allowed_releases: set[str] = set()
_other_processes: list[OtherProcesses] = []
_release: ContextVar[str] = ContextVar("release", default="")


@contextmanager
def running(release: str) -> Iterator[None]:
    """Count the block as a step of a release; stopping the release waits for the block.

    Args:
        release: the release's name.
    """
    token = _release.set(release)
    with _running:
        _running_steps.append(release)
    try:
        yield
    finally:
        with _running:
            _running_steps.remove(release)
            _running.notify_all()
        _release.reset(token)


@contextmanager
def stopping_too(place: OtherProcesses) -> Iterator[None]:
    """Stop steps in other processes together with those of this one, until the block ends."""
    _other_processes.append(place)
    try:
        yield
    finally:
        _other_processes.remove(place)


def allow_steps(release: str) -> None:
    """Allow steps of a release to begin, even if an earlier run of it was stopped."""
    _stopped_releases.pop(release, None)
    _allowed_releases.add(release)
    for place in _other_processes:
        place.allow(release)


def stop_steps(release: str, patience_s: float) -> None:
    """Prevent further steps of a release, stop the running ones, and wait for them.

    Args:
        release: the release's name.
        patience_s: the longest wait, in seconds; compiled code cannot be stopped sooner.
    """
    _stopped_releases[release] = KeyboardInterrupt
    for place in _other_processes:
        place.stop(release, patience_s)
    _wait_for_steps(release, patience_s)


def stop_all_steps(patience_s: float) -> None:
    """Stop the steps of every release on which this process has worked, as `stop_steps` does."""
    for release in sorted(_allowed_releases):
        stop_steps(release, patience_s)


async def stop_parts(release: str, patience_s: float) -> None:
    """Stop the steps of a release in this process, which receives steps from others and continues.

    It waits in a separate thread: a worker with a blocked event loop would be considered dead.

    Args:
        release: the release's name.
        patience_s: the longest wait, in seconds.
    """
    _stopped_releases[release] = StepStopped
    await asyncio.to_thread(_wait_for_steps, release, patience_s)


def _wait_for_steps(release: str, patience_s: float) -> None:
    with _running:
        _running.wait_for(lambda: release not in _running_steps, timeout=patience_s)


def stop_if_asked() -> None:
    """End the calling step if its release was stopped.

    Raises:
        KeyboardInterrupt: the release was stopped, together with everything in this process.
        StepStopped: the release was stopped, in a process that continues.
    """
    stopped = _stopped_releases.get(_release.get())
    if stopped is not None:
        raise stopped("its release was stopped") if stopped is StepStopped else stopped
