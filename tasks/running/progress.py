"""Progress of a release: reported by its steps to those who watch it.

Who watches is of the context in which steps are called, and goes with it into the threads that Prefect calls them in:
two releases of one process are watched apart. No screen is drawn here (flows.progress), and no step is stopped
(cancellation).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Protocol

from tasks.running.cancellation import running, stop_if_asked


class Watcher(Protocol):
    """Somebody who is told; calls come from any thread, one at a time."""

    def started(self, step: str) -> None:
        """A step, or one part of a mapped step, begins."""

    def advanced(self, step: str, amount: int) -> None:
        """A step has done an amount of work, in the unit that suits it: candidates, say."""

    def ended(self, step: str, *, well: bool) -> None:
        """A step, or one part of a mapped step, is over."""


_watchers: ContextVar[tuple[Watcher, ...]] = ContextVar("watchers", default=())
_telling = Lock()


@contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """Tell `watcher` of every step that is called in this context, until the block ends."""
    token = _watchers.set((*_watchers.get(), watcher))
    try:
        yield
    finally:
        _watchers.reset(token)


@contextmanager
def announced(step: str, release: str) -> Iterator[None]:
    """Tell the watchers that a step of a release begins, and how it ended.

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
    """Tell the watchers that `amount` of work is done; long steps call this every second or so.

    Raises:
        KeyboardInterrupt: the release was stopped; the step must end here.
    """
    stop_if_asked()
    with _telling:
        for watcher in _watchers.get():
            watcher.advanced(step, amount)


def part_begins(step: str) -> None:
    """Tell the watchers that a part of a step was sent to another process."""
    with _telling:
        for watcher in _watchers.get():
            watcher.started(step)


def part_ends(step: str, *, well: bool, amount: int = 0) -> None:
    """Tell the watchers that a part of a step is over in another process, which did an amount of work if all went well.

    What is done meanwhile over there is told to nobody here.
    """
    with _telling:
        for watcher in _watchers.get():
            if well and amount:
                watcher.advanced(step, amount)
            watcher.ended(step, well=well)
