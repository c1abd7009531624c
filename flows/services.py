"""The servers that a release or an onlooker needs, on this machine's loopback: Prefect's API and MLflow's pages."""

import atexit
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from deniable.errors import DeniableError

_LOOPBACK = "127.0.0.1"
_PATIENCE_S = 180
_GRACE_S = 5


class ServerFailed(DeniableError):
    """A server did not come up."""


class Server:
    """A server process of our own; it ends with this process at the latest.

    Args:
        name: what it is called in messages.
        command: how it is started.
        port: where it listens.
        health: path that answers once it is up.
        log: file that takes what it prints.
        environment: variables that it is started with beside this process's own.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        port: int,
        health: str,
        log: Path,
        environment: Mapping[str, str],
    ) -> None:
        self.address = f"http://{_LOOPBACK}:{port}"
        self._name = name
        self._health = health
        self._log = log
        with log.open("wb") as output:
            self._process = subprocess.Popen(  # noqa: S603 - our own commands
                command,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **environment},
                start_new_session=True,
            )
        atexit.register(self.stop)

    def wait_until_up(self) -> None:
        """Wait until the server answers.

        Raises:
            ServerFailed: it ended, or did not answer in time.
        """
        give_up = time.monotonic() + _PATIENCE_S
        while self._process.poll() is None and time.monotonic() < give_up:
            try:
                with urlopen(f"{self.address}{self._health}", timeout=_GRACE_S):  # noqa: S310 - always http
                    return
            except (URLError, TimeoutError, ConnectionError):
                time.sleep(0.05)
        self.stop()
        msg = f"{self._name} must start within {_PATIENCE_S} s and did not; {self._log} says why."
        raise ServerFailed(msg)

    def stop(self) -> None:
        """End the server and all that it started."""
        atexit.unregister(self.stop)
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)
            try:
                self._process.wait(_GRACE_S)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()


def start_prefect(state: Path, port: int | None = None, *, pages: bool = False) -> Server:
    """Start Prefect's API, and its pages if wanted, on the database in the state folder."""
    port = port or free_port()
    environment = {"PREFECT__SERVER_FINAL": "1", "PREFECT_UI_ENABLED": "1" if pages else "0"}
    environment["PREFECT__SERVER_WEBSERVER_ONLY" if pages else "PREFECT__SERVER_EPHEMERAL"] = "1"
    if pages:
        environment["PREFECT_SERVER_UI_API_URL"] = f"http://{_LOOPBACK}:{port}/api"
    return Server(
        "the Prefect server",
        [sys.executable, "-m", "flows.prefect_server", str(port)],
        port=port,
        health="/api/health",
        log=state / "prefect" / ("pages.log" if pages else "server.log"),
        environment=environment,
    )


def start_mlflow(state: Path, port: int | None = None) -> Server:
    """Start MLflow's pages on the database and the artifacts in the state folder.

    Raises:
        ServerFailed: the records are kept by a server elsewhere, which has pages of its own.
    """
    store = os.environ["MLFLOW_TRACKING_URI"]
    if store.startswith("http"):
        msg = f"MLflow's records are kept by {store}; look at its pages, there are none to show here."
        raise ServerFailed(msg)
    port = port or free_port()
    return Server(
        "the MLflow server",
        # Not the address of the store, which may hold a password: every user of the machine can read arguments.
        [sys.executable, "-m", "flows.mlflow_server", str(port), str(state / "mlflow" / "artifacts")],
        port=port,
        health="/health",
        log=state / "mlflow" / "pages.log",
        environment={},
    )


def free_port(wanted: int = 0) -> int:
    """A port of the loopback that nobody listens on: the wanted one if it is free, else any."""
    for port in (wanted, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((_LOOPBACK, port))
            except OSError:
                continue
            bound: int = probe.getsockname()[1]
            return bound
    msg = "a free port is needed on the loopback and there is none; close some programs."
    raise ServerFailed(msg)
