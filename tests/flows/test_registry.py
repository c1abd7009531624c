"""A dataset's models: a version for each release that is public, and `current` the one that was published last."""

import json
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import mlflow
import pytest
from mlflow import MlflowClient
from mlflow.entities import LoggedModel
from mlflow.entities.model_registry import ModelVersion

from deniable.foundation.errors import DeniableError, Refused
from deniable.ledger.entries import StandingWord
from flows.release import release
from schemas.provenance import RECORD
from stores.keys.signed_record import read_signed
from stores.ledger.charging import note_publication
from stores.ledger.ledger import Ledger, ledger_place
from stores.releases.status_file import decide_standing, standings_of
from stores.servers.ui_links import TRAINING_PAGES, registered_name
from stores.tracking.registry import CURRENT, leave_current, register_model
from tests.mlflow_copies import mlflow_uri
from tests.quick_databases import mlflow_made_once
from tests.small_release import write_small_release
from tests.whole_release import SEEDLESS, Drawn, drawn_release


@pytest.fixture(scope="module")
def client(state: Path) -> MlflowClient:
    return MlflowClient(f"sqlite:///{state}/mlflow/mlflow.db")


def changes(dataset: str, **others: Any) -> dict[str, Any]:
    return {"budget": {"dataset": dataset, "epsilon": 1000, "delta": 0.1}, **others}


def published(folder: Path, release_id: str, dataset: str, **others: Any) -> Drawn:
    """A release that is public and sealed."""
    drawn = drawn_release(folder, release_id, **changes(dataset, **others))
    note_publication(drawn.workspace, drawn.publish())
    drawn.seal()
    return drawn


def versions_of(dataset: str, client: MlflowClient) -> list[ModelVersion]:
    found = client.search_model_versions(f"name = '{dataset}'")
    return sorted(found, key=lambda version: int(version.version))


def model_of(version: ModelVersion, client: MlflowClient) -> LoggedModel:
    return client.get_logged_model(version.source.removeprefix("models:/"))


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory, state: Path) -> tuple[Drawn, Drawn]:
    folder = tmp_path_factory.mktemp("two")
    return published(folder, "first", "registered"), published(folder, "second", "registered", **SEEDLESS)


def test_every_published_release_has_a_version_that_says_which_it_is_and_what_it_costs(
    two: tuple[Drawn, Drawn], client: MlflowClient
) -> None:
    versions = versions_of("registered", client)
    assert [version.tags["release"] for version in versions] == ["first", "second"]
    assert [version.run_id for version in versions] == [made.workspace.mlflow_run_id for made in two]
    for version, made in zip(versions, two, strict=True):
        record = (made.workspace.release_folder / RECORD).read_bytes()
        assert version.tags["record"] == sha256(record).hexdigest()
        assert made.accounts.total is not None
        assert float(version.tags["epsilon.total"]) == made.accounts.total.epsilon
        assert (version.tags["guarantee"], version.tags["approved_by"]) == (made.accounts.kind, "nobody")


def test_the_version_of_the_release_that_was_published_last_is_current(
    two: tuple[Drawn, Drawn], client: MlflowClient
) -> None:
    assert client.get_model_version_by_alias("registered", CURRENT).tags["release"] == "second"


def test_an_earlier_release_that_is_sealed_again_is_not_registered_again_and_does_not_become_current(
    two: tuple[Drawn, Drawn], client: MlflowClient
) -> None:
    two[0].seal()
    assert [version.tags["release"] for version in versions_of("registered", client)] == ["first", "second"]
    assert client.get_model_version_by_alias("registered", CURRENT).tags["release"] == "second"


def test_the_current_model_is_loaded_by_the_name_of_its_dataset_and_draws(
    two: tuple[Drawn, Drawn], client: MlflowClient
) -> None:
    records = mlflow.pyfunc.load_model(f"models:/registered@{CURRENT}").predict({"records": 9, "draw": "a look"})
    assert tuple(records.columns) == two[1].workspace.spec.domain.names
    assert len(records) == 9
    model = model_of(client.get_model_version_by_alias("registered", CURRENT), client)
    kept = Path(model.artifact_location.removeprefix("file://")) / "model.json"
    assert kept.read_bytes() == (two[1].workspace.release_folder / "model.json").read_bytes()


def test_the_last_version_in_force_is_current_and_none_if_all_were_withdrawn(
    tmp_path: Path, client: MlflowClient
) -> None:
    made = [published(tmp_path, f"left-{number}", "left", **SEEDLESS) for number in (1, 2, 3)]
    state = made[0].workspace.state

    def current_after(release_id: str, standing: StandingWord, successor: str = "") -> str | None:
        decide_standing(state, release_id, standing, "wrong", successor)
        leave_current(state, standings_of(state))
        version = client.get_registered_model("left").aliases.get(CURRENT)
        return None if version is None else client.get_model_version("left", version).tags["release"]

    assert current_after("left-1", "withdrawn") == "left-3"
    assert current_after("left-3", "superseded", "left-2") == "left-2"
    assert current_after("left-2", "withdrawn") is None


