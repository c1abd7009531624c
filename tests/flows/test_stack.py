"""An agency's servers on one machine: started, used, stopped, started again, and audited from another machine."""

import json
import re
import shutil
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import httpx
import psutil
import psycopg
import pytest

from deniable.foundation.errors import InvalidInput
from infra.stack.postgres import administration
from infra.stack.servers import mlflow_server, prefect_server, watch, worker
from infra.stack.settings import Stack
from schemas.provenance import RECORD
from stores.keys.trust_file import TRUSTED_KEYS_VARIABLE
from stores.ledger.ledger import LEDGER_VARIABLE
from tests.agency import Agency, ask, release_of
from tests.browser import browser
from tests.extent import is_night
from tests.flows.command import environment, run
from tests.flows.elsewhere import (
    FOREIGN,
    GUIDE,
    OUT_OF_REACH,
    PAGES,
    ROOT,
    RUNS,
    TAMPERED,
    Auditor,
    as_engineer,
    faults,
    handed_out,
    tamper,
)
from tests.looking import look_at_file, look_at_mlflow, look_at_prefect
from tests.small_release import QUICK, write_small_release
from tests.warm import run_module
from tests.warm.python import warm_python

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


def refusal(page: str, credentials: str | None, body: object | None = None, method: str = "POST") -> int:
    with pytest.raises(HTTPError) as refused:
        ask(page, credentials, body, method)
    return refused.value.code


@pytest.fixture(scope="module")
def agency(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agency]:
    """An agency that had a ledger before it had servers."""
    folder = tmp_path_factory.mktemp("agency")
    specs = write_small_release(folder / "specs", **QUICK).parent
    (specs / "spec.yaml").rename(specs / "small.yaml")
    asking = {"name": "asking", "decision": {"always_ask": True, "approvers": ["ines"]}}
    write_small_release(specs, **deepcopy({**QUICK, **asking})).rename(specs / "asking.yaml")
    told = {"DENIABLE_OPERATOR": "ada", "PREFECT_WORKER_QUERY_SECONDS": "2"}
    here = Agency(folder / "state", folder / "home", specs, told)
    here.command("budget", "set", "people", "--epsilon", "1000", "--delta", "0.1")
    here.start()
    here.command("servers", "deploy")
    yield here
    here.command("servers", "stack", "down")


@pytest.fixture(scope="module")
def released(agency: Agency) -> dict[str, Any]:
    """A run of the deployment that releases the small table."""
    return agency.triggered("release/any", spec="small")


def test_a_release_that_is_triggered_through_the_interface_is_published_and_verifies(
    agency: Agency, released: dict[str, Any]
) -> None:
    assert released["state"]["type"] == "COMPLETED", released["state"]["message"]
    (folder,) = (agency.state / "releases").iterdir()
    assert released["state"]["message"] == f"published {folder.name}"
    assert released["name"] == f"{folder.name}: published"
    found = agency.command("release", "find", "--dataset", "people")
    assert f"{folder.name}  20" in found
    assert f"  {agency.page('mlflow')}/#/experiments/" in found
    replayed = agency.triggered("replay/any", release=folder.name)
    assert replayed["state"]["type"] == "COMPLETED", replayed["state"]["message"]


def test_the_ledger_that_was_there_before_goes_on_in_postgresql(agency: Agency, released: dict[str, Any]) -> None:
    assert not (agency.state / "ledger" / "ledger.db").exists()
    agency.command("budget", "export", agency.home / "ledger.jsonl")
    entries = [json.loads(line) for line in (agency.home / "ledger.jsonl").read_text().splitlines()]
    assert [entry["kind"] for entry in entries[:3]] == ["genesis", "policy", "reserved"]
    assert entries[1]["content"]["limit" if "limit" in entries[1]["content"] else "epsilon"]
    assert entries[-1]["kind"] == "released"


def test_what_a_form_must_not_ask_for_is_refused_where_it_runs(agency: Agency) -> None:
    ledger = agency.command("budget", "show")
    found = agency.prefect("/deployments/name/release/any", method="GET")
    assert found["parameter_openapi_schema"]["definitions"]["SpecName"]["enum"]
    assert refusal(
        f"{agency.page('prefect')}/api/deployments/{found['id']}/create_flow_run",
        f"deniable:{agency.said('secrets')['prefect_server']}",
        {"parameters": {"spec": "no such spec"}},
    ) in {409, 422}
    unchecked = agency.prefect(
        f"/deployments/{found['id']}/create_flow_run",
        {"parameters": {"spec": "no such spec"}, "enforce_parameter_schema": False},
    )
    assert "spec" in agency.once(unchecked["id"], "FAILED", "CRASHED")["state"]["message"]
    assert agency.command("budget", "show") == ledger


