"""Prefect servers of forked commands, forked from these, so that they need neither imports nor migrations.

The contents of such a server, its socket, database and password are as for a user. Its database is copied from one that
Prefect has created.
"""

import json
import os
import shutil
import subprocess
import sys
from asyncio import base_tasks
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from multiprocessing import get_context
from multiprocessing.context import ForkContext, ForkServerContext
from pathlib import Path
from socket import recv_fds, send_fds, socket, socketpair
from typing import IO, Any

import pytest
from prefect.settings import Settings

from infra.servers import local_servers, prefect_database
from infra.servers.local_servers import Server
from stores.locks import locked
from tests.made_once import FOLDER
from tests.quick_databases import mlflow_made_once
from tests.warm.becoming import become, is_logging_set_up
from tests.warm.forking import FORKS

_MODULE = "infra.servers.prefect_server"
_DATABASE = "prefect.db"
_LONGEST = 2**20
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
    """Fork the first Prefect server that this process will start from its present state."""
    local_servers.subprocess = _Subprocess(get_context("fork"))


@contextmanager
def prefect_server(state: Path) -> Iterator[Server]:
    """Start a Prefect server on a state folder, forked from the same process as commands."""
    (state / "prefect").mkdir(parents=True, exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_servers, "subprocess", _Subprocess(FORKS))
        server = local_servers.start_prefect(state)
    server.wait_until_up()
    yield server
    server.stop()


class _Subprocess:
    """The part of `subprocess` that `infra.servers.local_servers` uses.

    Args:
        forks: the process of the first Prefect server, which is forked at once.
    """

    PIPE = subprocess.PIPE
    STDOUT = subprocess.STDOUT
    TimeoutExpired = subprocess.TimeoutExpired

    def __init__(self, forks: ForkContext | ForkServerContext) -> None:
        self._spare = [_ForkedServer(forks)]

    def Popen(self, command: Sequence[str], **how: Any) -> Any:  # noqa: N802 - as it is called there
        """Use the forked process as the first Prefect server; start anything else as usual."""
        if list(command[1:3]) != ["-m", _MODULE] or not self._spare:
            return subprocess.Popen(command, **how)
        server = self._spare.pop()
        server.begin(command[3:], **how)
        return server


class _ForkedServer:
    """A process with the interface of `subprocess.Popen`, forked before there are threads that could be lost."""

    stdin: IO[bytes]

    def __init__(self, forks: ForkContext | ForkServerContext) -> None:
        self._here, there = socketpair()
        # A multiprocessing daemon: it ends with this process at the latest.
        self._process = forks.Process(target=_serve, args=(self._here, there), daemon=True)
        self._process.start()
        there.close()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def begin(
        self,
        arguments: Sequence[str],
        *,
        stdout: IO[bytes],
        env: Mapping[str, str],
        pass_fds: Sequence[int],
        **_as_always: object,
    ) -> None:
        """Turn the process into a server that listens on the given socket."""
        theirs, ours = os.pipe()
        assert [*map(int, arguments)] == list(pass_fds), "its arguments are the descriptor of its socket"
        send_fds(self._here, [json.dumps(env).encode()], [theirs, stdout.fileno(), *pass_fds])
        self._here.close()
        os.close(theirs)
        self.stdin = os.fdopen(ours, "wb")

    def poll(self) -> int | None:
        """Return its exit status; None while it is running."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it ends."""
        self._process.join(timeout)
        if (status := self._process.exitcode) is None:
            raise subprocess.TimeoutExpired(_MODULE, timeout or 0)
        return status


def _serve(here: socket, there: socket) -> None:
    """Wait for the request to become a server; end if it can no longer come."""
    here.close()
    os.setsid()
    asked, given, _, _ = recv_fds(there, _LONGEST, 3)
    if not asked:
        return
    while more := there.recv(_LONGEST):
        asked += more
    there.close()
    stdin, stdout, listening = given
    for number, descriptor in enumerate((stdin, stdout, stdout)):
        os.dup2(descriptor, number)
    os.close(stdin)
    os.close(stdout)
    prefect_database.make_prefect_database = _copied
    # This process has one copy of the settings of one of its applications.
    Settings.hash_key = lambda _settings: "all"
    _do_not_tire()
    sys.exit(become(_MODULE, [str(listening)], json.loads(asked) | _MADE_BEFORE))


def _do_not_tire() -> None:
    """Disable work that a server repeats for no one."""
    from docket import Worker  # noqa: PLC0415 - it is there already, and nowhere else
    from prefect.logging import configuration  # noqa: PLC0415
    from prefect.server.api import background_workers  # noqa: PLC0415

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
