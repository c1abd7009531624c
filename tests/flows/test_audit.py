"""An audit names whatever anybody changed after a release was sealed, however they did it, and nothing else."""

import hashlib
import json
import re
import shutil
import sqlite3
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest
from mlflow import MlflowClient
from mlflow.artifacts import download_artifacts
from mlflow.entities import Dataset, DatasetInput
from prefect.client.orchestration import get_client
from prefect.client.schemas.sorting import ArtifactSort

from deniable.foundation.errors import InvalidInput, Refused
from deniable.ledger.entries import Charge, Entry
from deniable.record.trust import TrustedKeys
from flows.audit import Audited, audit, audit_here
from flows.cli.audit.release import DOES_NOT_HOLD, HOLDS
from flows.release import release
from infra.servers.local_servers import free_port
from schemas.provenance import RECORD
from stores.keys.signed_record import read_signed, signed_text
from stores.keys.signing_keys import new_key, revoke_key, signing_key
from stores.ledger.charging import note_publication
from stores.ledger.ledger import LEDGER_VARIABLE, Ledger, ledger_place
from stores.record.audit_target import NOT_AUDITED
from stores.releases.status_file import decide_standing
from stores.servers.mlflow_rows import INTERFACE, NOT_COMPARED
from stores.tracking.registry import CURRENT
from stores.vault.workspace import Workspace
from tests.audit_attacks import Target, score
from tests.commands import carry_out
from tests.extent import is_night, spread
from tests.flows.command import environment, run
from tests.flows.mounts import read_only
from tests.mlflow_copies import change_mlflow, mlflow_uri, recopied_state
from tests.quick_databases import mlflow_made_once
from tests.small_release import QUICK, write_small_release
from tests.warm import Started
from tests.whole_release import drawn_release

RUNS = "MLflow's runs are as they were when the record was signed"
SINCE = "only the record was added to MLflow's runs since"
FOREIGN = "nothing in MLflow that the record does not name claims to be of the release"
CLAIMS = "claims to be of the release, and is foreign to it"
COPIES = "MLflow's copy of the internal record is identical, and its tags name both records"
SHELVED = "the internal record on the shelf is signed by a trusted key"
SUBJECTS = "the internal record is about the public one and its files"
SAME = "the two records agree in what they share"
SHELF = "the internal files that the record names are as they were"
OWNER = "only its owner may change what is kept of the release"
LEDGER = "the ledger holds"
SEGMENT = "the ledger has the entries that the record shows, unchanged"
PUBLISHED = "the ledger states that the table in the folder was published"
CHARGED = "the release was charged only what the record shows"
LINK = "is a link: anyone with write access to its target may change it"
FILES = "every file is as signed, and none is missing or added"


@dataclass(frozen=True)
class Kept:
    """All that is kept of two releases of one dataset; the first is audited."""

    state: Path
    name: str
    run: str
    steps: dict[str, str]
    model: str

    @property
    def client(self) -> MlflowClient:
        return MlflowClient(mlflow_uri(self.state))

    @property
    def folder(self) -> Path:
        return self.state / "releases" / self.name

    @property
    def shelf(self) -> Path:
        return self.state / "shelf" / self.name

    def artifact(self, path: str, run: str | None = None) -> Path:
        return self.state / "mlflow" / "artifacts" / "people" / (run or self.run) / "artifacts" / path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, prefect: None) -> Kept:
    folder = tmp_path_factory.mktemp("audited")
    spec = write_small_release(folder / "spec")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", mlflow_uri(folder / "state"))
        patch.delenv(LEDGER_VARIABLE, raising=False)
        first = release(spec, folder / "state").workspace
        sealed_release(folder, "small-2")
    client = MlflowClient(mlflow_uri(folder / "state"))
    run = client.get_run(first.mlflow_run_id)
    steps = client.search_runs([run.info.experiment_id], f"tags.`mlflow.parentRunId` = '{run.info.run_id}'")
    return Kept(
        state=folder / "state",
        name=first.release_id,
        run=run.info.run_id,
        steps={step.data.tags["step"]: step.info.run_id for step in steps},
        model=run.outputs.model_outputs[0].model_id,
    )


def sealed_release(folder: Path, name: str, **changes: Any) -> Workspace:
    """Make a release by its steps."""
    drawn = drawn_release(folder, name, **changes)
    note_publication(drawn.workspace, drawn.publish())
    drawn.seal()
    return drawn.workspace


@pytest.fixture
def kept(made: Kept, monkeypatch: pytest.MonkeyPatch) -> Kept:
    monkeypatch.delenv(LEDGER_VARIABLE, raising=False)
    copy = recopied_state(made.state, made.state.parent / "copied" / made.state.name, monkeypatch)
    return Kept(copy, made.name, made.run, made.steps, made.model)


def faults(audited: Audited) -> dict[str, tuple[str, ...]]:
    return {check.name: check.faults for check in audited.checks if not check.holds}


def audited(kept: Kept) -> dict[str, tuple[str, ...]]:
    return faults(audit_here(kept.name, kept.state))


def everything_in(state: Path) -> dict[str, bytes]:
    return {str(path.relative_to(state)): path.read_bytes() for path in state.rglob("*") if path.is_file()}


def test_a_release_that_nobody_touched_holds_also_after_the_next_one_was_made(kept: Kept) -> None:
    assert kept.client.get_model_version_by_alias("people", CURRENT).tags["release"] != kept.name
    report = audit_here(kept.name, kept.state)
    assert faults(report) == {}
    assert report.holds
    assert len(report.checks) > 20
    assert (
        report.verdict == f"{kept.name} is as it was when its record was signed: all {len(report.checks)} checks hold."
    )
    assert len(report.lines) == len(report.checks) + 1
    assert all(line.startswith("ok      ") for line in report.lines[:-1])


def test_it_is_found_by_its_folder_and_by_a_copy_of_that(kept: Kept, tmp_path: Path) -> None:
    copy = shutil.copytree(kept.folder, tmp_path / "downloaded")
    for place in (str(kept.folder), str(copy), f"{kept.folder}/"):
        assert faults(audit_here(place, kept.state)) == {}
    (copy / "README.md").write_text("forged")
    assert FILES in faults(audit_here(str(copy), kept.state))
    assert faults(audit_here(kept.name, kept.state)) == {}