def test_a_schedule_that_is_switched_on_makes_runs(agency: Agency) -> None:
    planned = {"flow_runs": {"state": {"type": {"any_": ["SCHEDULED"]}}}}
    give_up = time.monotonic() + 300
    while not (runs := agency.prefect("/flow_runs/filter", planned)):
        assert time.monotonic() < give_up
        time.sleep(1)
    assert {run["auto_scheduled"] for run in runs} == {True}


def test_auditors_read_engineers_write_and_nobody_else_does_either(agency: Agency, released: dict[str, Any]) -> None:
    found = agency.mlflow("/experiments/search", "auditor", {"max_results": 10})["experiments"]
    (dataset,) = [item for item in found if item["name"] == "people"]
    runs = agency.mlflow("/runs/search", "auditor", {"experiment_ids": [dataset["experiment_id"]]})["runs"]
    run_id = runs[0]["info"]["run_id"]
    tag = {"run_id": run_id, "key": "touched", "value": "yes"}
    page = f"{agency.page('mlflow')}/api/2.0/mlflow"
    assert refusal(f"{page}/runs/set-tag", f"auditor:{agency.said('secrets')['auditor']}", tag) == 403
    assert refusal(f"{page}/runs/set-tag", None, tag) == 401
    assert refusal(f"{page}/runs/search", "auditor:wrong", {"experiment_ids": []}) == 401
    view = {"experiment_id": dataset["experiment_id"], "key": "view", "value": "mine"}
    agency.mlflow("/experiments/set-experiment-tag", "engineer", view)
    assert refusal(f"{agency.page('prefect')}/api/flow_runs/count", None, {}) == 401


