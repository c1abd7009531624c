"""Files and folders that only their owner may read: their modes, such folders, and errors that are kept there."""

import traceback
from pathlib import Path

from stores.vault.disk import replace_whole

PRIVATE_FOLDER = 0o700
PRIVATE_FILE = 0o600


def make_private_folder(path: Path) -> Path:
    """Make a folder that only its owner may enter, or set this mode on an existing one."""
    path.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    path.chmod(PRIVATE_FOLDER)
    return path


def keep_error(error: Exception, path: Path) -> None:
    """Write the details of an error, which may quote records, to a file that only its owner may read.

    Args:
        error: the error.
        path: the file, in a private folder of the vault; an earlier one is replaced.

    Raises:
        OSError: it cannot be written.
    """
    make_private_folder(path.parent)
    replace_whole(path, "".join(traceback.format_exception(error)))
