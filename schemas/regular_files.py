"""Opens the files that a user names: regular files of bounded size, and neither pipes nor devices.

Opening a pipe without a writer blocks forever, without reacting to signals; a device has no end. The content of files
does not belong here.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

from deniable.foundation.errors import InvalidInput

_SHOWN = 200
_BLOCK = 1 << 20
_KINDS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISLNK, "a link"),
)


def require_regular(path: Path, what: str) -> None:
    """Refuse an existing path that is not a regular file, before anything opens it; an absent path passes.

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
        raise InvalidInput(f"{what} must be a file, got a path with a character that no path can have.") from None
    _refuse_irregular(mode, path, what)


def kind_of(path: Path) -> str | None:
    """The kind of a path that is not a regular file; None if it is one, or does not exist."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return None
    return None if stat.S_ISREG(mode) else kind_in_words(mode)


def whole_path(path: Path, what: str) -> Path:
    """An absolute path, with links resolved.

    Args:
        path: the path; `~` is a home directory.
        what: what it is, for the error.

    Raises:
        InvalidInput: it is invalid: an unknown home, a cycle of links, or an impossible path.
    """
    try:
        return expanded_path(path, what).resolve()
    except InvalidInput:
        raise
    except (OSError, RuntimeError, ValueError) as error:
        msg = f"{what} must be at a valid path, got {str(path)[:_SHOWN]}: {error}; correct it."
    raise InvalidInput(msg)


def expanded_path(path: Path, what: str) -> Path:
    """A path with `~` expanded.

    Args:
        path: the path.
        what: what it is, for the error.

    Raises:
        InvalidInput: the home is unknown.
    """
    try:
        return path.expanduser()
    except RuntimeError:
        msg = f"{what} must be at a valid path, got {str(path)[:_SHOWN]}, whose home directory is unknown."
    raise InvalidInput(msg)


@contextmanager
def opened_regular(path: Path, what: str) -> Iterator[BufferedReader]:
    """Open a regular file without blocking.

    Args:
        path: the file, or a link to one.
        what: what it is, for the error: `the source`.

    Raises:
        InvalidInput: it is not a regular file.
        OSError: it cannot be opened.
    """
    require_regular(path, what)
    # Its kind may have changed since; opening does not block on a pipe.
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:  # noqa: PTH123 - of a descriptor
        _refuse_irregular(os.fstat(file.fileno()).st_mode, path, what)
        yield file


def read_regular(path: Path, what: str, most: int) -> bytes:
    """Read a regular file whole.

    Args:
        path: the file, or a link to one.
        what: what it is, for the error: `the release spec`.
        most: largest number of bytes.

    Raises:
        InvalidInput: it is not a regular file, or has more bytes.
        OSError: it cannot be opened or read.
    """
    with opened_regular(path, what) as file:
        content = bytearray()
        # A read of `most` bytes would request as much memory, however short the file is.
        while len(content) <= most and (block := file.read(_BLOCK)):
            content += block
    if len(content) > most:
        raise InvalidInput(f"{what} must have at most {most:,} bytes, but {path} has more; name another file.")
    return bytes(content)


def _refuse_irregular(mode: int, path: Path, what: str) -> None:
    if not stat.S_ISREG(mode):
        raise InvalidInput(
            f"{what} must be a regular file, but {path} is {kind_in_words(mode)}; name the intended file."
        )


def kind_in_words(mode: int) -> str:
    """The kind of a path that is not a regular file, from its mode: `a pipe`."""
    return next((name for is_kind, name in _KINDS if is_kind(mode)), "something else")
