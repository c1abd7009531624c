"""What is asked of the stack's Prefect server over its interface."""

import base64
import json
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from deniable.foundation.errors import DeniableError
from infra.stack.settings import POOL, Stack

_GRACE_S = 30


class PrefectRefuses(DeniableError):
    """Prefect's server does not do what it is asked for."""


def ask(stack: Stack, path: str, body: object | None = None, method: str = "POST") -> Any:
    """Ask Prefect's server.

    Args:
        stack: the stack.
        path: what is asked, below `/api`.
        body: what is told with it.
        method: the method of HTTP.

    Returns:
        What it answers; None where it has no such thing, or no content.

    Raises:
        PrefectRefuses: it cannot be reached, or refuses.
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
        raise PrefectRefuses(f"Prefect must answer {method} {path}, and says {error.code}; see its log.") from None
    except (URLError, TimeoutError, ConnectionError):
        msg = f"Prefect must answer at {stack.prefect_pages}, and does not; make stack starts it."
        raise PrefectRefuses(msg) from None
    return json.loads(text) if text else None


def online_workers(stack: Stack, pool: str) -> list[str]:
    """Names of the workers that lately said that they are there."""
    found = ask(stack, f"/work_pools/{pool}/workers/filter", {}) or []
    return [item["name"] for item in found if item["status"] == "ONLINE"]


def make_pool(stack: Stack) -> None:
    """Make the work pool that deployments go to, unless it is there."""
    if ask(stack, f"/work_pools/{POOL}", method="GET") is None:
        ask(stack, "/work_pools/", {"name": POOL, "type": "process"})
