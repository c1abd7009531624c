"""What Prefect says of a run whose release is held: to Prefect, whatever a flow raises has failed.

Runs of deployments, which wait themselves until somebody decides, are for flows.entrypoints.
"""

from typing import Any

from prefect import Flow, get_client
from prefect.client.schemas.objects import FlowRun, State
from prefect.states import Completed

from stores.vault.pending_approval import Held


def end_as_held(flow: Flow[..., Any], flow_run: FlowRun, state: State[Any]) -> None:  # noqa: ARG001 - as hooks are called
    """Have a run that ended because a person must decide end as Held, and not as Failed; a hook of flows."""
    error = state.result(raise_on_failure=False)
    if isinstance(error, Held):
        with get_client(sync_client=True) as client:
            client.set_flow_run_state(flow_run.id, Completed(name="Held", message=str(error)), force=True)