def test_a_state_folder_that_was_moved_holds(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    moved = kept.state.rename(kept.state.with_name("moved"))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", mlflow_uri(moved))
    assert faults(audit_here(kept.name, moved)) == {}


def test_looking_at_it_and_loading_its_model_is_no_change(kept: Kept) -> None:
    client = kept.client
    client.search_runs(["1"], order_by=["metrics.`epsilon.total` DESC"])
    client.get_metric_history(kept.run, "epsilon.total")
    client.download_artifacts(kept.run, "internal/report.html")
    client.set_experiment_tag("1", "mlflow.experimentKind", "custom_model_development")
    download_artifacts(artifact_uri=f"models:/{kept.model}", tracking_uri=mlflow_uri(kept.state))
    download_artifacts(artifact_uri=f"models:/people@{CURRENT}", tracking_uri=mlflow_uri(kept.state))
    assert (kept.artifact("registered_model_meta", f"models/{kept.model}")).is_file()
    assert audited(kept) == {}


@pytest.mark.parametrize("forged", [False, True])
def test_an_audit_changes_nothing_of_what_it_audits(kept: Kept, *, forged: bool) -> None:
    if forged:
        kept.client.set_tag(kept.run, "approved_by", "somebody else")
        (kept.folder / "README.md").unlink()
        (kept.shelf / RECORD).write_text("forged")
    before = everything_in(kept.state)
    assert audit_here(kept.name, kept.state).holds is not forged
    assert everything_in(kept.state) == before


def test_an_audit_is_made_on_a_read_only_disk(kept: Kept, tmp_path: Path) -> None:
    before = everything_in(kept.state)
    with read_only(kept.state) as disk:
        done = run("audit", "release", kept.name, "--state", kept.state, home=tmp_path / "home", mounts=disk.pid)
        refused = run("release", "refresh", "people", "--state", kept.state, home=tmp_path / "home", mounts=disk.pid)
    assert done.returncode == HOLDS, done.stdout + done.stderr
    assert "is as it was when its record was signed: all " in done.stdout
    assert refused.returncode != 0
    assert "must be writable" in refused.stderr
    assert everything_in(kept.state) == before


def test_whatever_is_changed_is_named_or_stands_on_a_list_with_its_reason(kept: Kept) -> None:
    target = Target(kept.state, kept.name, kept.run)
    attacks = target.attacks()
    assert len(attacks) > 300
    _, missed = score(target, spread(attacks, least=3, most=3))
    assert missed == []


def test_figures_that_are_set_to_nothing_are_named_although_they_are_not_quoted(kept: Kept) -> None:
    change_mlflow(kept.state, "UPDATE latest_metrics SET value = 0 WHERE key LIKE 'internal/%' AND value != 0")
    found = audited(kept)
    assert found.keys() == {RUNS}
    assert "metric internal/tvd_2way of the release shows a different value" in found[RUNS]


def test_no_list_of_what_is_not_compared_has_more_than_it_needs(kept: Kept) -> None:
    target = Target(kept.state, kept.name, kept.run)
    tables = {name.partition(".")[0] for name in target.columns()}
    assert {name.partition(".")[0] for name in NOT_COMPARED} <= {*tables, "*"}
    assert {name for name in NOT_COMPARED if "." in name and "*" not in name} <= set(target.columns())
    assert INTERFACE.keys() <= tables
    assert {f"{table}.{column}" for table, columns in INTERFACE.items() for column in columns} <= set(target.columns())
    assert target.unused().isdisjoint(INTERFACE), "a release has a row in every table that is named"
    assert len(NOT_COMPARED) + len(NOT_AUDITED) <= 17
    page = (Path(__file__).resolve().parents[2] / "docs" / "design" / "audit-scope.md").read_text(encoding="utf-8")
    assert dict(re.findall(r"^\| `(.+)` \| (.+) \|$", page, re.MULTILINE)) == {**NOT_COMPARED, **NOT_AUDITED}


def _log_input(kept: Kept) -> None:
    dataset = Dataset("people", "0" * 36, "local", "{}")
    kept.client.log_inputs(kept.run, [DatasetInput(dataset, [])])


def _delete_step(kept: Kept) -> None:
    kept.client.delete_run(kept.steps["clean"])


def _write(path: str, step: str | None = None) -> Callable[[Kept], object]:
    return lambda kept: kept.client.log_text(kept.steps[step] if step else kept.run, "forged", path)


GONE = "is missing: it was deleted for good, or is no longer below the release"
THROUGH_MLFLOW: dict[str, tuple[Callable[[Kept], object], str]] = {
    "a metric of the release, logged again": (
        lambda kept: kept.client.log_metric(kept.run, "epsilon.total", 0.125),
        "metric epsilon.total of the release has one additional entry; it is now 0.125",
    ),
    "a metric of the release, logged as earlier than it was": (
        lambda kept: kept.client.log_metric(kept.run, "epsilon.total", 0.125, timestamp=1),
        "metric epsilon.total of the release has one additional entry",
    ),
    "a metric of a step, logged again": (
        lambda kept: kept.client.log_metric(kept.steps["learn_structure"], "epsilon", 0.125),
        "metric epsilon of step learn_structure has one additional entry; it is now 0.125",
    ),
    "an internal figure, which is not quoted": (
        lambda kept: kept.client.log_metric(kept.run, "internal/tvd_2way", 0.125),
        "metric internal/tvd_2way of the release has one additional entry",
    ),
    "a new metric": (
        lambda kept: kept.client.log_metric(kept.run, "public/quality", 1),
        "metric public/quality of the release was added; it is now 1.0",
    ),
    "a tag, set anew": (
        lambda kept: kept.client.set_tag(kept.run, "approved_by", "the director"),
        "tag approved_by of the release was changed; it is now the director",
    ),
    "a new tag": (
        lambda kept: kept.client.set_tag(kept.run, "quality", "high"),
        "tag quality of the release was added; it is now high",
    ),
    "a tag, deleted": (
        lambda kept: kept.client.delete_tag(kept.steps["split"], "prefect.task_run_id"),
        "tag prefect.task_run_id of step split was deleted",
    ),
    "the description": (
        lambda kept: kept.client.set_tag(kept.run, "mlflow.note.content", "All is well.\nVery well."),
        "tag mlflow.note.content of the release was changed",
    ),
    "a new parameter": (
        lambda kept: kept.client.log_param(kept.run, "learner.quality", "high"),
        "parameter learner.quality of the release was added; it is now high",
    ),
    "an artifact of the release, written anew": (
        _write("public/privacy.json"),
        "artifact public/privacy.json of the release was changed",
    ),
    "an artifact of a step, written anew": (
        _write("internal/risk.json", "evaluate_risk"),
        "artifact internal/risk.json of step evaluate_risk was changed",
    ),
    "a new artifact": (
        _write("public/certificate.txt"),
        "artifact public/certificate.txt of the release was added",
    ),
    "a step, deleted": (_delete_step, "step clean was deleted; MLflow hides it"),
    "the release, deleted": (
        lambda kept: kept.client.delete_run(kept.run),
        "the release was deleted; MLflow hides it",
    ),
    "the experiment, deleted": (
        lambda kept: kept.client.delete_experiment("1"),
        "the experiment was deleted, and all its runs with it; MLflow hides them",
    ),
    "the status of a step": (
        lambda kept: kept.client.update_run(kept.steps["clean"], status="FAILED"),
        "status of step clean was changed; it is now FAILED",
    ),
    "an input": (_log_input, f"input people {'0' * 36} of the release was added"),
    "a tag of the model": (
        lambda kept: kept.client.set_logged_model_tags(kept.model, {"audience": "internal"}),
        "tag audience of model {model} was changed; it is now internal",
    ),
    "a metric of the model": (
        lambda kept: change_mlflow(kept.state, "UPDATE logged_model_metrics SET metric_value = 0.125"),
        "metric epsilon.model at {time}, step 0, of run {learn_parameters} of model {model} was changed",
    ),
    "the model, deleted": (
        lambda kept: kept.client.delete_logged_model(kept.model),
        "model {model} " + GONE,
    ),
    "the registered version, deleted": (
        lambda kept: kept.client.delete_model_version("people", "1"),
        f"version 1 of the registered model people {GONE}",
    ),
    "the registered version, described anew": (
        lambda kept: kept.client.update_model_version("people", "1", "Good."),
        "description of version 1 of the registered model people was changed",
    ),
    "a tag of the registered version": (
        lambda kept: kept.client.set_model_version_tag("people", "1", "epsilon.total", "0.1"),
        "tag epsilon.total of version 1 of the registered model people was changed; it is now 0.1",
    ),
}


TABLES_OF_A_RUN = ("tags", "params", "metrics", "latest_metrics", "runs")
BEHIND_MLFLOW: dict[str, tuple[str, str]] = {
    "a parameter of the release": (
        "UPDATE params SET value = 'gaussian' WHERE key = 'learner.noise' AND run_uuid = '{release}'",
        "parameter learner.noise of the release was changed; it is now gaussian",
    ),
    "a parameter of a step, inserted": (
        "INSERT INTO params (key, value, run_uuid) VALUES ('quality', 'none', '{learn_structure}')",
        "parameter quality of step learn_structure was added; it is now none",
    ),
    "a parameter, deleted": (
        "DELETE FROM params WHERE key = 'learner.noise' AND run_uuid = '{release}'",
        "parameter learner.noise of the release was deleted",
    ),
    "an entry of a metric": (
        "UPDATE metrics SET value = 0.125 WHERE key = 'epsilon' AND run_uuid = '{learn_structure}'",
        "metric epsilon of step learn_structure has one entry that was changed",
    ),
    "what is shown of a metric": (
        "UPDATE latest_metrics SET value = 0.125 WHERE key = 'epsilon' AND run_uuid = '{learn_structure}'",
        "metric epsilon of step learn_structure shows a different value; it is now 0.125",
    ),
    "an entry of a metric, inserted": (
        "INSERT INTO metrics (key, value, timestamp, run_uuid, step, is_nan) VALUES ('epsilon', 9, 1, '{split}', 0, 0)",
        "metric epsilon of step split has one additional entry",
    ),
    "all entries of a metric, deleted": (
        "DELETE FROM metrics WHERE key = 'epsilon' AND run_uuid = '{learn_structure}'",
        "metric epsilon of step learn_structure was deleted",
    ),
    "a metric, hidden": (
        "DELETE FROM latest_metrics WHERE key = 'epsilon' AND run_uuid = '{learn_structure}'",
        "metric epsilon of step learn_structure is hidden: its entries exist, but MLflow shows no value",
    ),
    "an entry of a metric that MLflow does not show": (
        "INSERT INTO metrics (key, value, timestamp, run_uuid, step, is_nan) VALUES ('quality', 9, 1, '{split}', 0, 0)",
        "metric quality of step split was added",
    ),
    "when the release began": (
        "UPDATE runs SET start_time = 1795170272055 WHERE run_uuid = '{release}'",
        "start time of the release was changed; it is now 2026-11-20T10:24:32.055000Z",
    ),
    "when a step ended": (
        "UPDATE runs SET end_time = 1795170272055 WHERE run_uuid = '{split}'",
        "end time of step split was changed; it is now 2026-11-20T10:24:32.055000Z",
    ),
    "who ran it": (
        "UPDATE runs SET user_id = 'mallory' WHERE run_uuid = '{release}'",
        "user of the release was changed; it is now mallory",
    ),
    "what a step is called": (
        "UPDATE runs SET name = 'another' WHERE run_uuid = '{split}'",
        "name of step split was changed; it is now another",
    ),
    "a run, taken from below the release": (
        "UPDATE tags SET value = 'x' WHERE key = 'mlflow.parentRunId' AND run_uuid = '{split}'",
        "tag mlflow.parentRunId of step split was changed; it is now x",
    ),
    "a run, deleted for good": (
        "; ".join(f"DELETE FROM {table} WHERE run_uuid = '{{split}}'" for table in TABLES_OF_A_RUN),  # noqa: S608
        f"step split {GONE}",
    ),
    "what kind of thing a step read": (
        "UPDATE datasets SET dataset_source = 'x' WHERE digest = '{checked}'",
        "input checked {checked} of step clean was changed",
    ),
}


def filled_in(text: str, kept: Kept) -> str:
    """A text with the ids that it leaves open."""
    client = kept.client
    clean = client.get_run(kept.steps["clean"]) if "{checked}" in text else None
    read = {given.dataset.name: given.dataset.digest for given in clean.inputs.dataset_inputs} if clean else {}
    logged = client.get_logged_model(kept.model).metrics if "{time}" in text else []
    return text.format(
        release=kept.run,
        model=kept.model,
        checked=read.get("checked"),
        time=next(iter(metric.timestamp for metric in logged), None),
        **kept.steps,
    )


HIDING = {
    "a step, deleted",
    "the release, deleted",
    "the experiment, deleted",
    "the model, deleted",
    "the registered version, deleted",
    "a run, deleted for good",
}
"""Changes after which others cannot be made or seen."""


def at_once(changes: Collection[str], audits: int) -> list[list[str]]:
    """Return the changes to make before each audit: at night one; by day several in different things, or a hiding one.

    Args:
        changes: their names; neighbours may change the same thing.
        audits: how many by day, beside those of hiding changes.
    """
    others = [what for what in changes if what not in HIDING]
    together = len(others) if is_night() else audits
    return [[what] for what in changes if what in HIDING] + [others[number::together] for number in range(together)]


def require_named(kept: Kept, findings: Sequence[str]) -> None:
    """Nothing but MLflow's runs differs, and of these what was changed."""
    found = audited(kept)
    assert found.keys() == {RUNS}
    assert [expected for expected in findings if expected not in found[RUNS]] == []
    assert len(found[RUNS]) <= 2 * len(findings), "MLflow keeps some things twice"


@pytest.mark.parametrize("changes", at_once(THROUGH_MLFLOW, 4), ids="; ".join)
def test_what_is_changed_by_means_of_mlflow_is_named(changes: list[str], kept: Kept) -> None:
    expected = [filled_in(THROUGH_MLFLOW[what][1], kept) for what in changes]
    for what in changes:
        THROUGH_MLFLOW[what][0](kept)
    require_named(kept, expected)


@pytest.mark.parametrize("changes", at_once(BEHIND_MLFLOW, 5), ids="; ".join)
def test_what_is_changed_in_the_database_itself_is_named(changes: list[str], kept: Kept) -> None:
    expected = [filled_in(BEHIND_MLFLOW[what][1], kept) for what in changes]
    statements = [filled_in(BEHIND_MLFLOW[what][0], kept).split("; ") for what in changes]
    change_mlflow(kept.state, *chain.from_iterable(statements))
    require_named(kept, expected)


def test_a_run_and_a_version_that_were_added_to_the_release_are_named_as_foreign(kept: Kept) -> None:
    added = kept.client.create_run("1", run_name="another", tags={"mlflow.parentRunId": kept.run})
    kept.client.create_model_version("people", "/elsewhere", run_id=kept.steps["learn_parameters"])
    assert audited(kept) == {
        FOREIGN: (
            f"run another ({added.info.run_id}) {CLAIMS}",
            f"version 3 of the registered model people {CLAIMS}",
        )
    }


@pytest.mark.nightly
def test_a_deleted_run_that_was_restored_is_as_it_was(kept: Kept) -> None:
    kept.client.delete_run(kept.steps["clean"])
    kept.client.restore_run(kept.steps["clean"])
    assert audited(kept) == {}


def test_artifacts_that_are_changed_and_deleted_on_the_disk_are_named(kept: Kept) -> None:
    kept.artifact("public/privacy.json").write_text("forged")
    kept.artifact("public/model.json").unlink()
    kept.artifact("model.json", f"models/{kept.model}").write_text("{}")
    assert audited(kept) == {
        RUNS: (
            "artifact public/model.json of the release was deleted",
            "artifact public/privacy.json of the release was changed",
            f"artifact model.json of model {kept.model} was changed",
            "artifact model.json of version 1 of the registered model people was changed",
        )
    }


def test_what_is_put_into_the_run_of_the_step_that_signed_is_named(kept: Kept) -> None:
    client, seal = kept.client, kept.steps["seal"]
    client.log_metric(seal, "public/quality", 1)
    client.log_metric(seal, "epsilon", -1)
    client.log_param(seal, "approved", "twice")
    client.log_text(seal, "forged", f"internal/{RECORD}")
    client.log_text(seal, "forged", "internal/note.txt")
    found = audited(kept)
    assert found[RUNS] == ("parameter approved of the step that signed was added; it is now twice",)
    assert set(found[SINCE]) == {
        "artifact internal/note.txt of the step that signed was added",
        "artifact internal/record.dsse.json of the step that signed was changed",
        "entry 0 of metric public/quality of the step that signed was added",
        "entry 1 of metric epsilon of the step that signed was added",
        "metric epsilon of the step that signed was changed; it is now -1.0",
        "metric public/quality of the step that signed was added",
    }


def test_a_release_that_is_said_to_have_failed_is_named(kept: Kept) -> None:
    kept.client.set_terminated(kept.run, "FAILED")
    assert audited(kept) == {SINCE: ("the release must have ended well, and MLflow has it as FAILED",)}


def test_mlflows_copies_of_the_record_are_compared(kept: Kept) -> None:
    client = kept.client
    kept.artifact(f"internal/{RECORD}").unlink()
    client.set_tag(kept.run, "record.digest", "0" * 64)
    client.delete_tag(kept.run, "record.public")
    assert audited(kept) == {
        COPIES: (
            f"the artifact internal/{RECORD} of the release was deleted",
            "the tag record.digest of the release was changed",
            "the tag record.public of the release was deleted",
        )
    }
    client.log_text(kept.run, "forged", f"internal/{RECORD}")
    assert f"the artifact internal/{RECORD} of the release was changed" in audited(kept)[COPIES]


@pytest.mark.parametrize("deed", [Path.unlink, lambda path: path.write_bytes(b"{}")])
def test_where_the_record_on_the_shelf_is_lost_mlflows_copy_is_believed_and_the_loss_is_named(
    deed: Callable[[Path], Any], kept: Kept
) -> None:
    deed(kept.shelf / RECORD)
    assert audited(kept).keys() == {SHELVED}


def test_any_byte_of_the_record_counts(kept: Kept) -> None:
    content = (kept.shelf / RECORD).read_bytes()
    for place in spread(range(0, len(content), len(content) // 7), least=4):
        forged = bytearray(content)
        forged[place] ^= 1
        (kept.shelf / RECORD).write_bytes(forged)
        assert audited(kept).keys() == {SHELVED}


def test_without_any_record_nothing_can_be_compared_and_that_is_said(kept: Kept) -> None:
    (kept.shelf / RECORD).unlink()
    kept.artifact(f"internal/{RECORD}").unlink()
    found = audited(kept)
    for what in ("the records of the release", "MLflow's runs", "the ledger"):
        [fault] = found[f"{what} can be compared"]
        assert "the record must be in" in fault


def test_a_record_that_another_key_signed_is_not_believed(kept: Kept, tmp_path: Path) -> None:
    signed = read_signed(kept.shelf / RECORD)
    forger = new_key(tmp_path / "elsewhere", owner="a forger")
    said = signed.record.model_copy(update={"signed": signed.record.signed.model_copy(update={"keyid": forger.keyid})})
    (kept.shelf / RECORD).write_text(signed_text(forger, signed.subjects, said))
    [fault] = audited(kept)[SHELVED]
    assert "must be signed by a known key" in fault


def test_a_record_that_was_signed_anew_by_who_may_is_held_against_the_public_one_and_mlflows_copy(kept: Kept) -> None:
    signed = read_signed(kept.shelf / RECORD)
    people = signed.record.people.model_copy(update={"started_by": "somebody else"})
    said = signed.record.model_copy(update={"people": people})
    (kept.shelf / RECORD).write_text(signed_text(signing_key(kept.state), signed.subjects, said))
    found = audited(kept)
    assert found.keys() == {COPIES, SAME, SINCE}
    assert found[SAME] == ("they differ in people",)


def test_a_public_record_that_was_signed_anew_by_who_may_is_held_against_the_internal_one(kept: Kept) -> None:
    signed = read_signed(kept.folder / RECORD)
    readme = (kept.folder / "README.md").read_bytes() + b"\nApproved.\n"
    (kept.folder / "README.md").write_bytes(readme)
    subjects = {**signed.subjects, "README.md": hashlib.sha256(readme).hexdigest()}
    (kept.folder / RECORD).write_text(signed_text(signing_key(kept.state), subjects, signed.record))
    found = audited(kept)
    assert found[SUBJECTS] == ("README.md was changed in the folder", f"{RECORD} was changed in the folder")
    assert FILES not in found


def test_a_revoked_key_and_missing_keys_are_said(kept: Kept, tmp_path: Path) -> None:
    trusted = kept.state / "keys" / "trusted.json"
    others = tmp_path / "others.json"
    others.write_text(TrustedKeys().to_text())
    assert SHELVED not in audited(kept)
    assert any("is not trusted" in str(fault) for fault in faults(audit_here(kept.name, kept.state, others)).values())
    keyid = read_signed(kept.shelf / RECORD).record.signed.keyid
    revoke_key(kept.state, keyid, "compromised")
    assert any("compromised" in str(fault) for fault in audited(kept).values())
    trusted.unlink()
    assert any("the keys that are trusted must be given" in str(fault) for fault in audited(kept).values())


def test_a_key_that_was_superseded_since_is_said_and_still_counts(kept: Kept) -> None:
    while time.time() % 1 > 0.5:
        time.sleep(0.1)
    revoke_key(kept.state, read_signed(kept.shelf / RECORD).record.signed.keyid, "superseded")
    report = audit_here(kept.name, kept.state)
    assert faults(report) == {}
    assert any("superseded on" in check.note for check in report.checks)


def test_what_is_changed_in_the_folder_is_named(kept: Kept) -> None:
    (kept.folder / "privacy.json").write_text("{}")
    (kept.folder / "model.json").unlink()
    (kept.folder / "note.txt").write_text("Approved.")
    found = audited(kept)
    assert found[SUBJECTS] == (
        "model.json was deleted from the folder",
        "note.txt was added to the folder",
        "privacy.json was changed in the folder",
    )
    assert len(found[FILES]) == 3
    assert RUNS not in found


def test_a_folder_that_was_deleted_is_named_and_all_else_is_still_compared(kept: Kept) -> None:
    shutil.rmtree(kept.folder)
    found = audited(kept)
    assert found[SUBJECTS] == (f"the folder {kept.folder} was deleted",)
    assert {RUNS, SINCE, LEDGER, SEGMENT, SHELF}.isdisjoint(found)


def test_what_is_changed_on_the_shelf_is_named(kept: Kept) -> None:
    report = kept.shelf / "report.html"
    report.write_text("All is well.")
    (kept.shelf / "public" / "model.json").write_text("{}")
    assert audited(kept) == {
        SHELF: ("public/model.json was changed on the shelf", "report.html was changed on the shelf")
    }
    report.unlink()
    assert "report.html was deleted from the shelf" in audited(kept)[SHELF]


def _behind_a_link(path: Path, elsewhere: Path) -> None:
    """Put a link in the place of a file or a folder, to where just the same lies."""
    elsewhere.parent.mkdir(parents=True, exist_ok=True)
    path.rename(elsewhere)
    path.symlink_to(elsewhere)


def test_what_is_put_on_the_shelf_is_named_wherever_it_is(kept: Kept) -> None:
    (kept.shelf / "certificate.html").write_text("All is well.")
    (kept.shelf / ".hidden").write_text("")
    (kept.shelf / "public" / "certificate.txt").write_text("All is well.")
    (kept.shelf / "more").mkdir()
    (kept.shelf / "more" / "notes.txt").write_text("All is well.")
    (kept.shelf / "baseline.parquet").unlink()
    places = (".hidden", "certificate.html", "more/notes.txt", "public/certificate.txt")
    assert set(audited(kept)[SHELF]) == {
        *(f"{place} was added to the shelf" for place in places),
        "baseline.parquet was deleted from the shelf",
    }


@pytest.mark.parametrize("place", spread(["report.html", "released.parquet", "public/model.json", "public"], least=2))
def test_what_is_a_link_on_the_shelf_is_named_though_the_same_lies_where_it_points(
    place: str, kept: Kept, tmp_path: Path
) -> None:
    _behind_a_link(kept.shelf / place, tmp_path / "elsewhere")
    found = audited(kept)
    assert any(fault.startswith(place) for fault in found[SHELF])
    assert any(f"{kept.name}/{place} is a link" in fault for fault in found[OWNER])


@pytest.mark.parametrize(
    ("kind", "whole"), spread([("releases", False), ("shelf", False), ("releases", True), ("shelf", True)], least=2)
)
def test_a_folder_that_is_a_link_is_named(kept: Kept, tmp_path: Path, kind: str, *, whole: bool) -> None:
    folder = kept.state / kind if whole else kept.state / kind / kept.name
    _behind_a_link(folder, tmp_path / "elsewhere" / "folder")
    assert audited(kept) == {OWNER: (f"{folder.relative_to(kept.state.parent)} {LINK}",)}


@pytest.mark.nightly
def test_a_record_that_is_a_link_is_named(kept: Kept, tmp_path: Path) -> None:
    _behind_a_link(kept.shelf / RECORD, tmp_path / "record")
    assert f"{RECORD} was added to the shelf" in audited(kept)[SHELF]
    _behind_a_link(kept.artifact(f"internal/{RECORD}"), tmp_path / "copy")
    assert f"the artifact internal/{RECORD} of the release was deleted" in audited(kept)[COPIES]


def test_what_came_to_the_shelf_after_sealing_by_a_refresh_is_no_change(kept: Kept, tmp_path: Path) -> None:
    (kept.shelf / "drift.json").write_text("{}")
    (kept.shelf / "drift.json").chmod(0o600)
    assert audited(kept) == {}
    _behind_a_link(kept.shelf / "drift.json", tmp_path / "drift")
    assert audited(kept)[SHELF] == ("drift.json was added to the shelf",)


@pytest.mark.parametrize("mode", spread([0o664, 0o666, 0o646], least=2))
def test_a_published_file_that_others_may_write_is_named(kept: Kept, mode: int) -> None:
    (kept.folder / "synthetic.csv").chmod(mode)
    (kept.shelf / "report.html").chmod(mode)
    (kept.shelf / "public").chmod(0o777)
    (kept.state / "releases").chmod(0o722)
    others = "may be written by accounts other than its owner"
    assert set(audited(kept)[OWNER]) == {
        f"state/releases {others} (mode 0722)",
        f"state/releases/{kept.name}/synthetic.csv {others} (mode 0{mode:o})",
        f"state/shelf/{kept.name}/report.html {others} (mode 0{mode:o})",
        f"state/shelf/{kept.name}/public {others} (mode 0777)",
    }


def test_an_artifact_that_is_a_link_is_named_though_the_same_lies_where_it_points(kept: Kept, tmp_path: Path) -> None:
    _behind_a_link(kept.artifact("public/privacy.json"), tmp_path / "elsewhere" / "privacy.json")
    _behind_a_link(kept.artifact("internal/risk.json", kept.steps["evaluate_risk"]), tmp_path / "elsewhere" / "risk")
    _behind_a_link(kept.artifact("model.json", f"models/{kept.model}"), tmp_path / "elsewhere" / "model.json")
    assert audited(kept) == {
        RUNS: (
            "artifact public/privacy.json of the release was changed",
            "artifact internal/risk.json of step evaluate_risk was changed",
            f"artifact model.json of model {kept.model} was changed",
            "artifact model.json of version 1 of the registered model people was changed",
        )
    }


@pytest.mark.nightly
def test_a_folder_of_artifacts_that_is_reached_by_a_link_is_named(kept: Kept, tmp_path: Path) -> None:
    run = kept.artifact("", kept.steps["clean"]).parent
    (run / "artifacts").mkdir(parents=True, exist_ok=True)
    _behind_a_link(run, tmp_path / "elsewhere" / "run")
    _behind_a_link(kept.artifact("public"), tmp_path / "elsewhere" / "public")
    found = audited(kept)[RUNS]
    assert "artifact . of step clean was added" in found
    assert "artifact public of the release was added" in found


def test_a_run_that_says_it_is_of_the_release_is_named(kept: Kept) -> None:
    elsewhere = kept.client.create_experiment("elsewhere", artifact_location="s3://no-such-store/x")
    added = kept.client.create_run(elsewhere, run_name="the release, better", tags={"release": kept.name})
    assert audited(kept) == {FOREIGN: (f"run the release, better ({added.info.run_id}) {CLAIMS}",)}


@pytest.mark.nightly
def test_a_version_of_the_release_s_model_that_names_no_run_is_named(kept: Kept) -> None:
    kept.client.create_registered_model("better")
    kept.client.create_model_version("better", f"models:/{kept.model}")
    assert audited(kept) == {FOREIGN: (f"version 1 of the registered model better {CLAIMS}",)}


def change_ledger(kept: Kept, *statements: str) -> None:
    """Do what someone can do who owns the database."""
    connection = sqlite3.connect(kept.state / "ledger" / "ledger.db")
    with connection:
        for trigger in ("rows", "order", "values"):
            connection.execute(f"DROP TRIGGER IF EXISTS deniable_ledger_keeps_{trigger}")
        for statement in statements:
            assert connection.execute(statement).rowcount != 0
    connection.close()


def chained_anew(kept: Kept, change: Callable[[int, dict[str, Any]], dict[str, Any]]) -> None:
    """Forge a ledger whose every entry follows from the one before."""
    entries = Ledger.open(ledger_place(kept.state)).entries()
    forged: list[Entry] = []
    for number, entry in enumerate(entries):
        content = change(number, json.loads(json.dumps(entry.content)))
        fact = type(entry.fact()).from_content(content)
        place = forged[-1].followed_by if forged else Entry.first
        forged.append(place(fact, entry.time, entry.salt))
    assert all(after.fault_after(before) is None for before, after in pairwise([None, *forged]))
    connection = sqlite3.connect(kept.state / "ledger" / "ledger.db")
    with connection:
        for trigger in ("rows", "order", "values"):
            connection.execute(f"DROP TRIGGER deniable_ledger_keeps_{trigger}")
        for entry in forged:
            connection.execute(
                "UPDATE deniable_ledger SET previous = ?, digest = ?, entry = ? WHERE number = ?",
                (entry.previous, entry.digest, entry.to_line(), entry.number),
            )
    connection.close()


def own_numbers(kept: Kept) -> list[int]:
    return [entry["number"] for entry in read_signed(kept.shelf / RECORD).record.ledger.entries]


def test_an_entry_of_the_ledger_that_was_altered_is_named(kept: Kept) -> None:
    first = own_numbers(kept)[0]
    change_ledger(kept, f"UPDATE deniable_ledger SET entry = replace(entry, 'learn', 'draw') WHERE number = {first}")  # noqa: S608
    found = audited(kept)
    assert found[SEGMENT] == (f"entry {first} was changed",)
    assert any(f"entry {first}: its content does not match its digest" in fault for fault in found[LEDGER])
    assert RUNS not in found


def test_a_ledger_whose_end_was_cut_off_lacks_what_the_record_shows(kept: Kept) -> None:
    last = own_numbers(kept)[-1]
    change_ledger(kept, f"DELETE FROM deniable_ledger WHERE number >= {last}")  # noqa: S608
    found = audited(kept)
    assert LEDGER not in found, "what is left follows from itself"
    assert found[SEGMENT] == (f"entry {last} is gone, or cannot be read",)
    assert found[PUBLISHED] == (f"no entry states that {kept.name} was published",)


@pytest.mark.nightly
def test_a_ledger_that_was_forged_as_a_whole_is_found_by_the_record(kept: Kept) -> None:
    numbers = own_numbers(kept)

    def of_less(number: int, content: dict[str, Any]) -> dict[str, Any]:
        return {**content, "release": "another"} if number == numbers[0] else content

    chained_anew(kept, of_less)
    found = audited(kept)
    assert LEDGER not in found
    assert [fault.split(" was ")[0] for fault in found[SEGMENT]] == [f"entry {number}" for number in numbers]


def test_an_entry_that_says_that_another_table_was_published_is_named(kept: Kept) -> None:
    last = own_numbers(kept)[-1]
    chained_anew(kept, lambda number, content: {**content, "output": "0" * 64} if number == last else content)
    assert audited(kept)[PUBLISHED] == (f"entry {last} states that another table was published",)


def test_a_table_that_was_changed_is_not_the_one_that_the_ledger_names(kept: Kept) -> None:
    (kept.folder / "synthetic.parquet").write_bytes(b"PAR1")
    found = audited(kept)
    assert found[PUBLISHED] == (f"entry {own_numbers(kept)[-1]} states that another table was published",)


def test_a_decision_about_the_release_is_no_change_and_is_shown(kept: Kept) -> None:
    decide_standing(kept.state, kept.name, "reviewed", "looked at after a year")
    decide_standing(kept.state, kept.name, "withdrawn", "a column was coded wrongly")
    report = audit_here(kept.name, kept.state)
    assert faults(report) == {}
    [check] = [check for check in report.checks if check.name == PUBLISHED]
    assert "reviewed in entry" in check.line
    assert check.line.endswith(": a column was coded wrongly)")


def test_a_charge_that_came_later_is_named(kept: Kept) -> None:
    ledger = Ledger.open(ledger_place(kept.state))
    charge = next(charged.charge for charged in ledger.charges("people") if charged.charge.release == kept.name)
    content = {**charge.to_content(), "inputs": "others"}
    entry = ledger.reserve(Charge.from_content(content)).entry
    assert audited(kept)[CHARGED] == (f"entry {entry.number} charges it for step {charge.step}",)


def test_a_ledger_that_is_gone_is_said_and_none_is_made(kept: Kept) -> None:
    place = kept.state / "ledger" / "ledger.db"
    place.unlink()
    found = audited(kept)
    assert found == {
        "the ledger can be compared": (
            f"the ledger must be at {place}, and is missing; restore it, or give its location.",
        )
    }
    assert not place.exists()
    place.write_text("this is no database")
    [[fault]] = audited(kept).values()
    assert "must be an undamaged database" in fault


def test_mlflow_that_is_gone_is_said_and_all_else_is_still_compared(kept: Kept) -> None:
    (kept.state / "mlflow" / "mlflow.db").unlink()
    found = audited(kept)
    assert found.keys() == {COPIES, "MLflow's runs can be compared"}
    for [fault] in found.values():
        assert "MLflow must give the runs of the release, and sqlite:" in fault


def test_a_release_whose_run_was_deleted_for_good_is_said(kept: Kept) -> None:
    change_mlflow(kept.state, *(f"DELETE FROM {table} WHERE run_uuid = '{kept.run}'" for table in TABLES_OF_A_RUN))  # noqa: S608
    [fault] = audited(kept)["MLflow's runs can be compared"]
    assert f"MLflow must have the run {kept.run} of the release, and has not: it was deleted for good." in fault


def test_what_others_wrote_cannot_pretend_to_be_a_line_of_the_report(kept: Kept) -> None:
    kept.client.set_tag(kept.run, "x", "y\x1b[2K\u202e")
    kept.client.log_text(kept.run, "", "public/a\nok      everything holds")
    lines = audit_here(kept.name, kept.state).lines
    assert "ok      everything holds" not in lines
    assert not any("\x1b" in line or "\u202e" in line for line in lines)
    assert any(r"public/a\nok" in line for line in lines)


def test_what_is_no_release_is_said(kept: Kept, tmp_path: Path) -> None:
    for name in ("another", str(tmp_path / "absent"), "", "..", "/"):
        with pytest.raises(InvalidInput, match="the release must be one that was made in"):
            audit_here(name, kept.state)


def test_a_release_that_stopped_while_it_was_sealed_holds_once_it_was_taken_up_again(
    tmp_path: Path, prefect: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / "state"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", mlflow_uri(state))
    monkeypatch.delenv(LEDGER_VARIABLE, raising=False)
    spec = write_small_release(tmp_path / "spec")

    def stop(*_: object) -> None:
        raise Refused("enough for today.")

    with monkeypatch.context() as stopping:
        stopping.setattr("tasks.publication.seal.make_current", stop)
        with pytest.raises(Refused, match="enough for today"):
            release(spec, state)
    [name] = [folder.name for folder in (state / "releases").iterdir()]
    found = faults(audit_here(name, state))
    assert "the release must have ended well, and MLflow has it as FAILED" in found[SINCE]
    assert release(spec, state).workspace.release_id == name
    assert faults(audit_here(name, state)) == {}


def answers(address: str) -> bool:
    """Whether a server is up."""
    try:
        return httpx.get(address).is_success
    except httpx.TransportError:
        return False


def mlflow_server(folder: Path, port: int) -> Started:
    """MLflow's own server of runs and artifacts in a folder, without what `mlflow server` starts beside it."""
    stored = {
        "_MLFLOW_SERVER_FILE_STORE": f"sqlite:///{folder / 'mlflow.db'}",
        "_MLFLOW_SERVER_ARTIFACT_ROOT": "mlflow-artifacts:/",
        "_MLFLOW_SERVER_ARTIFACT_DESTINATION": str(folder / "files"),
        "_MLFLOW_SERVER_SERVE_ARTIFACTS": "true",
    }
    arguments = ["--host", "127.0.0.1", "--port", str(port), "mlflow.server.fastapi_app:app"]
    return Started("uvicorn", arguments, env={**environment(folder), **stored}, cwd=folder)


@pytest.mark.nightly
def test_a_release_that_a_server_recorded_is_audited_by_its_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(LEDGER_VARIABLE, raising=False)
    there = tmp_path / "there"
    there.mkdir()
    shutil.copy(mlflow_made_once(), there)
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    server = mlflow_server(there, port)
    try:
        while not answers(f"{address}/health"):
            assert server.poll() is None
            time.sleep(0.1)
        monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
        made = sealed_release(tmp_path, "small-1", **QUICK)
        assert not (tmp_path / "state" / "mlflow" / "mlflow.db").exists()
        assert faults(audit_here(made.release_id, made.state)) == {}
        [forged] = (there / "files").rglob(f"{made.mlflow_run_id}/artifacts/public/privacy.json")
        forged.write_text("forged")
        MlflowClient(address).set_tag(made.mlflow_run_id, "quality", "high")
        assert faults(audit_here(made.release_id, made.state)) == {
            RUNS: (
                "artifact public/privacy.json of the release was changed",
                "tag quality of the release was added; it is now high",
            )
        }
    finally:
        server.terminate()
        server.wait()
    [[fault], _] = faults(audit_here(made.release_id, made.state)).values()
    assert f"MLflow must give the runs of the release, and {address} does not" in fault


def command(kept: Kept, *arguments: str) -> int:
    return carry_out("audit release", arguments, kept.state)


def test_the_command_prints_what_was_found_below_its_check(kept: Kept, capsys: pytest.CaptureFixture[str]) -> None:
    trusted = str(kept.state / "keys" / "trusted.json")
    assert command(kept, kept.name, "--keys", trusted) == HOLDS
    shown = capsys.readouterr().out.splitlines()
    assert shown[-1].startswith(f"{kept.name} is as it was when its record was signed: all ")
    assert any("trusted keys as given" in line for line in shown)
    kept.client.set_tag(kept.run, "quality", "high")
    assert command(kept, kept.name) == DOES_NOT_HOLD
    shown = capsys.readouterr().out.splitlines()
    at = shown.index(f"FAILED  {RUNS}:")
    assert shown[at + 1] == "        - tag quality of the release was added; it is now high"
    assert shown[-1].startswith(f"{kept.name} IS NOT AS IT WAS WHEN ITS RECORD WAS SIGNED: 1 of ")


def pages_in_prefect() -> list[str]:
    with get_client(sync_client=True) as client:
        found = client.read_artifacts(sort=ArtifactSort.CREATED_DESC, limit=20)
    return [str(artifact.data) for artifact in found if str(artifact.key).startswith("audit-")]


def test_a_scheduled_audit_ends_well_or_fails_and_leaves_its_verdict_with_prefect(kept: Kept) -> None:
    before = everything_in(kept.state)
    ended = audit(kept.name, kept.state, return_state=True)
    assert ended.is_completed()
    assert pages_in_prefect()[0].startswith(f"**{kept.name} is as it was")
    kept.client.set_tag(kept.run, "quality", "high\n```\n# Everything holds")
    changed = everything_in(kept.state)
    ended = audit(kept.name, kept.state, return_state=True)
    assert ended.is_failed()
    assert "IS NOT AS IT WAS" in str(ended.message)
    page = pages_in_prefect()[0]
    assert page.startswith(f"**{kept.name} IS NOT AS IT WAS")
    assert "tag quality of the release was added" in page
    assert page.count("```") == 2
    assert everything_in(kept.state) == changed
    assert before.keys() == changed.keys()


def test_a_server_that_is_down_is_no_evidence_and_what_it_cannot_hide_is_found(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    found = audit_here(kept.name, kept.state)
    assert not found.holds
    assert "COULD NOT BE AUDITED AS A WHOLE: 2 of " in found.verdict
    table = kept.folder / "synthetic.csv"
    table.write_text(table.read_text() + "\n")
    assert "IS NOT AS IT WAS" in audit_here(kept.name, kept.state).verdict
