"""How runs of the deployments end in an outage, so that they are resumed automatically.

flows.prefect_runs.resuming resumes them. Charges and draws need no care here: the journal and the ledger ensure that a
resumed release gives the same bytes at the same cost.
"""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from itertools import pairwise, takewhile
from typing import Any

from prefect import get_client, runtime
from prefect.client.schemas.filters import (
    DeploymentFilter,
    DeploymentFilterId,
    FlowRunFilter,
    FlowRunFilterExpectedStartTime,
)
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.states import Completed, Crashed, Failed

from deniable.foundation.errors import DeniableError
from flows.prefect_runs.run_ends import RunEnd, forget_end, keep_end
from flows.prefect_runs.shared import shared
from infra.environment import state_folder
from stores.servers.patience import ServerDown
from stores.servers.prefect_failures import PrefectDown, asking_prefect, prefect_failure
from stores.vault.lease import UnderWay, keep_while_alive

INTERRUPTED = "Interrupted"
"""State of a run that an outage ended; it is resumed."""
MISSED = "Missed"
"""State of a scheduled run that did nothing because a later one of the same schedule was due when it began."""
GIVEN_UP = "GivenUp"
"""State of a run that was resumed as often as allowed, without success; it is reported."""
GOING_ON = "AwaitingRetry"
"""State of a run that will be resumed later; Prefect's own name for it."""

OUTAGES = (ServerDown, UnderWay)
"""Errors that end a run such that it is resumed."""

_finished: dict[str, list[str]] = {}
"""The releases that runs of this process have finished, by run, until they are reported to Prefect."""


def pauses_s() -> tuple[float, ...]:
    """Return the seconds for which a run waits before it is resumed the first time, the second time, and so on.

    Raises:
        InvalidInput: what `deploy` noted in the state folder cannot be read.
    """
    return shared().resume_after_s


def resumed(states: list[State[Any]]) -> int:
    """Return how often a worker has resumed a run since a person last retried it, given all its states.

    Prefect reports a killed process twice. The second report may arrive while the run waits to resume; it is not
    counted.
    """
    since = takewhile(lambda state: state.name != GIVEN_UP, sorted(states, key=lambda each: each.timestamp)[::-1])
    return sum(
        state.name == GOING_ON and after.type is not StateType.CRASHED for state, after in pairwise(list(since)[::-1])
    )


def resumable(work: Callable[[], State[Any]]) -> State[Any]:
    """Do the work of a run, unless a later run of its schedule does it; a run that an outage ends is resumed.

    Args:
        work: the work of the run.

    Returns:
        The state in which it ends.
    """
    try:
        if runtime.deployment.id and runtime.flow_run.id:
            with suppress(UnderWay):  # another process is alive and works on the same run
                keep_while_alive(state_folder(), sign_of_life(runtime.flow_run.id))
                forget_end(state_folder(), runtime.flow_run.id)
        later = _later_run()
        if later is not None:
            msg = f"missed; the run of {later.expected_start_time:%Y-%m-%d %H:%M} UTC does its work"
            return Completed(name=MISSED, message=msg)
        return _heard(work())
    except Exception as error:
        said = str(error) if isinstance(error, OUTAGES) else prefect_failure(error)
        if said is None or not runtime.deployment.id:
            _heard(
                Failed(message=str(error) if isinstance(error, DeniableError) else "the log of its process says why")
            )
            raise
        # Prefect's state for an end caused by the infrastructure.
        return _heard(Crashed(name=INTERRUPTED, message=said))


def _heard(end: State[Any]) -> State[Any]:
    """Return the final state of a deployment's run, if Prefect's server answers.

    If the server is down at that moment, Prefect's engine considers the run failed, and reports that as soon as the
    server is up, even if the release was published. So a process that cannot reach Prefect stores the end of its run
    and exits. The watch, which recognises the run by its sign of life, reports the end.
    """
    run = runtime.flow_run.id
    if runtime.deployment.id and run:
        try:
            _here()
        except PrefectDown as down:
            if end.type is not StateType.CRASHED:  # a crashed run is resumed
                finished = tuple(finished_in(run))
                said = RunEnd(type=end.type.value, name=end.name or "", message=end.message or "", finished=finished)
                keep_end(state_folder(), run, said)
            why = f"The end of this run could not be reported to Prefect; it will be once Prefect answers. {down}"
            print(why, file=sys.stderr, flush=True)  # noqa: T201 - the worker's log
            os._exit(1)
    return end


def note_finished(release: str) -> None:
    """Note that this run has finished a release that must be reported to Prefect."""
    _finished.setdefault(str(runtime.flow_run.id), []).append(release)


def finished_in(run: object) -> list[str]:
    """Return, and forget, the releases that a run of this process has finished and not yet reported to Prefect."""
    return _finished.pop(str(run), [])


def sign_of_life(flow_run: object) -> str:
    """Return the name of the lock that a run's process holds while it lives, so that its death is noticed at once."""
    return f".run-{flow_run}"


def is_scheduled() -> bool:
    """Whether this run was started by a schedule and not by a person."""
    here = _here()
    return here is not None and bool(here.auto_scheduled)


def is_last_attempt() -> bool:
    """Whether this run would not be resumed if it failed; runs without a deployment are never resumed."""
    if not runtime.deployment.id or not (run := runtime.flow_run.id):
        return True

    def states() -> list[State[Any]]:
        with get_client(sync_client=True) as client:
            return client.read_flow_run_states(run)

    return resumed(asking_prefect(states)) >= len(pauses_s())


def _here() -> FlowRun | None:
    """Return the current run if it belongs to a deployment; None otherwise."""
    if not runtime.deployment.id or not (run := runtime.flow_run.id):
        return None

    def found() -> FlowRun:
        with get_client(sync_client=True) as client:
            return client.read_flow_run(run)

    return asking_prefect(found)


def _later_run() -> FlowRun | None:
    """Return a later run of the same schedule, with the same parameters, that was due before this one began.

    Without a worker, runs of a schedule pile up; only the newest needs to run. A run that failed for a reason of its
    own, or was cancelled, does not count.
    """
    here = _here()
    if here is None or not here.auto_scheduled or here.expected_start_time is None or here.deployment_id is None:
        return None
    of_it = DeploymentFilter(id=DeploymentFilterId(any_=[here.deployment_id]))
    between = {"after_": here.expected_start_time, "before_": datetime.now(UTC)}
    due = FlowRunFilterExpectedStartTime.model_validate(between)

    def found() -> list[FlowRun]:
        with get_client(sync_client=True) as client:
            return client.read_flow_runs(
                deployment_filter=of_it, flow_run_filter=FlowRunFilter(expected_start_time=due)
            )

    later = [
        run
        for run in asking_prefect(found)
        if run.auto_scheduled
        and run.id != here.id
        and run.parameters == here.parameters
        and (run.expected_start_time or here.expected_start_time) > here.expected_start_time
        and run.state_type not in {StateType.FAILED, StateType.CANCELLED}
    ]
    return max(later, key=lambda run: str(run.expected_start_time), default=None)
