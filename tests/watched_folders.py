"""Folders in which the kernel notes every new file and folder, however soon it is removed."""

import ctypes
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_MADE, _MOVED_HERE, _TOO_MANY = 0x100, 0x80, 0x4000
_HEAD = struct.Struct("iIII")
_LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class WatchedFolders:
    """Some folders, and everything made in them since they have been watched, but not below them.

    Attributes:
        descriptor: descriptor for reading the kernel's notes.
        folders: the folders, by the kernel's numbers.
    """

    descriptor: int
    folders: dict[int, Path]

    def made(self) -> set[Path]:
        """Return everything made in them since the last call."""
        found = set()
        while (notes := self._read()) != b"":
            while notes:
                number, mask, _, length = _HEAD.unpack_from(notes)
                assert not mask & _TOO_MANY, "more was made than the kernel notes"
                name = notes[_HEAD.size : _HEAD.size + length].rstrip(b"\0")
                found.add(self.folders[number] / name.decode())
                notes = notes[_HEAD.size + length :]
        return found

    def _read(self) -> bytes:
        try:
            return os.read(self.descriptor, 1 << 16)
        except BlockingIOError:
            return b""


@contextmanager
def watching_folders(*folders: Path) -> Iterator[WatchedFolders]:
    """Make the kernel note everything made in some folders; it keeps its notes until they are read."""
    descriptor = _checked(_LIBC.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
    try:
        numbers = {
            _checked(_LIBC.inotify_add_watch(descriptor, os.fsencode(folder), _MADE | _MOVED_HERE)): folder
            for folder in folders
        }
        yield WatchedFolders(descriptor, numbers)
    finally:
        os.close(descriptor)


def _checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), "the kernel does not watch folders")
    return result
