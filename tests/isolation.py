"""A state folder for this process, set before anything imports Prefect or MLflow.

A conftest that needs it imports this module first.
"""

import atexit
import shutil
from pathlib import Path
from tempfile import mkdtemp

from infra.environment import prepare_environment


def make_state() -> None:
    """Make a new state folder for this process, which removes it at its end."""
    global _state  # noqa: PLW0603 - a forked process has its own
    _state = prepare_environment(Path(mkdtemp(prefix="deniable-tests-")))
    atexit.register(shutil.rmtree, _state, ignore_errors=True)


def own_state() -> Path:
    """Return the state folder of this process."""
    return _state


make_state()

from tests import quick_databases  # noqa: E402, F401 - MLflow is imported by it
