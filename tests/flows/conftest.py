"""Flows are tested against one Prefect server and one MLflow database for the whole run of the tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.isolation import STATE  # before Prefect and MLflow are imported

from prefect.testing.utilities import prefect_test_harness  # isort: skip

from tests.flows.canaries import write_release_with_canaries
from tests.flows.looked_at import LookedAt, look_at


@pytest.fixture(scope="session")
def state() -> Path:
    """The state folder."""
    return STATE


@pytest.fixture(scope="session")
def prefect() -> Iterator[None]:
    """A Prefect server."""
    with prefect_test_harness(server_startup_timeout=120):
        yield


@pytest.fixture(scope="session")
def looked_at(tmp_path_factory: pytest.TempPathFactory) -> LookedAt:
    """A release of a table with canaries that everybody looked at; nothing is to be changed in it."""
    folder = tmp_path_factory.mktemp("looked-at")
    return look_at(write_release_with_canaries(folder / "spec"), folder)
