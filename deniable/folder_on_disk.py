"""Reads a release folder on disk: regular files only, without following links.

The checks of the files do not belong here (verification).
"""

import errno
import os
import stat
from collections.abc import Callable, Mapping
from itertools import islice
from typing import BinaryIO

_MOST_MEMBERS = 10_000
_LARGEST_RECORD = 1 << 26


class FolderOnDisk:
    """A folder, in the form that `deniable.verification.release` reads.

    Args:
        path: the folder.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = path

    def members(self) -> Mapping[str, str]:
        """All members by name, including hidden ones: `file` or another kind.

        Raises:
            OSError: it cannot be read.
        """
        with os.scandir(self._path) as entries:
            # A release has some twenty files; of a folder with more than this, naming some is enough.
            return {entry.name: _kind(entry) for entry in islice(entries, _MOST_MEMBERS)}

    def open(self, name: str) -> BinaryIO:
        """Open a file for reading; the caller closes it.

        Raises:
            OSError: it is not a regular file, or cannot be opened.
        """
        return open_regular(os.path.join(self._path, name), follow=False)  # noqa: PTH118


def record_beside(path: str | os.PathLike[str], name: str) -> Callable[[str], bytes | None]:
    """A function that reads the record of another release, whose folder is beside that of a release.

    Args:
        path: the release's folder.
        name: the name of the file of a record.

    Returns:
        Given the other release's name, the content of the file; None if there is no such folder with a record.
    """

    def read(release: str) -> bytes | None:
        folder = os.path.join(os.path.dirname(os.path.realpath(path)), os.path.basename(release))  # noqa: PTH118, PTH119, PTH120
        try:
            with open_regular(os.path.join(folder, name), follow=False) as file:  # noqa: PTH118
                return file.read(_LARGEST_RECORD)
        except OSError:
            return None

    return read


def open_regular(path: str, *, follow: bool = True) -> BinaryIO:
    """Open a regular file; the caller closes it. A pipe could block forever, and a device has no end.

    Args:
        path: the file.
        follow: whether a symbolic link to one is accepted.

    Raises:
        OSError: it is not a regular file, or cannot be opened.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW))
    file = open(descriptor, "rb")  # noqa: PTH123, SIM115 - the caller closes it
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is not a regular file", path)
    return file


def _kind(entry: "os.DirEntry[str]") -> str:
    if entry.is_symlink():
        return "link"
    if entry.is_dir():
        return "folder"
    return "file" if entry.is_file() else "thing of another kind"
