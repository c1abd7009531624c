"""What Prefect does by itself about runs of the deployments: ends those that fell silent, tells of those that failed.

A run that an outage ended is gone on with (flows.prefect_runs.resuming), and told of when it is given up, or when
nobody goes on.

Why a refresh did not succeed is told by the refresh itself (stores.servers.webhook); where it told the same block, it
is not told here again. What is told here needs nothing of the run: it is told even where the machine that it ran on is
gone.
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
"""Name of the Webhook block that is told; whoever wants headers or another method changes it in Prefect's pages."""

FAILED_AND_TOLD = "FailedAndTold"
"""State of a run that failed, and has told the same block itself, with the reason; it is not told of again."""

SILENT, TELL = "Deniable: end runs that fell silent", "Deniable: tell of runs that failed"
TELL_OF_CRASHES = "Deniable: tell of runs that nobody goes on with"

_ENTRYPOINTS = "flows.entrypoints."
_MISSED = 3
_LEFT = timedelta(minutes=15)
_PAGE = 200  # no more are given at a time
_RUNS: dict[str, str | list[str]] = {"prefect.resource.id": ["prefect.flow-run.*"]}
# Neither parameters nor the state's message: both may hold what is not for everybody who reads a chat.
_TOLD = {
    "event": "'run ' + (event.resource['prefect.state-type'] | lower)",
    "flow": "flow.name",
    "deployment": "deployment.name",
    "run": "flow_run.name",
    "flow_run": "flow_run.id | string",
    "time": "event.resource['prefect.state-timestamp']",
}


def make_automations() -> list[str]:
    """Have Prefect end silent runs of our deployments, and tell of failed ones where there is somebody to tell.

    The webhook is the one that DENIABLE_WEBHOOK names, else the one that an earlier call was told, or that somebody
    made in Prefect's pages as a Webhook block of the name `deniable`. Made again, an automation becomes as it is here.

    Returns:
        What was made, in words.
    """
    with get_client(sync_client=True) as client:
        named = sorted(f"prefect.deployment.{each.id}" for each in our_deployments(client))
        ours = ResourceSpecification({"prefect.resource.id": named})
        longest = silence()
        _make(client, _end_silent_runs(ours, longest))
        said = [f"A run that says nothing for {longest.total_seconds():g} s is ended as crashed."]
        block = _webhook(client)
        if block is None:
            said.append(f"Nobody is told of runs that fail; {WEBHOOK_VARIABLE}=address changes that.")
        else:
            _make(client, _tell_of_failures(ours, block))
            _make(client, _tell_of_crashes(ours, block))
            told = f"told to Prefect's Webhook block {WEBHOOK_BLOCK}."
            said.append(f"Runs that fail, or that crash and are not gone on with, are {told}")
    return said


def _end_silent_runs(ours: ResourceSpecification, longest: timedelta) -> AutomationCore:
    """The automation that ends runs whose process is gone and could not say so."""
    return AutomationCore(
        name=SILENT,
        description="Where the machine of a run is gone, nothing else says that the run is over.",
        trigger=EventTrigger(
            # A run that began and never said anything is silent as well, and so is one whose process never began.
            after={f"prefect.flow-run.{name}" for name in ("heartbeat", "Pending", "Running", "Cancelling")},
            # Any word will do: runs end in states of many names, and one that is suspended is not silent.
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
                force=False,  # a run that ended meanwhile has ended as it says
                message=f"nothing was heard of the run for {longest.total_seconds():g} s: its process or its machine "
                "is gone. What was charged, if anything, is kept: retry it, or run the deployment again; it goes on.",
            )
        ],
    )


def _tell_of_failures(ours: ResourceSpecification, block: BlockDocument) -> AutomationCore:
    """The automation that posts a message of every run that failed, unless the run itself has done so."""
    return AutomationCore(
        name=TELL,
        description="Which run it was; its page says why.",
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
    """The automation that posts a message of every run that crashed and that nobody goes on with."""
    return AutomationCore(
        name=TELL_OF_CRASHES,
        description="Runs that crash are gone on with within seconds, where `stack up` or `watch` sees to that.",
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
    """How long a run may say nothing: a few of the heartbeats that its process is to give."""
    every = get_current_settings().flows.heartbeat_frequency
    return timedelta(seconds=_MISSED * (every or 60))


def our_deployments(client: "SyncPrefectClient") -> list["DeploymentResponse"]:
    """The deployments whose runs are meant; others may use the same server."""
    every: list[DeploymentResponse] = []
    while page := client.read_deployments(limit=_PAGE, offset=len(every)):
        every += page
    return [item for item in every if (item.entrypoint or "").startswith(_ENTRYPOINTS)]


def _make(client: "SyncPrefectClient", wanted: AutomationCore) -> None:
    """Make an automation, or make the one of that name what is wanted; one that somebody switched off stays so."""
    there = client.read_automations_by_name(wanted.name)
    if there:
        client.update_automation(there[0].id, wanted.model_copy(update={"enabled": there[0].enabled}))
    else:
        client.create_automation(wanted)


def _webhook(client: "SyncPrefectClient") -> BlockDocument | None:
    """The block that is told; made, or told the new address, where the variable names one."""
    address, kind = os.environ.get(WEBHOOK_VARIABLE), Webhook.get_block_type_slug()
    try:
        there = client.read_block_document_by_name(WEBHOOK_BLOCK, kind)
    except ObjectNotFound:
        if not address:
            return None
        Webhook(url=SecretStr(address), headers=SecretDict({"Content-Type": "application/json"})).save(WEBHOOK_BLOCK)
        return client.read_block_document_by_name(WEBHOOK_BLOCK, kind)
    if address and there.data["url"] != address:
        # The rest stays as somebody may have set it.
        client.update_block_document(there.id, BlockDocumentUpdate(data={"url": address}))
    return there
