"""Prefect's automations for runs of the deployments: they end silent runs, and report failed ones.

A run that an outage ended is resumed (flows.prefect_runs.resuming); it is reported only when it is given up, or if
nothing resumes it.

A refresh itself reports why it failed (stores.servers.webhook); if it notified the same block, the failure is not
reported again here. These reports do not depend on the run: they are sent even if its machine has failed.
"""

import json
import os
from datetime import timedelta
from typing import TYPE_CHECKING

from prefect.blocks.webhook import Webhook
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import BlockDocumentUpdate
from prefect.client.schemas.objects import BlockDocument, StateType
from prefect.events.actions import CallWebhook, ChangeFlowRunState
from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture
from prefect.events.schemas.events import ResourceSpecification
from prefect.exceptions import ObjectNotFound
from prefect.settings import get_current_settings
from prefect.types import SecretDict
from pydantic import SecretStr

from flows.prefect_runs.outages import INTERRUPTED

if TYPE_CHECKING:
    from prefect.client.orchestration import SyncPrefectClient
    from prefect.client.schemas.responses import DeploymentResponse

WEBHOOK_VARIABLE = "DENIABLE_WEBHOOK"
WEBHOOK_BLOCK = "deniable"
"""Name of the Webhook block that is notified; its headers and method can be changed in Prefect's pages."""

FAILED_AND_TOLD = "FailedAndTold"
"""State of a run that failed, and has notified the same block itself, with the reason; it is not reported again."""

SILENT, TELL = "Deniable: end runs that fell silent", "Deniable: tell of runs that failed"
TELL_OF_CRASHES = "Deniable: tell of runs that nobody goes on with"

_ENTRYPOINTS = "flows.entrypoints."
_MISSED = 3
_LEFT = timedelta(minutes=15)
_PAGE = 200  # Prefect returns at most this many at a time
_RUNS: dict[str, str | list[str]] = {"prefect.resource.id": ["prefect.flow-run.*"]}
# Neither parameters nor the state's message: both may contain what readers of a chat must not see.
_TOLD = {
    "event": "'run ' + (event.resource['prefect.state-type'] | lower)",
    "flow": "flow.name",
    "deployment": "deployment.name",
    "run": "flow_run.name",
    "flow_run": "flow_run.id | string",
    "time": "event.resource['prefect.state-timestamp']",
}


def make_automations() -> list[str]:
    """Make Prefect end silent runs of our deployments, and report failed ones if there is a webhook.

    The webhook is the one named by DENIABLE_WEBHOOK; otherwise that of an earlier call, or a Webhook block named
    `deniable` that was made in Prefect's pages. An existing automation is updated.

    Returns:
        What was made, in words.
    """
    with get_client(sync_client=True) as client:
        named = sorted(f"prefect.deployment.{each.id}" for each in our_deployments(client))
        ours = ResourceSpecification({"prefect.resource.id": named})
        longest = silence()
        _make(client, _end_silent_runs(ours, longest))
        said = [f"A run that is silent for {longest.total_seconds():g} s is ended as crashed."]
        block = _webhook(client)
        if block is None:
            said.append(f"Runs that fail are reported to no one; {WEBHOOK_VARIABLE}=address changes that.")
        else:
            _make(client, _tell_of_failures(ours, block))
            _make(client, _tell_of_crashes(ours, block))
            told = f"reported to Prefect's Webhook block {WEBHOOK_BLOCK}."
            said.append(f"Runs that fail, or that crash and are not resumed, are {told}")
    return said


