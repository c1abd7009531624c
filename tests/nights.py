"""Nights of an agency, in which its servers, its worker and the processes of runs are killed at certain moments."""

import time
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeAlias
from urllib.error import HTTPError, URLError

import psutil
import psycopg

from flows.release import release
from infra.stack.command import TURN
from infra.stack.settings import Stack
from stores.ledger.ledger import Ledger
from stores.vault.lease import turn
from tests.agency import SOON, Agency
from tests.catcher import Catcher
from tests.small_release import QUICK, write_small_release

HOOK = Path(__file__).parent / "flows" / "gates"

Disturbances: TypeAlias = Mapping[str, str]
"""What is killed in the middle of what; servers stay down until the run has failed because of them."""

# What is about to be given its name in the middle of what.
_MOMENTS = {
    "learning": "+model.json",
    "synthesis": "+candidates-000000",
    "publication": "+state+releases+",
    "sealing": "Z+record.dsse.json",
    "the end": "+end.json",
}
_PAUSE_S = 0.2
_NIGHTS = 12
_ENOUGH_S = 900


@dataclass(frozen=True)
class DisturbedAgency(Agency):
    """An agency whose processes wait where they are told to, and are killed there."""

    @property
    def gates(self) -> Path:
        """Where processes of the worker are made to wait (tests/flows/gates)."""
        return self.home.parent / "gates"

    def prefect(self, path: str, body: object | None = None, method: str = "POST") -> Any:
        """Ask Prefect, and again while it or its database is down."""
        give_up = time.monotonic() + _ENOUGH_S
        while True:
            try:
                return super().prefect(path, body, method)
            except (URLError, ConnectionError) as error:
                refused = isinstance(error, HTTPError) and error.code < HTTPStatus.INTERNAL_SERVER_ERROR
                if refused or time.monotonic() > give_up:
                    raise
                time.sleep(1)

    def disturb(self, flow_run: str, disturbances: Disturbances) -> None:
        """Kill one thing after the other, while a run is at the moments for that."""
        for moment in disturbances:
            (self.gates / _MOMENTS[moment]).touch()
        for moment, what in disturbances.items():
            self._kill(what, self._reached(flow_run, moment))

    def disturb_for_good(self, flow_run: str, moment: str, server: str) -> None:
        """Kill a server while a run is at a moment; whoever has the turn to start it decides for how long."""
        (self.gates / _MOMENTS[moment]).touch()
        reached = self._reached(flow_run, moment)
        self.kill(server)
        reached.unlink()

    def planned_nights(self, deployment: str, **parameters: object) -> Iterator[str]:
        """Runs that a schedule asked for long ago, a night later each time; all of them are due."""
        flow, name = deployment.split("/")
        found = self.prefect(f"/deployments/name/{flow}/{name}", method="GET")["id"]
        asked = {"schedule": {"cron": "0 2 * * *", "timezone": "UTC"}, "active": True, "parameters": parameters}
        self.prefect(f"/deployments/{found}/schedules", [asked])
        first = datetime.now(UTC) - timedelta(days=_NIGHTS)
        for number in range(_NIGHTS):
            before = {run["id"] for run in self._scheduled(found)}
            between = {"start_time": f"{first + timedelta(days=number)}"}
            between["end_time"] = f"{first + timedelta(days=number + 1)}"
            self.prefect("/work_pools/deniable", {"is_paused": True}, "PATCH")
            self.prefect(f"/deployments/{found}/schedule", {**between, "min_runs": 1, "max_runs": 1})
            (night,) = {run["id"] for run in self._scheduled(found)} - before
            self._plan_long_ago(night)
            self.prefect("/work_pools/deniable", {"is_paused": False}, "PATCH")
            yield str(night)

    def _plan_long_ago(self, flow_run: str) -> None:
        """Let a run be planned a day ago; of one that is planned minutes before it begins, Prefect tells late."""
        with psycopg.connect(Stack(self.state).database("prefect")) as connection:
            moved = connection.execute(
                "UPDATE flow_run_state SET timestamp = timestamp - interval '1 day' WHERE flow_run_id = %s", (flow_run,)
            )
            assert moved.rowcount == 1

    def _scheduled(self, deployment: str) -> list[dict[str, Any]]:
        """Runs of a deployment that its schedule asked for, and that are due."""
        due = {"expected_start_time": {"before_": f"{datetime.now(UTC)}"}}
        wanted = {"flow_runs": due, "deployments": {"id": {"any_": [deployment]}}}
        return [run for run in self.prefect("/flow_runs/filter", wanted) if run["auto_scheduled"]]

    def _reached(self, flow_run: str, moment: str) -> Path:
        """The gate of a moment, once a run's process waits there."""
        reached = self.gates / f"{_MOMENTS[moment]}.reached"
        while not (reached.exists() and reached.read_text()):
            state = self.run(flow_run)["state"]
            assert state["type"] not in {"COMPLETED", "FAILED", "CANCELLED"}, (moment, state)
            time.sleep(_PAUSE_S)
        return reached

    def _kill(self, what: str, gate: Path) -> None:
        """Kill one thing while a run's process waits at a gate, and open the gate."""
        # Another process of the run may still wait for what was down before.
        at_work = psutil.Process(int(gate.read_text()))
        if what == "process":
            at_work.kill()
            gate.unlink()
        elif what == "worker":
            self.kill("worker")
            gate.unlink()
        else:
            # Nobody can start it again as long as we have that turn.
            with turn(self.state, TURN):
                self.kill(what)
                gate.unlink()
                psutil.wait_procs([at_work])

    def kill(self, server: str) -> None:
        """Kill a server, and all that it started."""
        dead = self.processes(server)
        for process in dead:
            process.kill()
        psutil.wait_procs(dead)

    def releases(self) -> list[str]:
        return sorted(path.name for path in (self.state / "releases").glob("*"))

    def published(self, name: str) -> dict[str, bytes]:
        return _public(self.state / "releases" / name)

    def charges(self) -> list[str]:
        """What the ledger was charged for."""
        ledger = Ledger.open(self.said("environment")["DENIABLE_LEDGER"])
        return [each.charge.step for each in ledger.charges("people")]

    def wait_until_no_task_runs(self) -> None:
        """Wait until no task is left running: by then all runs have ended."""
        left = {"task_runs": {"state": {"type": {"any_": ["RUNNING", "PENDING"]}}}}
        give_up = time.monotonic() + _ENOUGH_S
        while found := self.prefect("/task_runs/filter", left):
            assert time.monotonic() < give_up, found
            time.sleep(_PAUSE_S)


