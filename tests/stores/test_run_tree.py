"""MLflow's runs of a release are listed item by item: every alteration is in the list, and nothing else is."""

import math
import os
import subprocess
from pathlib import Path

import httpx
import pytest
from mlflow import MlflowClient
from mlflow.artifacts import download_artifacts

from deniable.ledger.entries import digest_of
from schemas.references import Audience
from schemas.spec.release_spec import load_spec
from stores.servers.mlflow_database import ready_client
from stores.tracking import run_tree
from stores.tracking.release_run import tag_release
from stores.tracking.run_tree import RunsUnreachable, RunsUnreadable, listing, record_in_mlflow, snapshot
from stores.tracking.step_run import recorded_step
from stores.vault.workspace import Workspace
from tests.mlflow_copies import change_mlflow, mlflow_uri, recopied_state
from tests.recorded_release import codes, record_release
from tests.small_release import write_small_release
from tests.warm import run_module
from tests.warm.servers import mlflow_server

NAME = "small-20261120T000000Z"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Two steps of a release, a model and its registered version, in a state folder of their own."""
    state = tmp_path_factory.mktemp("made") / "state"
    spec = load_spec(write_small_release(tmp_path_factory.mktemp("spec")))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", mlflow_uri(state))
        return record_release(state, NAME, spec)


@pytest.fixture(scope="module")
def untouched(made: Workspace) -> tuple[dict[str, str], dict[str, str]]:
    """The owners of things in what was made, and all that is listed of it; copies have the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", mlflow_uri(made.state))
        owners = named(made, MlflowClient(mlflow_uri(made.state)))
        return owners, dict(snapshot(made.state, made.mlflow_run_id).items)


@pytest.fixture
def state(made: Workspace, monkeypatch: pytest.MonkeyPatch) -> Path:
    return recopied_state(made.state, made.state.parent / "copied" / made.state.name, monkeypatch)


@pytest.fixture
def client(state: Path) -> MlflowClient:
    return MlflowClient(mlflow_uri(state))


def named(made: Workspace, client: MlflowClient) -> dict[str, str]:
    """The owners of things, by short names."""
    release = client.get_run(made.mlflow_run_id)
    steps = client.search_runs([release.info.experiment_id], f"tags.`mlflow.parentRunId` = '{made.mlflow_run_id}'")
    return {
        "release": f"run {made.mlflow_run_id}",
        "model": f"model {release.outputs.model_outputs[0].model_id}",
        "version": "version people 1",
        **{step.data.tags["step"]: f"run {step.info.run_id}" for step in steps},
    }


def test_all_that_a_release_has_in_mlflow_is_listed(state: Path, made: Workspace, client: MlflowClient) -> None:
    places = listing(state, made.mlflow_run_id).items.keys()
    owners = named(made, client)
    model = owners["model"].removeprefix("model ")
    expected = {
        "release": [
            *("name", "user", "lifecycle stage", "start time", "parameter learner.noise", "tag dataset"),
            *("metric internal/rows", "entry 0 of metric internal/rows", f"output model {model}"),
            "artifact public/cells.json",
        ],
        "split": [
            *("status", "end time", "parameter seeds", "tag step", "metric epsilon", "entry 0 of metric epsilon"),
            f"input codes {codes().digest[:36]}",
        ],
        "learn_parameters": ["artifact public/cells.json", f"output model {model}", "metric epsilon.model"],
        "model": ["name", "status", "source run", "parameter noise", "tag audience", "artifact MLmodel"],
        "version": ["source", "run", "creation time"],
    }
    assert {f"{owners[owner]}/{what}" for owner, held in expected.items() for what in held} <= places
    assert "experiment 1/lifecycle stage" in places


def test_an_artifact_is_listed_by_the_digest_of_its_bytes(state: Path, made: Workspace, client: MlflowClient) -> None:
    items = listing(state, made.mlflow_run_id).items
    assert items[f"{named(made, client)['model']}/artifact model.json"] == (
        "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"  # sha256 of {}
    )


def test_the_digest_of_all_is_that_of_the_list(state: Path, made: Workspace) -> None:
    tree = snapshot(state, made.mlflow_run_id)
    assert tree.digest == digest_of(tree.items)
    assert list(tree.items) == sorted(tree.items)


