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

# The file whose renaming marks each moment.
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
    """An agency whose processes wait at gates, and are killed there."""

    @property
    def gates(self) -> Path:
        """The folder of gates at which processes of the worker wait (tests/flows/gates)."""
        return self.home.parent / "gates"

    def prefect(self, path: str, body: object | None = None, method: str = "POST") -> Any:
        """Send a request to Prefect, and repeat it while Prefect or its database is down."""
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
        """Kill one process after the other, each while a run is at the given moment."""
        for moment in disturbances:
            (self.gates / _MOMENTS[moment]).touch()
        for moment, what in disturbances.items():
            self._kill(what, self._reached(flow_run, moment))

    def disturb_for_good(self, flow_run: str, moment: str, server: str) -> None:
        """Kill a server while a run is at a moment; the holder of the lock for starting it decides for how long."""
        (self.gates / _MOMENTS[moment]).touch()
        reached = self._reached(flow_run, moment)
        self.kill(server)
        reached.unlink()

    def planned_nights(self, deployment: str, **parameters: object) -> Iterator[str]:
        """Plan scheduled runs long ago, each a night later than the one before; all of them are due."""
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
        """Plan a run a day ago; Prefect reports a run late if it is planned only minutes before it begins."""
        with psycopg.connect(Stack(self.state).database("prefect")) as connection:
            moved = connection.execute(
                "UPDATE flow_run_state SET timestamp = timestamp - interval '1 day' WHERE flow_run_id = %s", (flow_run,)
            )
            assert moved.rowcount == 1

    def _scheduled(self, deployment: str) -> list[dict[str, Any]]:
        """Return the scheduled runs of a deployment that are due."""
        due = {"expected_start_time": {"before_": f"{datetime.now(UTC)}"}}
        wanted = {"flow_runs": due, "deployments": {"id": {"any_": [deployment]}}}
        return [run for run in self.prefect("/flow_runs/filter", wanted) if run["auto_scheduled"]]

    def _reached(self, flow_run: str, moment: str) -> Path:
        """Return the gate of a moment, once a run's process waits there."""
        reached = self.gates / f"{_MOMENTS[moment]}.reached"
        while not (reached.exists() and reached.read_text()):
            state = self.run(flow_run)["state"]
            assert state["type"] not in {"COMPLETED", "FAILED", "CANCELLED"}, (moment, state)
            time.sleep(_PAUSE_S)
        return reached

    def _kill(self, what: str, gate: Path) -> None:
        """Kill one process while a run's process waits at a gate, and open the gate."""
        # Another process of the run may still be waiting for a server that was down before.
        at_work = psutil.Process(int(gate.read_text()))
        if what == "process":
            at_work.kill()
            gate.unlink()
        elif what == "worker":
            self.kill("worker")
            gate.unlink()
        else:
            # No one can start it again while we hold that lock.
            with turn(self.state, TURN):
                self.kill(what)
                gate.unlink()
                psutil.wait_procs([at_work])

    def kill(self, server: str) -> None:
        """Kill a server and all its children."""
        dead = self.processes(server)
        for process in dead:
            process.kill()
        psutil.wait_procs(dead)

    def releases(self) -> list[str]:
        return sorted(path.name for path in (self.state / "releases").glob("*"))

    def published(self, name: str) -> dict[str, bytes]:
        return _public(self.state / "releases" / name)

    def charges(self) -> list[str]:
        """Return the charges in the ledger."""
        ledger = Ledger.open(self.said("environment")["DENIABLE_LEDGER"])
        return [each.charge.step for each in ledger.charges("people")]

    def wait_until_no_task_runs(self) -> None:
        """Wait until no task is running any more: by then all runs have ended."""
        left = {"task_runs": {"state": {"type": {"any_": ["RUNNING", "PENDING"]}}}}
        give_up = time.monotonic() + _ENOUGH_S
        while found := self.prefect("/task_runs/filter", left):
            assert time.monotonic() < give_up, found
            time.sleep(_PAUSE_S)


def disturbed_agency(folder: Path, catcher: Catcher, **variables: str) -> Iterator[DisturbedAgency]:
    """Start an agency with the spec `nightly` and a short waiting time for servers, and stop it at the end."""
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
        here.command("servers", "deploy", DENIABLE_WEBHOOK=catcher.address)
        yield here
    finally:
        here.command("servers", "stack", "down")


def undisturbed(agency: DisturbedAgency, name: str, folder: Path) -> dict[str, bytes]:
    """Return what an undisturbed release would have published."""
    made = release(agency.specs / "nightly.yaml", folder / "undisturbed", agency.state / "vault" / name / "key")
    return _public(made.workspace.release_folder)


def _public(folder: Path) -> dict[str, bytes]:
    """Return what was drawn and learnt, but not pages and records, which contain times."""
    names = ("synthetic.csv", "synthetic.parquet", "graph.json", "model.json")
    return {name: (folder / name).read_bytes() for name in names}
