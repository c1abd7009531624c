"""A state folder for this test run, set before anything imports Prefect or MLflow.

A conftest that needs it imports this module first.
"""

import atexit
import shutil
from pathlib import Path
from tempfile import mkdtemp

from infra.environment import prepare_environment

STATE = prepare_environment(Path(mkdtemp(prefix="deniable-tests-")))
atexit.register(shutil.rmtree, STATE, ignore_errors=True)

from tests import quick_databases  # noqa: E402, F401 - MLflow is imported by it
