"""The servers for a release or a reader of pages, on this machine's loopback: Prefect's API and MLflow's pages.

Each start has a new password, known only to the processes that need it and not stored in any file. A leaked password,
for instance from a browser that remembered it, is useless once the server has stopped.
"""

import atexit
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from deniable.foundation.errors import DeniableError
from deniable.foundation.keys import new_secret
from infra.servers.prefect_pages import PAGES_THAT_ASK_NOBODY_ELSE
from stores.keys.prefect_encryption import encryption_key
from stores.own_files import own_descriptor

CREDENTIALS_VARIABLE = "DENIABLE_PAGES_CREDENTIALS"
"""Credentials for MLflow's pages, as USER:PASSWORD; not an argument, because every user can read arguments."""

LOOPBACK = "127.0.0.1"
_USER = "deniable"
_DIGITS = 32
_BACKLOG = 128
_PATIENCE_S = 180
_GRACE_S = 5


class ServerFailed(DeniableError):
    """A server did not start."""


class Server:
    """A server process that ends with this process at the latest.

    Args:
        name: its name in messages.
        command: the command that starts it; the descriptor of its socket is added.
        listening: the socket, which this process closes.
        health: path that answers once the server is up.
        log: file for its output.
        credentials: user and password that it requires, as USER:PASSWORD.
        environment: its variables in addition to this process's own.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        listening: socket.socket,
        health: str,
        log: Path,
        credentials: str,
        environment: Mapping[str, str],
    ) -> None:
        self.address = f"http://{LOOPBACK}:{listening.getsockname()[1]}"
        self.credentials = credentials
        self._name = name
        self._health = health
        self._log = log
        with closing(listening), os.fdopen(own_descriptor(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as output:
            self._process = subprocess.Popen(  # noqa: S603 - our own commands
                [*command, str(listening.fileno())],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **environment},
                pass_fds=[listening.fileno()],
                start_new_session=True,
            )
        atexit.register(self.stop)

    def wait_until_up(self) -> None:
        """Wait until the server answers.

        Raises:
            ServerFailed: the server ended, or did not answer in time.
        """
        give_up = time.monotonic() + _PATIENCE_S
        while self._process.poll() is None and time.monotonic() < give_up:
            try:
                with urlopen(f"{self.address}{self._health}", timeout=_GRACE_S):  # noqa: S310 - always http
                    return
            except (URLError, TimeoutError, ConnectionError):
                time.sleep(0.05)
        self.stop()
        msg = f"{self._name} must start within {_PATIENCE_S} s and did not; see {self._log}."
        raise ServerFailed(msg)

    def stop(self) -> None:
        """Stop the server and the processes that it started."""
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


_RECORDED_TOGETHER = {
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "20",
    # In whole seconds: Prefect rounds down, and for 0 never pauses.
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
}
"""States of task runs are recorded once a second, and at the end: each by itself takes a third of the server's time."""


def start_prefect(
    state: Path, port: int | None = None, *, credentials: str | None = None, pages: bool = False
) -> Server:
    """Start Prefect's API, and its pages if requested, on the database in the state folder.

    Args:
        state: the state folder.
        port: port to listen on, if it is free; by default any.
        credentials: user and password that it requires, as USER:PASSWORD; by default new ones.
        pages: whether to serve its pages.

    Raises:
        InvalidInput: the key with which Prefect encrypts secret blocks cannot be read or made.
    """
    encrypted_with = os.environ.get("PREFECT_SERVER_ENCRYPTION_KEY") or encryption_key(state)
    listening, credentials = listen(port or 0), credentials or new_credentials()
    environment = {
        "PREFECT__SERVER_FINAL": "1",
        "PREFECT__SERVER_WEBSERVER_ONLY" if pages else "PREFECT__SERVER_EPHEMERAL": "1",
        "PREFECT_UI_ENABLED": "1" if pages else "0",
        # The services that automations need; automations concern deployments, which only a stack has.
        "PREFECT_SERVER_SERVICES_TRIGGERS_ENABLED": "false",
        **_RECORDED_TOGETHER,
        **guarded_prefect(credentials, encrypted_with, f"http://{LOOPBACK}:{listening.getsockname()[1]}"),
    }
    return Server(
        "the Prefect server",
        [sys.executable, "-m", "infra.servers.prefect_server"],
        listening=listening,
        health="/api/health",
        log=state / "prefect" / ("pages.log" if pages else "server.log"),
        credentials=credentials,
        environment=environment,
    )


def guarded_prefect(credentials: str, encrypted_with: str, address: str) -> dict[str, str]:
    """Return settings that protect a Prefect server, in addition to the access control of infra.servers.access.

    Args:
        credentials: user and password that it requires, as USER:PASSWORD.
        encrypted_with: key for its secret blocks; without one, Prefect keeps a key next to the blocks in its database.
        address: address of its pages.
    """
    return {
        "PREFECT_SERVER_API_AUTH_STRING": credentials,
        "PREFECT_SERVER_ENCRYPTION_KEY": encrypted_with,
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": address,
        # The origin of its pages, under whichever name they were requested.
        "PREFECT_SERVER_UI_API_URL": "/api",
        **PAGES_THAT_ASK_NOBODY_ELSE,
    }


def own_prefect(state: Path) -> Server | None:
    """Start a Prefect server for this process and its children, unless the environment already names one.

    This does not wait for the server: on import, Prefect needs only its address and its password.
    """
    if "PREFECT_API_URL" in os.environ:
        return None
    server = start_prefect(state)
    os.environ |= {"PREFECT_API_URL": f"{server.address}/api", "PREFECT_API_AUTH_STRING": server.credentials}
    return server


def start_mlflow(state: Path, port: int | None = None, *, credentials: str | None = None) -> Server:
    """Start MLflow's pages on the database and the artifacts in the state folder.

    Args:
        state: the state folder.
        port: port to listen on, if it is free; by default any.
        credentials: user and password that it requires, as USER:PASSWORD; by default new ones.

    Raises:
        ServerFailed: a server elsewhere keeps the records, and has its own pages.
    """
    store = os.environ["MLFLOW_TRACKING_URI"]
    if store.startswith("http"):
        msg = f"MLflow's records are kept by {store}; see its pages, there are none to show here."
        raise ServerFailed(msg)
    credentials = credentials or new_credentials()
    return Server(
        "the MLflow server",
        # Not the address of the store, which may contain a password: every user of the machine can read arguments.
        [sys.executable, "-m", "infra.servers.mlflow_server", str(state / "mlflow" / "artifacts")],
        listening=listen(port or 0),
        health="/health",
        log=state / "mlflow" / "pages.log",
        credentials=credentials,
        environment={CREDENTIALS_VARIABLE: credentials},
    )


def new_credentials() -> str:
    """Return a user and a new password, as USER:PASSWORD."""
    return f"{_USER}:{new_secret().hex()[:_DIGITS]}"


def listen(wanted: int = 0, host: str = LOOPBACK) -> socket.socket:
    """Listen on a port of an address: the requested one if it is free, otherwise any; a server will answer there later.

    Raises:
        ServerFailed: no port is free.
    """
    for port in (wanted, 0):
        try:
            return socket.create_server((host, port), backlog=_BACKLOG)
        except OSError:
            continue
    msg = f"a free port is needed at {host} and there is none; close some programs."
    raise ServerFailed(msg)


def free_port(wanted: int = 0) -> int:
    """Return a free port of the loopback: the requested one if it is free, otherwise any."""
    with listen(wanted) as probe:
        bound: int = probe.getsockname()[1]
    return bound
