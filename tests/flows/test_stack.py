"""An agency's servers on one machine: started, used through their interfaces, stopped, and started again."""

import json
import socket
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

from infra.stack.servers import mlflow_server, prefect_server, watch, worker
from infra.stack.settings import Stack
from tests.agency import Agency, ask, release_of
from tests.browser import browser
from tests.flows.command import run
from tests.looking import look_at_file, look_at_mlflow, look_at_prefect
from tests.small_release import QUICK, write_small_release


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
    here = Agency(folder / "state", folder / "home", specs)
    here.command("ledger", "policy", "people", "--epsilon", "1000", "--delta", "0.1")
    here.start()
    here.command("deploy")
    yield here
    here.command("stack", "down")


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
    found = agency.command("find", "--dataset", "people")
    assert f"{folder.name}  20" in found
    assert f"  {agency.page('mlflow')}/#/experiments/" in found
    replayed = agency.triggered("replay/any", release=folder.name)
    assert replayed["state"]["type"] == "COMPLETED", replayed["state"]["message"]


def test_the_ledger_that_was_there_before_goes_on_in_postgresql(agency: Agency, released: dict[str, Any]) -> None:
    assert not (agency.state / "ledger" / "ledger.db").exists()
    agency.command("ledger", "export", agency.home / "ledger.jsonl")
    entries = [json.loads(line) for line in (agency.home / "ledger.jsonl").read_text().splitlines()]
    assert [entry["kind"] for entry in entries[:3]] == ["genesis", "policy", "reserved"]
    assert entries[1]["content"]["limit" if "limit" in entries[1]["content"] else "epsilon"]
    assert entries[-1]["kind"] == "released"


def test_what_a_form_must_not_ask_for_is_refused_where_it_runs(agency: Agency) -> None:
    ledger = agency.command("ledger", "show")
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
    assert agency.command("ledger", "show") == ledger


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
    assert refusal(f"{page}/runs/set-tag", "auditor:wrong", tag) == 401
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
    agency.command("backup", agency.home / "copy")
    elsewhere = Agency(agency.home / "restored", agency.home, agency.specs)
    try:
        assert "1 release and the ledger were verified" in elsewhere.command("restore", agency.home / "copy")
        elsewhere.command("stack", "up")
        assert elsewhere.said("ports") != agency.said("ports")
        elsewhere.command("audit", release_of(released))
        with (
            psycopg.connect(elsewhere.said("environment")["DENIABLE_LEDGER"]) as connection,
            pytest.raises(psycopg.errors.InsufficientPrivilege),
        ):
            connection.execute("DELETE FROM deniable_ledger")
        assert elsewhere.run(released["id"])["name"] == released["name"]
        assert elsewhere.command("ledger", "show") == agency.command("ledger", "show")
    finally:
        elsewhere.command("stack", "down")


def test_it_is_stopped_as_a_whole_and_started_again_with_all_that_it_had(
    agency: Agency, released: dict[str, Any]
) -> None:
    before, ledger = servers(agency), agency.command("ledger", "show")
    assert "up" not in agency.command("stack", "up").split("Prefect")[0]  # nothing was down
    assert servers(agency) == before
    running = agency.processes()
    agency.command("stack", "down")
    assert not [process for process in running if process.is_running()]
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", agency.said("ports")["postgres"])) != 0
    refused = run("release", agency.specs / "small.yaml", "--new", "--state", agency.state, home=agency.home)
    assert refused.returncode == 1
    assert len(refused.stderr.strip().splitlines()) <= 2
    shown = run("prefect", "flow-run", "ls", home=agency.home, DENIABLE_STATE=str(agency.state))
    assert shown.returncode == 1
    assert "Prefect must answer" in shown.stderr
    assert len(shown.stderr.strip().splitlines()) == 1
    agency.command("stack", "up")
    assert agency.command("ledger", "show") == ledger
    assert agency.run(released["id"])["state"]["type"] == "COMPLETED"
    found = agency.mlflow("/experiments/search", "auditor", {"max_results": 10})["experiments"]
    assert "people" in {item["name"] for item in found}


def servers(agency: Agency) -> dict[str, str]:
    """Which processes the servers are."""
    return {path.name: path.read_text() for path in (agency.state / "stack" / "run").glob("*.json")}


@pytest.mark.nightly
def test_every_page_of_it_asks_nobody_else(agency: Agency, released: dict[str, Any], tmp_path: Path) -> None:
    held, release = agency.begun("release/any", spec="asking"), release_of(released)
    agency.command("compare", release, release)
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
