"""Keeps servers running, and makes sure that runs of deployments end.

It reports its findings and actions on standard output, one per line; under `stack up`, that is the log `watch`.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryFile

from prefect import get_client
from prefect.settings import PREFECT_CLIENT_MAX_RETRIES, temporary_settings

from deniable.foundation.errors import DeniableError
from flows.prefect_runs.resuming import RunWatch
from infra.stack.settings import Stack
from stores.servers.prefect_failures import prefect_failure
from stores.vault.lease import turn

_OFTEN = "PREFECT_WORKER_QUERY_SECONDS"
_EVERY_S = "10"
_LONGEST_S = 300.0
_TURN = ".watch"
_SAID = 3


def watch(state: Path) -> None:
    """Watch until this process is stopped; of several watches on one state folder, only one is active at a time.

    Args:
        state: the state folder.
    """
    every = float(os.environ.get(_OFTEN, _EVERY_S))
    keeper, trouble = Keeper(Stack(state), every), ""
    with turn(state, _TURN), temporary_settings({PREFECT_CLIENT_MAX_RETRIES: 0}):
        while True:
            # A client that started before its server, or lost the connection, connects again.
            for line in keeper.look():
                _say(line)
            trouble = _look_after_runs(state, keeper, every, trouble)
            time.sleep(every)


def _look_after_runs(state: Path, keeper: "Keeper", every: float, trouble: str) -> str:
    """Watch the runs of deployments as long as Prefect answers.

    Args:
        state: the state folder.
        keeper: watches the servers meanwhile.
        every: seconds between checks.
        trouble: why Prefect did not answer before, which is not reported again.

    Returns:
        Why Prefect does not answer.
    """
    try:
        with get_client(sync_client=True) as client:
            runs = RunWatch(client, state)
            while True:
                for line in (*keeper.look(), *runs.look()):
                    _say(line)
                trouble = ""
                time.sleep(every)
    except DeniableError as error:
        said = str(error)
    except Exception as error:  # noqa: BLE001 - whatever it is, the next look starts afresh
        said = prefect_failure(error) or f"Prefect could not be queried ({type(error).__name__})."
    if said != trouble:
        _say(said)
    return said


def _say(line: str) -> None:
    print(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}  {line}")  # noqa: T201 - this is its log


class Keeper:
    """Restarts servers that are down although they were started and no one has stopped them.

    Args:
        stack: the servers of a state folder; there may be none.
        every: seconds to wait after a failed start before the next attempt; doubled each time.
    """

    def __init__(self, stack: Stack, every: float) -> None:
        self._stack = stack
        self._every = self._pause = every
        self._not_before = 0.0
        self._down: list[str] = []
        self._starting: subprocess.Popen[bytes] | None = None
        self._said = TemporaryFile()  # noqa: SIM115 - open for as long as this watches

    def look(self) -> Iterator[str]:
        """Start what is down with the command that a person would use, without waiting for it.

        Yields:
            What was done.
        """
        if self._starting is not None:
            if self._starting.poll() is not None:
                yield self._ended(self._starting.returncode)
                self._starting = None
            return
        if not self._stack.is_set_up or time.monotonic() < self._not_before:
            return
        from infra.stack.command import stopped_servers  # noqa: PLC0415 - needs what only a stack needs

        # A server that failed to start is stopped again, and so looks as if a user had stopped it.
        self._down = list(dict.fromkeys([*self._down, *stopped_servers(self._stack)]))
        if not self._down:
            return
        yield f"down: {', '.join(self._down)}"
        self._said.seek(0)
        self._said.truncate()
        self._starting = subprocess.Popen(  # noqa: S603 - our own command
            [sys.executable, "-m", "flows", "servers", "stack", "up", "--state", str(self._stack.state)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._said,
        )

    def _ended(self, status: int) -> str:
        """Return the outcome of an attempt to start what is down."""
        self._not_before = time.monotonic() + self._pause
        if status == 0:
            up, self._pause, self._down = self._down, self._every, []
            return f"up again: {', '.join(up)}"
        self._pause = min(2 * self._pause, _LONGEST_S)
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").strip().splitlines()
        return "not up again: " + " | ".join(lines[-_SAID:])
