"""An auditor on another machine has a public folder, a trust file and an MLflow user who may read, and finds enough."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from mlflow import MlflowClient

from deniable.foundation.errors import InvalidInput
from flows.audit import Audited, audit_here
from infra.stack.postgres import administration
from infra.stack.settings import Stack
from schemas.provenance import RECORD
from stores.keys.trust_file import TRUSTED_KEYS_VARIABLE
from stores.ledger.ledger import LEDGER_VARIABLE
from stores.tracking.registry import version_of
from tests.agency import Agency
from tests.extent import is_night
from tests.flows.command import environment, run
from tests.small_release import QUICK, write_small_release
from tests.warm import run_module
from tests.warm.python import warm_python

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "auditor"
GUIDE = (PAGES / "elsewhere.md").read_text(encoding="utf-8")
TAKEN_OVER = (
    "REASSIGN OWNED BY deniable_ledger_owner TO deniable_ledger",
    "DROP OWNED BY deniable_ledger_owner",
    "DROP ROLE deniable_ledger_owner",
)
FORBIDDEN = (
    "UPDATE deniable_ledger SET entry = '{}'",
    "DELETE FROM deniable_ledger",
    "TRUNCATE deniable_ledger",
    "DROP TRIGGER deniable_ledger_keeps_rows ON deniable_ledger",
    "ALTER TABLE deniable_ledger DISABLE TRIGGER ALL",
)
OUT_OF_REACH = {
    "the internal record on the shelf is signed by a trusted key",
    "the internal files that the record names are as they were",
    "only its owner may change what is kept of the release",
}
RUNS = "MLflow's runs are as they were when the record was signed"


@pytest.fixture(scope="module")
def agency(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agency]:
    """An agency whose ledger belonged to who works with it, as earlier versions had it, until `stack up`."""
    folder = tmp_path_factory.mktemp("agency")
    spec = write_small_release(folder / "specs", **deepcopy(QUICK))
    spec.rename(spec.with_name("small.yaml"))
    here = Agency(folder / "state", folder / "home", folder / "specs", {"DENIABLE_OPERATOR": "ada"})
    here.start()
    with psycopg.connect(administration(Stack(here.state), "ledger"), autocommit=True) as connection:
        for statement in TAKEN_OVER:
            connection.execute(statement.encode())
        connection.execute("GRANT ALL ON ALL TABLES IN SCHEMA public TO deniable_ledger")
    here.command("stack", "up")
    yield here
    here.command("stack", "down")


@dataclass(frozen=True)
class Auditor:
    """What an auditor was handed out, and where they work."""

    agency: Agency
    home: Path

    @property
    def folder(self) -> Path:
        """The release's public folder."""
        return self.home / "release"

    @property
    def keys(self) -> Path:
        return self.home / "trusted.json"

    @property
    def ledger(self) -> Path:
        return self.home / "ledger.jsonl"

    @property
    def own_state(self) -> Path:
        return self.home / "own"

    @property
    def variables(self) -> dict[str, str]:
        return {
            "DENIABLE_STATE": str(self.own_state),
            "DENIABLE_MLFLOW_TRACKING_URI": self.agency.page("mlflow"),
            "MLFLOW_TRACKING_USERNAME": "auditor",
            "MLFLOW_TRACKING_PASSWORD": self.agency.said("secrets")["auditor"],
        }

    def audit(self, folder: Path | None = None, **options: Any) -> Audited:
        return audit_here(str(folder or self.folder), self.own_state, options.pop("keys", self.keys), **options)


@pytest.fixture(scope="module")
def name(agency: Agency) -> str:
    """A release, made since the ledger was taken over."""
    agency.command("release", agency.specs / "small.yaml")
    (folder,) = (agency.state / "releases").iterdir()
    return folder.name


@pytest.fixture(scope="module")
def auditor(agency: Agency, name: str, tmp_path_factory: pytest.TempPathFactory) -> Auditor:
    made = Auditor(agency, tmp_path_factory.mktemp("auditor"))
    made.own_state.mkdir(mode=0o700)
    agency.command("keys", "export", made.keys)
    agency.command("ledger", "export", made.ledger)
    shutil.copytree(agency.state / "releases" / name, made.folder)
    return made


