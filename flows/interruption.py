"""Ends a command in order when it is told to by a signal; whether it was told to is known afterwards."""

import signal
from threading import Event
from types import FrameType
from typing import NoReturn

_told = Event()


def end_in_order() -> None:
    """Have SIGINT and SIGTERM raise KeyboardInterrupt in this command, once."""
    _told.clear()
    signal.signal(signal.SIGINT, _interrupt)
    signal.signal(signal.SIGTERM, _interrupt)


def is_of_a_signal(error: BaseException) -> bool:
    """Whether a command ends by an error because it was told to end.

    What a signal raises may arrive as an error of another kind: where it falls into the writing of JSON by Pydantic, as
    a PydanticSerializationError, and out of a step as the step's failure. What was decided meanwhile of a release is
    said all the same.
    """
    if isinstance(error, KeyboardInterrupt):
        return True
    if not _told.is_set():
        return False
    from stores.held import Held, NotPublished  # noqa: PLC0415 - rarely so

    return not isinstance(error, Held | NotPublished)


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    """Raise it; further signals are not to disturb the end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _told.set()
    raise KeyboardInterrupt
