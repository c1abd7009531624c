"""Opens the files of the state folder: regular files of its account, of bounded size, that no other account may change.

Anything else in the place of such a file is refused in one sentence before it is read: opening a pipe blocks forever,
a device has no end, and a link or another account's file may be anything. Files that a user names are opened by
schemas.regular_files. What the files contain does not belong here.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path

from deniable.foundation.errors import Refused
from schemas.regular_files import kind_in_words

LARGEST = 1 << 28
"""Largest number of bytes of a file that is read whole, if its reader states no other: 256 MiB."""

_PRIVATE = 0o600
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


class NotOurFile(Refused):
    """Something else is in the place of a file of the state folder."""


@contextmanager
def opened_own(place: Path, most: int | None = None) -> Iterator[BufferedReader]:
    """Open a file of the state folder to read it.

    Args:
        place: the file.
        most: largest number of bytes; None for a table, which is read in parts.

    Raises:
        NotOurFile: it is not a regular file, is a link, belongs to or can be changed by others, or has more bytes.
        OSError: it cannot be opened.
    """
    with os.fdopen(own_descriptor(place, os.O_RDONLY), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if most is not None and size > most:
            raise NotOurFile(f"{place} must have at most {most:,} bytes, and has {size:,}; restore it from a backup.")
        yield file


def read_own(place: Path, most: int = LARGEST) -> bytes:
    """Read a file of the state folder whole; see `opened_own`."""
    with opened_own(place, most) as file:
        return file.read()


def read_own_text(place: Path, most: int = LARGEST) -> str:
    """Read a text of the state folder whole; see `opened_own`.

    Raises:
        UnicodeDecodeError: it is not UTF-8.
    """
    return read_own(place, most).decode()


def own_descriptor(place: Path, flags: int, *, sets_mode: bool = False) -> int:
    """Open a file of the state folder as `os.open` does, without blocking; a new one is for its owner alone.

    Args:
        place: the file.
        flags: as for `os.open`.
        sets_mode: whether the caller itself takes the file from others who may write to it.

    Returns:
        Its descriptor, which the caller closes.

    Raises:
        NotOurFile: it is not a regular file, is a link, or belongs to or can be changed by others.
        OSError: it cannot be opened.
    """
    require_own(place, sets_mode=sets_mode)
    descriptor = os.open(place, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, _PRIVATE)
    try:
        # It may have been replaced since.
        _require(os.fstat(descriptor), place, sets_mode=sets_mode)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def require_own(place: Path, *, sets_mode: bool = False) -> None:
    """Refuse what is in the place of a file of the state folder before a library opens it; an absent one passes.

    Args:
        place: the file.
        sets_mode: whether the caller itself takes the file from others who may write to it.

    Raises:
        NotOurFile: it is not a regular file, is a link, or belongs to or can be changed by others.
    """
    with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        _require(place.lstat(), place, sets_mode=sets_mode)


def require_own_folder(folder: Path) -> None:
    """Refuse what is no file or folder in a folder whose files a library opens by their names; an absent one passes.

    Raises:
        NotOurFile: see `require_own`.
    """
    with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        for entry in os.scandir(folder):
            if not entry.is_dir(follow_symlinks=False):
                require_own(Path(entry.path), sets_mode=True)


def _require(status: os.stat_result, place: Path, *, sets_mode: bool) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise NotOurFile(
            f"{place} must be a regular file of the state folder, and is {kind_in_words(status.st_mode)}; remove it, "
            "or restore the file from a backup."
        )
    # An account may read the folder of another one, such as a copy for an auditor.
    if status.st_uid != os.geteuid() and status.st_uid != place.parent.stat().st_uid:
        raise NotOurFile(
            f"{place} must belong to the account that owns its folder, and belongs to another one (number "
            f"{status.st_uid}); find out who put it there, and restore the file from a backup."
        )
    if status.st_mode & _OTHERS_MAY_WRITE and not sets_mode:
        raise NotOurFile(
            f"{place} must not be writable by other accounts, and is (mode {stat.S_IMODE(status.st_mode):04o}); check "
            "that nobody has changed it, and run chmod go-w on it."
        )
