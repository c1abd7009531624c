"""A folder of what is made once for all processes of a run of the tests, such as databases that are copied.

Whoever imports this first makes the folder, and removes it in the end; processes that it starts use the same.
"""

import atexit
import os
import shutil
from pathlib import Path
from tempfile import mkdtemp

_VARIABLE = "TESTS_MADE_ONCE"


def _removed(folder: str, maker: int) -> None:
    """Remove the folder, unless this is a process that was forked from its maker."""
    if os.getpid() == maker:
        shutil.rmtree(folder, ignore_errors=True)


if _VARIABLE not in os.environ:
    os.environ[_VARIABLE] = mkdtemp(prefix="deniable-made-once-")
    atexit.register(_removed, os.environ[_VARIABLE], os.getpid())

FOLDER = Path(os.environ[_VARIABLE])