def test_another_process_lists_the_same(state: Path, made: Workspace) -> None:
    env = {"PATH": os.environ["PATH"], "DENIABLE_STATE": str(state), "MLFLOW_TRACKING_URI": mlflow_uri(state)}
    there = run_module("tests.stores.listed", [str(state), made.mlflow_run_id], env=env, cwd=state)
    assert there.stdout.strip() == snapshot(state, made.mlflow_run_id).digest, there.stderr


def test_a_folder_that_was_moved_is_listed_the_same(
    state: Path, made: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = snapshot(state, made.mlflow_run_id)
    moved = state.rename(state.with_name("moved"))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", mlflow_uri(moved))
    assert snapshot(moved, made.mlflow_run_id) == before


@pytest.mark.nightly
def test_a_server_lists_the_same_and_browsing_its_pages_changes_nothing(
    state: Path, made: Workspace, client: MlflowClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = snapshot(state, made.mlflow_run_id)
    database = (state / "mlflow" / "mlflow.db").read_bytes()
    with mlflow_server(state) as server:
        user, _, password = server.credentials.partition(":")
        for path, question in pages(made, client):
            header = {"Content-Type": "application/json"}
            answer = httpx.request(
                "POST" if question else "GET",
                server.address + path,
                content=question,
                headers=header,
                auth=(user, password),
            )
            assert answer.status_code == 200, path
        monkeypatch.setenv("MLFLOW_TRACKING_URI", server.address)
        monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", user)
        monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", password)
        # These pages do not show MLflow's database.
        shown = {place: before.items[place] for place in before.items if "/row of " not in place}
        assert snapshot(state, made.mlflow_run_id).items == shown
    assert (state / "mlflow" / "mlflow.db").read_bytes() == database


def pages(made: Workspace, client: MlflowClient) -> list[tuple[str, bytes | None]]:
    """What MLflow's pages ask of its server for an experiment, a run, its artifacts, metrics and model."""
    run, model = made.mlflow_run_id, named(made, client)["model"].removeprefix("model ")
    get = "/ajax-api/2.0/mlflow"
    return [
        ("/", None),
        (f"{get}/experiments/get?experiment_id=1", None),
        (f"{get}/experiments/search", b'{"max_results": 25}'),
        (f"{get}/runs/search", b'{"experiment_ids": ["1"], "run_view_type": "ALL"}'),
        (f"{get}/logged-models/search", b'{"experiment_ids": ["1"]}'),
        (f"{get}/runs/get?run_id={run}", None),
        (f"{get}/artifacts/list?run_id={run}&path=public", None),
        (f"/get-artifact?path=public%2Fcells.json&run_uuid={run}", None),
        (f"{get}/metrics/get-history?run_id={run}&metric_key=internal%2Frows", None),
        (f"{get}/logged-models/{model}", None),
        (f"{get}/model-versions/search?filter=name%3D%27people%27", None),
    ]


def test_a_model_that_is_loaded_and_an_alias_that_moves_change_nothing(
    state: Path, made: Workspace, client: MlflowClient
) -> None:
    before = snapshot(state, made.mlflow_run_id)
    for alias in ("current", "another"):
        client.set_registered_model_alias("people", alias, "1")
    folder = Path(download_artifacts(artifact_uri="models:/people@current", tracking_uri=mlflow_uri(state)))
    assert (folder / "registered_model_meta").is_relative_to(state)
    assert (folder / "registered_model_meta").exists()
    client.set_experiment_tag("1", "mlflow.experimentKind", "custom_model_development")
    assert snapshot(state, made.mlflow_run_id) == before
    client.rename_experiment("1", "renamed")
    client.update_registered_model("people", "Of several releases.")
    after = snapshot(state, made.mlflow_run_id).items
    differing = {place for place in after if after[place] != before.items.get(place)}
    assert differing == {"experiment 1/name", "registered model people/description"}
    (folder / "registered_model_meta").write_text("model_name: people\nmodel_version: 1\nand: something else\n")
    assert snapshot(state, made.mlflow_run_id) != before


def test_what_is_written_after_the_record_was_signed_is_left_out_and_nothing_like_it(
    state: Path, made: Workspace, client: MlflowClient
) -> None:
    before = snapshot(state, made.mlflow_run_id)
    workspace = Workspace(state=state, release_id=NAME, spec=made.spec, mlflow_run_id=made.mlflow_run_id)
    tag_release(workspace, {run_tree.RECORD_DIGEST: "a", run_tree.RECORD_PUBLIC_DIGEST: "b"})
    client.log_text(made.mlflow_run_id, "signed", run_tree.RECORD_ARTIFACT)
    client.update_run(made.mlflow_run_id, status="RUNNING")
    assert snapshot(state, made.mlflow_run_id) == before
    kept = record_in_mlflow(state, made.mlflow_run_id)
    assert (kept.content, kept.tags) == (b"signed", {"record.digest": "a", "record.public": "b"})

    client.set_tag(made.mlflow_run_id, "record.other", "c")
    client.log_text(made.mlflow_run_id, "signed", "public/record.dsse.json")
    step = named(made, client)["split"]
    client.set_tag(step.removeprefix("run "), run_tree.RECORD_DIGEST, "d")
    client.log_text(step.removeprefix("run "), "signed", run_tree.RECORD_ARTIFACT)
    release = f"run {made.mlflow_run_id}"
    assert snapshot(state, made.mlflow_run_id).items.keys() - before.items.keys() == {
        f"{release}/tag record.other",
        f"{release}/artifact public/record.dsse.json",
        f"{step}/tag record.digest",
        f"{step}/artifact internal/record.dsse.json",
    }


def test_of_a_run_that_is_under_way_it_is_listed_how_it_began(state: Path, made: Workspace) -> None:
    workspace = Workspace(state=state, release_id=NAME, spec=made.spec, mlflow_run_id=made.mlflow_run_id)
    workspace.vault.mkdir(parents=True)
    with recorded_step(workspace, "seal") as step:
        signed = snapshot(state, made.mlflow_run_id)
        step.document({}, "record.json", Audience.INTERNAL)
    assert f"run {step.run_id}/{run_tree.UNDER_WAY}" in signed.items
    assert f"run {step.run_id}/tag step" in signed.items
    assert f"run {step.run_id}/status" not in signed.items
    now = listing(state, made.mlflow_run_id, [step.run_id])
    assert now.items == signed.items
    assert {place.partition("/")[2] for place in now.later} == {
        *("status", "end time", "artifact internal/record.json"),
        *("metric epsilon", "entry 0 of metric epsilon", "metric delta", "entry 0 of metric delta"),
        *("row of latest_metrics epsilon", "row of latest_metrics delta"),
    }
    assert now.ends[f"run {step.run_id}"] == "FINISHED"


def test_runs_that_were_deleted_are_listed_as_deleted_and_restored_ones_as_before(
    state: Path, made: Workspace, client: MlflowClient
) -> None:
    before = snapshot(state, made.mlflow_run_id)
    owner = named(made, client)["split"]
    client.delete_run(owner.removeprefix("run "))
    now = listing(state, made.mlflow_run_id)
    assert [place for place in now.items if now.items[place] != before.items[place]] == [f"{owner}/lifecycle stage"]
    assert now.shown[f"{owner}/lifecycle stage"] == "deleted"
    client.restore_run(owner.removeprefix("run "))
    assert snapshot(state, made.mlflow_run_id) == before


DEEDS: list[tuple[str, str, str, str]] = [
    ("params", "value = 'x' WHERE key = 'seeds'", "split", "parameter seeds"),
    ("tags", "value = 'x' WHERE key = 'step' AND value = 'split'", "split", "tag step"),
    ("metrics", "value = 7 WHERE key = 'epsilon.model'", "learn_parameters", "entry 0 of metric epsilon.model"),
    ("metrics", "timestamp = 7 WHERE key = 'epsilon.model'", "learn_parameters", "entry 0 of metric epsilon.model"),
    ("metrics", "step = 7 WHERE key = 'epsilon.model'", "learn_parameters", "entry 0 of metric epsilon.model"),
    ("latest_metrics", "value = 7 WHERE key = 'epsilon.model'", "learn_parameters", "metric epsilon.model"),
    ("runs", "name = 'x' WHERE name LIKE '% split'", "split", "name"),
    ("runs", "start_time = 7 WHERE name LIKE '% split'", "split", "start time"),
    ("runs", "end_time = 7 WHERE name LIKE '% split'", "split", "end time"),
    ("runs", "status = 'FAILED' WHERE name LIKE '% split'", "split", "status"),
    ("runs", "user_id = 'x' WHERE name LIKE '% split'", "split", "user"),
    ("runs", "start_time = 7 WHERE name LIKE 'small%'", "release", "start time"),
    ("datasets", "dataset_source = 'x' WHERE name = 'codes'", "split", f"input codes {codes().digest[:36]}"),
    ("input_tags", "value = 'x' WHERE value = 'input'", "split", f"input codes {codes().digest[:36]}"),
    ("logged_models", "name = 'x'", "model", "name"),
    ("logged_models", "status = 3", "model", "status"),
    ("logged_model_params", "param_value = 'x' WHERE param_key = 'noise'", "model", "parameter noise"),
    ("logged_model_tags", "tag_value = 'x' WHERE tag_key = 'audience'", "model", "tag audience"),
    ("model_versions", "source = 'models:/m-other'", "version", "source"),
    ("model_versions", "creation_time = 7", "version", "creation time"),
]


@pytest.mark.parametrize(("table", "change", "owner", "what"), DEEDS)
def test_a_change_in_the_database_changes_exactly_what_was_changed(
    table: str,
    change: str,
    owner: str,
    what: str,
    state: Path,
    made: Workspace,
    untouched: tuple[dict[str, str], dict[str, str]],
) -> None:
    owners, before = untouched
    place = f"{owners[owner]}/{what}"
    change_mlflow(state, f"UPDATE {table} SET {change}")  # noqa: S608 - written here
    after = snapshot(state, made.mlflow_run_id).items
    assert before.keys() == after.keys()
    assert {place for place in before if before[place] != after[place]} == {place}


def test_an_entry_of_a_metric_of_which_no_value_is_shown_is_listed(
    state: Path, made: Workspace, client: MlflowClient
) -> None:
    split = named(made, client)["split"]
    before = snapshot(state, made.mlflow_run_id).items
    values = f"('quality', 7, 1, '{split.removeprefix('run ')}', 0, 0)"
    change_mlflow(state, f"INSERT INTO metrics (key, value, timestamp, run_uuid, step, is_nan) VALUES {values}")  # noqa: S608
    after = snapshot(state, made.mlflow_run_id).items
    assert after.keys() - before.keys() == {f"{split}/entry 0 of metric quality"}
    change_mlflow(state, "DELETE FROM latest_metrics WHERE key = 'epsilon.model'")
    gone = after.keys() - snapshot(state, made.mlflow_run_id).items.keys()
    assert {place.partition("/")[2] for place in gone} == {
        "metric epsilon.model",
        "row of latest_metrics epsilon.model",
    }


def test_a_link_to_the_same_bytes_is_not_the_file_that_was_there(state: Path, made: Workspace, tmp_path: Path) -> None:
    before = snapshot(state, made.mlflow_run_id).items
    own = state / "mlflow" / "artifacts" / "people" / made.mlflow_run_id / "artifacts"
    (own / "public" / "cells.json").rename(tmp_path / "cells.json")
    (own / "public" / "cells.json").symlink_to(tmp_path / "cells.json")
    after = snapshot(state, made.mlflow_run_id).items
    place = f"run {made.mlflow_run_id}/artifact public/cells.json"
    assert [place for place in before if before[place] != after[place]] == [place]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 0.1 + 0.2, 5e-324])
