"""Files and folders that only their owner may read: their modes, and the creation of such folders."""

from pathlib import Path

PRIVATE_FOLDER = 0o700
PRIVATE_FILE = 0o600


def make_private_folder(path: Path) -> Path:
    """Make a folder that only its owner may enter, or set this mode on an existing one."""
    path.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    path.chmod(PRIVATE_FOLDER)
    return path
