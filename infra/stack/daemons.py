"""Processes that outlive the command that started them, and are stopped by another command.

A process is identified by its id and its start time, so another process with the same id is never stopped.
"""

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from deniable.foundation.errors import DeniableError
from infra.servers.local_servers import LOOPBACK
from stores.own_files import opened_own, own_descriptor, read_own
from stores.vault.disk import replace_whole

_PATIENCE_S = 180.0
_GRACE_S = 30.0
_PAUSE_S = 0.1
_SAME_MOMENT_S = 0.5
_LAST_LINES = 3
_LAST_BYTES = 1 << 16
_TO_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND


class DaemonFailed(DeniableError):
    """A server did not start, or did not stop."""


@dataclass(frozen=True, kw_only=True)
class Daemon:
    """A server process.

    Attributes:
        name: its name.
        command: the command that starts it.
        environment: its whole environment, which contains the passwords; the command contains none.
        run: folder for its process id.
        logs: folder for its log.
        up: returns whether it answers.
        stop_signal: the signal that ends it cleanly.
        before: a function that its process calls first.
        port: port of the loopback on which a socket is opened for it; the descriptor is added to the command.
    """

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    run: Path
    logs: Path
    up: Callable[[], bool]
    stop_signal: int = signal.SIGTERM
    before: Callable[[], None] | None = None
    port: int | None = None

    @property
    def log(self) -> Path:
        """The file of its log."""
        return self.logs / f"{self.name}.log"

    @property
    def running(self) -> psutil.Process | None:
        """Its process, if it is running."""
        return running(self.run, self.name)

    def start(self) -> bool:
        """Start it, unless it is running.

        Returns:
            Whether it was started.

        Raises:
            DaemonFailed: another program listens on its port.
        """
        if self.running is not None:
            return False
        with self._sockets() as sockets, os.fdopen(own_descriptor(self.log, _TO_APPEND), "ab") as output:
            process = subprocess.Popen(  # noqa: S603 - our own commands
                [*self.command, *map(str, sockets)],
                pass_fds=sockets,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=dict(self.environment),
                start_new_session=True,
                preexec_fn=self.before,  # noqa: PLW1509 - nothing here has threads yet
            )
        made = psutil.Process(process.pid).create_time()
        replace_whole(self.run / f"{self.name}.json", json.dumps({"pid": process.pid, "made": made}))
        return True

    @contextmanager
    def _sockets(self) -> Iterator[list[int]]:
        """Return descriptors of its sockets: no other program can listen on the port and receive its requests."""
        if self.port is None:
            yield []
            return
        try:
            listening = socket.create_server((LOOPBACK, self.port))
        except OSError as error:
            msg = f"{self.name} must have the port {self.port} of the loopback, and cannot get it: {error.strerror}."
            raise DaemonFailed(msg) from None
        with listening:
            yield [listening.fileno()]

    def wait_until_up(self) -> None:
        """Wait until it answers.

        Raises:
            DaemonFailed: it ended, or did not answer in time.
        """
        give_up = time.monotonic() + _PATIENCE_S
        while time.monotonic() < give_up:
            if self.running is None:
                msg = f"{self.name} must stay up, and ended: {_last_words(self.log)}; see {self.log}."
                raise DaemonFailed(msg)
            if self.up():
                return
            time.sleep(_PAUSE_S)
        msg = f"{self.name} must answer within {_PATIENCE_S:g} s, and did not; see {self.log}."
        raise DaemonFailed(msg)

    def stop(self) -> bool:
        """Stop it and the processes that it started, if it is running.

        Returns:
            Whether it was running.
        """
        return stop(self.run, self.name, self.stop_signal)


def running(run: Path, name: str) -> psutil.Process | None:
    """Return the process of that name, if it is the one that was started and has not ended."""
    try:
        noted = json.loads(read_own(run / f"{name}.json"))
        process = psutil.Process(noted["pid"])
        same = abs(process.create_time() - noted["made"]) < _SAME_MOMENT_S
        return process if same and process.status() != psutil.STATUS_ZOMBIE else None
    except (FileNotFoundError, ValueError, KeyError, psutil.NoSuchProcess):
        return None


def stop(run: Path, name: str, stop_signal: int) -> bool:
    """Stop the process of that name, and its children.

    Returns:
        Whether it was running.

    Raises:
        DaemonFailed: it belongs to another user.
    """
    process = running(run, name)
    if process is not None:
        try:
            family = [process, *process.children(recursive=True)]
            os.kill(process.pid, stop_signal)
            _, left = psutil.wait_procs(family, timeout=_GRACE_S)
            for one in left:
                one.kill()
            psutil.wait_procs(left, timeout=_GRACE_S)
        except psutil.NoSuchProcess:
            pass
        except (PermissionError, psutil.AccessDenied):
            msg = f"{name} must be stopped by the user who started it, and process {process.pid} is another user's."
            raise DaemonFailed(msg) from None
    (run / f"{name}.json").unlink(missing_ok=True)
    return process is not None


def _last_words(log: Path) -> str:
    """Return the end of a log in one line."""
    lines: list[str] = []
    with suppress(FileNotFoundError), opened_own(log) as file:
        file.seek(max(file.seek(0, os.SEEK_END) - _LAST_BYTES, 0))
        lines = file.read().decode(errors="replace").strip().splitlines()
    return " | ".join(line.strip() for line in lines[-_LAST_LINES:]) or "without a message"
