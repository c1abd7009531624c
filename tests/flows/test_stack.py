"""An agency's servers on one machine: started, used through their interfaces, stopped, and started again."""

import base64
import json
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import psutil
import pytest

from tests.flows.command import run
from tests.small_release import write_small_release

_ENOUGH_S = 600


@dataclass(frozen=True)
class Agency:
    """A state folder with a stack, and who works with it."""

    state: Path
    home: Path
    specs: Path

    def command(self, *arguments: str | Path) -> str:
        done = run(*arguments, "--state", self.state, home=self.home, DENIABLE_SPECS=str(self.specs))
        assert done.returncode == 0, done.stderr
        return done.stdout

    def said(self, name: str) -> dict[str, Any]:
        said: dict[str, Any] = json.loads((self.state / "stack" / f"{name}.json").read_text())
        return said

    def page(self, server: str) -> str:
        return f"http://127.0.0.1:{self.said('ports')[server]}"

    def processes(self) -> list[int]:
        """All processes of the stack: what it noted, and what those started."""
        noted = [json.loads(path.read_text())["pid"] for path in (self.state / "stack" / "run").glob("*.json")]
        return [
            one.pid for pid in noted for one in (psutil.Process(pid), *psutil.Process(pid).children(recursive=True))
        ]

    def prefect(self, path: str, body: object | None = None, method: str = "POST") -> Any:
        return ask(
            f"{self.page('prefect')}/api{path}", f"deniable:{self.said('secrets')['prefect_server']}", body, method
        )

    def mlflow(self, path: str, user: str, body: object) -> Any:
        return ask(f"{self.page('mlflow')}/api/2.0/mlflow{path}", f"{user}:{self.said('secrets')[user]}", body)

    def triggered(self, deployment: str, **parameters: object) -> dict[str, Any]:
        """Run a deployment through Prefect's interface, and what became of it."""
        flow, name = deployment.split("/")
        found = self.prefect(f"/deployments/name/{flow}/{name}", method="GET")
        begun = self.prefect(f"/deployments/{found['id']}/create_flow_run", {"parameters": parameters})
        give_up = time.monotonic() + _ENOUGH_S
        while time.monotonic() < give_up:
            now: dict[str, Any] = self.prefect(f"/flow_runs/{begun['id']}", method="GET")
            if now["state"]["type"] in {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}:
                return now
            time.sleep(0.5)
        raise TimeoutError(deployment)


def ask(page: str, credentials: str | None, body: object | None = None, method: str = "POST") -> Any:
    headers = {"Content-Type": "application/json"}
    if credentials:
        headers["Authorization"] = f"Basic {base64.b64encode(credentials.encode()).decode()}"
    data = None if body is None else json.dumps(body).encode()
    asked = Request(page, data=data, headers=headers, method=method)  # noqa: S310 - the stack's own servers
    with urlopen(asked, timeout=120) as answer:  # noqa: S310
        text = answer.read()
    return json.loads(text) if text else None


def refusal(page: str, credentials: str | None, body: object | None = None, method: str = "POST") -> int:
    with pytest.raises(HTTPError) as refused:
        ask(page, credentials, body, method)
    return refused.value.code


@pytest.fixture(scope="module")
def agency(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agency]:
    """An agency that had a ledger before it had servers."""
    folder = tmp_path_factory.mktemp("agency")
    specs = write_small_release(folder / "specs").parent
    (specs / "spec.yaml").rename(specs / "small.yaml")
    here = Agency(folder / "state", folder / "home", specs)
    here.command("ledger", "policy", "people", "--epsilon", "1000", "--delta", "0.1")
    here.command("stack", "up")
    here.command("deploy")
    yield here
    run("stack", "down", "--state", here.state, home=here.home)


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
    assert released["name"] == folder.name
    audited = agency.triggered("audit/all")
    assert audited["state"]["type"] == "COMPLETED", audited["state"]["message"]
    assert audited["state"]["message"].startswith("1 of 1 releases")
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
    give_up = time.monotonic() + _ENOUGH_S
    while (now := agency.prefect(f"/flow_runs/{unchecked['id']}", method="GET"))["state"]["type"] not in {
        "FAILED",
        "CRASHED",
    }:
        assert time.monotonic() < give_up
        time.sleep(0.5)
    assert "spec" in now["state"]["message"]
    assert agency.command("ledger", "show") == ledger


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


