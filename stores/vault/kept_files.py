"""The content of a folder that is kept: digests of its files, and permissions that let others change them.

The comparison of the digests does not belong here.
"""

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from deniable.ledger.entries import digest_of
from schemas.provenance import RECORD
from stores.vault.workspace import file_digest

# The record itself, and the drift of a refresh, which is measured on two published tables.
_AFTER_SEALING = {RECORD, "drift.json"}
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


def file_digests(folder: Path, *, but: Callable[[str, Path], bool] = lambda _name, _path: False) -> dict[str, str]:
    """Digests of all files in a folder, by their relative paths.

    Anything that is not a readable file gets a digest that no file has. Links are never followed, because others may be
    able to change their targets.

    Args:
        folder: the folder; if it does not exist, it has no files.
        but: whether a file, given its relative and its full path, is left out.

    Raises:
        OSError: the folder cannot be listed.
    """
    found = {}
    for place, folders, files in os.walk(folder):
        links = [name for name in folders if (Path(place) / name).is_symlink()]
        for path in (Path(place) / name for name in (*files, *links)):
            name = path.relative_to(folder).as_posix().encode(errors="backslashreplace").decode()
            if not but(name, path):
                found[name] = _digest(path)
    return found


def shelf_digests(shelf: Path) -> dict[str, str]:
    """Digests of the files on a release's shelf, except its record and files added after the record was signed.

    Args:
        shelf: the release's folder of internal files.
    """
    return file_digests(
        shelf, but=lambda name, path: name in _AFTER_SEALING and path.is_file() and not path.is_symlink()
    )


def links_above(folder: Path, top: Path) -> list[Path]:
    """The links in a path, from just below a folder down to the path itself."""
    if not folder.is_relative_to(top):
        return [folder] if folder.is_symlink() else []
    return [
        path for path in (folder, *folder.parents) if path != top and path.is_relative_to(top) and path.is_symlink()
    ]


def changeable_by_others(*places: Path) -> Iterator[tuple[Path, str]]:
    """Folders and files that accounts other than the owner of the first place may change.

    Args:
        places: existing folders; all are checked themselves, and the last one with everything in it.

    Yields:
        The path, and the reason, as a continuation of the sentence.
    """
    owner = places[0].lstat().st_uid
    *above, last = places
    for path in (*above, last, *sorted(last.rglob("*"))):
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            yield path, "is a link: anyone with write access to its target may change it"
        elif status.st_mode & _OTHERS_MAY_WRITE:
            yield path, f"may be written by accounts other than its owner (mode {stat.S_IMODE(status.st_mode):04o})"
        elif status.st_uid != owner:
            yield path, "belongs to a different account than the state folder"


def _digest(path: Path) -> str:
    if path.is_symlink():
        return digest_of("a link")
    try:
        return file_digest(path) if path.is_file() else digest_of("no file")
    except OSError as error:
        return digest_of(f"not readable: {error.errno}")
