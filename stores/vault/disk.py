"""The disk of the state folder, and the message for a full disk."""

import os
import shutil
from pathlib import Path
from tempfile import NamedTemporaryFile

DISK_FULL = "there is no room left on the disk that holds {state}; free some space there and run the release again."
"""Message, to be formatted with the state folder."""

_ROOM = 1 << 18


def disk_is_full(state: Path) -> bool:
    """Whether the state folder's disk is almost full."""
    return shutil.disk_usage(state).free < _ROOM


def flush_to_disk(path: Path) -> None:
    """Make sure that a file, or a folder with the names in it, survives a power failure.

    Raises:
        OSError: it cannot be read, or the disk fails.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_whole(place: Path, text: str) -> None:
    """Replace a file completely or not at all; after a power failure the old one may still be there.

    Raises:
        OSError: it cannot be written; the old one stays, and no other file is left.
    """
    with NamedTemporaryFile("w", dir=place.parent, prefix=f".{place.name}.", encoding="utf-8", delete=False) as file:
        temporary = Path(file.name)
        try:
            file.write(text)
            file.flush()
            temporary.replace(place)
        finally:
            temporary.unlink(missing_ok=True)
