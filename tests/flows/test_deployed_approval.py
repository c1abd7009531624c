"""A run of a deployment that is held keeps no process, outlives Prefect's server, and is answered through Prefect."""

import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from flows.services import Server, free_port, start_prefect
from schemas.provenance import RECORD
from stores.held import held_notes
from stores.signed_record import read_signed
from stores.trust_file import trusted_keys
from stores.verified_release import verified_release
from tests.flows.command import command, environment, run
from tests.small_release import write_small_release

_ENOUGH_S = 900
_ENDED = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}


@dataclass
class Office:
    """A state folder, Prefect's server and a worker of it."""

    state: Path
    home: Path
    specs: Path
    port: int
    server: Server
    worker: subprocess.Popen[bytes] | None = None

    @property
    def variables(self) -> dict[str, str]:
        return {
            "DENIABLE_SPECS": str(self.specs),
            "DENIABLE_OPERATOR": "ada",
            "DENIABLE_PREFECT_API_URL": f"{self.server.address}/api",
        }

    def command(self, *arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
        return run(*arguments, home=self.home, **{**self.variables, **variables, "DENIABLE_STATE": str(self.state)})

    def start_worker(self) -> None:
        told = {**environment(self.home), **self.variables, "PREFECT_WORKER_QUERY_SECONDS": "1"}
        log = (self.home / "worker.log").open("ab")
        self.worker = subprocess.Popen(
            command("worker", "--state", self.state), env=told, cwd=self.home, stdout=log, stderr=log
        )

    def stop_worker(self) -> None:
        if self.worker is not None:
            for process in (*psutil.Process(self.worker.pid).children(recursive=True), self.worker):
                process.kill()
            self.worker.wait()
            self.worker = None

    def restart(self) -> None:
        """End every server and begin all of them again on what they left."""
        self.stop_worker()
        self.server.stop()
        self.server = start_prefect(self.state, self.port)
        self.server.wait_until_up()
        self.start_worker()

    def prefect(self, path: str, body: object | None = None) -> Any:
        answer = httpx.request(
            "GET" if body is None else "POST", f"{self.server.address}/api{path}", json=body, timeout=120
        )
        answer.raise_for_status()
        return answer.json()

    def triggered(self) -> str:
        found = self.prefect("/deployments/name/release/any")
        begun = self.prefect(f"/deployments/{found['id']}/create_flow_run", {"parameters": {"spec": "small"}})
        return str(begun["id"])

    def state_of(self, flow_run: str, *wanted: str) -> dict[str, Any]:
        """The state of a run, once it is one of those that are wanted."""
        give_up = time.monotonic() + _ENOUGH_S
        while time.monotonic() < give_up:
            now: dict[str, Any] = self.prefect(f"/flow_runs/{flow_run}")["state"]
            if now["type"] in wanted:
                return now
            assert now["type"] not in _ENDED, now["message"]
            time.sleep(0.5)
        raise TimeoutError(flow_run)

    def answered(self, flow_run: str, **answer: str) -> dict[str, Any]:
        said: dict[str, Any] = self.prefect(f"/flow_runs/{flow_run}/resume", {"run_input": answer})
        return said

    def wait_until_nobody_works(self) -> None:
        """Wait until the worker has no process left that runs a flow."""
        assert self.worker is not None
        give_up = time.monotonic() + _ENOUGH_S
        while psutil.Process(self.worker.pid).children():
            assert time.monotonic() < give_up
            time.sleep(0.5)


@pytest.fixture
def office(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Office]:
    specs = write_small_release(tmp_path / "specs", decision={"publish_within": {"tvd_2way_max": 0.000001}}).parent
    (specs / "spec.yaml").rename(specs / "small.yaml")
    state = tmp_path / "state"
    (state / "prefect").mkdir(parents=True)
    monkeypatch.setenv("PREFECT_HOME", str(state / "prefect"))
    port = free_port()
    here = Office(state, tmp_path / "home", specs, port, start_prefect(state, port))
    try:
        here.server.wait_until_up()
        for arguments in (["prefect", "work-pool", "create", "deniable", "--type", "process"], ["deploy"]):
            done = here.command(*arguments)
            assert done.returncode == 0, done.stdout + done.stderr
        here.start_worker()
        yield here
    finally:
        here.stop_worker()
        here.server.stop()


def test_a_held_run_keeps_no_process_survives_restarts_and_goes_on_by_an_answer(office: Office) -> None:
    flow_run = office.triggered()
    assert office.state_of(flow_run, "PAUSED")["name"] == "Suspended"
    office.wait_until_nobody_works()
    (note,) = held_notes(office.state)
    assert (note.flow_run, note.started_by) == (flow_run, "ada")
    assert not (office.state / "releases" / note.release).exists()

    second = office.triggered()
    ended = office.state_of(second, "COMPLETED")
    assert (ended["name"], flow_run in ended["message"]) == ("Held", True)

    office.restart()
    assert office.prefect(f"/flow_runs/{flow_run}")["state"]["type"] == "PAUSED"
    wrong = office.answered(flow_run, decision="perhaps", name="ines", reason="why not")
    assert wrong["status"] == "REJECT"

    assert office.answered(flow_run, decision="approved", name="Ada", reason="mine")["status"] == "ACCEPT"
    time.sleep(1)
    office.wait_until_nobody_works()
    again = office.state_of(flow_run, "PAUSED")
    assert again["state_details"]["pause_key"].endswith("-1")
    assert not (office.state / "releases" / note.release).exists()

    assert office.answered(flow_run, decision="approved", name="ines", reason="as agreed")["status"] == "ACCEPT"
    assert office.answered(flow_run, decision="approved", name="ines", reason="as agreed")["status"] == "ABORT"
    done = office.state_of(flow_run, "COMPLETED")
    assert done["message"] == f"published {note.release}"
    folder = office.state / "releases" / note.release
    approval = read_signed(folder / RECORD).record.people.approval
    assert approval is not None
    assert (approval.by, approval.identity, approval.seen) == ("ines", "stated", note.candidate)
    assert verified_release(folder, trusted_keys(office.state)).holds


def test_the_command_line_resumes_the_run_that_waits(office: Office) -> None:
    flow_run = office.triggered()
    office.state_of(flow_run, "PAUSED")
    (note,) = held_notes(office.state)
    assert flow_run in office.command("held").stdout
    refused = office.command("approve", note.release, "--reason", "mine")
    assert (refused.returncode, "somebody other than ada" in refused.stderr) == (1, True)
    approved = office.command("approve", note.release, "--reason", "as agreed", DENIABLE_OPERATOR="ines")
    assert (approved.returncode, "goes on" in approved.stdout) == (0, True), approved.stderr
    assert office.state_of(flow_run, "COMPLETED")["message"] == f"published {note.release}"
    late = office.command("refuse", note.release, "--reason", "no", DENIABLE_OPERATOR="ines")
    assert (late.returncode, "is published" in late.stderr) == (1, True)


def test_a_run_that_is_refused_fails_with_the_reason(office: Office) -> None:
    flow_run = office.triggered()
    office.state_of(flow_run, "PAUSED")
    assert office.answered(flow_run, decision="refused", name="ines", reason="too near")["status"] == "ACCEPT"
    assert "refused by ines" in office.state_of(flow_run, "FAILED")["message"]
    assert not list((office.state / "releases").glob("*"))
