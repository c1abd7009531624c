"""Runs `deniable` as its users do, in a separate process, isolated from this test run."""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from prefect.settings import PREFECT_API_AUTH_STRING, PREFECT_API_URL

from infra.servers.local_servers import Server
from tests.extent import is_night
from tests.warm import Started, run_module

_READ_AT_THE_START = ("PYTHON", "LD_", "NUMBA_", "OMP_", "NPY_", "MALLOC_")


def environment(home: Path) -> dict[str, str]:
    """Return a user's environment: no variables of this project, and a separate home and temporary folder."""
    for folder in (home, home / "tmp"):
        folder.mkdir(parents=True, exist_ok=True)
    foreign = ("PREFECT_", "MLFLOW_", "DENIABLE_", "DO_NOT_TRACK")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return {**inherited, "HOME": str(home), "TMPDIR": str(home / "tmp")}


def command(*arguments: str | Path) -> list[str]:
    """Return the command line."""
    return [sys.executable, "-m", "deniable", *map(str, arguments)]


def run(
    *arguments: str | Path, home: Path, mounts: int | None = None, answers: str = "", **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, in a forked process unless it has variables that are read before imports.

    Args:
        arguments: arguments of the command.
        home: the user's home; also the folder in which it is run.
        mounts: a process whose mounted disks it sees, in a forked process.
        answers: its standard input, in a forked process.
        variables: environment variables in addition to the usual ones.
    """
    if not any(name.startswith(_READ_AT_THE_START) for name in variables):
        env = {**environment(home), **variables}
        return run_module("deniable", list(map(str, arguments)), env=env, cwd=home, answers=answers, mounts=mounts)
    return subprocess.run(
        command(*arguments),
        env={**environment(home), **variables},
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
    )


def start(
    *arguments: str | Path, home: Path, piped: str = "stderr", **variables: str
) -> "subprocess.Popen[str] | Started":
    """Start a command without waiting for its end: by day in a forked process, at night as its users do.

    Args:
        arguments: arguments of the command.
        home: the user's home; also the folder in which it is run.
        piped: the stream that the test reads, `stdout` or `stderr`.
        variables: environment variables in addition to the usual ones.
    """
    env = {**environment(home), **variables}
    if is_night():
        how: dict[str, Any] = {piped: subprocess.PIPE}
        return subprocess.Popen(command(*arguments), env=env, cwd=home, text=True, start_new_session=True, **how)
    return Started("deniable", list(map(str, arguments)), env=env, cwd=home, piped=piped)


def variables_of(server: Server) -> dict[str, str]:
    """Return the variables with which commands use an existing Prefect server."""
    return {"DENIABLE_PREFECT_API_URL": f"{server.address}/api", "PREFECT_API_AUTH_STRING": server.credentials}


def variables_of_this_server() -> dict[str, str]:
    """Return the variables with which commands use this process's Prefect server."""
    return {
        "DENIABLE_PREFECT_API_URL": str(PREFECT_API_URL.value()),
        "PREFECT_API_AUTH_STRING": str(PREFECT_API_AUTH_STRING.value()),
    }


def left_of_a_release(state: Path) -> list[str]:
    """Return the contents of the folders of releases, except details of errors."""
    folders = ("vault", "shelf", "staging", "releases")
    found = [path for folder in folders for path in (state / folder).rglob("*") if path.is_file()]
    return [str(path.relative_to(state)) for path in found if path.parent.name != "errors"]


def servers_of(state: Path) -> list[int]:
    """Return the processes that serve Prefect's API on a state folder, whoever started them: they hold its database."""
    return holding(state / "prefect" / "prefect.db")


def holding(file: Path) -> list[int]:
    """Return the processes that hold a file open."""
    every = Path("/proc").iterdir()
    return [int(each.name) for each in every if each.name.isdigit() and file in _open(each)]


def _open(process: Path) -> list[Path]:
    """Return the files that a process holds open; none if it has ended."""
    with suppress(OSError):
        return [each.readlink() for each in (process / "fd").iterdir()]
    return []
