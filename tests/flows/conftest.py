"""Flows are tested against one Prefect server and one MLflow database for the whole run of the tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.isolation import STATE  # before Prefect and MLflow are imported

from prefect.testing.utilities import prefect_test_harness  # isort: skip


@pytest.fixture(scope="session")
def state() -> Path:
    """The state folder."""
    return STATE


@pytest.fixture(scope="session")
def prefect() -> Iterator[None]:
    """A Prefect server."""
    with prefect_test_harness(server_startup_timeout=120):
        yield
