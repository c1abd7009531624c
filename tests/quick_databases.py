"""Databases of this process and of those forked from it, quicker than a user's; imported before one is opened.

They do not wait for the disk: what a killed process has written is the kernel's, and outlives it; a power cut is not
tested. MLflow's is not made by its migrations each time, but copied from one that was; commands run as they are make
their own.
"""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, event

from stores.locks import locked
from stores.servers import mlflow_database as store_making
from tests.made_once import FOLDER

_SQLITE = "sqlite:///"


def mlflow_made_once() -> Path:
    """A database that MLflow has made."""
    with locked(FOLDER / "making-mlflow.lock", wait=True):
        if not (made := FOLDER / "mlflow.db").exists():
            part = FOLDER / "mlflow" / made.name
            part.parent.mkdir()
            store_making.ready_client(f"{_SQLITE}{part}")
            part.rename(made)
    return made


_MADE = mlflow_made_once()


@event.listens_for(Engine, "connect")
def _do_not_wait(connection: Any, _record: object) -> None:
    if isinstance(connection, sqlite3.Connection):
        connection.execute("PRAGMA synchronous = OFF").close()


@contextmanager
def _filled(place: Path, *, wait: bool) -> Iterator[bool]:
    with locked(place, wait=wait) as is_mine:
        if not (place.parent / _MADE.name).exists():
            shutil.copy(_MADE, place.parent)
        yield is_mine


store_making.locked = _filled
