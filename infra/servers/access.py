"""Controls access to our servers: only under their own names, not from other origins' pages, and with the password.

Any page in a browser on this machine can send requests to the loopback, to which the browser adds the password that it
remembers. So a request is refused if it uses a name other than the server's (DNS rebinding: a page's own name that was
made to point here), or if the browser marks it as sent by another origin, whatever it requests: by `Origin`, or without
that by `Sec-Fetch-Site` (W3C, Fetch Metadata Request Headers). Another port of the same machine is another origin,
which may belong to another user. Programs other than browsers send neither header.

Prefect's password and MLflow's users are checked by Prefect and MLflow themselves.
"""

import base64
import hmac
import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from starlette.authentication import (
    AuthCredentials,
    AuthenticationBackend,
    AuthenticationError,
    BaseUser,
    SimpleUser,
)
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

OWN_NAMES = ("127.0.0.1", "localhost")

_ASKED = ("http", "websocket")
_READING = ("GET", "HEAD")
_ELSEWHERE = ("cross-site", "same-site")
# Other pages cannot frame or embed these pages, which neither fetch from nor send to other servers. Their own scripts
# are not # restricted further: MLflow and Prefect have many, and generate some while a page runs.
_POLICY = {
    "default-src": "'self'",
    "script-src": "'self' 'unsafe-inline' 'unsafe-eval' blob:",
    "style-src": "'self' 'unsafe-inline'",
    "img-src": "'self' data: blob:",
    "font-src": "'self' data:",
    "worker-src": "'self' data: blob:",
    "frame-src": "'self' data: blob:",
    "connect-src": "'self'",
    "object-src": "'none'",
    "base-uri": "'self'",
    "form-action": "'self'",
    "frame-ancestors": "'self'",
}
# The pages that document an API fetch their scripts from other servers.
_ASKING_ELSEWHERE = re.compile(r"(/api)?/(docs|redoc)(/.*)?")
_SHOWN = {
    "Content-Security-Policy": "; ".join(f"{what} {whence}" for what, whence in _POLICY.items()),
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "SAMEORIGIN",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def behind_door(server: ASGIApp, names: Sequence[str] = OWN_NAMES, credentials: str | None = None) -> ASGIApp:
    """Return a server behind access control.

    Args:
        server: the server.
        names: names of the machine in addresses of the server, without the port.
        credentials: the required user and password, as USER:PASSWORD; None if the server has its own users.
    """
    if credentials is not None:
        server = AuthenticationMiddleware(server, backend=_Password(credentials), on_error=_ask_for_password)
    return TrustedHostMiddleware(_OwnPages(server), allowed_hosts=names, www_redirect=False)


class _OwnPages:
    """Middleware that refuses requests from pages of another origin, and prevents them from embedding this server."""

    def __init__(self, server: ASGIApp) -> None:
        self._server = server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in _ASKED:
            await self._server(scope, receive, send)
        elif not comes_from_own_page(Headers(scope=scope), scope.get("method", "GET")):
            refused = PlainTextResponse("This server answers its own pages, and no other page's.", status_code=403)
            await refused(scope, receive, send)
        elif _ASKING_ELSEWHERE.fullmatch(scope["path"]):
            closed = PlainTextResponse(
                "This page would fetch its scripts from elsewhere, and is not served.", status_code=404
            )
            await closed(scope, receive, send)
        else:
            await self._server(scope, receive, _with_headers(send))


def comes_from_own_page(headers: Headers, method: str) -> bool:
    """Whether a request comes from a page of the server itself, from an address bar, or not from a browser.

    A link on another page to one of our pages is allowed: the page opens, and the author of the link cannot see it.

    Args:
        headers: headers of the request, whose host is known to be the server's own.
        method: method of the request.
    """
    if any(_host_of(origin) != headers.get("host") for origin in headers.getlist("origin")):
        return False
    if headers.get("sec-fetch-site") not in _ELSEWHERE:
        return True
    opened = headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")
    return method in _READING and opened == ("navigate", "document")


def _host_of(origin: str) -> str:
    """Return the host and port of an origin; empty if it has none, as for a file or a sandboxed frame."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""


def _with_headers(send: Send) -> Send:
    async def answer(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(_SHOWN)
        await send(message)

    return answer


class _Password(AuthenticationBackend):
    """Middleware that requires one user and one password; the health of the server can be queried without them."""

    def __init__(self, credentials: str) -> None:
        self._user = credentials.partition(":")[0]
        self._expected = f"Basic {base64.b64encode(credentials.encode()).decode()}".encode()

    async def authenticate(self, conn: HTTPConnection) -> tuple[AuthCredentials, BaseUser] | None:
        if conn.scope["path"] == "/health":
            return None
        if not hmac.compare_digest(conn.headers.get("authorization", "").encode(), self._expected):
            raise AuthenticationError
        return AuthCredentials(), SimpleUser(self._user)


def _ask_for_password(_asked: HTTPConnection, _error: Exception) -> Response:
    return PlainTextResponse(
        "The command that started this server shows its user and password.",
        status_code=401,
        headers={"WWW-Authenticate": 'Basic realm="Deniable", charset="UTF-8"'},
    )
