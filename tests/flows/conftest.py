"""Tests of flows share one Prefect server and one MLflow database during the whole test run."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.isolation import own_state  # before Prefect and MLflow are imported

from prefect.context import _temporary_global_settings_context, get_settings_context  # isort: skip
from prefect.settings import PREFECT_API_AUTH_STRING, PREFECT_API_URL, temporary_settings  # isort: skip

from tests import quick_flows  # noqa: F401
from tests.flows.looked_at import LookedAt, looked_at_once
from tests.pictures import drawn_once
from tests.warm.servers import prefect_server


@pytest.fixture(scope="session")
def state() -> Path:
    """The state folder."""
    return own_state()


@pytest.fixture(scope="session")
def prefect() -> Iterator[None]:
    """A Prefect server."""
    with prefect_server(own_state()) as server, pytest.MonkeyPatch.context() as patch:
        # Commands that run in this process need no server of their own.
        patch.setenv("DENIABLE_PREFECT_API_URL", f"{server.address}/api")
        patch.setenv("PREFECT_API_AUTH_STRING", server.credentials)
        told = {PREFECT_API_URL: f"{server.address}/api", PREFECT_API_AUTH_STRING: server.credentials}
        # Threads outside this context use the same server.
        with temporary_settings(told), _temporary_global_settings_context(get_settings_context()):
            yield


@pytest.fixture(scope="module", autouse=True)
def pictures(request: pytest.FixtureRequest) -> Iterator[None]:
    """Draw pictures once by day, except in tests marked `pictures`."""
    with drawn_once(once=request.node.get_closest_marker("pictures") is None):
        yield


@pytest.fixture(scope="session")
def looked_at() -> LookedAt:
    """Return a release of a table with canaries on which every command was run; tests must not change it."""
    return looked_at_once()
