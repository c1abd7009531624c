"""A run that an outage ended is resumed a limited number of times; missed nights are made up for once."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from prefect import get_client, task
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.settings import PREFECT_API_URL, PREFECT_CLIENT_MAX_RETRIES, temporary_settings
from prefect.states import Cancelling, Completed, Crashed, Pending, Running, Scheduled

from deniable.foundation.errors import Refused
from flows import entrypoints as deployed
from flows.prefect_runs.outages import GIVEN_UP, GOING_ON, INTERRUPTED, MISSED, resumable, sign_of_life
from flows.prefect_runs.resuming import RunWatch
from flows.prefect_runs.run_ends import RunEnd, keep_end, kept_end
from flows.prefect_runs.shared import share
from infra.environment import state_folder
from stores.ledger.ledger import Ledger, ledger_place
from stores.releases.resumable_releases import begun_releases, note_reported
from stores.servers.prefect_failures import PrefectDown
from stores.tracking.client import RecordServerDown
from stores.vault.private_files import make_private_folder
from tests.isolation import own_state
from tests.small_release import QUICK, write_small_release

pytestmark = pytest.mark.usefixtures("prefect")

ROOT = Path(__file__).resolve().parents[2]
PAUSES = "60 300"


@pytest.fixture
def client() -> Iterator[SyncPrefectClient]:
    resume_after(PAUSES)
    with get_client(sync_client=True) as client:
        yield client
    (state_folder() / "deployments.json").unlink()


def resume_after(pauses: str) -> None:
    """Note, as `deploy` does, after how many seconds runs are resumed."""
    share(state_folder(), {"DENIABLE_RESUME_AFTER_S": pauses})


@pytest.fixture
def deployment(client: SyncPrefectClient, request: pytest.FixtureRequest) -> str:
    """A deployment of ours, whose runs nobody works on; its schedule asks for a run every night at two."""
    made = client.create_deployment(
        client.create_flow(deployed.release), request.node.name, entrypoint="flows.entrypoints.release"
    )
    planned = [{"schedule": {"cron": "0 2 * * *", "timezone": "UTC"}, "active": True, "parameters": {"spec": "small"}}]
    client._client.post(f"/deployments/{made}/schedules", json=planned)
    return str(made)


def run_in(client: SyncPrefectClient, deployment: str, *states: State[Any]) -> FlowRun:
    """A run that somebody triggered and that went through some states."""
    run = client.create_flow_run_from_deployment(deployment)
    for state in states:
        client.set_flow_run_state(run.id, state, force=True)
    return client.read_flow_run(run.id)


def nights(client: SyncPrefectClient, deployment: str, number: int) -> list[FlowRun]:
    """Runs that the schedule asked for in the last nights, the first one first."""
    now = datetime.now(UTC)
    between = {"start_time": f"{now - timedelta(days=number)}", "end_time": f"{now}", "min_runs": number}
    client._client.post(f"/deployments/{deployment}/schedule", json=between)
    runs = [run for run in client.read_flow_runs() if str(run.deployment_id) == deployment and run.auto_scheduled]
    past = [run for run in runs if run.expected_start_time and run.expected_start_time < now]
    return sorted(past, key=lambda run: str(run.expected_start_time))


def is_run(monkeypatch: pytest.MonkeyPatch, run: FlowRun) -> None:
    """Have what follows happen in a run."""
    monkeypatch.setenv("PREFECT__RUNTIME__FLOW_RUN__ID", str(run.id))
    monkeypatch.setenv("PREFECT__RUNTIME__DEPLOYMENT__ID", str(run.deployment_id))


def states_of(client: SyncPrefectClient, run: FlowRun) -> list[State[Any]]:
    return sorted(client.read_flow_run_states(run.id), key=lambda state: state.timestamp)


def test_a_run_that_crashed_is_gone_on_with_after_longer_and_longer_pauses_and_then_given_up(
    client: SyncPrefectClient, deployment: str
) -> None:
    run = run_in(client, deployment, Running(), Crashed(name=INTERRUPTED, message="MLflow is down."))
    watch = RunWatch(client, own_state())
    waited = []
    for _ in PAUSES.split():
        watch.look()
        # Prefect's second word that the process was killed is no attempt.
        client.set_flow_run_state(run.id, Crashed(message="MLflow is down."), force=True)
        watch.look()
        state = states_of(client, run)[-1]
        assert (state.type, state.name) == (StateType.SCHEDULED, GOING_ON)
        assert "MLflow is down" in str(state.message)
        assert state.state_details.scheduled_time is not None
        waited.append(round((state.state_details.scheduled_time - state.timestamp).total_seconds()))
        watch.look()  # looking again does no harm
        client.set_flow_run_state(run.id, Running(), force=True)
        client.set_flow_run_state(run.id, Crashed(name=INTERRUPTED, message="MLflow is down."), force=True)
    assert waited == pytest.approx([60, 300], abs=5)
    watch.look()
    state = states_of(client, run)[-1]
    assert (state.type, state.name) == (StateType.FAILED, GIVEN_UP)
    assert "MLflow is down. The run was tried 3 times, and is given up" in str(state.message)
    assert len(states_of(client, run)) == 14

    # A person who retries it has it tried as often again.
    client.set_flow_run_state(run.id, Scheduled(), force=True)
    client.set_flow_run_state(run.id, Running(), force=True)
    client.set_flow_run_state(run.id, Crashed(), force=True)
    watch.look()
    assert states_of(client, run)[-1].name == GOING_ON


def test_what_somebody_cancelled_what_ended_by_itself_and_runs_of_others_are_left_as_they_are(
    client: SyncPrefectClient, deployment: str
) -> None:
    others = client.create_deployment(client.create_flow(deployed.audit), "of others", entrypoint="elsewhere.audit")
    runs = [
        run_in(client, deployment, Running(), Cancelling(), Crashed()),
        run_in(client, deployment, Running(), Completed()),
        run_in(client, str(others), Running(), Crashed()),
    ]
    before = [states_of(client, run) for run in runs]
    RunWatch(client, own_state()).look()
    assert [states_of(client, run) for run in runs] == before


def test_no_task_is_left_running_once_its_run_has_ended(
    client: SyncPrefectClient, deployment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flows.prefect_runs.resuming._SETTLED", timedelta(0))
    ended = {
        "CRASHED": run_in(client, deployment, Running(), Crashed()),
        "COMPLETED": run_in(client, deployment, Running(), Completed()),
        "RUNNING": run_in(client, deployment, Running()),
    }

    @task
    def learn() -> None:
        pass

    tasks = {kind: client.create_task_run(learn, run.id, "learn-0", state=Running()) for kind, run in ended.items()}
    RunWatch(client, own_state()).look()
    assert {kind: client.read_task_run(made.id).state_type for kind, made in tasks.items()} == {
        kind: StateType[kind] for kind in ended
    }


@pytest.mark.parametrize("state", [Running(), Pending()])
def test_a_run_whose_process_says_nothing_is_ended_and_gone_on_with(
    client: SyncPrefectClient, deployment: str, monkeypatch: pytest.MonkeyPatch, state: State[Any]
) -> None:
    run = run_in(client, deployment, state)
    watch = RunWatch(client, own_state())
    watch.look()
    assert states_of(client, run)[-1].type is state.type, "it may yet say something"
    monkeypatch.setattr("flows.prefect_runs.resuming.silence", lambda: timedelta(0))
    monkeypatch.setattr(RunWatch, "_heard_of", lambda *_: True)
    watch.look()
    assert states_of(client, run)[-1].type is state.type, "it was heard of"
    monkeypatch.undo()
    monkeypatch.setattr("flows.prefect_runs.resuming.silence", lambda: timedelta(0))
    watch.look()
    assert [each.name for each in states_of(client, run)][-2:] == ["Crashed", GOING_ON]


def test_a_run_whose_process_died_unseen_is_known_by_the_lock_that_it_held(
    client: SyncPrefectClient, deployment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flows.prefect_runs.resuming._SETTLED", timedelta(0))
    run = run_in(client, deployment, Running())
    lives = "import sys, pathlib; from stores.vault.lease import keep_while_alive as keep"
    lives += "; keep(pathlib.Path(sys.argv[1]), sys.argv[2]); print(flush=True); input()"
    told = [sys.executable, "-c", lives, str(own_state()), sign_of_life(run.id)]
    with subprocess.Popen(told, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None
        process.stdout.readline()
        RunWatch(client, own_state()).look()
        assert states_of(client, run)[-1].type is StateType.RUNNING
        process.kill()
    RunWatch(client, own_state()).look()
    assert [each.name for each in states_of(client, run)][-2:] == ["Crashed", GOING_ON]


def test_an_outage_ends_a_run_of_a_deployment_in_a_sentence_and_is_no_failure(
    client: SyncPrefectClient, deployment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(*_: object, **__: object) -> None:
        raise RecordServerDown("MLflow must take the record of the release.")

    monkeypatch.setattr("flows.entrypoints._released", down)
    client.upsert_global_concurrency_limit_by_name(deployed.DATASET_LIMIT.format("adult"), 1)
    is_run(monkeypatch, run_in(client, deployment, Running()))
    ended = deployed.release("adult", return_state=True)
    assert (ended.type, ended.name) == (StateType.CRASHED, INTERRUPTED)
    assert ended.message == "MLflow must take the record of the release."


KEPT_SILENT = "the log of its process says why"


class Died(BaseException):
    """What a test has instead of the end of its process."""


def test_a_run_whose_end_prefect_cannot_hear_dies_and_prefect_is_told_once_it_answers(
    client: SyncPrefectClient, deployment: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    resume_after("")  # the last attempt
    monkeypatch.setattr("flows.prefect_runs.resuming._SETTLED", timedelta(0))
    run = run_in(client, deployment, Running())
    is_run(monkeypatch, run)
    monkeypatch.setenv("DENIABLE_PATIENCE_S", "0")
    monkeypatch.setattr("flows.prefect_runs.outages.os._exit", Mock(side_effect=Died))
    assert resumable(lambda: Completed(message="published")).message == "published"
    ends: list[tuple[Any, str | None]] = [
        (Completed(message="published"), "published"),
        (PrefectDown("Prefect must answer, and does not."), "published"),  # an outage is no end
        (Refused("a release must be affordable, and is not."), "a release must be affordable, and is not."),
        (ValueError("Ada Lovelace"), KEPT_SILENT),
    ]
    for end, said in ends:
        with ExitStack() as until, pytest.raises(Died):
            resumable(lambda end=end, until=until: cut_off(end, until))
        assert "The end of this run could not be reported to Prefect; it will be once" in capsys.readouterr().err
        kept = kept_end(state_folder(), run.id)
        assert kept is not None
        assert kept.message == said

    watch = RunWatch(client, state_folder())
    monkeypatch.setattr("flows.prefect_runs.resuming.has_died", lambda *_: True)
    watch.look()
    assert (states_of(client, run)[-1].name, states_of(client, run)[-1].message) == ("Failed", KEPT_SILENT)
    assert kept_end(state_folder(), run.id) is None
    watch.look()
    assert states_of(client, run)[-1].name == "Failed"


def cut_off(end: State[Any] | Exception, until: ExitStack) -> State[Any]:
    """End some work in a moment in which Prefect's server is down."""
    down = temporary_settings({PREFECT_API_URL: "http://127.0.0.1:9/api", PREFECT_CLIENT_MAX_RETRIES: 0})
    until.enter_context(down)
    if isinstance(end, Exception):
        raise end
    return end