def test_whatever_number_a_metric_is_it_is_listed(
    value: float, state: Path, made: Workspace, client: MlflowClient
) -> None:
    before = snapshot(state, made.mlflow_run_id).items
    client.log_metric(made.mlflow_run_id, "delta", value)
    added = snapshot(state, made.mlflow_run_id).items.keys() - before.keys()
    named = {"metric delta", "entry 0 of metric delta", "row of latest_metrics delta"}
    assert {place.partition("/")[2] for place in added} == named


def test_a_run_below_a_step_and_one_in_another_experiment_are_listed(
    state: Path, made: Workspace, client: MlflowClient
) -> None:
    split = named(made, client)["split"].removeprefix("run ")
    elsewhere = client.create_experiment("elsewhere", artifact_location=str(state / "mlflow" / "artifacts" / "x"))
    added = [
        client.create_run("1", tags={"mlflow.parentRunId": split}),
        client.create_run(elsewhere, tags={"mlflow.parentRunId": made.mlflow_run_id}),
    ]
    names = listing(state, made.mlflow_run_id).names
    assert {f"run {run.info.run_id}" for run in added} < names.keys()


def test_runs_that_claim_to_lie_below_each_other_are_listed_once(
    state: Path, made: Workspace, client: MlflowClient
) -> None:
    split = named(made, client)["split"].removeprefix("run ")
    client.set_tag(made.mlflow_run_id, "mlflow.parentRunId", split)
    assert len(listing(state, made.mlflow_run_id).names) == 3


