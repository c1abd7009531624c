"""A failed run is reported once: by Prefect, unless the run reported itself; a run that is resumed is not reported."""

from uuid import uuid4

import pytest
from prefect.blocks.webhook import Webhook
from prefect.client.schemas.objects import BlockDocument
from prefect.events.schemas.automations import EventTrigger
from prefect.events.schemas.events import ResourceSpecification
from prefect.server.events.schemas.events import Resource
from prefect.server.events.schemas.events import ResourceSpecification as OnTheServer

from flows.prefect_runs.automations import FAILED_AND_TOLD, _tell_of_failures
from flows.prefect_runs.outages import GIVEN_UP, INTERRUPTED


@pytest.mark.parametrize(
    ("kind", "name", "told"),
    [
        ("FAILED", "Failed", True),
        ("FAILED", "TimedOut", True),
        ("FAILED", GIVEN_UP, True),
        ("CRASHED", "Crashed", False),
        ("CRASHED", INTERRUPTED, False),
        ("FAILED", FAILED_AND_TOLD, False),
        ("COMPLETED", "Held", False),
    ],
)
def test_prefect_tells_of_runs_that_failed_and_told_nobody(kind: str, name: str, told: bool) -> None:  # noqa: FBT001
    block = BlockDocument.model_construct(id=uuid4(), name=Webhook.get_block_type_slug())
    trigger = _tell_of_failures(ResourceSpecification({}), block).trigger
    assert isinstance(trigger, EventTrigger)
    run = {"prefect.resource.id": f"prefect.flow-run.{uuid4()}", "prefect.state-type": kind, "prefect.state-name": name}
    match = OnTheServer.model_validate(trigger.match.model_dump())
    assert match.matches(Resource.model_validate(run)) == told
