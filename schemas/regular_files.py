"""Opens the files that a person names: regular files of bounded size, and neither pipes nor devices.

A pipe that nobody writes to is waited for without end, and in there no signal is heard; a device has no end. What a
file must hold is not for this module to know.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from deniable.foundation.errors import InvalidInput

_SHOWN = 200
_KINDS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISDIR, "a folder"),
)


def require_regular(path: Path, what: str) -> None:
    """Refuse what is there and is no regular file, before anything opens it; what is absent is left to whoever does.

    Args:
        path: the file, or a link to one.
        what: what it is, for the error: `the source`.

    Raises:
        InvalidInput: it is a pipe, a device, a socket or a folder.
    """
    try:
        mode = path.stat().st_mode
    except OSError:
        return
    except ValueError:
        raise InvalidInput(f"{what} must be a file, and its path has a character that no path can have.") from None
    _refuse_irregular(mode, path, what)


def kind_of(path: Path) -> str | None:
    """What something is that is no regular file; None where it is one, or is not there."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return None
    return None if stat.S_ISREG(mode) else _kind(mode)


def whole_path(path: Path, what: str) -> Path:
    """A path from the root on, links followed.

    Args:
        path: the path; `~` is somebody's home.
        what: what it is, for the error.

    Raises:
        InvalidInput: it leads nowhere: nobody has that home, a link leads back to itself, or no path can be so.
    """
    try:
        return expanded_path(path, what).resolve()
    except InvalidInput:
        raise
    except (OSError, RuntimeError, ValueError) as error:
        msg = f"{what} must be at a path that leads somewhere, got {str(path)[:_SHOWN]}: {error}; correct it."
    raise InvalidInput(msg)


def expanded_path(path: Path, what: str) -> Path:
    """A path in which `~` is somebody's home.

    Args:
        path: the path.
        what: what it is, for the error.

    Raises:
        InvalidInput: nobody has that home.
    """
    try:
        return path.expanduser()
    except RuntimeError:
        msg = f"{what} must be at a path that leads somewhere, got {str(path)[:_SHOWN]}, a home that nobody has."
    raise InvalidInput(msg)


@contextmanager
def opened_regular(path: Path, what: str) -> Iterator[BinaryIO]:
    """Open a regular file without waiting for anybody.

    Args:
        path: the file, or a link to one.
        what: what it is, for the error: `the source`.

    Raises:
        InvalidInput: it is no regular file.
        OSError: it cannot be opened.
    """
    require_regular(path, what)
    # What it is may have changed since; a pipe is then not waited for.
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:  # noqa: PTH123 - of a descriptor
        _refuse_irregular(os.fstat(file.fileno()).st_mode, path, what)
        yield file


def read_regular(path: Path, what: str, most: int) -> bytes:
    """Read a regular file whole.

    Args:
        path: the file, or a link to one.
        what: what it is, for the error: `the release spec`.
        most: bytes that it may have.

    Raises:
        InvalidInput: it is no regular file, or has more bytes.
        OSError: it cannot be opened or read.
    """
    with opened_regular(path, what) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise InvalidInput(f"{what} must be of at most {most:,} bytes, and {path} has more; name another file.")
    return content


def _refuse_irregular(mode: int, path: Path, what: str) -> None:
    if not stat.S_ISREG(mode):
        raise InvalidInput(f"{what} must be a regular file, and {path} is {_kind(mode)}; name the file that is meant.")


def _kind(mode: int) -> str:
    return next((name for is_kind, name in _KINDS if is_kind(mode)), "something else")
