"""The disk that everything lies on, and what to say when it is full."""

import shutil
from pathlib import Path

DISK_FULL = "there is no room left on the disk that holds {state}; free some space there and run the release again."
"""To be formatted with the state folder."""

_ROOM = 1 << 18


def disk_is_full(state: Path) -> bool:
    """Whether hardly anything more can be written to the state folder's disk."""
    return shutil.disk_usage(state).free < _ROOM
