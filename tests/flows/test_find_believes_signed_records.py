"""`find` states what a release's signed record states, and says so where MLflow differs."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from mlflow import MlflowClient

from deniable.foundation.errors import InvalidInput
from flows.cli.release.find import AS_SIGNED, NOT_AS_SIGNED
from schemas.provenance import RECORD
from stores.keys.trust_file import TRUSTED_KEYS_VARIABLE
from stores.ledger.charging import note_publication
from tests.commands import carry_out
from tests.small_release import QUICK
from tests.whole_release import Drawn, drawn_release

DATASET = "believed"


@dataclass(frozen=True)
class Made:
    """Two releases of one dataset, in one state folder."""

    first: Drawn
    second: Drawn
    client: MlflowClient

    @property
    def state(self) -> Path:
        return self.first.workspace.state

    @property
    def keys(self) -> Path:
        return self.state / "keys" / "trusted.json"

    @property
    def run(self) -> str:
        return self.first.workspace.mlflow_run_id


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, state: Path) -> Made:
    folder = tmp_path_factory.mktemp("believed")

    def published(release_id: str) -> Drawn:
        budget = {"dataset": DATASET, "epsilon": 1000, "delta": 1}
        drawn = drawn_release(folder, release_id, run_name=release_id, budget=budget, **QUICK)
        note_publication(drawn.workspace, drawn.publish())
        drawn.seal()
        return drawn

    return Made(published("one"), published("two"), MlflowClient(f"sqlite:///{state}/mlflow/mlflow.db"))


@pytest.fixture(params=["here", "elsewhere"])
def place(request: pytest.FixtureRequest, made: Made, tmp_path: Path) -> Path:
    """The state folder that made them, or that of an auditor who has none of it."""
    return made.state if request.param == "here" else tmp_path


@dataclass(frozen=True)
class Said:
    status: int
    text: str

    def row(self, release: str) -> str:
        """What is said of a release, its address left out."""
        (found,) = [part for part in self.text.split("\n\n") if part.startswith(f"{release}  ")]
        return found.rpartition("\n")[0]


@pytest.fixture
def found(made: Made, place: Path, capsys: pytest.CaptureFixture[str]) -> "Find":
    return Find(made, place, capsys)


@dataclass(frozen=True)
class Find:
    made: Made
    place: Path
    capsys: pytest.CaptureFixture[str]

    def __call__(self, *arguments: str, keys: bool = True) -> Said:
        given = ["--keys", str(self.made.keys)] if keys else []
        status = carry_out("release find", ["--dataset", DATASET, *given, *arguments], self.place)
        return Said(status, self.capsys.readouterr().out)


def test_what_nobody_touched_is_as_signed(found: Find) -> None:
    said = found()
    assert said.status == AS_SIGNED
    for release in ("one", "two"):
        assert said.row(release).endswith("approved by nobody  as signed")
        assert f"  {DATASET}  epsilon " in said.row(release)


@pytest.mark.parametrize(
    ("tag", "lie"),
    [("approved_by", "alice"), ("started_by", "mallory"), ("guarantee", "tested_seeds"), ("published", "1999-01-01")],
)
def test_a_tag_that_lies_is_named_and_not_believed(made: Made, found: Find, tag: str, lie: str) -> None:
    told = made.client.get_run(made.run).data.tags[tag]
    made.client.set_tag(made.run, tag, lie)
    try:
        said = found()
        assert said.status == NOT_AS_SIGNED
        row, *more = said.row("one").splitlines()
        assert told in row
        assert lie not in row
        assert more == [f"  NOT AS SIGNED in MLflow: {tag} is {lie}"]
        assert said.row("two").endswith("as signed")
    finally:
        made.client.set_tag(made.run, tag, told)


def test_who_asks_for_an_approver_is_not_told_a_false_one(made: Made, found: Find) -> None:
    made.client.set_tag(made.run, "approved_by", "alice")
    try:
        said = found("--approved-by", "alice")
        assert "approved by nobody" in said.row("one")
        assert said.status == NOT_AS_SIGNED
    finally:
        made.client.set_tag(made.run, "approved_by", "nobody")


def test_an_epsilon_that_lies_is_named_and_not_believed(made: Made, found: Find) -> None:
    spent = made.client.get_run(made.run).data.metrics["epsilon.total"]
    made.client.log_metric(made.run, "epsilon.total", 0.01)
    try:
        said = found()
        assert "epsilon 0.8647" in said.row("one").splitlines()[0]
        assert "  NOT AS SIGNED in MLflow: epsilon.total is 0.01" in said.row("one")
        assert said.status == NOT_AS_SIGNED
    finally:
        made.client.log_metric(made.run, "epsilon.total", spent)


def test_a_release_that_lies_about_its_dataset_is_shown_with_the_one_that_was_signed(
    made: Made, found: Find, tmp_path: Path
) -> None:
    experiment = made.client.get_run(made.run).info.experiment_id
    made.client.rename_experiment(experiment, "another")
    made.client.set_tag(made.run, "dataset", "another")
    try:
        said = found("--dataset", "another")
        assert f"  {DATASET}  epsilon " in said.row("one")
        assert "  NOT AS SIGNED in MLflow: dataset is another" in said.row("one")
        assert said.status == NOT_AS_SIGNED
    finally:
        made.client.rename_experiment(experiment, DATASET)
        made.client.set_tag(made.run, "dataset", DATASET)


def test_the_record_of_another_release_is_not_taken_for_that_of_a_run(
    made: Made, place: Path, found: Find, tmp_path: Path
) -> None:
    """Whoever may write to MLflow can give a run of their own the record of a release."""
    experiment = made.client.get_run(made.run).info.experiment_id
    tags = dict(made.client.get_run(made.run).data.tags)
    forged = made.client.create_run(experiment, tags=tags, run_name="one").info.run_id
    try:
        made.client.log_metric(forged, "published.day", 20261120)
        made.client.log_metric(forged, "epsilon.total", 0.1)
        copy = shutil.copyfile(made.first.workspace.release_folder / RECORD, tmp_path / RECORD)
        made.client.log_artifact(forged, str(copy), "public")
        said = found()
        assert said.status == NOT_AS_SIGNED
        assert said.text.count("NOT AUDITED: its record is that of one, which is another run") == 1
    finally:
        made.client.delete_run(forged)


def test_a_record_that_nobody_trusted_has_signed_is_not_believed(
    made: Made, found: Find, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other = drawn_release(tmp_path / "other", "other", **QUICK)
    other.publish()
    monkeypatch.setenv(TRUSTED_KEYS_VARIABLE, str(other.workspace.state / "keys" / "trusted.json"))
    said = found(keys=False)
    assert said.text.count("NOT AUDITED: ") == 2
    assert said.status == NOT_AS_SIGNED


def test_without_a_trust_file_it_says_that_nothing_was_audited(
    made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = Find(made, tmp_path, capsys)(keys=False)
    assert said.status == AS_SIGNED
    assert said.row("one").endswith("NOT AUDITED: no trust file")
    assert "Not audited: the values above are MLflow's" in said.text
    monkeypatch.setenv(TRUSTED_KEYS_VARIABLE, str(tmp_path / "absent.json"))
    with pytest.raises(InvalidInput, match="the keys that are trusted must be given"):
        Find(made, tmp_path, capsys)(keys=False)


def test_a_release_that_was_hidden_in_mlflow_is_found_by_its_folder(
    made: Made, capsys: pytest.CaptureFixture[str]
) -> None:
    find = Find(made, made.state, capsys)
    made.client.delete_run(made.run)
    try:
        said = find()
        assert said.row("one").splitlines()[1:] == ["  NOT AS SIGNED in MLflow: it does not find the release"]
        assert said.status == NOT_AS_SIGNED
        assert "No published release" in find("--approved-by", "alice").text
        assert "No published release" in find("--since", "2999-01-01").text
        assert "No published release" in find("--epsilon-above", "5").text
    finally:
        made.client.restore_run(made.run)
