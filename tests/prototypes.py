"""What many tests of a file begin with, such as a release that is held: made once, and brought back as it was for each.

It comes back in the folder that it was made in, for records and MLflow's runs name that.
"""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.isolation import STATE  # before Prefect and MLflow are imported

from stores.ledger import state_ledger  # isort: skip

_DATABASE = STATE / "mlflow" / "mlflow.db"


class Prototype:
    """A folder, and what MLflow knew when it was kept; what else was recorded since then is forgotten each time.

    Args:
        folder: all that a test changes, but for the database of this process's MLflow.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._kept = folder.with_name(f"{folder.name}-kept")
        shutil.copytree(folder, self._kept, symlinks=True)
        _copy(_DATABASE, self._kept / "mlflow.db")

    def restore(self) -> None:
        """Bring it back."""
        shutil.rmtree(self.folder)
        shutil.copytree(self._kept, self.folder, symlinks=True)
        # What this process knows of the ledger is of what a test wrote into it.
        state_ledger._opened.cache_clear()
        # Connections that are open read what was copied from now on.
        _copy(self.folder / "mlflow.db", _DATABASE)
        (self.folder / "mlflow.db").unlink()


def _copy(database: Path, place: Path) -> None:
    with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(place)) as target:
        source.backup(target)
