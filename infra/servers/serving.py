"""Serves an application behind a door, on a socket that whoever starts the server has opened.

The socket is opened before the server is started, and handed over: no other program can take the port in between, and
be told what was meant for the server.
"""

import os
import signal
import socket
import sys
import threading
from collections.abc import Sequence

import uvicorn
from starlette.types import ASGIApp

from infra.servers.access import OWN_NAMES, behind_door

NAMES_VARIABLE = "DENIABLE_SERVER_NAMES"


def serve(
    server: ASGIApp,
    descriptor: int,
    *,
    names: Sequence[str] = OWN_NAMES,
    credentials: str | None = None,
    log_level: str,
) -> None:
    """Serve until the process is told to end.

    Args:
        server: the application.
        descriptor: of the socket, which listens.
        names: by which the server may be asked.
        credentials: user and password that it asks for, as USER:PASSWORD, unless it has users itself.
        log_level: of what it prints.
    """
    settings = uvicorn.Config(behind_door(server, names, credentials), log_level=log_level, lifespan="on")
    uvicorn.Server(settings).run(sockets=[socket.socket(fileno=descriptor)])


def known_names() -> list[str]:
    """By which names the servers of an agency may be asked: the loopback's, and those that a proxy before them has."""
    return [*OWN_NAMES, *os.environ.get(NAMES_VARIABLE, "").split()]


def descriptor_of(where: str) -> int:
    """The descriptor of a socket that listens, where that is handed over, or at HOST:PORT."""
    if where.isdecimal():
        return int(where)
    host, _, port = where.rpartition(":")
    return socket.create_server((host, int(port))).detach()


def end_when_abandoned() -> None:
    """End this process in order when standard input ends, however the process ends that holds its other end."""
    threading.Thread(target=_end_with_input, daemon=True).start()


def _end_with_input() -> None:
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)