def _end_silent_runs(ours: ResourceSpecification, longest: timedelta) -> AutomationCore:
    """Return the automation that ends runs whose process died without reporting it."""
    return AutomationCore(
        name=SILENT,
        description="If the machine of a run is gone, nothing else reports that the run is over.",
        trigger=EventTrigger(
            # A run that never reported anything is silent too, and so is one whose process never began.
            after={f"prefect.flow-run.{name}" for name in ("heartbeat", "Pending", "Running", "Cancelling")},
            # Any event counts: runs end in states of many names, and a suspended run is not silent.
            expect={"prefect.flow-run.*"},
            match=ResourceSpecification(_RUNS),
            match_related=ours,
            for_each={"prefect.resource.id"},
            posture=Posture.Proactive,
            threshold=1,
            within=longest,
        ),
        actions=[
            ChangeFlowRunState(
                name=None,
                state=StateType.CRASHED,
                force=False,  # a run that has ended meanwhile keeps its own state
                message=f"the run was silent for {longest.total_seconds():g} s: its process or its machine is gone. "
                "What was charged, if anything, is kept: retry it, or run the deployment again, to resume it.",
            )
        ],
    )


def _tell_of_failures(ours: ResourceSpecification, block: BlockDocument) -> AutomationCore:
    """Return the automation that posts a message on every failed run, unless the run has posted one itself."""
    return AutomationCore(
        name=TELL,
        description="Names the run; its page shows why it failed.",
        trigger=EventTrigger(
            expect={"prefect.flow-run.*"},
            match=ResourceSpecification(
                {**_RUNS, "prefect.state-type": "FAILED", "prefect.state-name": f"!{FAILED_AND_TOLD}"}
            ),
            match_related=ours,
            for_each={"prefect.resource.id"},
            posture=Posture.Reactive,
            threshold=1,
        ),
        actions=[_message(block)],
    )


def _tell_of_crashes(ours: ResourceSpecification, block: BlockDocument) -> AutomationCore:
    """Return the automation that posts a message on every run that crashed and is not resumed."""
    return AutomationCore(
        name=TELL_OF_CRASHES,
        description="Runs that crash are resumed within seconds, if `stack up` or `watch` is running.",
        trigger=EventTrigger(
            after={f"prefect.flow-run.{name}" for name in ("Crashed", INTERRUPTED)},
            expect={"prefect.flow-run.*"},
            match=ResourceSpecification(_RUNS),
            match_related=ours,
            for_each={"prefect.resource.id"},
            posture=Posture.Proactive,
            threshold=1,
            within=_LEFT,
        ),
        actions=[_message(block)],
    )


def _message(block: BlockDocument) -> CallWebhook:
    said = ", ".join(f"{json.dumps(name)}: {{{{ ({value}) | tojson }}}}" for name, value in _TOLD.items())
    return CallWebhook(block_document_id=block.id, payload=f"{{{said}}}")


def silence() -> timedelta:
    """Return how long a run may be silent: a few times the interval of its heartbeats."""
    every = get_current_settings().flows.heartbeat_frequency
    return timedelta(seconds=_MISSED * (every or 60))


def our_deployments(client: "SyncPrefectClient") -> list["DeploymentResponse"]:
    """Return our own deployments; the server may have others."""
    every: list[DeploymentResponse] = []
    while page := client.read_deployments(limit=_PAGE, offset=len(every)):
        every += page
    return [item for item in every if (item.entrypoint or "").startswith(_ENTRYPOINTS)]


def _make(client: "SyncPrefectClient", wanted: AutomationCore) -> None:
    """Make an automation, or update the one of that name; an automation that a user switched off stays off."""
    there = client.read_automations_by_name(wanted.name)
    if there:
        client.update_automation(there[0].id, wanted.model_copy(update={"enabled": there[0].enabled}))
    else:
        client.create_automation(wanted)


def _webhook(client: "SyncPrefectClient") -> BlockDocument | None:
    """Return the block to notify; it is made, or its address updated, if the variable names one."""
    address, kind = os.environ.get(WEBHOOK_VARIABLE), Webhook.get_block_type_slug()
    try:
        there = client.read_block_document_by_name(WEBHOOK_BLOCK, kind)
    except ObjectNotFound:
        if not address:
            return None
        Webhook(url=SecretStr(address), headers=SecretDict({"Content-Type": "application/json"})).save(WEBHOOK_BLOCK)
        return client.read_block_document_by_name(WEBHOOK_BLOCK, kind)
    if address and there.data["url"] != address:
        # A user's other settings are kept.
        client.update_block_document(there.id, BlockDocumentUpdate(data={"url": address}))
    return there