@pytest.mark.parametrize("seen", [Running(), Crashed(message="its process exited with status 1")], ids=lambda s: s.name)
def test_a_run_that_published_and_could_not_say_so_is_not_given_up(
    client: SyncPrefectClient, deployment: str, monkeypatch: pytest.MonkeyPatch, seen: State[Any], tmp_path: Path
) -> None:
    resume_after("")  # the last attempt
    monkeypatch.setattr("flows.prefect_runs.resuming._SETTLED", timedelta(0))
    monkeypatch.setattr("flows.prefect_runs.resuming.has_died", lambda *_: True)
    reported = Mock()
    monkeypatch.setattr("flows.prefect_runs.resuming.note_reported", reported)
    make_private_folder(tmp_path / "locks")
    run = run_in(client, deployment, Running(), *([seen] if seen.type is StateType.CRASHED else []))
    end = RunEnd(type="COMPLETED", name="Completed", message="published small-1", finished=("small-1",))
    keep_end(tmp_path, run.id, end)
    RunWatch(client, tmp_path).look()
    assert (states_of(client, run)[-1].name, states_of(client, run)[-1].message) == ("Completed", "published small-1")
    reported.assert_called_once_with(tmp_path, "small-1")
    # What is over is no end of the next attempt.
    assert kept_end(tmp_path, run.id) is None