@pytest.fixture
def at_work(auditor: Auditor, monkeypatch: pytest.MonkeyPatch) -> Auditor:
    """The auditor in this process, which has nothing else in its environment."""
    for name in (LEDGER_VARIABLE, TRUSTED_KEYS_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    for name, value in auditor.variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", auditor.agency.page("mlflow"))
    return auditor


@pytest.fixture(scope="module")
def engineer(agency: Agency) -> Callable[[Callable[[MlflowClient], object]], None]:
    """Does something in MLflow as somebody who may write there."""

    def does(deed: Callable[[MlflowClient], object]) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("MLFLOW_TRACKING_USERNAME", "engineer")
            patch.setenv("MLFLOW_TRACKING_PASSWORD", agency.said("secrets")["engineer"])
            patch.setenv("MLFLOW_TRACKING_URI", agency.page("mlflow"))
            deed(MlflowClient(agency.page("mlflow")))

    return does


def faults(audited: Audited) -> dict[str, tuple[str, ...]]:
    return {check.name: check.faults for check in audited.checks if not check.holds}


@pytest.mark.parametrize("statement", FORBIDDEN)
def test_who_works_with_the_ledger_of_a_stack_cannot_alter_it(agency: Agency, name: str, statement: str) -> None:
    with (
        psycopg.connect(agency.said("environment")["DENIABLE_LEDGER"], autocommit=True) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege, match=r"permission denied|must be owner"),
    ):
        connection.execute(statement.encode())


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The interpreter of the guide's commands, which are forked by day."""
    if is_night():
        yield sys.executable
        return
    folder = tmp_path_factory.mktemp("python")
    with warm_python(folder / "venv", Path(sys.prefix), folder / "state"):
        yield str(folder / "venv" / "bin" / "python")


