"""The disk of the state folder, and the message for a full disk."""

import os
import shutil
from pathlib import Path

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
