"""Resumes runs of the deployments that an outage ended, and ends runs and tasks that were left open.

It polls the states of the runs and does not rely on Prefect's events, which are lost if the server or its database goes
down; that is why it is not an automation. The polling process may be stopped at any moment, and another may poll at the
same time.
"""

import time
from collections.abc import Collection, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prefect.client.schemas.filters import (
    FlowRunFilter,
    FlowRunFilterEndTime,
    FlowRunFilterState,
    FlowRunFilterStateType,
    TaskRunFilter,
    TaskRunFilterState,
    TaskRunFilterStateType,
)
from prefect.client.schemas.objects import FlowRun, State, StateDetails, StateType
from prefect.events.filters import EventFilter, EventOccurredFilter, EventResourceFilter
from prefect.states import Completed, Crashed, Failed

from flows.prefect_runs.automations import our_deployments, silence
from flows.prefect_runs.outages import GIVEN_UP, GOING_ON, pauses_s, resumed, sign_of_life
from flows.prefect_runs.run_ends import forget_end, kept_end
from stores.releases.resumable_releases import note_reported
from stores.vault.lease import has_died

if TYPE_CHECKING:
    from prefect.client.orchestration import SyncPrefectClient

_WORKING = [StateType.RUNNING, StateType.PENDING, StateType.CANCELLING]
_ENDED = [StateType.COMPLETED, StateType.FAILED, StateType.CRASHED, StateType.CANCELLED]
_PAGE = 200  # Prefect returns at most this many at a time
_PAST = timedelta(days=1)
"""Runs that ended longer ago are left as they are."""
_SETTLED = timedelta(seconds=30)
"""The last report of a task reaches Prefect later than the last report of its run."""
_DIED = "the process of the run died without reporting it."
_SILENT = "the run was silent for {:g} s: its process or its machine is gone."


