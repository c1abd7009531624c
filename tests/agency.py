"""An agency with its own servers, used as its staff would: by commands, and by the interfaces of Prefect and MLflow."""

import base64
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import psutil

from infra.servers.local_servers import free_port
from stores.vault.private_files import make_private_folder
from tests.flows.command import run

_ENOUGH_S = 900
ENDED = ("COMPLETED", "FAILED", "CRASHED", "CANCELLED")

# By default, a worker looks for work every ten seconds.
EAGER = {"PREFECT_WORKER_QUERY_SECONDS": "1"}

# By default, a run that an outage ended waits for a minute, then for five, and so on.
SOON = {"DENIABLE_RESUME_AFTER_S": "2 4 8 15 15 15 15 15 15 15"}


def release_of(run: Mapping[str, Any]) -> str:
    """Return the release in the name of a Prefect run, which precedes its outcome."""
    return str(run["name"]).partition(":")[0]


@dataclass(frozen=True)
class Agency:
    """A state folder with a stack, and its users.

    Attributes:
        state: the state folder.
        home: home folder of the users.
        specs: folder of the agency's own specs.
        variables: environment variables for its servers and commands.
    """

    state: Path
    home: Path
    specs: Path
    variables: Mapping[str, str] = field(default_factory=dict)

    def command(self, *arguments: str | Path, status: int = 0, **variables: str) -> str:
        """Run a command, and return its output."""
        # Only `deploy` is given the folder; the worker, which was started before, reads it in the state folder.
        own = {"DENIABLE_SPECS": str(self.specs)} if arguments[:2] == ("servers", "deploy") else {}
        told = {**EAGER, **own, **self.variables, **variables}
        done = run(*arguments, "--state", self.state, home=self.home, **told)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + (done.stderr if status else "")

    def approver(self, name: str) -> dict[str, str]:
        """Make a person's key, have it admitted, and return the variables of a command of that person."""
        own = {"DENIABLE_APPROVER_KEY": str(self.home / f"{name}.key")}
        public = self.command("keys", "approver", "new", **own).partition("public half is ")[2].partition(".")[0]
        self.command("keys", "approver", "admit", name, public)
        return own

    def start(self) -> None:
        """Start its servers for the first time, on ports that no other agency takes while they are down."""
        folder = make_private_folder(make_private_folder(self.state) / "stack")
        ports = {name: free_port() for name in ("postgres", "prefect", "mlflow")}
        (folder / "ports.json").write_text(json.dumps(ports))
        self.command("servers", "stack", "up")

    def said(self, name: str) -> dict[str, Any]:
        said: dict[str, Any] = json.loads((self.state / "stack" / f"{name}.json").read_text())
        return said

    def page(self, server: str) -> str:
        return f"http://127.0.0.1:{self.said('ports')[server]}"

    def processes(self, *servers: str) -> list[psutil.Process]:
        """Return the processes of the stack's servers, by default all, and their children."""
        notes = [self.state / "stack" / "run" / f"{name}.json" for name in servers] or list(
            (self.state / "stack" / "run").glob("*.json")
        )
        noted = [psutil.Process(json.loads(path.read_text())["pid"]) for path in notes]
        return [one for process in noted for one in (process, *process.children(recursive=True))]

    def prefect(self, path: str, body: object | None = None, method: str = "POST") -> Any:
        password = self.said("secrets")["prefect_server"]
        return ask(f"{self.page('prefect')}/api{path}", f"deniable:{password}", body, method)

    def mlflow(self, path: str, user: str, body: object | None = None) -> Any:
        """Send a request to MLflow; without a body, by GET."""
        credentials = f"{user}:{self.said('secrets')[user]}"
        return ask(f"{self.page('mlflow')}/api/2.0/mlflow{path}", credentials, body, "GET" if body is None else "POST")

    def in_mlflow(self, dataset: str, release: str) -> tuple[str, str]:
        """Return the location of a release in MLflow: the ids of its dataset's experiment and of its run."""
        found = self.mlflow("/experiments/search", "auditor", {"max_results": 9, "filter": f"name = '{dataset}'"})
        number = found["experiments"][0]["experiment_id"]
        named = {"experiment_ids": [number], "filter": f"attributes.run_name = '{release}'"}
        return number, self.mlflow("/runs/search", "auditor", named)["runs"][0]["info"]["run_id"]

    def artifact_of(self, flow_run: str) -> str:
        """Return the key of an artifact that a run has left in Prefect."""
        found = self.prefect("/artifacts/filter", {"artifacts": {"flow_run_id": {"any_": [flow_run]}}})
        return next(str(artifact["key"]) for artifact in found if artifact["key"])

    def begun(self, deployment: str, **parameters: object) -> str:
        """Start a deployment through Prefect's interface, and return its run."""
        flow, name = deployment.split("/")
        found = self.prefect(f"/deployments/name/{flow}/{name}", method="GET")
        return str(self.prefect(f"/deployments/{found['id']}/create_flow_run", {"parameters": parameters})["id"])

    def run(self, flow_run: str) -> dict[str, Any]:
        found: dict[str, Any] = self.prefect(f"/flow_runs/{flow_run}", method="GET")
        return found

    def once(
        self, flow_run: str, *wanted: str, asked: int | None = None, though: tuple[str, ...] = ()
    ) -> dict[str, Any]:
        """Return a run once it is in one of the given states.

        Args:
            flow_run: the run.
            wanted: types of states.
            though: types of final states that it may have meanwhile, before it is resumed.
            asked: for a suspended run, the number of its questions that were answered before.
        """
        give_up = time.monotonic() + _ENOUGH_S
        while True:
            now = self.run(flow_run)
            key = str(now["state"]["state_details"]["pause_key"])
            if now["state"]["type"] in wanted and (asked is None or key.endswith(f"-{asked}")):
                return now
            assert now["state"]["type"] not in set(ENDED) - set(though), now["state"]["message"]
            assert time.monotonic() < give_up, now["state"]
            time.sleep(0.5)

    def states(self, flow_run: str) -> list[dict[str, Any]]:
        """Return all states of a run in order."""
        found: list[dict[str, Any]] = self.prefect(f"/flow_run_states/?flow_run_id={flow_run}", method="GET")
        return sorted(found, key=lambda state: str(state["timestamp"]))

    def gone_on_with(self, flow_run: str) -> None:
        """Wait until a run that an outage ended is about to resume."""
        give_up = time.monotonic() + _ENOUGH_S
        while "AwaitingRetry" not in {state["name"] for state in self.states(flow_run)}:
            assert time.monotonic() < give_up
            time.sleep(0.2)

    def triggered(self, deployment: str, **parameters: object) -> dict[str, Any]:
        """Run a deployment through Prefect's interface, and return the outcome."""
        return self.once(self.begun(deployment, **parameters), *ENDED)

    def answered(self, flow_run: str, **answer: str) -> str:
        """Answer a suspended run, as the form on Prefect's pages does, and return whether the answer was accepted."""
        return str(self.prefect(f"/flow_runs/{flow_run}/resume", {"run_input": answer})["status"])

    def wait_until_nobody_works(self) -> None:
        """Wait until the worker has no process left that runs a flow."""
        give_up = time.monotonic() + _ENOUGH_S
        while len(self.processes("worker")) > 1:
            assert time.monotonic() < give_up
            time.sleep(0.2)


def ask(page: str, credentials: str | None, body: object | None = None, method: str = "POST") -> Any:
    """Send a request to one of the stack's servers."""
    headers = {"Content-Type": "application/json"}
    if credentials:
        headers["Authorization"] = f"Basic {base64.b64encode(credentials.encode()).decode()}"
    data = None if body is None else json.dumps(body).encode()
    asked = Request(page, data=data, headers=headers, method=method)  # noqa: S310 - the stack's own servers
    with urlopen(asked, timeout=120) as answer:  # noqa: S310
        text = answer.read()
    return json.loads(text) if text else None
