"""A folder for files made once for all processes of a test run, such as databases to copy.

The first process that imports this module makes the folder, and removes it at the end; its child processes use the same
folder.
"""

import atexit
import os
import shutil
from pathlib import Path
from tempfile import mkdtemp

_VARIABLE = "TESTS_MADE_ONCE"


def _removed(folder: str, maker: int) -> None:
    """Remove the folder, unless this process was forked from its maker."""
    if os.getpid() == maker:
        shutil.rmtree(folder, ignore_errors=True)


if _VARIABLE not in os.environ:
    os.environ[_VARIABLE] = mkdtemp(prefix="deniable-made-once-")
    atexit.register(_removed, os.environ[_VARIABLE], os.getpid())

FOLDER = Path(os.environ[_VARIABLE])
