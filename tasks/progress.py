"""Word of how a release goes, from the steps to whoever watches, and the wish to stop, the other way.

No screen is drawn here; `flows.progress` does.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition, Event, Lock
from typing import Protocol


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
_stop = Event()


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
def announced(step: str) -> Iterator[None]:
    """Tell the watchers that a step begins, and how it ended.

    Raises:
        KeyboardInterrupt: the release is being stopped; the step does not begin.
    """
    stop_if_asked()
    with _running:
        _running_steps.append(step)
    well = False
    try:
        with _telling:
            for watcher in _watchers:
                watcher.started(step)
        yield
        well = True
    finally:
        with _telling:
            for watcher in _watchers:
                watcher.ended(step, well=well)
        with _running:
            _running_steps.remove(step)
            _running.notify_all()


def advance(step: str, amount: int) -> None:
    """Tell the watchers that `amount` of work is done; long steps call this every second or so.

    Raises:
        KeyboardInterrupt: the release is being stopped; the step must end here.
    """
    stop_if_asked()
    with _telling:
        for watcher in _watchers:
            watcher.advanced(step, amount)


def stop_if_asked() -> None:
    """End the step that calls this when the release is being stopped.

    Raises:
        KeyboardInterrupt: it is.
    """
    if _stop.is_set():
        raise KeyboardInterrupt


@contextmanager
def stopping(patience_s: float) -> Iterator[None]:
    """Ask all running steps to stop, wait for them, and let no step begin until the block ends.

    Args:
        patience_s: the longest wait, in seconds; what runs in compiled code cannot be stopped sooner.
    """
    _stop.set()
    try:
        with _running:
            _running.wait_for(lambda: not _running_steps, timeout=patience_s)
        yield
    finally:
        _stop.clear()
