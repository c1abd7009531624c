"""Serves an application behind access control, on a socket opened by the process that starts the server.

The socket is opened before the server is started, and passed to it, so no other program can take the port in between
and receive the server's requests.
"""

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Sequence

import uvicorn
from starlette.types import ASGIApp

from infra.servers.access import OWN_NAMES, behind_door

NAMES_VARIABLE = "DENIABLE_SERVER_NAMES"

_GRACE_S = 20
"""How long the clean end of a server that was abandoned may take."""


def serve(
    server: ASGIApp,
    descriptor: int,
    *,
    names: Sequence[str] = OWN_NAMES,
    credentials: str | None = None,
    log_level: str,
) -> None:
    """Serve until the process is stopped.

    Args:
        server: the application.
        descriptor: descriptor of the listening socket.
        names: names under which the server may be addressed.
        credentials: the required user and password, as USER:PASSWORD, unless the server has its own users.
        log_level: level of its log.
    """
    settings = uvicorn.Config(behind_door(server, names, credentials), log_level=log_level, lifespan="on")
    uvicorn.Server(settings).run(sockets=[socket.socket(fileno=descriptor)])


def known_names() -> list[str]:
    """Return the names under which an agency's servers may be addressed: the loopback's, and those of a proxy."""
    return [*OWN_NAMES, *os.environ.get(NAMES_VARIABLE, "").split()]


def descriptor_of(where: str) -> int:
    """Return the descriptor of a listening socket: the given one, or that of a new socket at HOST:PORT."""
    if where.isdecimal():
        return int(where)
    host, _, port = where.rpartition(":")
    return socket.create_server((host, int(port))).detach()


def end_when_abandoned() -> None:
    """End this process when standard input ends, however the process at its other end ended: cleanly, if it can."""
    threading.Thread(target=_end_with_input, daemon=True).start()


def _end_with_input() -> None:
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_GRACE_S)
    # Its clean end hangs, and no one is left to stop it.
    os._exit(1)