@pytest.mark.parametrize(
    ("server", "user", "path"),
    [
        ("prefect", "prefect_server", "/api/block_documents/filter"),
        ("mlflow", "auditor", "/api/2.0/mlflow/experiments/search"),
        ("mlflow", "engineer", "/ajax-api/2.0/mlflow/experiments/create"),
    ],
)
def test_its_servers_answer_their_own_pages_alone(agency: Agency, server: str, user: str, path: str) -> None:
    page, secret = agency.page(server), agency.said("secrets")[user]
    name = "deniable" if server == "prefect" else user
    port = httpx.URL(page).port
    told = {
        400: [{"Host": "page.example"}, {"Host": f"page.example:{port}"}],
        # What a browser sends for a page of another origin, the password that it remembers with it.
        403: [{"Origin": origin} for origin in ("https://page.example", "http://localhost:1", "https://127.0.0.1:1")]
        + [{"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}],
        200: [{}, {"Origin": page}, {"Host": f"localhost:{port}", "Origin": f"http://localhost:{port}"}],
    }
    for status, headers in told.items():
        for number, header in enumerate(headers):
            body = {"name": f"{user} {number}"} if path.endswith("create") else {"max_results": 9}
            answer = httpx.post(page + path, json=body, headers=header, auth=(name, secret), timeout=60)
            assert answer.status_code == status, (header, answer.text)
            assert status == 200 or "access-control-allow-origin" not in answer.headers
    assert httpx.post(page + path, json={}, timeout=60).status_code == 401
    assert httpx.get(page, auth=(name, secret), timeout=60).headers["x-frame-options"] == "SAMEORIGIN"


def test_what_runs_programs_for_whoever_asks_is_closed_to_everybody(agency: Agency) -> None:
    for user in ("auditor", "engineer", "administrator"):
        credentials = f"{user}:{agency.said('secrets')[user]}"
        assistant = f"{agency.page('mlflow')}/ajax-api/3.0/mlflow/assistant/config"
        assert refusal(assistant, credentials, method="GET") == 403
        assert refusal(f"{agency.page('mlflow')}/ajax-api/3.0/jobs", credentials, {}) == 403


def connections_of(agency: Agency) -> Iterator[Any]:
    """All connections of its processes; some of PostgreSQL's end while they are looked at."""
    for process in agency.processes():
        with suppress(psutil.NoSuchProcess):
            yield from process.net_connections("inet")


def test_all_of_it_listens_on_the_loopback_alone(agency: Agency) -> None:
    listening = {each.laddr.ip for each in connections_of(agency) if each.status == psutil.CONN_LISTEN}
    assert listening == {"127.0.0.1"}


def test_none_of_it_calls_out(agency: Agency, released: dict[str, Any]) -> None:
    away = {each.raddr.ip for each in connections_of(agency) if each.raddr}
    assert away == {"127.0.0.1"}
    said = "".join(path.read_text(errors="replace") for path in (agency.state / "stack" / "logs").iterdir())
    assert "sens-o-matic" not in said
    assert "telemetry" not in said.lower()


def test_no_password_is_an_argument_of_a_process_or_stands_in_a_log(agency: Agency, released: dict[str, Any]) -> None:
    secrets = set(agency.said("secrets").values())
    stack = Stack(agency.state)
    daemons = (prefect_server(stack), mlflow_server(stack), worker(stack), watch(stack))
    # By day, these are forked from one process, which has arguments of its own.
    arguments = " ".join(argument for each in daemons for argument in each.command)
    for process in agency.processes():
        with suppress(psutil.NoSuchProcess):
            arguments += f" {' '.join(process.cmdline())}"
    assert all(f" {name} " in f"{arguments} " for name in ("infra.stack.mlflow_server", "worker", "watch"))
    assert "postgres" in arguments
    logs = "".join(path.read_text(errors="replace") for path in (agency.state / "stack" / "logs").iterdir())
    assert not [secret for secret in secrets if secret in arguments or secret in logs]
    readable = [path for path in (agency.state / "stack").iterdir() if path.is_file() and path.stat().st_mode & 0o077]
    assert [path.name for path in readable] == []


@pytest.mark.nightly
def test_a_backup_of_all_of_it_is_restored_beside_it_and_passes_the_audit(
    agency: Agency, released: dict[str, Any]
) -> None:
    agency.command("servers", "backup", agency.home / "copy")
    elsewhere = Agency(agency.home / "restored", agency.home, agency.specs)
    try:
        assert "1 release and the ledger were verified" in elsewhere.command("servers", "restore", agency.home / "copy")
        elsewhere.command("servers", "stack", "up")
        assert elsewhere.said("ports") != agency.said("ports")
        elsewhere.command("audit", "release", release_of(released))
        with (
            psycopg.connect(elsewhere.said("environment")["DENIABLE_LEDGER"]) as connection,
            pytest.raises(psycopg.errors.InsufficientPrivilege),
        ):
            connection.execute("DELETE FROM deniable_ledger")
        assert elsewhere.run(released["id"])["name"] == released["name"]
        assert elsewhere.command("budget", "show") == agency.command("budget", "show")
    finally:
        elsewhere.command("servers", "stack", "down")


@pytest.fixture(scope="module")
def separated(agency: Agency, released: dict[str, Any]) -> str:
    """What `stack up` says of a ledger that belongs to who works with it, as earlier versions had it."""
    before = servers(agency)
    with psycopg.connect(administration(Stack(agency.state), "ledger"), autocommit=True) as connection:
        for statement in TAKEN_OVER:
            connection.execute(statement.encode())
        connection.execute("GRANT ALL ON ALL TABLES IN SCHEMA public TO deniable_ledger")
    said = agency.command("servers", "stack", "up")
    assert servers(agency) == before
    return said


@pytest.mark.parametrize("statement", FORBIDDEN)
@pytest.mark.usefixtures("separated")
def test_who_works_with_the_ledger_of_a_stack_cannot_alter_it(agency: Agency, statement: str) -> None:
    with (
        psycopg.connect(agency.said("environment")["DENIABLE_LEDGER"], autocommit=True) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege, match=r"permission denied|must be owner"),
    ):
        connection.execute(statement.encode())


@pytest.mark.nightly
def test_it_is_stopped_as_a_whole_and_started_again_with_all_that_it_had(
    agency: Agency, released: dict[str, Any], separated: str
) -> None:
    assert "up" not in separated.split("Prefect", maxsplit=1)[0]  # nothing was down
    ledger = agency.command("budget", "show")
    running = agency.processes()
    agency.command("servers", "stack", "down")
    assert not [process for process in running if process.is_running()]
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", agency.said("ports")["postgres"])) != 0
    refused = run("release", "make", agency.specs / "small.yaml", "--new", "--state", agency.state, home=agency.home)
    assert refused.returncode == 1
    assert len(refused.stderr.strip().splitlines()) <= 2
    shown = run("servers", "prefect", "flow-run", "ls", home=agency.home, DENIABLE_STATE=str(agency.state))
    assert shown.returncode == 1
    assert "Prefect must answer" in shown.stderr
    assert len(shown.stderr.strip().splitlines()) == 1
    agency.command("servers", "stack", "up")
    assert agency.command("budget", "show") == ledger
    assert agency.run(released["id"])["state"]["type"] == "COMPLETED"
    found = agency.mlflow("/experiments/search", "auditor", {"max_results": 10})["experiments"]
    assert "people" in {item["name"] for item in found}


def servers(agency: Agency) -> dict[str, str]:
    """Which processes the servers are."""
    return {path.name: path.read_text() for path in (agency.state / "stack" / "run").glob("*.json")}


@pytest.mark.nightly
def test_every_page_of_it_asks_nobody_else(agency: Agency, released: dict[str, Any], tmp_path: Path) -> None:
    held, release = agency.begun("release/any", spec="asking"), release_of(released)
    agency.command("release", "compare", release, release)
    [comparison] = (agency.state / "comparisons").glob("*.html")
    number, run = agency.in_mlflow("people", release)
    agency.once(held, "PAUSED")
    secrets = agency.said("secrets")
    with browser(tmp_path) as chromium:
        look_at_prefect(
            chromium,
            agency.page("prefect"),
            f"deniable:{secrets['prefect_server']}",
            released["id"],
            held=held,
            artifact=agency.artifact_of(released["id"]),
        )
        look_at_mlflow(
            chromium,
            agency.page("mlflow"),
            f"auditor:{secrets['auditor']}",
            (number, "people"),
            run,
        )
        for page in (
            agency.state / "releases" / release / "index.html",
            agency.state / "shelf" / release / "report.html",
            comparison,
        ):
            look_at_file(chromium, page)
    assert chromium.asked_elsewhere == []


@pytest.fixture(scope="module")
def name(released: dict[str, Any]) -> str:
    """The release."""
    return release_of(released)


@pytest.fixture(scope="module")
def auditor(agency: Agency, name: str, tmp_path_factory: pytest.TempPathFactory) -> Auditor:
    return handed_out(agency, name, tmp_path_factory.mktemp("auditor"))


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
    return auditor.follow_the_guide(python)


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
    kinds = [json.loads(line)["kind"] for line in lines]
    (tmp_path / "ledger.jsonl").write_text("".join(lines[: kinds.index("released")]))
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
        assert word in (ROOT / "flows" / "cli" / "release" / "find.py").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def tampered(agency: Agency, guided: list[str], name: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Somebody who may write to MLflow has changed several things of the release; its run and its version."""
    assert guided
    told: dict[str, str] = {}
    as_engineer(agency, lambda client: told.update(tamper(client, name, tmp_path_factory.mktemp("forged"))))
    return told


@pytest.mark.nightly
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
    assert found.pop(FOREIGN) == (
        "version 1 of the registered model another claims to be of the release, and is foreign to it",
    )
    assert found.keys() == {RUNS}
    for what, named in TAMPERED.items():
        assert any(named.format(**tampered) in fault for fault in found[RUNS]), (what, found[RUNS])
    assert len(found[RUNS]) <= 2 * len(TAMPERED), "some are in two tables"
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


@pytest.mark.nightly
def test_a_record_that_was_changed_or_deleted_in_mlflow_is_named(
    at_work: Auditor,
    name: str,
    tampered: dict[str, str],
    tmp_path: Path,
) -> None:
    # Signed by a trusted key, and not what it is taken for.
    copy = shutil.copyfile(at_work.folder / RECORD, tmp_path / RECORD)
    as_engineer(at_work.agency, lambda client: client.log_artifact(tampered["run"], str(copy), "internal"))
    found = faults(at_work.audit())
    assert found.keys() == {"the records of the release can be compared", "MLflow's runs can be compared"}
    for [fault] in found.values():
        assert f"the artifact internal/{RECORD} of {name} must be what a trusted key signed for it" in fault
    stored = at_work.agency.state / "stack" / "artifacts"
    (kept,) = stored.rglob(f"{tampered['run']}/artifacts/internal/{RECORD}")
    kept.unlink()
    for [fault] in faults(at_work.audit()).values():
        assert f"the artifact internal/{RECORD} of its run, or the run itself, was deleted" in fault
