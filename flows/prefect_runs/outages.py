"""How runs of the deployments end when something around them is down, so that they are gone on with by themselves.

Who goes on with them is flows.prefect_runs.resuming. What is charged and drawn needs no care here: the journal and the
ledger see to it that a release that is gone on with gives the same bytes at the same cost.
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

from deniable.foundation.errors import DeniableError, InvalidInput
from flows.prefect_runs.run_ends import RunEnd, forget_end, keep_end
from infra.environment import state_folder
from stores.servers.patience import ServerDown
from stores.servers.prefect_failures import PrefectDown, asking_prefect, prefect_failure
from stores.vault.lease import UnderWay, keep_while_alive

INTERRUPTED = "Interrupted"
"""State of a run that an outage ended; it is gone on with."""
MISSED = "Missed"
"""State of a scheduled run that did nothing because a later one of the same schedule was due when it began."""
GIVEN_UP = "GivenUp"
"""State of a run that was gone on with in vain, as often as is tried; it is told of."""
GOING_ON = "AwaitingRetry"
"""State of a run that is gone on with in a while; Prefect's own name for that."""

ATTEMPTS_VARIABLE = "DENIABLE_RESUME_AFTER_S"
_ATTEMPTS_S = "60 300 900 3600"

OUTAGES = (ServerDown, UnderWay)
"""What ends a run so that it is gone on with."""

_finished: dict[str, list[str]] = {}
"""The releases that runs of this process have finished, by run, until Prefect is told."""


def pauses_s() -> tuple[float, ...]:
    """For how many seconds a run waits before it is gone on with, for the first time, the second, and so on.

    Raises:
        InvalidInput: DENIABLE_RESUME_AFTER_S holds no such numbers.
    """
    said = os.environ.get(ATTEMPTS_VARIABLE, _ATTEMPTS_S)
    try:
        pauses = tuple(float(word) for word in said.split())
    except ValueError:
        pauses = (-1.0,)
    if not all(0 <= pause < float("inf") for pause in pauses):
        msg = f"{ATTEMPTS_VARIABLE} must hold seconds such as {_ATTEMPTS_S!r}, got {said!r}; correct it."
        raise InvalidInput(msg)
    return pauses


def resumed(states: list[State[Any]]) -> int:
    """How often a worker went on with a run since somebody last saw to it, by all its states.

    Prefect says twice that a process was killed. The second word may reach a run that waits to go on; it is no attempt.
    """
    since = takewhile(lambda state: state.name != GIVEN_UP, sorted(states, key=lambda each: each.timestamp)[::-1])
    return sum(
        state.name == GOING_ON and after.type is not StateType.CRASHED for state, after in pairwise(list(since)[::-1])
    )


def resumable(work: Callable[[], State[Any]]) -> State[Any]:
    """Do what a run is for, unless a later one of its schedule does; an outage ends it so that it is gone on with.

    Args:
        work: what it is for.

    Returns:
        How it ends.
    """
    try:
        if runtime.deployment.id and runtime.flow_run.id:
            with suppress(UnderWay):  # another process is at the same run, and has shown that it lives
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
        # Prefect's word for an end that is nobody's fault but the machines'.
        return _heard(Crashed(name=INTERRUPTED, message=said))


def _heard(end: State[Any]) -> State[Any]:
    """How a run of a deployment ends, while Prefect can hear it.

    If Prefect's server is down at that moment, its engine takes the run for failed, and says so as soon as the server
    is up: of a run that was published, too. So a process that Prefect cannot hear keeps how its run ended and dies; the
    watch, which knows it by its sign of life, tells Prefect.
    """
    run = runtime.flow_run.id
    if runtime.deployment.id and run:
        try:
            _here()
        except PrefectDown as down:
            if end.type is not StateType.CRASHED:  # one that crashed is gone on with
                finished = tuple(finished_in(run))
                said = RunEnd(type=end.type.value, name=end.name or "", message=end.message or "", finished=finished)
                keep_end(state_folder(), run, said)
            why = f"Prefect could not be told how this run ended; it will be told once it answers. {down}"
            print(why, file=sys.stderr, flush=True)  # noqa: T201 - the worker's log
            os._exit(1)
    return end


def note_finished(release: str) -> None:
    """Note that this run has finished a release, of which Prefect is to be told."""
    _finished.setdefault(str(runtime.flow_run.id), []).append(release)


def finished_in(run: object) -> list[str]:
    """The releases that a run of this process has finished, and that Prefect was not told of; they are forgotten."""
    return _finished.pop(str(run), [])


def sign_of_life(flow_run: object) -> str:
    """What a run's process keeps while it lives, so that one that died is known by it at once."""
    return f".run-{flow_run}"


def is_scheduled() -> bool:
    """Whether this is a run that a schedule asks for, and nobody else."""
    here = _here()
    return here is not None and bool(here.auto_scheduled)


def is_last_attempt() -> bool:
    """Whether this run is not gone on with should it fail; a run of no deployment is not."""
    if not runtime.deployment.id or not (run := runtime.flow_run.id):
        return True

    def states() -> list[State[Any]]:
        with get_client(sync_client=True) as client:
            return client.read_flow_run_states(run)

    return resumed(asking_prefect(states)) >= len(pauses_s())


def _here() -> FlowRun | None:
    """This run of a deployment; None for any other."""
    if not runtime.deployment.id or not (run := runtime.flow_run.id):
        return None

    def found() -> FlowRun:
        with get_client(sync_client=True) as client:
            return client.read_flow_run(run)

    return asking_prefect(found)


def _later_run() -> FlowRun | None:
    """A run that a schedule asked for later, with the same parameters, and that was due before this one began.

    While no worker was there, runs of a schedule pile up. One of them is enough, the newest. One that failed for a
    reason of its own, or that somebody cancelled, does nobody's work.
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
