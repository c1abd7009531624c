"""MLflow's history is moved to another database with every id, file and digest as it was, or not at all."""

import os
import sqlite3
from pathlib import Path

import pytest
from mlflow import MlflowClient
from sqlalchemy import Connection, Table, text

from deniable.foundation.errors import Refused
from schemas.references import Audience
from schemas.spec.release_spec import ReleaseSpec, load_spec
from stores.servers.mlflow_database import ready_client
from stores.tracking import history_moving
from stores.tracking.history_moving import (
    HistoriesCollide,
    History,
    HistoryFailed,
    Moved,
    has_history,
    history_in,
    history_moved,
    history_served,
    relocate,
    set_aside,
)
from stores.tracking.release_run import recorded_release
from stores.tracking.run_tree import snapshot
from stores.tracking.step_run import recorded_step
from stores.vault.workspace import Workspace
from tests.mlflow_copies import change_mlflow, copied_state, mlflow_uri
from tests.recorded_release import record_release
from tests.small_release import write_small_release

_reflected = history_moving._reflected
FIRST, SECOND = "small-20261120T000000Z", "small-20261121T000000Z"


@pytest.fixture(autouse=True)
def moved_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read the tables of a schema once, which takes longer than to move their rows, and do not wait for the disk."""
    monkeypatch.setattr(history_moving, "_reflected", reflected_once)
    # Power cuts are not tested.
    monkeypatch.setattr(os, "sync", lambda: None)


_READ: dict[tuple[object, ...], dict[str, Table]] = {}


def reflected_once(connection: Connection, *names: str) -> dict[str, Table]:
    schema = connection.execute(text("SELECT name, sql FROM sqlite_master ORDER BY name"))
    known = (*names, *map(tuple, schema))
    if known not in _READ:
        _READ[known] = _reflected(connection, *names)
    return _READ[known]


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> ReleaseSpec:
    return load_spec(write_small_release(tmp_path_factory.mktemp("spec")))


@pytest.fixture(scope="module")
def made(spec: ReleaseSpec, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    state = tmp_path_factory.mktemp("made") / "state"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", mlflow_uri(state))
        return record_release(state, FIRST, spec)


@pytest.fixture
def state(made: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return copied_state(made.state, tmp_path / "state", monkeypatch)


@pytest.fixture
def served(tmp_path: Path) -> History:
    """The history of a server that was just made."""
    (tmp_path / "server" / "mlflow").mkdir(parents=True)
    ready_client(database := mlflow_uri(tmp_path / "server"))
    files = tmp_path / "files"
    files.mkdir()
    return history_served(tmp_path / "state", place="the server", database=database, files=files)


def moved(source: History, target: History, *, in_use: bool = False) -> Moved:
    with history_moved(source, target, in_use=in_use) as done:
        return done


def rows(history: History) -> dict[str, list[tuple[object, ...]]]:
    """All that a database has."""
    connection = sqlite3.connect(history.database.removeprefix("sqlite:///"))
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    found = {name: sorted(connection.execute(f"SELECT * FROM {name}"), key=repr) for name in names}  # noqa: S608
    connection.close()
    return found


def files(history: History) -> dict[str, bytes]:
    found = (path for path in history.files.rglob("*") if path.is_file())
    return {path.relative_to(history.files).as_posix(): path.read_bytes() for path in found}


def go_on(state: Path, run_id: str) -> None:
    """What a release does that goes on: its run, a run below it, another file."""
    client = MlflowClient(mlflow_uri(state))
    client.set_tag(run_id, "status", "approved")
    client.create_run("1", run_name="later", tags={"mlflow.parentRunId": run_id})
    client.log_text(run_id, "more", "public/cells.json")


def test_what_went_there_and_came_back_has_every_digest_that_it_had(
    state: Path, served: History, made: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = snapshot(state, made.mlflow_run_id)
    there = moved(history_in(state), served)
    assert (there.releases, there.runs, there.experiments, there.models) == (1, 3, ("0", "1"), ("people",))
    assert there.files == len(files(served)) > 5
    addresses = [address for table in ("runs", "logged_models") for row in rows(served)[table] for address in row]
    noted = [str(each) for each in addresses if "artifacts" in str(each)]
    assert len(noted) == 4
    assert all(address.startswith("mlflow-artifacts:/1/") for address in noted)

    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "mlflow").mkdir(parents=True)
    assert moved(served, history_in(elsewhere)).files == there.files
    monkeypatch.setenv("MLFLOW_TRACKING_URI", mlflow_uri(elsewhere))
    set_aside(state)
    assert snapshot(elsewhere, made.mlflow_run_id) == before


def test_what_was_moved_is_not_moved_again_and_what_is_used_by_now_is_kept(
    state: Path, served: History, made: Workspace
) -> None:
    moved(history_in(state), served)
    there = MlflowClient(served.database)
    there.set_tag(made.mlflow_run_id, "status", "approved")
    before = rows(served)
    assert moved(history_in(state), served, in_use=True) == Moved()
    assert rows(served) == before


def test_a_copy_that_was_not_used_yet_is_replaced_by_what_went_on(
    state: Path, served: History, made: Workspace
) -> None:
    moved(history_in(state), served)
    go_on(state, made.mlflow_run_id)
    assert moved(history_in(state), served).runs == 4
    assert files(served)[f"1/{made.mlflow_run_id}/artifacts/public/cells.json"] == b"more"
    assert MlflowClient(served.database).get_run(made.mlflow_run_id).data.tags["status"] == "approved"


def test_a_copy_that_knows_more_is_not_replaced(state: Path, served: History, made: Workspace) -> None:
    moved(history_in(state), served)
    MlflowClient(served.database).create_run("1", run_name="another")
    before = rows(served)
    with pytest.raises(Refused, match=r"must have no run that .* lacks to be replaced by it, and has 1"):
        moved(history_in(state), served)
    assert rows(served) == before


def test_what_was_left_behind_joins_what_was_made_since(
    state: Path, served: History, made: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved(history_in(state), served)
    there = MlflowClient(served.database)
    own = there.create_run("1", run_name="made since").info.run_id
    monkeypatch.setenv("MLFLOW_TRACKING_URI", mlflow_uri(state))
    left = MlflowClient(mlflow_uri(state)).create_run("1", run_name="left behind").info.run_id
    MlflowClient(mlflow_uri(state)).log_text(left, "here", "public/note.txt")
    moved(history_in(state), served, in_use=True)
    assert {run.info.run_name for run in there.search_runs(["1"])} >= {FIRST, "made since", "left behind"}
    assert files(served)[f"1/{left}/artifacts/public/note.txt"] == b"here"
    assert there.get_run(own).info.run_name == "made since"


@pytest.mark.parametrize("names", [["other"], ["other", "people"]])
def test_experiments_that_would_have_to_change_their_number_are_left_as_they_are(
    names: list[str], state: Path, served: History
) -> None:
    there = MlflowClient(served.database)
    there.create_run([there.create_experiment(name) for name in names][-1])
    before = rows(served), rows(history_in(state)), files(served)
    with pytest.raises(HistoriesCollide, match="the experiment of people has another number"):
        moved(history_in(state), served, in_use=True)
    assert (rows(served), rows(history_in(state)), files(served)) == before


def test_two_versions_of_one_number_are_left_as_they_are(state: Path, served: History) -> None:
    there = MlflowClient(served.database)
    run = there.create_run("0").info.run_id
    there.create_registered_model("people")
    there.create_model_version("people", "s3://elsewhere/model", run_id=run)
    before = rows(served)
    with pytest.raises(HistoriesCollide, match="version 1 of the model people"):
        moved(history_in(state), served, in_use=True)
    assert rows(served) == before


def test_a_move_that_is_interrupted_leaves_both_places_as_they_were_and_can_be_repeated(
    state: Path, served: History, made: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = rows(served), rows(history_in(state))
    with monkeypatch.context() as patch:
        patch.setattr(os, "sync", lambda: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            moved(history_in(state), served)
    assert (rows(served), rows(history_in(state))) == before
    assert moved(history_in(state), served).runs == 3
    assert MlflowClient(served.database).get_run(made.mlflow_run_id).info.run_name == FIRST


def test_nobody_writes_to_the_old_place_meanwhile(state: Path, served: History) -> None:
    with history_moved(history_in(state), served, in_use=False):
        other = sqlite3.connect(state / "mlflow" / "mlflow.db", timeout=0)
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("DELETE FROM tags")
        other.close()
    change_mlflow(state, "UPDATE runs SET name = name")


def test_databases_of_two_versions_are_refused_with_what_to_do(state: Path, served: History) -> None:
    change_mlflow(state, "UPDATE alembic_version SET version_num = '451aebb31d03'")
    with pytest.raises(Refused, match=r"the same MLflow version, got 451aebb31d03 and .* db upgrade"):
        moved(history_in(state), served)


def test_a_database_that_is_damaged_is_named(state: Path, served: History) -> None:
    (state / "mlflow" / "mlflow.db").write_bytes(b"no database" * 100)
    with pytest.raises(HistoryFailed, match=r"must be readable and writable at .*mlflow.db"):
        has_history(state)


def test_a_folder_without_releases_has_no_history(tmp_path: Path) -> None:
    (tmp_path / "mlflow").mkdir()
    assert not has_history(tmp_path)
    ready_client(mlflow_uri(tmp_path))
    assert not has_history(tmp_path)


def test_what_is_set_aside_is_kept_each_time(state: Path) -> None:
    before = files(history_in(state))
    for name in ("mlflow.moved", "mlflow.moved-2"):
        assert set_aside(state) == state / name
        assert not list((state / "mlflow").iterdir())
    assert len(before) == len([path for path in (state / "mlflow.moved").rglob("artifacts/**/*") if path.is_file()])


def test_a_state_folder_that_was_moved_writes_within_itself(
    state: Path, made: Workspace, spec: ReleaseSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = snapshot(state, made.mlflow_run_id)
    here = state.rename(state.with_name("restored"))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", mlflow_uri(here))
    with recorded_release(here, SECOND, spec) as run_id:
        workspace = Workspace(state=here, release_id=SECOND, spec=spec, mlflow_run_id=run_id)
        (workspace.vault).mkdir(parents=True)
        with recorded_step(workspace, "decide") as step:
            step.document({}, "decision.json", Audience.INTERNAL)
    assert not state.exists()
    assert (here / "mlflow" / "artifacts" / "people" / step.run_id / "artifacts" / "internal").is_dir()
    assert snapshot(here, made.mlflow_run_id) == before


def test_a_state_folder_that_was_copied_knows_its_own_files(made: Workspace, tmp_path: Path) -> None:
    state = tmp_path / "copy"
    (state / "mlflow").mkdir(parents=True)
    (state / "mlflow" / "mlflow.db").write_bytes((made.state / "mlflow" / "mlflow.db").read_bytes())
    relocate(state)
    noted = [str(value) for table in rows(history_in(state)).values() for row in table for value in row]
    assert [value for value in noted if str(made.state / "mlflow") in value] == []
    assert len([value for value in noted if value.startswith(str(state))]) == 6
