"""What this project relies on in Prefect, beyond what Prefect documents."""

import asyncio
import inspect
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from httpx import ASGITransport, AsyncClient
from prefect import flow
from prefect.client.orchestration import PrefectClient, SyncPrefectClient
from prefect.client.schemas.actions import DeploymentScheduleCreate
from prefect.client.schemas.objects import State, StateType
from prefect.client.schemas.schedules import CronSchedule
from prefect.context import FlowRunContext
from prefect.utilities import engine
from prefect.utilities.annotations import opaque, quote, unmapped


@flow
def planned_every_night() -> None:
    """A flow that a schedule runs."""


@pytest.fixture
def server(tmp_path: Path) -> Any:
    """Prefect's server in this process, with a database of its own."""
    from prefect.server.api.server import create_app  # noqa: PLC0415 - it takes seconds
    from prefect.settings import PREFECT_API_DATABASE_CONNECTION_URL, temporary_settings  # noqa: PLC0415

    database = {PREFECT_API_DATABASE_CONNECTION_URL: f"sqlite+aiosqlite:///{tmp_path / 'prefect.db'}"}
    with temporary_settings(database):
        yield create_app(ephemeral=True, ignore_cache=True)


def test_the_server_plans_the_runs_of_a_schedule(server: Any) -> None:
    assert asyncio.run(_runs_of_three_nights(server)) >= 3


async def _runs_of_three_nights(server: Any) -> int:
    async with PrefectClient(server) as client:
        every_night = DeploymentScheduleCreate(schedule=CronSchedule(cron="0 2 * * *"), active=True)
        made = await client.create_deployment(
            await client.create_flow(planned_every_night), "nightly", schedules=[every_night]
        )
        now = datetime.now(UTC)
        between = {"start_time": f"{now}", "end_time": f"{now + timedelta(days=3)}", "min_runs": 3}
        transport = ASGITransport(server, raise_app_exceptions=True)
        async with AsyncClient(transport=transport, base_url="http://here/api") as asking:
            (await asking.post(f"/deployments/{made}/schedule", json=between)).raise_for_status()
        return len(await client.read_flow_runs())


def test_collections_of_blocks_are_read_from_a_table_of_addresses() -> None:
    from prefect.server.api import collections  # noqa: PLC0415 - it takes seconds

    assert isinstance(collections.KNOWN_VIEWS, dict)
    assert all(isinstance(address, str) for address in collections.KNOWN_VIEWS.values())


def test_the_tables_of_a_database_are_made_by_its_interface() -> None:
    from prefect.server.database import provide_database_interface  # noqa: PLC0415 - it takes seconds

    interface = provide_database_interface()
    assert inspect.iscoroutinefunction(interface.create_db)
    assert inspect.iscoroutinefunction(interface.engine)


def test_inputs_of_a_task_are_collected_and_states_are_linked_to_results() -> None:
    assert engine.collect_task_run_inputs_sync([1, {"a": "b"}]) == set()
    assert list(inspect.signature(engine.link_state_to_task_run_result).parameters)[:2] == ["state", "result"]
    assert FlowRunContext.get() is None


@pytest.mark.parametrize("annotation", [quote, opaque, unmapped])
def test_annotations_give_back_what_they_hold(annotation: Any) -> None:
    held = object()
    assert annotation(held).unwrap() is held


def test_states_are_copied_with_their_data() -> None:
    state: State[int] = State(type=StateType.COMPLETED, data=3)
    assert state.model_copy(update={"name": "Held"}).data == 3
    assert isinstance(state.timestamp, datetime)


def test_a_client_has_the_requests_of_httpx() -> None:
    assert {"read_flow_runs", "set_flow_run_state", "read_events"} <= set(dir(SyncPrefectClient))
