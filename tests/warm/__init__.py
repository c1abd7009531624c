"""Runs commands in separate processes that need not import Prefect, MLflow and other libraries first.

They are forked from one process that has imported everything and done nothing else, which saves each of them some
seconds. Everything else is as for a user: a fresh environment, folder, standard input and output, and a process that
can be killed. Commands in tests about imports or first starts are run by `subprocess`, and so are, at night, those that
a test interrupts, kills or watches.
"""

import atexit
import ctypes
import faulthandler
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from multiprocessing import connection
from pathlib import Path
from threading import Event, Timer
from typing import Any, NoReturn

from tests.extent import is_night
from tests.pictures import are_drawn_once, drawn_once
from tests.warm.becoming import become, end_as_python_does
from tests.warm.daemons import fork_daemons
from tests.warm.forking import FORKS
from tests.warm.python import python_of_commands
from tests.warm.servers import fork_servers

_WRITING = os.O_WRONLY | os.O_CREAT | os.O_APPEND


def run_module(
    module: str,
    arguments: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    answers: str = "",
    mounts: int | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run `python -m module arguments` to its end, as `subprocess.run` does.

    Args:
        module: what is run.
        arguments: of the command.
        env: its environment.
        cwd: the folder in which it is run.
        answers: its standard input.
        mounts: a process whose mounted disks it sees.
    """
    with tempfile.TemporaryDirectory(prefix="deniable-warm-") as name:
        out, err = Path(name, "out"), Path(name, "err")
        Path(name, "in").write_text(answers)
        status = _status(module, arguments, env, cwd, out, err, answers=Path(name, "in"), mounts=mounts)
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


class Started:
    """A command in a forked process that is not waited for, with the part of `subprocess.Popen`'s interface in use.

    Args:
        module: what is run, as `python -m module`.
        arguments: of the command.
        env: its environment.
        cwd: the folder in which it is run.
        piped: the stream to read, `stdout` or `stderr`; nobody reads the other.

    Attributes:
        pid: the process.
        stdout: its standard output, if it is read.
        stderr: its standard error, likewise.
    """

    def __init__(
        self, module: str, arguments: Sequence[str], *, env: Mapping[str, str], cwd: Path, piped: str = "stderr"
    ) -> None:
        with tempfile.TemporaryDirectory(prefix="deniable-warm-") as name:
            os.mkfifo(pipe := Path(name, "pipe"))
            places = {"stdout": Path(os.devnull), "stderr": Path(os.devnull), piped: pipe}
            given = (
                *(module, list(arguments), dict(env), cwd, _umask(), Path(os.devnull)),
                *(places["stdout"], places["stderr"]),
            )
            self._process = FORKS.Process(target=_become, args=given, kwargs=_how())
            # Not waiting for it to be opened at the other end, which a process that fails at once never does.
            reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
            self._process.start()
            connection.wait([self._process.sentinel, reading])
        os.set_blocking(reading, True)
        read = os.fdopen(reading, encoding="utf-8")
        assert self._process.pid is not None
        self.pid = self._process.pid
        # Otherwise multiprocessing would wait at the end for a process that a failed test has left.
        atexit.register(self.kill)
        self.stdout, self.stderr = (read if name == piped else None for name in ("stdout", "stderr"))

    @property
    def returncode(self) -> int | None:
        """Its exit status, negative for a signal; None while it is running."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """Return its exit status; None while it is running."""
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.returncode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it ends, and return its exit status."""
        self._process.join(timeout)
        if (status := self.returncode) is None:
            raise subprocess.TimeoutExpired("a forked command", timeout or 0)
        return status

    def communicate(self, timeout: float | None = None) -> tuple[str | None, str | None]:
        """Read what is left of its output, and wait until it ends.

        Raises:
            TimeoutExpired: it did not end in time; the message lists what its threads were doing.
        """
        expired = Event()
        timer = Timer(timeout or 0, self._list_threads, (expired,))
        if timeout is not None:
            timer.start()
        said, complaint = (stream and stream.read() for stream in (self.stdout, self.stderr))
        self.wait()
        timer.cancel()
        if expired.is_set():
            raise subprocess.TimeoutExpired(f"a forked command, which wrote\n{complaint or said}", timeout or 0)
        return said, complaint

    def _list_threads(self, expired: Event) -> None:
        """End it by a signal upon which it lists its threads on standard error."""
        expired.set()
        self.send_signal(signal.SIGABRT)


def _status(
    module: str,
    arguments: Sequence[str],
    env: Mapping[str, str],
    cwd: Path,
    out: Path,
    err: Path,
    answers: Path = Path(os.devnull),
    mounts: int | None = None,
) -> int:
    given = (module, list(arguments), dict(env), cwd, _umask(), answers, out, err)
    process = FORKS.Process(target=_become, args=given, kwargs={**_how(), "mounts": mounts})
    process.start()
    process.join()
    assert process.exitcode is not None
    return process.exitcode


def _how() -> dict[str, Any]:
    """What applies to all commands of this process now."""
    return {"once": are_drawn_once(), "python": None if is_night() else python_of_commands()}


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
    python: str | None,
    mounts: int | None = None,
) -> NoReturn:
    """Turn this process into the command."""
    if mounts is not None:
        _see_mounts_of(mounts)
    streams = ((0, answers, os.O_RDONLY), (1, out, _WRITING), (2, err, _WRITING))
    for number, place, how in streams:
        opened = os.open(place, how, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    faulthandler.enable(file=2)
    os.chdir(cwd)
    os.umask(umask)
    fork_servers()
    if python is not None:
        sys.executable = python
        fork_daemons()
    with drawn_once(once=once):
        status = become(module, arguments, env)
    end_as_python_does()
    sys.exit(status)


def _see_mounts_of(process: int) -> None:
    """Enter the mounts of another process, and its users, if these are its own."""
    for kind in ("user", "mnt"):
        theirs, ours = (Path("/proc", each, "ns", kind) for each in (str(process), "self"))
        if theirs.readlink() != ours.readlink():
            with theirs.open() as file:
                # As os.setns of Python 3.12 does.
                if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), 0):
                    raise OSError(ctypes.get_errno(), f"setns to {theirs}")
