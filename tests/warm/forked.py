"""A process forked from this one or from the process of all commands, which then becomes a program."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from multiprocessing import process
from multiprocessing.context import ForkContext, ForkServerContext
from pathlib import Path
from pickle import dumps, loads
from socket import recv_fds, send_fds, socket, socketpair
from typing import IO, Any

from tests.warm.becoming import become

_LONGEST = 2**20


class Forked:
    """A process with the interface of `subprocess.Popen`, forked before there are threads that could be lost.

    Args:
        forks: the process from which it is forked.
        stays: whether it outlives this process.

    Attributes:
        args: the command that would start it.
    """

    args: Sequence[str] = ()
    stdin: IO[bytes] | None = None

    def __init__(self, forks: ForkContext | ForkServerContext, *, stays: bool = False) -> None:
        self._here, there = socketpair()
        # A multiprocessing daemon ends with this process at the latest.
        self._process = forks.Process(target=_serve, args=(self._here, there), daemon=not stays)
        self._process.start()
        if stays:
            process._children.discard(self._process)  # type: ignore[attr-defined]
        there.close()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def begin(
        self,
        module: str,
        arguments: Sequence[str],
        *,
        prepare: Callable[[], None] | None,
        stdout: IO[bytes],
        env: Mapping[str, str],
        pass_fds: Sequence[int] = (),
        stdin: int = subprocess.DEVNULL,
        **_as_always: object,
    ) -> None:
        """Turn the process into a program.

        Args:
            module: what is run, as `python -m module`.
            arguments: of the program; the last are the descriptors that it is given.
            prepare: what the process does first, if anything, in the program's environment.
            stdout: its standard output and standard error.
            env: its environment.
            pass_fds: the descriptors.
            stdin: whether its standard input is a pipe.
        """
        theirs, ours = os.pipe()
        own = len(arguments) - len(pass_fds)
        assert [*map(int, arguments[own:])] == list(pass_fds), "its last arguments are its descriptors"
        told = {"module": module, "arguments": list(arguments[:own]), "env": dict(env), "cwd": str(Path.cwd())}
        asked = json.dumps({**told, "executable": sys.executable, "prepare": dumps(prepare).hex()})
        send_fds(self._here, [asked.encode()], [theirs, stdout.fileno(), *pass_fds])
        self._here.close()
        os.close(theirs)
        if stdin == subprocess.PIPE:
            self.stdin = os.fdopen(ours, "wb")
        else:
            os.close(ours)

    def poll(self) -> int | None:
        """Return its exit status; None while it is running."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it ends."""
        self._process.join(timeout)
        if (status := self._process.exitcode) is None:
            raise subprocess.TimeoutExpired("a forked process", timeout or 0)
        return status


def _serve(here: socket, there: socket) -> None:
    """Wait for the request to become a program; end if it can no longer come."""
    here.close()
    os.setsid()
    asked, given, _, _ = recv_fds(there, _LONGEST, 3)
    if not asked:
        return
    while more := there.recv(_LONGEST):
        asked += more
    there.close()
    stdin, stdout, *sockets = given
    for number, descriptor in enumerate((stdin, stdout, stdout)):
        os.dup2(descriptor, number)
    os.close(stdin)
    os.close(stdout)
    told: dict[str, Any] = json.loads(asked)
    with suppress(FileNotFoundError):
        os.chdir(told["cwd"])
    sys.executable = told["executable"]
    prepare: Callable[[], None] | None = loads(bytes.fromhex(told["prepare"]))  # noqa: S301 - of our own process
    arguments = [*told["arguments"], *map(str, sockets)]
    sys.exit(become(told["module"], arguments, told["env"], prepare))
