"""Word of how a release goes, from the steps to whoever watches, and the wish to stop, the other way.

No screen is drawn here; `flows.progress` does.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Condition, Lock
from typing import Protocol

from deniable.foundation.errors import DeniableError


class OtherProcesses(Protocol):
    """Processes that steps are sent to."""

    def allow(self, release: str) -> None:
        """Let the steps of a release begin there."""

    def stop(self, release: str, patience_s: float) -> None:
        """Let no step of a release begin there any more, ask those that run to end, and wait for them."""


class StepStopped(DeniableError):
    """A part of a step was stopped with its release."""


class Watcher(Protocol):
    """Somebody who is told; calls come from any thread, one at a time."""

    def started(self, step: str) -> None:
        """A step, or one part of a mapped step, begins."""

    def advanced(self, step: str, amount: int) -> None:
        """A step has done an amount of work, in the unit that suits it: candidates, say."""

    def ended(self, step: str, *, well: bool) -> None:
        """A step, or one part of a mapped step, is over."""


_watchers: list[Watcher] = []
_telling = Lock()
_running = Condition()
_running_steps: list[str] = []
_stopped_releases: dict[str, type[BaseException]] = {}
_allowed_releases: set[str] = set()
_other_processes: list[OtherProcesses] = []
_release: ContextVar[str] = ContextVar("release", default="")


@contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """Tell `watcher` of every step until the block ends."""
    with _telling:
        _watchers.append(watcher)
    try:
        yield
    finally:
        with _telling:
            _watchers.remove(watcher)


@contextmanager
def announced(step: str, release: str) -> Iterator[None]:
    """Tell the watchers that a step of a release begins, and how it ended.

    Raises:
        KeyboardInterrupt: the release was stopped; the step does not begin.
    """
    token = _release.set(release)
    with _running:
        _running_steps.append(release)
    well = False
    try:
        _stop_if_asked()
        with _telling:
            for watcher in _watchers:
                watcher.started(step)
        try:
            yield
            well = True
        finally:
            with _telling:
                for watcher in _watchers:
                    watcher.ended(step, well=well)
    finally:
        with _running:
            _running_steps.remove(release)
            _running.notify_all()
        _release.reset(token)


def advance(step: str, amount: int) -> None:
    """Tell the watchers that `amount` of work is done; long steps call this every second or so.

    Raises:
        KeyboardInterrupt: the release was stopped; the step must end here.
    """
    _stop_if_asked()
    with _telling:
        for watcher in _watchers:
            watcher.advanced(step, amount)


@contextmanager
def stopping_too(place: OtherProcesses) -> Iterator[None]:
    """Have the steps that run in other processes stopped with those of this one, until the block ends."""
    _other_processes.append(place)
    try:
        yield
    finally:
        _other_processes.remove(place)


def part_begins(step: str) -> None:
    """Tell the watchers that a part of a step was sent to another process."""
    with _telling:
        for watcher in _watchers:
            watcher.started(step)


def part_ends(step: str, *, well: bool, amount: int = 0) -> None:
    """Tell the watchers that a part of a step is over in another process, which did an amount of work if all went well.

    What is done meanwhile over there is told to nobody here.
    """
    with _telling:
        for watcher in _watchers:
            if well and amount:
                watcher.advanced(step, amount)
            watcher.ended(step, well=well)


def allow_steps(release: str) -> None:
    """Let the steps of a release begin, although an earlier run of it was stopped."""
    _stopped_releases.pop(release, None)
    _allowed_releases.add(release)
    for place in _other_processes:
        place.allow(release)


def stop_steps(release: str, patience_s: float) -> None:
    """Let no step of a release begin any more, ask those that run to end, and wait for them.

    Args:
        release: the release's name.
        patience_s: the longest wait, in seconds; what runs in compiled code cannot be stopped sooner.
    """
    _stopped_releases[release] = KeyboardInterrupt
    for place in _other_processes:
        place.stop(release, patience_s)
    _wait_for_steps(release, patience_s)


def stop_all_steps(patience_s: float) -> None:
    """Stop the steps of every release that this process has worked on, as `stop_steps` does."""
    for release in sorted(_allowed_releases):
        stop_steps(release, patience_s)


async def stop_parts(release: str, patience_s: float) -> None:
    """Stop the steps of a release in this process, which others send steps to, and which goes on.

    The wait is in a thread of its own: a worker whose event loop waited would be taken for one that is gone.

    Args:
        release: the release's name.
        patience_s: the longest wait, in seconds.
    """
    _stopped_releases[release] = StepStopped
    await asyncio.to_thread(_wait_for_steps, release, patience_s)


def _wait_for_steps(release: str, patience_s: float) -> None:
    with _running:
        _running.wait_for(lambda: release not in _running_steps, timeout=patience_s)


def _stop_if_asked() -> None:
    """End the step that calls this when its release was stopped."""
    stopped = _stopped_releases.get(_release.get())
    if stopped is not None:
        raise stopped("its release was stopped") if stopped is StepStopped else stopped
