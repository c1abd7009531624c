"""Makes Prefect's database once, even if several servers of a fresh state folder start at once: its migrations race."""

import asyncio
import os
from pathlib import Path

from stores.locks import locked


def make_prefect_database() -> None:
    """Make the tables that Prefect's server needs, or check that they exist, one process at a time.

    The environment names the database; the lock is released as soon as this process ends, however it ends.
    """
    home = Path(os.environ["PREFECT_HOME"])
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locked(home / "making.lock", wait=True):
        asyncio.run(_migrated())


async def _migrated() -> None:
    from prefect.server.database import provide_database_interface  # noqa: PLC0415 - it takes seconds

    database = provide_database_interface()
    await database.create_db()
    await (await database.engine()).dispose()
