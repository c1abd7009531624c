"""An auditor on another machine has a public folder, a trust file and an MLflow user who may read, and finds enough."""

import json
import os
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

from deniable.errors import InvalidInput
from flows.audit import Audited, audit_here
from flows.stack.postgres import administration
from flows.stack.settings import Stack
from schemas.provenance import RECORD
from stores.ledger import LEDGER_VARIABLE
from stores.registry import version_of
from stores.trust_file import TRUSTED_KEYS_VARIABLE
from tests.agency import Agency
from tests.flows.command import environment, run
from tests.small_release import QUICK, write_small_release

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "auditor.md").read_text(encoding="utf-8")
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
    "nobody but its owner may change what is kept of the release",
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

    def audit(self, folder: Path, **options: Any) -> Audited:
        return audit_here(str(folder), self.own_state, options.pop("keys", self.keys), **options)


@pytest.fixture(scope="module")
def releases(agency: Agency) -> tuple[str, str]:
    """Two releases: one that nobody touches, and another."""
    for _ in range(2):
        agency.command("release", agency.specs / "small.yaml", "--new")
    untouched, touched = sorted(path.name for path in (agency.state / "releases").iterdir())
    return untouched, touched


@pytest.fixture(scope="module")
def auditor(agency: Agency, releases: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> Auditor:
    made = Auditor(agency, tmp_path_factory.mktemp("auditor"))
    made.own_state.mkdir(mode=0o700)
    agency.command("keys", "export", made.keys)
    agency.command("ledger", "export", made.ledger)
    for name in releases:
        shutil.copytree(agency.state / "releases" / name, made.home / name)
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


def unmade(audited: Audited) -> dict[str, str]:
    return {check.name: check.note for check in audited.checks if not check.made}


@pytest.mark.parametrize("statement", FORBIDDEN)
def test_who_works_with_the_ledger_of_a_stack_cannot_alter_it(
    agency: Agency, releases: tuple[str, str], statement: str
) -> None:
    """Its two releases were made since it was taken over."""
    with (
        psycopg.connect(agency.said("environment")["DENIABLE_LEDGER"], autocommit=True) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege, match=r"permission denied|must be owner"),
    ):
        connection.execute(statement.encode())


def test_a_release_that_nobody_touched_raises_no_alarm(auditor: Auditor, releases: tuple[str, str]) -> None:
    folder = auditor.home / releases[0]
    told = run("audit", folder, "--keys", auditor.keys, home=auditor.home / "home", **auditor.variables)
    assert told.returncode == 0, told.stdout + told.stderr
    *lines, verdict = told.stdout.splitlines()
    assert {line[:6] for line in lines} == {"ok    ", "--    "}
    assert all(re.search(r"\(.{10,}\)$", line) for line in lines if line.startswith("--"))
    assert "is as it was when its record was signed, as far as can be seen from here" in verdict
    assert RUNS in told.stdout


def test_with_an_export_of_the_ledger_only_the_shelf_is_out_of_reach(
    at_work: Auditor, releases: tuple[str, str], tmp_path: Path
) -> None:
    audited = at_work.audit(at_work.home / releases[0], ledger=at_work.ledger)
    assert faults(audited) == {}
    assert unmade(audited).keys() == OUT_OF_REACH
    shorter = tmp_path / "ledger.jsonl"
    shorter.write_text("".join(at_work.ledger.read_text().splitlines(keepends=True)[:3]))
    found = faults(at_work.audit(at_work.home / releases[0], ledger=shorter))
    assert found["the ledger says that the table in the folder was published"]


