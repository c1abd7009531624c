"""Requests to the API of the stack's Prefect server."""

import base64
import json
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from deniable.foundation.errors import DeniableError
from infra.stack.settings import POOL, Stack

_GRACE_S = 30


class PrefectRefuses(DeniableError):
    """Prefect's server refuses a request."""


def ask(stack: Stack, path: str, body: object | None = None, method: str = "POST") -> Any:
    """Send a request to Prefect's server.

    Args:
        stack: the stack.
        path: the path of the request, below `/api`.
        body: the body of the request.
        method: the HTTP method.

    Returns:
        The answer; None if there is no such object or no content.

    Raises:
        PrefectRefuses: the server cannot be reached, or refuses the request.
    """
    credentials = base64.b64encode(stack.prefect_credentials.encode()).decode()
    request = Request(  # noqa: S310 - our own server
        f"{stack.prefect_pages}/api{path}",
        data=None if body is None else json.dumps(body).encode(),
        headers={"Content-Type": "application/json", "Authorization": f"Basic {credentials}"},
        method=method,
    )
    try:
        with urlopen(request, timeout=_GRACE_S) as answer:  # noqa: S310 - our own server
            text = answer.read()
    except HTTPError as error:
        if error.code == 404:
            return None
        raise PrefectRefuses(f"Prefect must answer {method} {path}, and returns {error.code}; see its log.") from None
    except (URLError, TimeoutError, ConnectionError):
        msg = f"Prefect must answer at {stack.prefect_pages}, and does not; make stack starts it."
        raise PrefectRefuses(msg) from None
    return json.loads(text) if text else None


def online_workers(stack: Stack, pool: str) -> list[str]:
    """Return the names of the workers that have reported recently."""
    found = ask(stack, f"/work_pools/{pool}/workers/filter", {}) or []
    return [item["name"] for item in found if item["status"] == "ONLINE"]


def make_pool(stack: Stack) -> None:
    """Create the deployments' work pool, unless it exists."""
    if ask(stack, f"/work_pools/{POOL}", method="GET") is None:
        ask(stack, "/work_pools/", {"name": POOL, "type": "process"})