class RunWatch:
    """Watches the runs of our deployments while Prefect answers; silence during an outage of Prefect does not count.

    Args:
        client: a client of Prefect's server.
        state: the state folder, if the runs work on it.
    """

    def __init__(self, client: "SyncPrefectClient", state: Path) -> None:
        self._client = client
        self._state = state
        self._heard_since = time.monotonic()

    def look(self) -> list[str]:
        """End runs that fell silent, close the tasks of runs that ended, and resume those that an outage ended.

        Returns:
            Lines that state what was done.

        Raises:
            httpx.HTTPError: Prefect does not answer; the next call continues.
        """
        ours = {deployment.id for deployment in our_deployments(self._client)}
        if not ours:
            return []
        done = list(self._end_silent(ours))
        done += self._close_tasks(ours)
        for run in self._runs(ours, [StateType.CRASHED], recent=True):
            done += self._go_on(run)
        return done

    def _runs(self, ours: Collection[Any], kinds: list[StateType], *, recent: bool = False) -> list[FlowRun]:
        """Return the runs of our deployments in states of the given kinds."""
        wanted = FlowRunFilter(
            state=FlowRunFilterState(type=FlowRunFilterStateType(any_=kinds)),
            end_time=FlowRunFilterEndTime.model_validate({"after_": datetime.now(UTC) - _PAST}) if recent else None,
        )
        found: list[FlowRun] = []
        while page := self._client.read_flow_runs(flow_run_filter=wanted, limit=_PAGE, offset=len(found)):
            found += page
        return [run for run in found if run.deployment_id in ours]

    def _end_silent(self, ours: Collection[Any]) -> Iterator[str]:
        """End runs whose process died without reporting it."""
        longest = silence()
        heard = time.monotonic() - self._heard_since >= longest.total_seconds()
        for run in self._runs(ours, _WORKING):
            if run.state is None:
                continue
            if self._has_died(run.id, run.state):
                if told := self._tell_end(run):
                    yield told
                    continue
                said = _DIED
            elif heard and not self._heard_of(run, datetime.now(UTC) - longest):
                said = _SILENT.format(longest.total_seconds())
            else:
                continue
            self._client.set_flow_run_state(run.id, Crashed(message=said))
            yield f"{run.name} ({run.id}): {said}"

    def _has_died(self, run: object, state: State[object]) -> bool:
        """Whether a run's process worked on this state folder and has died; a resumed run is given time to begin."""
        long_ago = state.timestamp < datetime.now(UTC) - _SETTLED
        return state.type is StateType.RUNNING and long_ago and has_died(self._state, sign_of_life(run))

    def _tell_end(self, run: FlowRun) -> str | None:
        """Report to Prefect the end of a run that could not do so itself; return what was done, None if nothing."""
        end = kept_end(self._state, run.id)
        if end is None:
            return None
        self._client.set_flow_run_state(run.id, end.as_state(), force=True)
        for release in end.finished:
            note_reported(self._state, release)
        forget_end(self._state, run.id)
        return f"{run.name} ({run.id}) could not report its end to Prefect; it is reported now: {end.name}"

    def _heard_of(self, run: FlowRun, since: datetime) -> bool:
        if run.state is None or run.state.timestamp > since:
            return True
        told = EventFilter(
            occurred=EventOccurredFilter.model_validate({"since": since}),
            resource=EventResourceFilter(id=[f"prefect.flow-run.{run.id}"]),
        )
        return bool(self._client.read_events(filter=told, limit=1).events)

    def _close_tasks(self, ours: Collection[Any]) -> Iterator[str]:
        """End tasks that Prefect considers running although their run has ended: nothing else would end them."""
        open_tasks = TaskRunFilter(
            state=TaskRunFilterState(type=TaskRunFilterStateType(any_=[StateType.RUNNING, StateType.PENDING]))
        )
        of_ended = FlowRunFilter(state=FlowRunFilterState(type=FlowRunFilterStateType(any_=_ENDED)))
        left = self._client.read_task_runs(task_run_filter=open_tasks, flow_run_filter=of_ended, limit=_PAGE)
        for flow_run in {task.flow_run_id for task in left if task.flow_run_id is not None}:
            run = self._client.read_flow_run(flow_run)
            if run.deployment_id not in ours or run.state is None or not _is_settled(run.state):
                continue
            for task in (each for each in left if each.flow_run_id == flow_run):
                self._client.set_task_run_state(task.id, _end_of_task(run.state), force=True)
                yield f"task {task.name} of {run.name} was left {task.state_name}, and is closed"

    def _go_on(self, run: FlowRun) -> Iterator[str]:
        """Schedule a run to be resumed later, or give it up; a run that was being cancelled is left unchanged."""
        states = sorted(self._client.read_flow_run_states(run.id), key=lambda state: state.timestamp)
        if run.state is None or StateType.CANCELLING in _kinds(states[-2:]):
            return
        if told := self._tell_end(run):
            yield told
            return
        pauses, before, said = pauses_s(), resumed(states), (run.state.message or "it crashed").rstrip(". ")
        if before >= len(pauses):
            msg = (
                f"{said}. The run was tried {before + 1} times, and is given up; check that everything is running, "
                "then retry it: it resumes where it stopped."
            )
            self._client.set_flow_run_state(run.id, Failed(name=GIVEN_UP, message=msg), force=True)
            yield f"{run.name} ({run.id}) is given up after {before + 1} attempts"
            return
        when = datetime.now(UTC) + timedelta(seconds=pauses[before])
        again = State(
            type=StateType.SCHEDULED,
            name=GOING_ON,
            message=f"resumes by itself, attempt {before + 2} of {len(pauses) + 1}; before: {said}.",
            state_details=StateDetails.model_validate({"scheduled_time": when}),
        )
        self._client.set_flow_run_state(run.id, again)
        yield f"{run.name} ({run.id}) resumes in {pauses[before]:g} s, attempt {before + 2} of {len(pauses) + 1}"


def _kinds(states: Iterable[State[object]]) -> set[StateType]:
    return {state.type for state in states}


def _is_settled(state: State[object]) -> bool:
    """Whether the tasks of an ended run will report nothing more; those of a crashed run never do."""
    return state.type is StateType.CRASHED or state.timestamp < datetime.now(UTC) - _SETTLED


def _end_of_task(state: State[object]) -> State[object]:
    """Return the state of a task that could not report its end, inferred from the end of its run."""
    if state.type is StateType.COMPLETED:
        return Completed(message="its end was not reported to Prefect; its run completed")
    return Crashed(message="its end was not reported to Prefect; its run did not complete")