def test_in_a_copied_folder_a_file_that_mlflow_shows_otherwise_is_not_taken_for_the_same(
    state: Path, made: Workspace, tmp_path: Path
) -> None:
    """The database of a copy may still point at the files of the original, and MLflow's pages show those."""
    before = snapshot(state, made.mlflow_run_id)
    place = f"run {made.mlflow_run_id}/artifact public/cells.json"
    shown = tmp_path / "elsewhere" / "mlflow" / "artifacts" / "people" / made.mlflow_run_id / "artifacts"
    own = state / "mlflow" / "artifacts" / "people" / made.mlflow_run_id / "artifacts"
    shown.parent.mkdir(parents=True)
    subprocess.run(["cp", "-r", own, shown], check=True)
    change_mlflow(state, f"UPDATE runs SET artifact_uri = '{shown}' WHERE run_uuid = '{made.mlflow_run_id}'")  # noqa: S608
    assert snapshot(state, made.mlflow_run_id) == before
    (shown / "public" / "cells.json").write_text("forged")
    after = snapshot(state, made.mlflow_run_id)
    assert [place for place in before.items if before.items[place] != after.items[place]] == [place]


def test_a_version_that_is_loaded_from_elsewhere_is_listed_with_what_lies_there(
    state: Path, made: Workspace, tmp_path: Path
) -> None:
    before = snapshot(state, made.mlflow_run_id).items
    forged = tmp_path / "forged"
    forged.mkdir()
    (forged / "model.json").write_text("forged")
    change_mlflow(state, f"UPDATE model_versions SET storage_location = '{forged}'")  # noqa: S608
    after = snapshot(state, made.mlflow_run_id).items
    changed = {place for place in before if before[place] != after.get(place)}
    assert "version people 1/artifact model.json" in changed
    assert all(place.startswith("version people 1/artifact ") for place in changed)


