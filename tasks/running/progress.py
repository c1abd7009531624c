"""Progress of a release: its steps report it to watchers.

The watchers belong to the context in which steps are called, and follow it into Prefect's threads, so two releases in
one process are watched separately. flows.progress shows the progress, and cancellation stops steps.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Protocol

from tasks.running.cancellation import running, stop_if_asked


class Watcher(Protocol):
    """An object that is notified of progress; calls come from any thread, one at a time."""

    def started(self, step: str) -> None:
        """A step, or one part of a mapped step, begins."""

    def advanced(self, step: str, amount: int) -> None:
        """A step has done an amount of work, in a unit of its own, such as candidates."""

    def ended(self, step: str, *, well: bool) -> None:
        """A step, or one part of a mapped step, is over."""


_watchers: ContextVar[tuple[Watcher, ...]] = ContextVar("watchers", default=())
_telling = Lock()


@contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """Notify `watcher` of every step that is called in this context, until the block ends."""
    token = _watchers.set((*_watchers.get(), watcher))
    try:
        yield
    finally:
        _watchers.reset(token)


@contextmanager
def announced(step: str, release: str) -> Iterator[None]:
    """Notify the watchers that a step of a release begins, and how it ends.

    Raises:
        KeyboardInterrupt: the release was stopped; the step does not begin.
    """
    well = False
    with running(release):
        stop_if_asked()
        with _telling:
            for watcher in _watchers.get():
                watcher.started(step)
        try:
            yield
            well = True
        finally:
            with _telling:
                for watcher in _watchers.get():
                    watcher.ended(step, well=well)


def advance(step: str, amount: int) -> None:
    """Notify the watchers that `amount` of work is done; long steps call this every second or so.

    Raises:
        KeyboardInterrupt: the release was stopped; the step must end here.
    """
    stop_if_asked()
    with _telling:
        for watcher in _watchers.get():
            watcher.advanced(step, amount)


def part_begins(step: str) -> None:
    """Notify the watchers that a part of a step was sent to another process."""
    with _telling:
        for watcher in _watchers.get():
            watcher.started(step)


def part_ends(step: str, *, well: bool, amount: int = 0) -> None:
    """Notify the watchers that a part of a step ended in another process, with the work done if it succeeded.

    That process's progress is not reported here earlier.
    """
    with _telling:
        for watcher in _watchers.get():
            if well and amount:
                watcher.advanced(step, amount)
            watcher.ended(step, well=well)
