"""Makes databases of this process and its forks faster than a user's; imported before one is opened.

Neither they nor files wait for the disk: data written by a killed process survive in the kernel, and power cuts are not
tested. MLflow's database is not created by migrations each time, but copied from one that was; commands run by
`subprocess` create their own. And MLflow sets up each connection once, instead of for each session, of which a step has
twenty.
"""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mlflow.store.db import utils as sessions
from mlflow.store.db.db_types import SQLITE
from sqlalchemy import URL, Engine, event

from stores.ledger import database as ledgers
from stores.locks import locked
from stores.servers import mlflow_database as store_making
from tests.made_once import FOLDER

_SQLITE = "sqlite:///"
_SET_UP = ("foreign_keys = ON", "busy_timeout = 20000", "case_sensitive_like = true")
"""What MLflow says at the beginning of every session; SQLite keeps it for as long as the connection lasts."""
_session_maker = sessions._get_managed_session_maker


def _set_up_once(maker: Any, kind: str) -> Any:
    """Make sessions use connections that are set up only when they are opened."""
    if kind != SQLITE:
        return _session_maker(maker, kind)
    engine = maker.kw["bind"]
    if not event.contains(engine, "connect", _set_up):
        event.listen(engine, "connect", _set_up)
    engine.dispose()  # connections that were open before
    return _session_maker(maker, f"{SQLITE} that is set up")


def _set_up(connection: sqlite3.Connection, _record: object) -> None:
    for setting in _SET_UP:
        connection.execute(f"PRAGMA {setting}").close()


sessions._get_managed_session_maker = _set_up_once


def mlflow_made_once() -> Path:
    """Return a database that MLflow has created."""
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


def _ledger_that_does_not_wait(url: URL) -> Engine:
    """Set this after a ledger has asked to wait."""
    engine = _ledger(url)
    event.listen(engine, "connect", _do_not_wait)
    return engine


_ledger, ledgers._sqlite = ledgers._sqlite, _ledger_that_does_not_wait
os.fsync = lambda _descriptor: None


@contextmanager
def _filled(place: Path, *, wait: bool) -> Iterator[bool]:
    with locked(place, wait=wait) as is_mine:
        if not (place.parent / _MADE.name).exists():
            shutil.copy(_MADE, place.parent)
        yield is_mine


store_making.locked = _filled
