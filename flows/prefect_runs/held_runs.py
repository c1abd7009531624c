"""The state in Prefect of a run whose release is held; Prefect itself would treat the exception as a failure.

Runs of deployments wait for the decision themselves (flows.entrypoints).
"""

from typing import Any

from prefect import Flow, get_client
from prefect.client.schemas.objects import FlowRun, State
from prefect.states import Completed

from stores.vault.pending_approval import Held


def end_as_held(flow: Flow[..., Any], flow_run: FlowRun, state: State[Any]) -> None:  # noqa: ARG001 - as hooks are called
    """Mark a run that ended because a person must decide as Held instead of Failed; a flow hook."""
    error = state.result(raise_on_failure=False)
    if isinstance(error, Held):
        with get_client(sync_client=True) as client:
            client.set_flow_run_state(flow_run.id, Completed(name="Held", message=str(error)), force=True)
