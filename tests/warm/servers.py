"""Servers of forked commands, forked like these, so that they need neither imports nor migrations.

The contents of such a server, its socket, database and password are as for a user. The database of Prefect's is copied
from one that Prefect has created.
"""

import os
import shutil
import subprocess
import sys
from asyncio import base_tasks
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from prefect.settings import Settings

from infra.servers import local_servers, prefect_database
from infra.servers.local_servers import Server
from stores.locks import locked
from tests.made_once import FOLDER
from tests.quick_databases import mlflow_made_once
from tests.warm.becoming import is_logging_set_up
from tests.warm.forked import Forked
from tests.warm.forking import FORKS

_Running = AbstractContextManager[Server]
_DATABASE = "prefect.db"
_MAKING = """
import asyncio
from infra.servers.prefect_database import make_prefect_database
from prefect.server.database import provide_database_interface
from prefect.server.models.block_registration import run_block_auto_registration

async def register():
    database = provide_database_interface()
    async with await database.session() as session:
        await run_block_auto_registration(session=session)
    await (await database.engine()).dispose()

make_prefect_database()
asyncio.run(register())
"""
_MADE_BEFORE = {
    # The copied database contains its block types.
    "PREFECT_API_BLOCKS_REGISTER_ON_START": "false",
    "PREFECT_MEMOIZE_BLOCK_AUTO_REGISTRATION": "false",
    # Nothing in the database is old enough to be deleted.
    "PREFECT_SERVER_SERVICES_DB_VACUUM_ENABLED": ",",
}
"""What a forked server need not do when it starts."""
_RECORDED_TOGETHER = {
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "20",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
}
"""A forked server records states of task runs once a second: each by itself takes a third of its time in a release.

The interval is whole seconds; Prefect rounds it down, and does not pause for 0.
"""


def _made_once() -> Path:
    """Return a database that Prefect's server has created."""
    with locked(FOLDER / "making-prefect.lock", wait=True):
        if not (made := FOLDER / _DATABASE).exists():
            home = FOLDER / "prefect"
            environment = {**os.environ, "PREFECT_HOME": str(home)}
            subprocess.run([sys.executable, "-c", _MAKING], env=environment, check=True)
            (home / _DATABASE).rename(made)
    return made


def bring_databases(state: Path) -> None:
    """Copy databases that were made once into a state folder, for commands that are run there by `subprocess`."""
    for name, made in (("prefect", _made_once()), ("mlflow", mlflow_made_once())):
        (state / name).mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.copy(made, state / name)


def fork_servers() -> None:
    """Fork the first Prefect server that this process will start from its present state, and others when they start."""
    local_servers.subprocess = _Subprocess([Forked(get_context("fork"))])


def prefect_server(state: Path, port: int | None = None, *, credentials: str | None = None) -> _Running:
    """Start a Prefect server on a state folder, forked from the same process as commands."""
    (state / "prefect").mkdir(parents=True, exist_ok=True)
    return _running(partial(local_servers.start_prefect, state, port, credentials=credentials))


def mlflow_server(state: Path) -> _Running:
    """Start MLflow's pages on a state folder, forked from the same process as commands."""
    return _running(partial(local_servers.start_mlflow, state))


@contextmanager
def _running(start: Callable[[], Server]) -> Iterator[Server]:
    with forked_servers():
        server = start()
    try:
        server.wait_until_up()
        yield server
    finally:
        server.stop()


@contextmanager
def forked_servers() -> Iterator[None]:
    """Fork the servers that this process starts within the block."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_servers, "subprocess", _Subprocess([]))
        yield


class _Subprocess:
    """The part of `subprocess` that `infra.servers.local_servers` uses.

    Args:
        spare: processes that were forked before; without one, a server is forked from the process of all commands.
    """

    PIPE = subprocess.PIPE
    STDOUT = subprocess.STDOUT
    TimeoutExpired = subprocess.TimeoutExpired

    def __init__(self, spare: list[Forked]) -> None:
        self._spare = spare

    def Popen(self, command: Sequence[str], **how: Any) -> Any:  # noqa: N802 - as it is called there
        """Fork a server; start anything else as usual."""
        if command[1] != "-m" or command[2] not in _PREPARED:
            return subprocess.Popen(command, **how)
        server = self._spare.pop() if self._spare and command[2] == _PREFECT else Forked(FORKS)
        server.begin(command[2], command[3:], prepare=_PREPARED[command[2]], **how)
        return server


def _begin_with_a_copy() -> None:
    """Use a copy of a database that Prefect has created."""
    prefect_database.make_prefect_database = _copied
    os.environ |= _MADE_BEFORE | _RECORDED_TOGETHER
    do_not_tire()


def do_not_tire() -> None:
    """Disable work that a Prefect server repeats for no one."""
    from docket import Worker  # noqa: PLC0415 - it is there already, and nowhere else
    from prefect.logging import configuration  # noqa: PLC0415
    from prefect.server.api import background_workers  # noqa: PLC0415

    # This process has one copy of the settings of one of its applications.
    Settings.hash_key = lambda _settings: "all"
    # Its application sets up logging again.
    set_up = configuration.setup_logging
    configuration.setup_logging = lambda incremental=None: (
        {} if incremental is None and is_logging_set_up() else set_up(incremental)
    )
    # Its list of tasks is checked once a second instead of four times.
    seldom = timedelta(seconds=1)
    background_workers.Worker = partial(Worker, minimum_check_interval=seldom, scheduling_resolution=seldom)
    # Each request ends with a cancelled task, whose full description no one reads.
    base_tasks._task_repr_info = lambda _task: ["task"]


def _copied() -> None:
    """Begin with a copy of a database that Prefect has created."""
    home, made = Path(os.environ["PREFECT_HOME"]), _made_once()
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locked(home / "making.lock", wait=True):
        if not (home / _DATABASE).exists():
            shutil.copy(made, home)


PREFECT_BY_ITSELF = "tests.flows.prefect_by_itself"
_PREFECT = "infra.servers.prefect_server"
_PREPARED: dict[str, Callable[[], None] | None] = {
    _PREFECT: _begin_with_a_copy,
    PREFECT_BY_ITSELF: _begin_with_a_copy,
    "infra.servers.mlflow_server": None,
}
"""Servers that are forked, and what prepares each process, if anything."""