def test_what_is_no_file_is_listed_and_not_waited_for(state: Path, made: Workspace) -> None:
    folder = state / "mlflow" / "artifacts" / "people" / made.mlflow_run_id / "artifacts" / "public"
    before = snapshot(state, made.mlflow_run_id).items
    (folder / "link").symlink_to(folder / "gone")
    (folder / "folder").symlink_to(folder)
    subprocess.run(["mkfifo", folder / "pipe"], check=True)
    (folder / "no\udcfftext").write_text("")
    added = snapshot(state, made.mlflow_run_id).items.keys() - before.keys()
    names = {"link", "folder", "pipe", "no\\udcfftext"}
    assert added == {f"run {made.mlflow_run_id}/artifact public/{name}" for name in names}


def test_a_run_that_is_gone_and_a_store_that_is_gone_are_said_and_none_is_made(state: Path, made: Workspace) -> None:
    with pytest.raises(RunsUnreadable, match="must have the run 0123 of the release, and has not"):
        snapshot(state, "0123")
    database = state / "mlflow" / "mlflow.db"
    database.unlink()
    with pytest.raises(RunsUnreadable, match=r"must give the runs .*, and sqlite:.*mlflow.db does not"):
        snapshot(state, made.mlflow_run_id)
    assert not database.exists()
    database.write_text("this is no database")
    with pytest.raises(RunsUnreadable, match="must give the runs"):
        snapshot(state, made.mlflow_run_id)


def test_a_run_of_before_the_server_is_no_evidence_and_is_said_to_be_where_it_is(
    state: Path, made: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other" / "mlflow").mkdir(parents=True)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", mlflow_uri(tmp_path / "other"))
    ready_client(mlflow_uri(tmp_path / "other"))
    with pytest.raises(RunsUnreachable, match=f"make stack moves it there, or .*{mlflow_uri(state)}"):
        listing(state, made.mlflow_run_id)
    with pytest.raises(RunsUnreadable, match="deleted for good"):
        listing(state, "0" * 32)
