"""Ends a command cleanly on a signal, and records whether a signal arrived."""

import os
import signal
import sys
from contextlib import suppress
from threading import Event, Thread, Timer
from types import FrameType
from typing import NoReturn

_ENDING = {signal.SIGINT, signal.SIGTERM}
_MOST_SIGNALS = 4096
_NO_SIGNAL = b"\0"
_MOMENT_S = 0.2
_GRACE_S = 1.0
_PATIENCE_S = 60.0


class _Arrivals:
    """The signals that this process received, whatever their handler: while a flow runs, Prefect handles SIGTERM.

    An exception raised by a handler may be lost: in a callback of the interpreter it goes unnoticed. So the steps are
    also stopped a little later, unless the command has ended by then.
    """

    def __init__(self) -> None:
        self._ending = Event()
        self._noted = Event()
        self._notes = -1

    def watch(self) -> None:
        """Forget earlier signals, and record those that arrive from now on."""
        if self._notes < 0:
            noted, self._notes = os.pipe()
            os.set_blocking(self._notes, False)
            signal.set_wakeup_fd(self._notes, warn_on_full_buffer=False)
            # Signals to a forked process are not signals to this one.
            os.register_at_fork(after_in_child=self._leave)
            Thread(target=self._note, args=(noted,), name="signals", daemon=True).start()
        self._ending.clear()

    def told_to_end(self) -> bool:
        """Whether SIGINT or SIGTERM has arrived; the thread that notes it notes an end mark after all signals."""
        self._noted.clear()
        if self._notes >= 0:
            with suppress(BlockingIOError):  # so many signals that the thread has enough to note
                os.write(self._notes, _NO_SIGNAL)
            self._noted.wait(_MOMENT_S)
        return self._ending.is_set()

    def _leave(self) -> None:
        signal.set_wakeup_fd(-1)
        self._notes = -1

    def _note(self, noted: int) -> None:
        while sent := os.read(noted, _MOST_SIGNALS):
            if not _ENDING.isdisjoint(sent):
                self._ending.set()
                later = Timer(_GRACE_S, self._stop_steps)
                later.daemon = True
                later.start()
            if _NO_SIGNAL in sent:
                self._noted.set()

    def _stop_steps(self) -> None:
        steps = sys.modules.get("tasks.running.cancellation")
        if steps is not None and self._ending.is_set():
            with suppress(Exception):  # the command may have finished all steps by now
                steps.stop_all_steps(_PATIENCE_S)


_arrivals = _Arrivals()


def end_in_order() -> None:
    """Make the first SIGINT or SIGTERM raise KeyboardInterrupt in this command."""
    _arrivals.watch()
    signal.signal(signal.SIGINT, _interrupt)
    signal.signal(signal.SIGTERM, _interrupt)


def is_of_a_signal(error: BaseException) -> bool:
    """Whether a command failed because a signal ended it.

    The signal's exception may arrive as another error: as a PydanticSerializationError if Pydantic was writing JSON, or
    as the failure of a step. A decision on a release that was made meanwhile is still reported.
    """
    if isinstance(error, KeyboardInterrupt):
        return True
    if not _arrivals.told_to_end():
        return False
    from stores.vault.pending_approval import Held, NotPublished  # noqa: PLC0415 - rarely so

    return not isinstance(error, Held | NotPublished)


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    """Raise KeyboardInterrupt; ignore further signals, so that the command ends cleanly."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt
