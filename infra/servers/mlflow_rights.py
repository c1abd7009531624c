"""Decides at the door of an MLflow server which of its routes each user may use; every other route is refused.

`mlflow_routes.txt` names every route of MLflow with who may use it, by method and path: without the part
`/api/2.0` or `/ajax-api/3.0`, with `_` for a part of a path, and with `*` for the rest of one.

read        everybody with a password
write       the accounts with which releases are made: names of experiments, models, runs and tags are theirs alone
administer  MLflow's administrator
closed      nobody: what runs programs, contacts other servers, or has no part in releases

A route that a later version of MLflow adds is in no line, and so nobody may use it until someone decides. MLflow itself
checks passwords, and what it grants to each user.
"""

import base64
import binascii
import os
import re
from collections.abc import Mapping
from enum import IntEnum
from functools import cache
from pathlib import Path

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

WRITERS_VARIABLE = "DENIABLE_MLFLOW_WRITERS"
"""Names of the users who may write, separated by commas."""

ROUTES = Path(__file__).with_name("mlflow_routes.txt")

_API = re.compile(r"/(ajax-)?api/\d\.\d/?")
_READING_METHODS = {"HEAD": "GET"}


class Right(IntEnum):
    """What a route requires; each right includes those before it."""

    READ = 1
    WRITE = 2
    ADMINISTER = 3
    CLOSED = 4


def right_for(method: str, path: str) -> Right:
    """Return what a request requires; a route without a name is closed.

    Args:
        method: its method.
        path: its path, decoded.
    """
    asked = f"{_READING_METHODS.get(method, method)} {_API.sub('/', path, count=1) if _API.match(path) else path}"
    return max((right for route, right in _patterns().items() if route.fullmatch(asked)), default=Right.CLOSED)


def named_routes() -> dict[str, Right]:
    """Return the right that each named route requires, by its method and path."""
    lines = ROUTES.read_text(encoding="ascii").splitlines()
    rows = [line.split() for line in lines if line and not line.startswith("#")]
    return {f"{method} {path}": Right[right.upper()] for right, method, path in rows}


def writers() -> frozenset[str]:
    """Return the names of the users who may write."""
    return frozenset(filter(None, os.environ.get(WRITERS_VARIABLE, "engineer").split(",")))


class RightsDoor:
    """Middleware that lets through only what its user may do.

    Args:
        server: the server, which checks passwords itself if there are users.
        users: right of each user; everybody else may read. None if the server has no users, and nobody may write.
    """

    def __init__(self, server: ASGIApp, users: Mapping[str, Right] | None = None) -> None:
        """Guard a server."""
        self._server = server
        self._users = users

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "lifespan":
            await self._server(scope, receive, send)
            return
        refused = self._refusal(scope)
        await (refused or self._server)(scope, receive, send)

    def _refusal(self, scope: Scope) -> JSONResponse | None:
        """Return the answer to a request that is not let through; None to one that is."""
        needed = right_for(scope.get("method", ""), scope["path"]) if scope["type"] == "http" else Right.CLOSED
        if self._users is None:
            said = "These pages show the record of releases, and change nothing."
            return None if needed is Right.READ else _forbidden(said)
        if needed is Right.CLOSED:
            return _forbidden("This server keeps the record of releases, and nobody may use this part of MLflow.")
        headers = Headers(scope=scope)
        given = headers.getlist("authorization")
        if not given:
            # MLflow itself asks for a password, except for its health.
            return None if needed is Right.READ else _unknown()
        user = _user_of(given)
        if user is None:
            return _unknown()
        name = user.partition(":")[0]
        if needed > self._users.get(name, Right.READ):
            return _forbidden(f"{name} may not do this; the account with which releases are made may write.")
        # MLflow has two readers of this header, and both must read the same name as this one.
        MutableHeaders(scope=scope)["authorization"] = f"Basic {base64.b64encode(user.encode()).decode()}"
        return None


def _user_of(given: list[str]) -> str | None:
    """Return the user and the password in a header of a request, as USER:PASSWORD; None if they cannot be read."""
    if len(given) != 1:
        return None
    scheme, _, said = given[0].strip().partition(" ")
    try:
        user = base64.b64decode(said.strip(), validate=True).decode("ascii")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return None
    return user if scheme.lower() == "basic" and ":" in user and user.isprintable() else None


def _forbidden(said: str) -> JSONResponse:
    return JSONResponse({"error_code": "PERMISSION_DENIED", "message": said}, status_code=403)


def _unknown() -> JSONResponse:
    said = {"error_code": "UNAUTHENTICATED", "message": "Give the name and the password of one user."}
    return JSONResponse(said, status_code=401, headers={"WWW-Authenticate": 'Basic realm="mlflow"'})


@cache
def _patterns() -> dict[re.Pattern[str], Right]:
    """Return the named routes as patterns of a method and a path."""
    parts = {"_": "[^/]+", "*": ".+"}
    return {
        re.compile(
            re.sub(r"(?<=/)[_*](?=[/:]|$)", lambda each: parts[each[0]], re.escape(route).replace(r"\*", "*")),
            re.DOTALL,
        ): right
        for route, right in named_routes().items()
    }
