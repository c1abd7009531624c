"""A command's Prefect server records states of task runs together, soon enough for pages of a running release."""

import time

import pytest
from prefect import flow, get_client, task
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId
from prefect.context import get_run_context

from infra.servers.local_servers import _RECORDED_TOGETHER

_PATIENCE_S = 60


@task
def step() -> None:
    pass


@flow
def running() -> list[str]:
    """Return the states of the flow's task runs, once its step has one that is final, or patience ends."""
    step()
    with get_client(sync_client=True) as client:
        own = FlowRunFilter(id=FlowRunFilterId(any_=[get_run_context().flow_run.id]))  # type: ignore[union-attr]
        deadline = time.monotonic() + _PATIENCE_S
        while (states := [str(each.state_name) for each in client.read_task_runs(flow_run_filter=own)]) != [
            "Completed"
        ]:
            if time.monotonic() > deadline:
                break
            time.sleep(0.1)
    return states


@pytest.mark.usefixtures("prefect")
def test_a_step_that_has_ended_is_recorded_before_its_flow_ends() -> None:
    assert running() == ["Completed"]


def test_the_server_pauses_between_its_records() -> None:
    """Prefect rounds the interval down to whole seconds, and for 0 never pauses."""
    (interval,) = (value for name, value in _RECORDED_TOGETHER.items() if name.endswith("_FLUSH_INTERVAL"))
    assert int(float(interval)) >= 1