def disturbed_agency(folder: Path, catcher: Catcher, **variables: str) -> Iterator[DisturbedAgency]:
    """An agency with the spec `nightly`, whose servers are waited for only briefly; it is stopped in the end."""
    spec = write_small_release(folder / "specs", **deepcopy({**QUICK, "name": "nightly"}))
    spec.rename(spec.with_name("nightly.yaml"))
    told = {
        "DENIABLE_OPERATOR": "the night",
        "DENIABLE_PATIENCE_S": "3",
        "PYTHONPATH": str(HOOK),
        "DENIABLE_TEST_GATES": str(folder / "gates"),
        **SOON,
        **variables,
    }
    here = DisturbedAgency(folder / "state", folder / "home", folder / "specs", told)
    here.gates.mkdir()
    here.start()
    try:
        here.command("deploy", DENIABLE_WEBHOOK=catcher.address)
        yield here
    finally:
        here.command("stack", "down")


def undisturbed(agency: DisturbedAgency, name: str, folder: Path) -> dict[str, bytes]:
    """What a release would have published with nothing in its way."""
    made = release(agency.specs / "nightly.yaml", folder / "undisturbed", agency.state / "vault" / name / "key")
    return _public(made.workspace.release_folder)


def _public(folder: Path) -> dict[str, bytes]:
    """What was drawn, and what was learnt; pages and records tell when they were made."""
    names = ("synthetic.csv", "synthetic.parquet", "graph.json", "model.json")
    return {name: (folder / name).read_bytes() for name in names}