def test_a_model_of_another_ledger_stays_current(two: tuple[Drawn, Drawn], client: MlflowClient) -> None:
    """Several state folders may share a server, and a dataset's name; none knows what became of another's releases."""
    standings = standings_of(two[0].workspace.state)
    assert {each.release for each in standings} == {"first", "second"}
    leave_current(two[0].workspace.state, [replace(standings[0], standing="withdrawn")])
    assert client.get_model_version_by_alias("registered", CURRENT).tags["release"] == "second"


def test_no_place_on_this_machine_stands_in_a_version(two: tuple[Drawn, Drawn], client: MlflowClient) -> None:
    for version in versions_of("registered", client):
        said = json.dumps([version.source, version.description, version.tags])
        assert str(two[0].workspace.state) not in said
        assert version.source == model_of(version, client).model_uri


def test_a_version_and_its_model_lead_to_the_release_and_to_each_other(
    two: tuple[Drawn, Drawn], client: MlflowClient
) -> None:
    for version, made in zip(versions_of("registered", client), two, strict=True):
        assert f"/runs/{made.workspace.mlflow_run_id}?{TRAINING_PAGES})" in version.description
        model = model_of(version, client)
        assert json.loads(model.tags["mlflow.modelVersions"]) == [
            {"name": "registered", "version": str(version.version)}
        ]
    entry = client.get_registered_model("registered")
    assert f"models:/registered@{CURRENT}" in entry.description
    assert entry.tags == {"dataset": "registered"}


def test_models_of_different_datasets_are_apart(two: tuple[Drawn, Drawn], tmp_path: Path, client: MlflowClient) -> None:
    published(tmp_path, "elsewhere", "registered-elsewhere", **SEEDLESS)
    assert [version.tags["release"] for version in versions_of("registered-elsewhere", client)] == ["elsewhere"]
    assert client.get_model_version_by_alias("registered", CURRENT).tags["release"] == "second"


@pytest.mark.usefixtures("prefect")
def test_a_release_that_fails_leaves_no_version_of_its_model(tmp_path: Path, client: MlflowClient) -> None:
    # Whatever graph the noise lets through, no candidate has 1,300 of some 1,500 seeds.
    few = changes("failing", synthesis__k=1300, synthesis__public_rows=1300, synthesis__gamma=1.01)
    spec = write_small_release(tmp_path / "spec", **few)
    # In a state folder of its own: in the one of all tests, the same people belong to another account.
    with pytest.raises(DeniableError, match=r"must be predicted to pass|must pass the privacy test"):
        release(spec, tmp_path / "state")
    assert client.get_experiment_by_name("failing") is not None
    assert versions_of("failing", client) == []


def _take_model(client: MlflowClient) -> None:
    client.register_prompt("taken", "the name of a model")


def _delete_experiment(client: MlflowClient) -> None:
    client.delete_experiment(client.create_experiment("taken"))


@pytest.mark.usefixtures("prefect")
@pytest.mark.parametrize("take", [_take_model, _delete_experiment])
def test_a_name_that_is_taken_in_mlflow_ends_a_release_before_it_is_charged(
    take: Callable[[MlflowClient], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / "state"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", mlflow_uri(state))
    (state / "mlflow").mkdir(parents=True)
    shutil.copy(mlflow_made_once(), state / "mlflow")
    take(MlflowClient(mlflow_uri(state)))
    with pytest.raises(Refused, match=r"taken in MLflow must be one to which this account may"):
        release(write_small_release(tmp_path / "spec", **changes("taken", **SEEDLESS)), state)
    assert Ledger.open(ledger_place(state)).charges("taken") == []


def test_a_release_that_is_not_published_has_no_version_and_the_first_two_that_are_get_theirs_at_once(
    tmp_path: Path, client: MlflowClient
) -> None:
    both = [drawn_release(tmp_path / name, name, **changes("at-once", **SEEDLESS)) for name in ("one", "other")]
    for drawn in both:
        drawn.publish()
    workspace, gone = both[0].workspace, tmp_path / "gone"
    public = read_signed(workspace.release_folder / RECORD)
    workspace.release_folder.rename(gone)
    with pytest.raises(Refused, match="published"):
        register_model(workspace, public.record, public.digest)
    assert versions_of("at-once", client) == []
    gone.rename(workspace.release_folder)
    with ThreadPoolExecutor(2) as workers:
        list(workers.map(Drawn.seal, both))
    versions = versions_of("at-once", client)
    assert {version.tags["release"] for version in versions} == {"one", "other"}
    assert client.get_model_version_by_alias("at-once", CURRENT).version in {version.version for version in versions}


def test_a_name_that_no_registry_takes_is_written_otherwise() -> None:
    assert registered_name("people:2024/all") == "people_2024_all"
