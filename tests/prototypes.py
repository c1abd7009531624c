"""The common starting point of a file's tests, such as a held release: made once, and restored for each test.

It is restored in its original folder, because records and MLflow's runs name that folder.
"""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.isolation import own_state  # before Prefect and MLflow are imported

from stores.ledger import state_ledger  # isort: skip


class Prototype:
    """A folder, and MLflow's database at the time; everything recorded since then is discarded at each restoration.

    Args:
        folder: everything that a test changes, except the database of this process's MLflow.
        name: distinguishes it from other prototypes in the same folder.
    """

    def __init__(self, folder: Path, name: str = "kept") -> None:
        self.folder = folder
        self._kept = folder.with_name(f"{folder.name}-{name}")
        shutil.copytree(folder, self._kept, symlinks=True)
        _copy(_database(), self._kept / "mlflow.db")

    def restore(self) -> None:
        """Restore it."""
        shutil.rmtree(self.folder)
        shutil.copytree(self._kept, self.folder, symlinks=True)
        # This process's cached ledger contains entries of a test.
        state_ledger._opened.cache_clear()
        # From now on, open connections read the copied database.
        _copy(self.folder / "mlflow.db", _database())
        (self.folder / "mlflow.db").unlink()


def _database() -> Path:
    return own_state() / "mlflow" / "mlflow.db"


def _copy(database: Path, place: Path) -> None:
    with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(place)) as target:
        source.backup(target)
