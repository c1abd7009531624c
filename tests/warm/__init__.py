"""Runs commands in processes of their own that need not import Prefect, MLflow and the rest first.

They are forked from one process that has imported all of it and done nothing else, which spares each of them some
seconds. All else is as it is for a user: a fresh environment, folder, standard input and output, and a process that can
be killed. Commands that are about processes, servers or imports themselves are run by `subprocess`, as they are.
"""

import atexit
import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(["tests.warm.imported"])
_READ_AT_IMPORT = {"PREFECT_HOME", "PREFECT_API_URL", "PREFECT_API_AUTH_STRING"}


def run_module(
    module: str, arguments: Sequence[str], *, env: Mapping[str, str], cwd: Path
) -> subprocess.CompletedProcess[str]:
    """Run `python -m module arguments` to its end, as `subprocess.run` does.

    Args:
        module: what is run.
        arguments: of the command.
        env: its environment.
        cwd: the folder in which it is run.
    """
    with tempfile.TemporaryDirectory(prefix="deniable-warm-") as name:
        out, err = Path(name, "out"), Path(name, "err")
        process = _forks.Process(target=_become, args=(module, list(arguments), dict(env), cwd, _umask(), out, err))
        process.start()
        process.join()
        assert process.exitcode is not None
        return subprocess.CompletedProcess(
            [sys.executable, "-m", module, *arguments], process.exitcode, out.read_text(), err.read_text()
        )


def _umask() -> int:
    now = os.umask(0)
    os.umask(now)
    return now


def _become(
    module: str, arguments: list[str], env: dict[str, str], cwd: Path, umask: int, out: Path, err: Path
) -> NoReturn:
    """Be the command from now on."""
    for number, place in ((1, out), (2, err)):
        opened = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115 - as long as the process
    sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    os.umask(umask)
    tempfile.tempdir = None
    sys.argv = [module, *arguments]
    os.environ.__class__ = _Environment
    status = _status_of(module)
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.exit(status)


class _Environment(os._Environ[str]):
    """The environment of a process in which Prefect knows what is set, as if it was imported after that."""

    def __setitem__(self, name: str, value: str) -> None:
        super().__setitem__(name, value)
        if name in _READ_AT_IMPORT:
            from prefect.context import refresh_global_settings_context  # noqa: PLC0415 - it is there already

            refresh_global_settings_context()


def _status_of(module: str) -> int:
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)  # noqa: T201 - as Python does
            return 1
        return end.code or 0
    return 0