def test_what_runs_programs_for_whoever_asks_is_closed_to_everybody(agency: Agency) -> None:
    for user in ("auditor", "engineer", "administrator"):
        credentials = f"{user}:{agency.said('secrets')[user]}"
        assistant = f"{agency.page('mlflow')}/ajax-api/3.0/mlflow/assistant/config"
        assert refusal(assistant, credentials, method="GET") == 403
        assert refusal(f"{agency.page('mlflow')}/ajax-api/3.0/jobs", credentials, {}) == 403


def test_all_of_it_listens_on_the_loopback_alone(agency: Agency) -> None:
    listening = {
        connection.laddr.ip
        for pid in agency.processes()
        for connection in psutil.Process(pid).net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }
    assert listening == {"127.0.0.1"}


def test_none_of_it_calls_out(agency: Agency, released: dict[str, Any]) -> None:
    away = {
        connection.raddr.ip
        for pid in agency.processes()
        for connection in psutil.Process(pid).net_connections("inet")
        if connection.raddr
    }
    assert away <= {"127.0.0.1"}
    said = "".join(path.read_text(errors="replace") for path in (agency.state / "stack" / "logs").iterdir())
    assert "sens-o-matic" not in said
    assert "telemetry" not in said.lower()


def test_no_password_is_an_argument_of_a_process_or_stands_in_a_log(agency: Agency, released: dict[str, Any]) -> None:
    secrets = set(agency.said("secrets").values())
    arguments = " ".join(" ".join(psutil.Process(pid).cmdline()) for pid in agency.processes())
    logs = "".join(path.read_text(errors="replace") for path in (agency.state / "stack" / "logs").iterdir())
    assert not [secret for secret in secrets if secret in arguments or secret in logs]
    readable = [path for path in (agency.state / "stack").iterdir() if path.is_file() and path.stat().st_mode & 0o077]
    assert [path.name for path in readable] == []


def test_a_backup_of_all_of_it_is_restored_beside_it_and_passes_the_audit(
    agency: Agency, released: dict[str, Any]
) -> None:
    agency.command("backup", agency.home / "copy")
    elsewhere = Agency(agency.home / "restored", agency.home, agency.specs)
    try:
        assert "1 releases hold" in elsewhere.command("restore", agency.home / "copy")
        elsewhere.command("stack", "up")
        assert elsewhere.said("ports") != agency.said("ports")
        elsewhere.command("audit", released["name"])
        assert elsewhere.prefect(f"/flow_runs/{released['id']}", method="GET")["name"] == released["name"]
        assert elsewhere.command("ledger", "show") == agency.command("ledger", "show")
    finally:
        elsewhere.command("stack", "down")


def test_it_is_stopped_as_a_whole_and_started_again_with_all_that_it_had(
    agency: Agency, released: dict[str, Any]
) -> None:
    before, ledger = agency.processes(), agency.command("ledger", "show")
    assert "up" not in agency.command("stack", "up").split("Prefect")[0]  # nothing was down
    assert agency.processes() == before
    agency.command("stack", "down")
    assert not [pid for pid in before if psutil.pid_exists(pid)]
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", agency.said("ports")["postgres"])) != 0
    refused = run("release", agency.specs / "small.yaml", "--new", "--state", agency.state, home=agency.home)
    assert refused.returncode == 1
    assert len(refused.stderr.strip().splitlines()) <= 2
    agency.command("stack", "up")
    assert agency.command("ledger", "show") == ledger
    assert agency.prefect(f"/flow_runs/{released['id']}", method="GET")["state"]["type"] == "COMPLETED"
    found = agency.mlflow("/experiments/search", "auditor", {"max_results": 10})["experiments"]
    assert "people" in {item["name"] for item in found}
