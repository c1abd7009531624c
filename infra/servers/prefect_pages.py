"""Prefect's server with only those of its pages that contact no other server.

Prefect 3.8 has two kinds of pages. The newer ones contact an analytics server to track their reader, even before a
login and whatever is switched off, because they read that setting only after the login. They are not served. The older
ones, which Prefect serves at `/` with `PREFECT_SERVER_UI_V2_ENABLED` off, contact only their own server, but would
still link to the newer ones, and show pictures of blocks and work pools from other servers: answers to them name none.
The server itself would look up the types of work pools elsewhere; it has them in a file.
"""

import re

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

PAGES_THAT_ASK_NOBODY_ELSE = {
    "PREFECT_SERVER_UI_V2_ENABLED": "false",
    "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
}
"""Variables for Prefect's server."""

_SENT_BY_PAGES = "x-prefect-ui"
_WITH_PICTURES = re.compile(r"/api/(block_|collections/)")
_PICTURE = re.compile(rb'("logo_url"\s*:\s*)"[^"]*"')


def prefect_server() -> ASGIApp:
    """Return Prefect's server; its environment decides what it serves in addition to its API."""
    import prefect  # noqa: PLC0415 - it takes seconds, and reads the environment
    from prefect.server.api import collections  # noqa: PLC0415 - as above
    from prefect.server.api.server import create_app  # noqa: PLC0415 - as above

    # Prefect serves every kind of page whose files exist.
    prefect.__ui_v2_static_path__ = prefect.__ui_v2_static_path__ / "not-served"
    # An address that no client requests, so that Prefect reads its own files.
    collections.KNOWN_VIEWS = dict.fromkeys(collections.KNOWN_VIEWS, "")
    return _WithoutPictures(create_app())


class _WithoutPictures:
    """Middleware that leaves the addresses of pictures out of answers to Prefect's pages."""

    def __init__(self, server: ASGIApp) -> None:
        self._server = server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if (
            scope["type"] != "http"
            or not _WITH_PICTURES.match(scope["path"])
            or _SENT_BY_PAGES not in Headers(scope=scope)
        ):
            await self._server(scope, receive, send)
            return
        start: Message = {}
        content = bytearray()

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                start.update(message)
                return
            content.extend(message.get("body", b""))
            if message.get("more_body", False):
                return
            shown = _PICTURE.sub(rb"\1null", bytes(content))
            MutableHeaders(scope=start)["content-length"] = str(len(shown))
            await send(start)
            await send({"type": "http.response.body", "body": shown})

        # Without this header, the answer is not compressed.
        plain = [(name, value) for name, value in scope["headers"] if name != b"accept-encoding"]
        await self._server({**scope, "headers": plain}, receive, answer)