def test_of_the_nights_that_no_worker_was_there_for_one_is_made_up_for(
    client: SyncPrefectClient, deployment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    missed = nights(client, deployment, 3)
    assert len(missed) == 3
    monkeypatch.setattr("flows.entrypoints._released", lambda *_, **__: "published")
    client.upsert_global_concurrency_limit_by_name(deployed.DATASET_LIMIT.format("adult"), 1)
    ended = []
    for run in missed:
        is_run(monkeypatch, run)
        ended.append(deployed.release("adult", return_state=True).name)
    assert ended == [MISSED, MISSED, "Completed"]

    # One that ended for a reason of its own does nobody's work.
    client.set_flow_run_state(missed[-1].id, State(type=StateType.FAILED), force=True)
    is_run(monkeypatch, missed[1])
    assert deployed.release("adult", return_state=True).name == "Completed"


@pytest.mark.nightly
def test_a_night_has_a_release_of_its_own_though_the_last_one_was_killed_past_its_end(
    client: SyncPrefectClient, deployment: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    spec, state = write_small_release(tmp_path / "spec", **deepcopy(QUICK)), tmp_path / "state"
    monkeypatch.setattr("flows.entrypoints.spec_places", lambda: {"small": spec})
    monkeypatch.setenv("DENIABLE_STATE", str(state))
    client.upsert_global_concurrency_limit_by_name(deployed.DATASET_LIMIT.format("people"), 1)
    trigger = deployed.release.with_options(validate_parameters=False)

    def released(run: FlowRun) -> str:
        # Nobody notes that Prefect was told: so it is left where a process is killed past its end.
        is_run(monkeypatch, run)
        return str(trigger("small", return_state=True).message)

    def made() -> list[str]:
        return [begun.release_id for begun in begun_releases(state)]

    first, second = nights(client, deployment, 2)
    client.set_flow_run_state(second.id, State(type=StateType.FAILED), force=True)  # the first is of its own night
    assert released(first) == f"published {made()[0]}"
    assert released(first) == f"published {made()[0]}", "gone on with, it reports its own"
    assert released(second) == f"published {made()[1]}"
    assert released(second) == f"published {made()[1]}"
    assert len(made()) == 2
    assert [begun.reported for begun in begun_releases(state)] == [True, False]

    # Whoever triggers a run by hand is told of what was not reported, and pays for nothing.
    person = run_in(client, deployment, Running())
    assert released(person) == f"published {made()[1]}"
    note_reported(state, made()[1])
    assert released(first) == f"published {made()[0]}", "what has ended is not begun again"
    assert len(made()) == 2
    assert len(Ledger.open(ledger_place(state)).charges("people")) == 2
