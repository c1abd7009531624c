"""Copies of state folders in which tests may tamper with MLflow's store."""

import shutil
import sqlite3
from itertools import product
from pathlib import Path

import pytest
from mlflow.store.model_registry.sqlalchemy_store import SqlAlchemyStore as Models
from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore as Runs
from mlflow.tracking._tracking_service import utils

from stores.ledger import state_ledger
from stores.servers.mlflow_database import read_only

_PLACES = {
    "runs": "artifact_uri",
    "experiments": "artifact_location",
    "logged_models": "artifact_location",
    "model_versions": "storage_location",
}


def mlflow_uri(state: Path) -> str:
    """Return the address of the MLflow database in a state folder."""
    return f"sqlite:///{state / 'mlflow' / 'mlflow.db'}"


def change_mlflow(state: Path, *statements: str) -> None:
    """Change MLflow's database as its owner can, without MLflow."""
    connection = sqlite3.connect(state / "mlflow" / "mlflow.db")
    with connection:
        for statement in statements:
            assert connection.execute(statement).rowcount != 0, f"{statement} changes nothing"
    connection.close()


def copied_state(state: Path, copy: Path, patch: pytest.MonkeyPatch) -> Path:
    """Copy a state folder without Prefect's part, relocate MLflow's part of the copy, and use it."""
    shutil.copytree(state, copy, ignore=shutil.ignore_patterns("prefect", "vault"))
    replaced = "UPDATE {0} SET {1} = replace({1}, '{2}', '{3}')"
    change_mlflow(copy, *(replaced.format(table, column, state, copy) for table, column in _PLACES.items()))
    # MLflow stores the location of a run's files.
    utils._artifact_repos_cache.clear()
    patch.setenv("MLFLOW_TRACKING_URI", mlflow_uri(copy))
    return copy


def recopied_state(state: Path, copy: Path, patch: pytest.MonkeyPatch) -> Path:
    """Copy a state folder to where an earlier copy may be: MLflow has prepared its statements for this database."""
    for store, uri in product((Runs, Models), (mlflow_uri(copy), read_only(mlflow_uri(copy)))):
        if (engine := store._engine_map.get(uri)) is not None:
            engine.dispose()
    # This process's cached ledger contains entries of a test.
    state_ledger._opened.cache_clear()
    if copy.exists():
        shutil.rmtree(copy)
    return copied_state(state, copy, patch)
