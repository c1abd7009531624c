"""What lies in a folder that is kept: its files by their digests, and what lets others change them.

What the digests are compared with does not belong here.
"""

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from deniable.ledger.entries import digest_of
from schemas.provenance import RECORD
from stores.vault.workspace import file_digest

# The record itself; and how far a refresh moved the table, which is measured on two published ones.
_AFTER_SEALING = {RECORD, "drift.json"}
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


def file_digests(folder: Path, *, but: Callable[[str, Path], bool] = lambda _name, _path: False) -> dict[str, str]:
    """Digests of all files in a folder, by their paths there.

    What is no file that can be read has a digest that no file has. A link is never followed: what it points to may be
    changed by whoever may write there.

    Args:
        folder: the folder; where there is none, it has no files.
        but: whether a file, by its path there and here, is left out.

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
    """Digests of what lies on the shelf of a release, but for its record and what comes there after that was signed.

    Args:
        shelf: the release's folder of internal things.
    """
    return file_digests(
        shelf, but=lambda name, path: name in _AFTER_SEALING and path.is_file() and not path.is_symlink()
    )


def links_above(folder: Path, top: Path) -> list[Path]:
    """The links that a path leads through, from just below a folder down to itself."""
    if not folder.is_relative_to(top):
        return [folder] if folder.is_symlink() else []
    return [
        path for path in (folder, *folder.parents) if path != top and path.is_relative_to(top) and path.is_symlink()
    ]


def changeable_by_others(*places: Path) -> Iterator[tuple[Path, str]]:
    """What others than the owner of the first place may change: folders, and all that is in them.

    Args:
        places: folders that are there; of the first ones only themselves are looked at, of the last one all within.

    Yields:
        The path, and why; to be read after it.
    """
    owner = places[0].lstat().st_uid
    *above, last = places
    for path in (*above, last, *sorted(last.rglob("*"))):
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            yield path, "is a link: anyone who may write where it points may change it"
        elif status.st_mode & _OTHERS_MAY_WRITE:
            yield path, f"may be written by others than its owner (mode {stat.S_IMODE(status.st_mode):04o})"
        elif status.st_uid != owner:
            yield path, "belongs to another account than the state folder"


def _digest(path: Path) -> str:
    if path.is_symlink():
        return digest_of("a link")
    try:
        return file_digest(path) if path.is_file() else digest_of("no file")
    except OSError as error:
        return digest_of(f"not readable: {error.errno}")