def test_a_ledger_and_a_store_of_ones_own_are_not_taken_for_the_agencys(
    at_work: Auditor, releases: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / "own"
    for path in (state / "ledger" / "ledger.db", state / "mlflow" / "mlflow.db"):
        path.parent.mkdir(parents=True)
        path.write_text("of other releases")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{state}/mlflow/mlflow.db")
    audited = audit_here(str(at_work.home / releases[0]), state, at_work.keys)
    assert faults(audited) == {}
    missing = unmade(audited)
    assert missing[RUNS] == "name MLflow's server by DENIABLE_MLFLOW_TRACKING_URI"
    assert "--ledger" in missing["the ledger holds"]


def test_a_password_that_is_refused_is_no_evidence(
    at_work: Auditor, releases: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", "another")
    audited = at_work.audit(at_work.home / releases[0])
    assert "COULD NOT BE AUDITED AS A WHOLE" in audited.verdict
    assert all("must accept its user" in fault for each in faults(audited).values() for fault in each)
    assert not any(line.startswith("FAILED") for line in audited.lines)


def test_without_a_trust_file_nothing_is_audited_and_that_is_said(at_work: Auditor, releases: tuple[str, str]) -> None:
    with pytest.raises(InvalidInput, match="the keys that are trusted must be given"):
        at_work.audit(at_work.home / releases[0], keys=None)
    with pytest.raises(InvalidInput, match="give the path of its public folder"):
        at_work.audit(Path(releases[0]))


def test_every_command_of_the_auditors_guide_does_what_it_says(auditor: Auditor, releases: tuple[str, str]) -> None:
    script = [
        line[2:] for block in re.findall(r"```console\n(.*?)```", GUIDE, re.DOTALL) for line in block.splitlines()
    ]
    assert len(script) == 11
    said = ["set -eo pipefail", f"cd {ROOT}", *(f"echo '@@@'; {line}" for line in script)]
    for shown, here in {
        "https://mlflow.agency.example": auditor.agency.page("mlflow"),
        "/home/auditor/acs_ma-20261120T074500Z": str(auditor.home / releases[0]),
        "/home/auditor/": f"{auditor.home}/",
        "--dataset acs_ma": "--dataset people",
        ".venv/bin/python": sys.executable,
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
    answers = [part.strip() for part in done.stdout.split("@@@\n")][-7:]
    find, step, summary, verify, audit, with_ledger, spent = answers
    assert [name in find for name in releases] == [True, True]
    assert "NOT A" not in find
    assert "read            shared, restricted" in step
    assert re.search(r"code +version .*commit ", summary)
    assert f"The release {releases[0]} holds" in verify
    assert "8 could not be made" in audit
    assert "3 could not be made" in with_ledger
    assert re.search(r"people, lifetime: epsilon \S+ of 1000", spent)
    assert "FAILED" not in done.stdout


def test_the_guide_is_linked_and_its_words_are_those_of_the_commands() -> None:
    assert "(docs/auditor.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
    for word in ("as signed", "NOT AS SIGNED in MLflow", "NOT AUDITED"):
        assert f"`{word}`" in GUIDE
        assert word in (ROOT / "flows" / "finding.py").read_text(encoding="utf-8")


TAMPERED = {
    "a figure": "metric internal/utility",
    "what the release cost": "metric epsilon.total of the release has an entry more; it is now 0.01",
    "a tag": "tag approved_by of the release was changed; it is now alice",
    "a tag of a step": "tag step of step learn_parameters was changed; it is now nothing",
    "a file": "artifact public/privacy.json of the release was changed",
    "a file that was added": "artifact public/more.txt of the release was added",
    "the registry": "tag epsilon.total of version {version} of the registered model people was changed; it is now 0.01",
    "a version that was added": "of the registered model another was added",
}


@pytest.fixture(scope="module")
def tampered(
    auditor: Auditor,
    releases: tuple[str, str],
    engineer: Callable[[Callable[[MlflowClient], object]], None],
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, str]:
    """A release of which somebody who may write to MLflow has changed several things; run and version of it."""
    folder, name = tmp_path_factory.mktemp("forged"), releases[1]
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
        told.update(run=run_id, version=str(version.version))
        figure = next(figure for figure in found.data.metrics if figure.startswith("internal/utility"))
        client.log_metric(run_id, figure, 0.5)
        client.log_metric(run_id, "epsilon.total", 0.01)
        client.set_tag(run_id, "approved_by", "alice")
        client.set_tag(step.info.run_id, "step", "nothing")
        for file in ("privacy.json", "more.txt"):
            (folder / file).write_text("forged")
            client.log_artifact(run_id, str(folder / file), "public")
        client.set_model_version_tag("people", version.version, "epsilon.total", "0.01")
        client.create_registered_model("another")
        client.create_model_version("another", source=str(version.source), run_id=run_id)

    engineer(tamper)
    return told


def test_whatever_was_changed_in_mlflow_is_named(
    at_work: Auditor, releases: tuple[str, str], tampered: dict[str, str]
) -> None:
    audited = at_work.audit(at_work.home / releases[1])
    found = faults(audited)
    assert found.keys() == {RUNS}
    for what, named in TAMPERED.items():
        expected = named.format(**tampered)
        assert any(expected in fault for fault in found[RUNS]), (what, found[RUNS])
    assert len(found[RUNS]) == len(TAMPERED)
    assert "IS NOT AS IT WAS" in audited.verdict
    assert faults(at_work.audit(at_work.home / releases[0])) == {}, "the other one is as it was"


def test_find_says_what_was_signed_and_what_mlflow_says_instead(
    auditor: Auditor, releases: tuple[str, str], tampered: dict[str, str]
) -> None:
    asked = ("find", "--dataset", "people", "--keys", auditor.keys)
    told = run(*asked, "--approved-by", "alice", home=auditor.home / "home", **auditor.variables)
    assert told.returncode == 1, told.stderr
    (row,) = [line for line in told.stdout.splitlines() if line.startswith(releases[1])]
    assert row.endswith("started by ada  approved by nobody  as signed")
    assert "  NOT AS SIGNED in MLflow: approved_by is alice\n" in told.stdout
    assert "  NOT AS SIGNED in MLflow: epsilon.total is 0.01\n" in told.stdout


def test_a_public_file_that_was_changed_is_named(at_work: Auditor, releases: tuple[str, str], tmp_path: Path) -> None:
    forged = shutil.copytree(at_work.home / releases[0], tmp_path / "forged")
    stated = json.loads((forged / "privacy.json").read_text())
    (forged / "privacy.json").write_text(json.dumps({**stated, "notes": "none"}))
    (forged / "more.txt").write_text("more")
    found = faults(at_work.audit(forged))
    assert found["the internal record is about the public one and its files"] == (
        "more.txt was added to the folder",
        "privacy.json was changed in the folder",
    )
    assert "every file is the one that was signed, none is missing and none too many" in found
    verified = subprocess.run(
        [sys.executable, "-m", "deniable", "verify", str(forged), "--keys", str(at_work.keys)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "HOME": str(tmp_path)},
    )
    assert verified.returncode == 1
    assert "privacy.json is not what was signed: it was altered" in verified.stdout


def test_a_record_that_was_changed_or_deleted_in_mlflow_is_named(
    at_work: Auditor,
    releases: tuple[str, str],
    tampered: dict[str, str],
    engineer: Callable[[Callable[[MlflowClient], object]], None],
    tmp_path: Path,
) -> None:
    (tmp_path / RECORD).write_bytes((at_work.home / releases[0] / RECORD).read_bytes())
    engineer(lambda client: client.log_artifact(tampered["run"], str(tmp_path / RECORD), "internal"))
    found = faults(at_work.audit(at_work.home / releases[1]))
    assert found.keys() == {"the records of the release can be compared", "MLflow's runs can be compared"}
    for [fault] in found.values():
        assert f"the artifact internal/{RECORD} of {releases[1]} must be what a trusted key signed for it" in fault
    stored = at_work.agency.state / "stack" / "artifacts"
    (kept,) = stored.rglob(f"{tampered['run']}/artifacts/internal/{RECORD}")
    kept.unlink()
    found = faults(at_work.audit(at_work.home / releases[1]))
    for [fault] in found.values():
        assert f"the artifact internal/{RECORD} of its run, or the run itself, was deleted" in fault
