"""Runs commands in separate processes that need not import Prefect, MLflow and other libraries first.

They are forked from one process that has imported everything and done nothing else, which saves each of them some
seconds. Everything else is as for a user: a fresh environment, folder, standard input and output, and a process that
can be killed. Commands in tests about processes, servers or imports are run by `subprocess`.
"""

import atexit
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from tests.pictures import are_drawn_once, drawn_once
from tests.warm.becoming import become
from tests.warm.forking import FORKS
from tests.warm.servers import fork_servers

_WRITING = os.O_WRONLY | os.O_CREAT | os.O_APPEND


def run_module(
    module: str, arguments: Sequence[str], *, env: Mapping[str, str], cwd: Path, answers: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run `python -m module arguments` to its end, as `subprocess.run` does.

    Args:
        module: what is run.
        arguments: of the command.
        env: its environment.
        cwd: the folder in which it is run.
        answers: its standard input.
    """
    with tempfile.TemporaryDirectory(prefix="deniable-warm-") as name:
        out, err = Path(name, "out"), Path(name, "err")
        Path(name, "in").write_text(answers)
        status = _status(module, arguments, env, cwd, out, err, answers=Path(name, "in"))
        return subprocess.CompletedProcess(
            [sys.executable, "-m", module, *arguments], status, out.read_text(), err.read_text()
        )


def run_for(process: int, module: str, arguments: Sequence[str], *, env: Mapping[str, str], cwd: Path) -> int:
    """Run `python -m module arguments` with the standard input and output of another process.

    Args:
        process: the other one, which waits meanwhile.
        module: what is run.
        arguments: of the command.
        env: its environment.
        cwd: the folder in which it is run.

    Returns:
        The status that it ends with.
    """
    given, out, err = (Path("/proc", str(process), "fd", str(number)) for number in (0, 1, 2))
    return _status(module, arguments, env, cwd, out, err, answers=given)


def _status(
    module: str,
    arguments: Sequence[str],
    env: Mapping[str, str],
    cwd: Path,
    out: Path,
    err: Path,
    answers: Path = Path(os.devnull),
) -> int:
    given = (module, list(arguments), dict(env), cwd, _umask(), answers, out, err)
    process = FORKS.Process(target=_become, args=given, kwargs={"once": are_drawn_once()})
    process.start()
    process.join()
    assert process.exitcode is not None
    return process.exitcode


def _umask() -> int:
    now = os.umask(0)
    os.umask(now)
    return now


def _become(
    module: str,
    arguments: list[str],
    env: dict[str, str],
    cwd: Path,
    umask: int,
    answers: Path,
    out: Path,
    err: Path,
    *,
    once: bool,
) -> NoReturn:
    """Turn this process into the command."""
    streams = ((0, answers, os.O_RDONLY), (1, out, _WRITING), (2, err, _WRITING))
    for number, place, how in streams:
        opened = os.open(place, how, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    os.chdir(cwd)
    os.umask(umask)
    fork_servers()
    with drawn_once(once=once):
        status = become(module, arguments, env)
    atexit._run_exitfuncs()
    sys.exit(status)