@pytest.fixture(scope="module")
def guided(auditor: Auditor, python: str) -> list[str]:
    """What the commands of the auditor's guide say, one after the other, of a release that nobody has touched."""
    blocks = re.findall(r"```text\n(.*?)```", GUIDE, re.DOTALL)
    script = [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]
    said = ["set -eo pipefail", f"cd {ROOT}", *(f"echo '@@@'; {line}" for line in script)]
    for shown, here in {
        "https://mlflow.agency.example": auditor.agency.page("mlflow"),
        "/home/auditor/acs_ma-20261120T074500Z": str(auditor.folder),
        "/home/auditor/": f"{auditor.home}/",
        "--dataset acs_ma": "--dataset people",
        ".venv/bin/python": python,
    }.items():
        assert any(shown in line for line in said), shown
        said = [line.replace(shown, here) for line in said]
    done = subprocess.run(
        ["/bin/bash", "-c", "\n".join(said)],
        env={**environment(auditor.home / "home"), "DENIABLE_STATE": str(auditor.own_state)},
        input=f"{auditor.agency.said('secrets')['auditor']}\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [part.strip() for part in done.stdout.split("@@@\n")][-7:]


def test_the_commands_of_the_guide_answer_its_five_questions(guided: list[str], name: str) -> None:
    find, step, summary, verify, _, _, spent = guided
    assert re.search(rf"^{name}  .*started by ada  approved by nobody  as signed$", find, re.MULTILINE)
    assert "read            shared, restricted" in step
    assert re.search(r"code +version .*commit ", summary)
    assert verify.endswith(f"The release {name} holds: 15 checks, and 1 that could not be made with what was given.")
    assert re.search(r"people, lifetime: epsilon \S+ of 1000", spent)


def test_a_release_that_nobody_touched_raises_no_alarm_and_what_is_out_of_reach_has_a_reason(guided: list[str]) -> None:
    _, _, _, _, alone, with_ledger, _ = guided
    for said, missing in ((alone, 8), (with_ledger, 3)):
        *lines, verdict = said.splitlines()
        assert {line[:6] for line in lines} == {"ok    ", "--    "}
        assert any(line.startswith(f"ok      {RUNS}") for line in lines)
        unmade = [line for line in lines if line.startswith("--")]
        assert all(re.search(r"\(.{10,}\)$", line) for line in unmade)
        assert {named for named in OUT_OF_REACH for line in unmade if named in line} == OUT_OF_REACH
        assert "is as it was when its record was signed, as far as can be seen from here" in verdict
        assert verdict.endswith(f"and {missing} could not be made with what was given.")


@pytest.fixture
def without_mlflow(at_work: Auditor, monkeypatch: pytest.MonkeyPatch) -> Auditor:
    """The same with nothing of MLflow's but a store of their own, and a ledger of their own."""
    for path in (at_work.own_state / "ledger" / "ledger.db", at_work.own_state / "mlflow" / "mlflow.db"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("of other releases")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{at_work.own_state}/mlflow/mlflow.db")
    return at_work


def test_a_ledger_and_a_store_of_ones_own_are_not_taken_for_the_agencys(without_mlflow: Auditor) -> None:
    audited = without_mlflow.audit()
    assert faults(audited) == {}
    missing = {check.name: check.note for check in audited.checks if not check.made}
    assert missing[RUNS] == "name MLflow's server in DENIABLE_MLFLOW_TRACKING_URI"
    assert "--ledger" in missing["the ledger holds"]


def test_an_export_that_was_cut_off_is_named(without_mlflow: Auditor, name: str, tmp_path: Path) -> None:
    lines = without_mlflow.ledger.read_text().splitlines(keepends=True)
    (tmp_path / "ledger.jsonl").write_text("".join(lines[:-1]))
    found = faults(without_mlflow.audit(ledger=tmp_path / "ledger.jsonl"))
    assert found == {
        "the ledger states that the table in the folder was published": (f"no entry states that {name} was published",)
    }
    assert faults(without_mlflow.audit(ledger=without_mlflow.ledger)) == {}


def test_a_password_that_is_refused_is_no_evidence(at_work: Auditor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", "another")
    audited = at_work.audit()
    assert "COULD NOT BE AUDITED AS A WHOLE" in audited.verdict
    assert all("must accept its user" in fault for each in faults(audited).values() for fault in each)
    assert not any(line.startswith("FAILED") for line in audited.lines)


def test_without_a_trust_file_nothing_is_audited_and_that_is_said(at_work: Auditor, name: str) -> None:
    with pytest.raises(InvalidInput, match="the keys that are trusted must be given"):
        at_work.audit(keys=None)
    with pytest.raises(InvalidInput, match="give the path of its public folder"):
        at_work.audit(Path(name))


def test_the_guide_is_linked_and_its_words_are_those_of_the_commands() -> None:
    assert "(elsewhere.md)" in (PAGES / "index.md").read_text(encoding="utf-8")
    for word in ("as signed", "NOT AS SIGNED in MLflow", "NOT AUDITED"):
        assert f"`{word}`" in GUIDE
        assert word in (ROOT / "flows" / "cli" / "find.py").read_text(encoding="utf-8")


TAMPERED = {
    "a figure": "metric {figure} of the release has one additional entry",
    "what the release cost": "metric epsilon.total of the release has one additional entry; it is now 0.01",
    "a tag": "tag approved_by of the release was changed; it is now alice",
    "a tag of a step": "tag step of step learn_parameters was changed; it is now nothing",
    "a file": "artifact public/privacy.json of the release was changed",
    "a file that was added": "artifact public/more.txt of the release was added",
    "the registry": "tag epsilon.total of version {version} of the registered model people was changed; it is now 0.01",
    "a version that was added": "of the registered model another was added",
    "what the model says of that": "tag mlflow.modelVersions of model",
}


@pytest.fixture(scope="module")
def tampered(
    guided: list[str],
    name: str,
    engineer: Callable[[Callable[[MlflowClient], object]], None],
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, str]:
    """Somebody who may write to MLflow has changed several things of the release; its run and its version."""
    assert guided
    folder = tmp_path_factory.mktemp("forged")
    told: dict[str, str] = {}

    def tamper(client: MlflowClient) -> None:
        experiment = client.get_experiment_by_name("people")
        assert experiment is not None
        (found,) = client.search_runs([experiment.experiment_id], f"attributes.run_name = '{name}'")
        run_id = found.info.run_id
        below = f"tags.`mlflow.parentRunId` = '{run_id}' and tags.step = 'learn_parameters'"
        (step,) = client.search_runs([experiment.experiment_id], below)
        version = version_of(client, "people", name)
        assert version is not None

        figure = next(figure for figure in found.data.metrics if figure.startswith("internal/"))
        told.update(run=run_id, version=str(version.version), figure=figure)
        client.log_metric(run_id, figure, 0.5)
        client.log_metric(run_id, "epsilon.total", 0.01)
        client.set_tag(run_id, "approved_by", "alice")
        client.set_tag(step.info.run_id, "step", "nothing")
        for file in ("privacy.json", "more.txt"):
            (folder / file).write_text("forged")
            client.log_artifact(run_id, str(folder / file), "public")
        client.set_model_version_tag("people", version.version, "epsilon.total", "0.01")
        client.create_registered_model("another")
        source = str(version.source)
        client.create_model_version("another", source, run_id=run_id, model_id=source.removeprefix("models:/"))

    engineer(tamper)
    return told


def test_whatever_was_changed_is_named(at_work: Auditor, tampered: dict[str, str], tmp_path: Path) -> None:
    forged = shutil.copytree(at_work.folder, tmp_path / "forged")
    stated = json.loads((forged / "privacy.json").read_text())
    (forged / "privacy.json").write_text(json.dumps({**stated, "notes": "none"}))
    (forged / "zero.txt").write_text("more")
    audited = at_work.audit(forged)
    assert "IS NOT AS IT WAS" in audited.verdict
    found = faults(audited)
    assert found.pop("the internal record is about the public one and its files") == (
        "privacy.json was changed in the folder",
        "zero.txt was added to the folder",
    )
    signed = found.pop("every file is as signed, and none is missing or added")
    assert signed[0] == "privacy.json is not what was signed: it was altered"
    assert found.pop("privacy.json states what follows from the record")
    assert found.keys() == {RUNS}
    for what, named in TAMPERED.items():
        assert any(named.format(**tampered) in fault for fault in found[RUNS]), (what, found[RUNS])
    assert len(found[RUNS]) == len(TAMPERED)
    asked = ["verify", str(forged), "--keys", str(at_work.keys)]
    verified = run_module("deniable", asked, env=environment(tmp_path), cwd=tmp_path)
    assert verified.returncode == 1
    assert signed[0] in verified.stdout


def test_find_says_what_was_signed_and_what_mlflow_says_instead(
    auditor: Auditor, name: str, tampered: dict[str, str]
) -> None:
    asked = ("find", "--dataset", "people", "--keys", auditor.keys, "--approved-by", "alice")
    told = run(*asked, home=auditor.home / "home", **auditor.variables)
    assert told.returncode == 1, told.stderr
    (row,) = [line for line in told.stdout.splitlines() if line.startswith(name)]
    assert row.endswith("started by ada  approved by nobody  as signed")
    assert "  NOT AS SIGNED in MLflow: approved_by is alice\n" in told.stdout
    assert "  NOT AS SIGNED in MLflow: epsilon.total is 0.01\n" in told.stdout


def test_a_record_that_was_changed_or_deleted_in_mlflow_is_named(
    at_work: Auditor,
    name: str,
    tampered: dict[str, str],
    engineer: Callable[[Callable[[MlflowClient], object]], None],
    tmp_path: Path,
) -> None:
    # Signed by a trusted key, and not what it is taken for.
    copy = shutil.copyfile(at_work.folder / RECORD, tmp_path / RECORD)
    engineer(lambda client: client.log_artifact(tampered["run"], str(copy), "internal"))
    found = faults(at_work.audit())
    assert found.keys() == {"the records of the release can be compared", "MLflow's runs can be compared"}
    for [fault] in found.values():
        assert f"the artifact internal/{RECORD} of {name} must be what a trusted key signed for it" in fault
    stored = at_work.agency.state / "stack" / "artifacts"
    (kept,) = stored.rglob(f"{tampered['run']}/artifacts/internal/{RECORD}")
    kept.unlink()
    for [fault] in faults(at_work.audit()).values():
        assert f"the artifact internal/{RECORD} of its run, or the run itself, was deleted" in fault
