"""Creates Prefect's database once, even if several servers of a new state folder start at once: its migrations race.

A note next to the database states the version of Prefect that created it, and its revision. A later server of the same
version and revision loads no migrations and registers no block types. In all other cases, Prefect's usual start is
used.
"""

import asyncio
import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from stores.locks import locked
from stores.own_files import read_own
from stores.vault.disk import replace_whole

_NOTE = "made.json"
_REGISTERED = "memo_store.toml"
"""Prefect's own note that it has registered its block types; it is written afterwards."""


def make_prefect_database() -> bool:
    """Create the tables of Prefect's server, or check that they exist, one process at a time.

    The environment names the database. The lock is released when this process ends, however it ends.

    Returns:
        Whether a server of this version has started on this database before, and registered its block types.
    """
    home = Path(os.environ["PREFECT_HOME"])
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locked(home / "making.lock", wait=True):
        if _is_noted(home):
            return (home / _REGISTERED).exists()
        (home / _NOTE).unlink(missing_ok=True)
        # Prefect's note remains even if the database was removed.
        (home / _REGISTERED).unlink(missing_ok=True)
        asyncio.run(_migrated())
        _note(home)
    return False


@contextmanager
def beginning_quickly(*, registered: bool) -> Iterator[None]:
    """Make a server that starts within the block skip what was done before.

    Args:
        registered: whether its block types are registered.
    """
    from prefect import settings  # noqa: PLC0415 - it takes seconds, and reads the environment

    # The tables were checked or created a moment ago.
    left_out = {settings.PREFECT_API_DATABASE_MIGRATE_ON_START: False}
    if registered:
        left_out |= {
            settings.PREFECT_API_BLOCKS_REGISTER_ON_START: False,
            settings.PREFECT_MEMOIZE_BLOCK_AUTO_REGISTRATION: False,
        }
    with settings.temporary_settings(left_out):
        yield


async def _migrated() -> None:
    from prefect.server.database import provide_database_interface  # noqa: PLC0415 - it takes seconds

    database = provide_database_interface()
    await database.create_db()
    await (await database.engine()).dispose()


def _note(home: Path) -> None:
    """Note version and revision of the folder's own database, completely or not at all."""
    if (revision := _revision(home)) is not None:
        replace_whole(home / _NOTE, json.dumps(_made(revision)))


def _is_noted(home: Path) -> bool:
    """Whether this version created the database in its present revision."""
    try:
        noted = json.loads(read_own(home / _NOTE))
    except (OSError, ValueError):
        return False
    return (revision := _revision(home)) is not None and noted == _made(revision)


def _made(revision: str) -> dict[str, str]:
    import prefect  # noqa: PLC0415 - as above

    return {"prefect": prefect.__version__, "revision": revision}


def _revision(home: Path) -> str | None:
    """Return the revision of the database; None if it is not the folder's SQLite database, or has no revision."""
    from prefect.settings import PREFECT_API_DATABASE_CONNECTION_URL  # noqa: PLC0415 - as above
    from sqlalchemy import make_url  # noqa: PLC0415 - as above

    address = make_url(PREFECT_API_DATABASE_CONNECTION_URL.value())
    place = home / "prefect.db"
    if address.get_backend_name() != "sqlite" or address.database != str(place) or address.query:
        return None
    try:
        with closing(sqlite3.connect(f"file:{quote(str(place))}?mode=rw", uri=True)) as database:
            found: str | None = database.execute("SELECT version_num FROM alembic_version").fetchone()[0]
    except (sqlite3.Error, TypeError):
        return None
    return found
