"""Queries Prefect's server by its REST interface, for commands that must answer faster than Prefect can be imported."""

import os
from types import TracebackType
from typing import Any, Self

from httpx import BasicAuth, Client

_PATIENCE_S = 30.0


class PrefectApi:
    """The server that PREFECT_API_URL names, with the password in PREFECT_API_AUTH_STRING.

    Failures are httpx errors (`HTTPError`, `InvalidURL`); stores.servers.prefect_failures turns them into a sentence.
    """

    def __init__(self) -> None:
        user, _, password = os.environ.get("PREFECT_API_AUTH_STRING", "").partition(":")
        address = os.environ["PREFECT_API_URL"].rstrip("/")
        auth = BasicAuth(user, password) if password else None
        self._client = Client(base_url=f"{address}/", auth=auth, timeout=_PATIENCE_S)

    def __enter__(self) -> Self:
        """Keep the connection until the block ends."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connection."""
        self._client.close()

    def get(self, path: str) -> Any:
        """Return the object at a path, such as `flow_runs/ID`."""
        return self._client.get(path).raise_for_status().json()

    def post(self, path: str, **body: object) -> Any:
        """Return the server's answer to a JSON body, such as that of `flow_runs/filter`."""
        return self._client.post(path, json=body).raise_for_status().json()
