"""Makes Prefect's database once, even if several servers of a fresh state folder start at once: its migrations race.

A note beside the database says which version of Prefect made it, and as which revision. A later server of that version
on that revision loads no migrations, and registers no kinds of blocks. In every other case all is done as Prefect does
it.
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

_NOTE = "made.json"
_REGISTERED = "memo_store.toml"
"""Prefect's own note that it has registered its kinds of blocks; it is written afterwards."""


def make_prefect_database() -> bool:
    """Make the tables that Prefect's server needs, or check that they exist, one process at a time.

    The environment names the database; the lock is released as soon as this process ends, however it ends.

    Returns:
        Whether the server of this version has begun on this database before, and registered its kinds of blocks.
    """
    home = Path(os.environ["PREFECT_HOME"])
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locked(home / "making.lock", wait=True):
        if _is_noted(home):
            return (home / _REGISTERED).exists()
        (home / _NOTE).unlink(missing_ok=True)
        # It would say so of a database that is gone, too.
        (home / _REGISTERED).unlink(missing_ok=True)
        asyncio.run(_migrated())
        _note(home)
    return False


@contextmanager
def beginning_quickly(*, registered: bool) -> Iterator[None]:
    """Have a server that begins within the block leave out what was done before.

    Args:
        registered: whether its kinds of blocks are registered.
    """
    from prefect import settings  # noqa: PLC0415 - it takes seconds, and reads the environment

    # They were checked a moment ago, or made.
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
    """Note the version and the revision of a database of the folder's own, whole or not at all."""
    if (revision := _revision(home)) is not None:
        new = home / f"{_NOTE}.new"
        new.write_text(json.dumps(_made(revision)), encoding="utf-8")
        new.replace(home / _NOTE)


def _is_noted(home: Path) -> bool:
    """Whether this version has made the database, as it is now."""
    try:
        noted = json.loads((home / _NOTE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return (revision := _revision(home)) is not None and noted == _made(revision)


def _made(revision: str) -> dict[str, str]:
    import prefect  # noqa: PLC0415 - as above

    return {"prefect": prefect.__version__, "revision": revision}


def _revision(home: Path) -> str | None:
    """The revision of the database; None if it is not SQLite's of that folder, or has none."""
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
