"""MLflow's users may do what is named for them, at a server as the stack starts it, and nothing else."""

import base64
import configparser
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from mlflow import MlflowClient
from mlflow.entities import Metric
from mlflow.exceptions import MlflowException
from requests import HTTPError

from deniable.foundation.errors import Refused
from infra.servers.local_servers import free_port
from infra.servers.mlflow_rights import Right, named_routes, right_for
from schemas.spec.release_spec import load_spec
from stores.tracking.registry import reserve_name
from stores.tracking.release_run import recorded_release
from stores.tracking.run_index import RUN_INDEX
from stores.vault.private_files import make_private_folder
from tests.flows.command import environment
from tests.quick_databases import mlflow_made_once
from tests.small_release import write_small_release

PASSWORD = "password of a test"  # noqa: S105 - of servers that this test starts
USERS = ("engineer", "auditor", "somebody")
REFUSED = 403


@dataclass(frozen=True)
class Served:
    """A server with its users.

    Attributes:
        address: its address.
        routes: method and path of every route in its tables, with values in place of parameters.
        http: a client, which keeps its connections.
    """

    address: str
    routes: list[tuple[str, str]]
    http: httpx.Client

    def ask(self, method: str, path: str, user: str | None, **how: Any) -> httpx.Response:
        who = None if user is None else (user, PASSWORD)
        return self.http.request(method, self.address + path, auth=who, **how)

    def client(self, user: str, patch: pytest.MonkeyPatch) -> MlflowClient:
        patch.setenv("MLFLOW_TRACKING_USERNAME", user)
        patch.setenv("MLFLOW_TRACKING_PASSWORD", PASSWORD)
        patch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
        return MlflowClient(self.address)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("rights")
    settings = configparser.ConfigParser()
    settings["mlflow"] = {
        "default_permission": "READ",
        "database_uri": f"sqlite:///{folder / 'users.db'}",
        "admin_username": "administrator",
        "admin_password": PASSWORD,
        "authorization_function": "mlflow.server.auth:authenticate_request_basic_auth",
        "auth_cache_ttl_seconds": "600",
    }
    with (folder / "users.ini").open("w") as file:
        settings.write(file)
    (folder / "mlflow.db").write_bytes(mlflow_made_once().read_bytes())
    port, listed = free_port(), folder / "routes.json"
    told = {
        "MLFLOW_BACKEND_STORE_URI": f"sqlite:///{folder / 'mlflow.db'}",
        "MLFLOW_AUTH_CONFIG_PATH": str(folder / "users.ini"),
        "MLFLOW_FLASK_SERVER_SECRET_KEY": "a key of a test",
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    command = [sys.executable, "-m", "tests.mlflow_routes", str(folder / "files"), f"127.0.0.1:{port}", str(listed)]
    server = subprocess.Popen(command, env={**environment(folder), **told}, cwd=folder)
    address = f"http://127.0.0.1:{port}"
    try:
        while not _answers(address):
            assert server.poll() is None
            time.sleep(0.1)
        routes = [(method, path) for method, path in json.loads(listed.read_text())]
        with httpx.Client(timeout=120) as http:
            made = Served(address, routes, http)
            for user in USERS:
                said = {"username": user, "password": PASSWORD}
                assert made.ask("POST", "/api/2.0/mlflow/users/create", "administrator", json=said).is_success
            yield made
    finally:
        server.terminate()
        server.wait()


def _answers(address: str) -> bool:
    try:
        return httpx.get(f"{address}/health", timeout=60).is_success
    except httpx.TransportError:
        return False


def test_every_route_of_mlflows_own_tables_is_named_and_every_name_is_a_route(served: Served) -> None:
    asked = {(method, path) for method, path in served.routes if method not in {"HEAD", "OPTIONS"}}
    assert len(asked) > 400
    named = named_routes()
    unnamed = sorted(f"{method} {path}" for method, path in asked if not _names(method, path, named))
    assert unnamed == [], "decide who may use these, in infra/servers/mlflow_routes.txt"
    used = {name for method, path in asked for name in _names(method, path, named)}
    assert sorted(named.keys() - used) == []


def _names(method: str, path: str, named: dict[str, Right]) -> list[str]:
    """Return the names that fit a route: usually one, found by the same part of the door as requests."""
    from infra.servers import mlflow_rights  # noqa: PLC0415 - its private part

    patterns = dict(zip(named, mlflow_rights._patterns(), strict=True))
    asked = f"{method} {mlflow_rights._API.sub('/', path, count=1) if mlflow_rights._API.match(path) else path}"
    return [name for name, pattern in patterns.items() if pattern.fullmatch(asked)]


def test_a_route_that_nobody_named_is_refused_to_everybody(served: Served) -> None:
    assert right_for("POST", "/api/4.0/mlflow/runs/annotate") is Right.CLOSED
    for user in (*USERS, "administrator", None):
        assert served.ask("POST", "/api/2.0/mlflow/runs/annotate", user, json={}).status_code == REFUSED
        assert served.ask("PUT", "/api/2.0/mlflow/runs/search", user, json={}).status_code == REFUSED


def test_an_auditor_may_use_no_route_that_writes_and_nobody_one_that_is_closed(served: Served) -> None:
    needed = {(method, path): right_for(method, path) for method, path in served.routes}
    writing = [route for route, right in needed.items() if right > Right.READ]
    assert len(writing) > 300
    let_through = [route for route in writing if served.ask(*route, "auditor", json={}).status_code != REFUSED]
    assert let_through == []
    closed = [route for route in writing if needed[route] is Right.CLOSED]
    assert [route for route in closed[::9] if served.ask(*route, "administrator").status_code != REFUSED] == []
    administering = [route for route in writing if needed[route] is Right.ADMINISTER]
    assert [route for route in administering if served.ask(*route, "engineer", json={}).status_code != REFUSED] == []
    for user in (None, "engineer"):
        for method, path in [route for route in writing if needed[route] is Right.WRITE][:4]:
            answer = served.ask(method, path, user, json={})
            assert (answer.status_code == 401) is (user is None)
            assert "may not do this" not in answer.text


WRITES = {
    "an experiment": lambda client, _: client.create_experiment("people of tomorrow"),
    "a registered model": lambda client, _: client.create_registered_model("people"),
    "a run of another release": lambda client, run: client.create_run(run.experiment_id, tags={"release": "first"}),
    "a tag": lambda client, run: client.set_tag(run.run_id, "approved_by", "me"),
    "a metric": lambda client, run: client.log_metric(run.run_id, "epsilon.total", 0),
    "several metrics": lambda client, run: client.log_batch(run.run_id, metrics=[Metric("m", 0, 0, 0)]),
    "a file": lambda client, run: client.log_text(run.run_id, "forged", "public/privacy.json"),
    "a model": lambda client, run: client.create_logged_model(run.experiment_id, tags={"release": "first"}),
    "the end of a run": lambda client, run: client.set_terminated(run.run_id, "FAILED"),
    "the deletion of a run": lambda client, run: client.delete_run(run.run_id),
    "the deletion of an experiment": lambda client, run: client.delete_experiment(run.experiment_id),
    "the page of an experiment": lambda client, run: client.set_experiment_tag(run.experiment_id, "view", "mine"),
}


@pytest.fixture(scope="module")
def run(served: Served) -> Iterator[Any]:
    """A run that the engineer has made."""
    with pytest.MonkeyPatch.context() as patch:
        client = served.client("engineer", patch)
        made = client.create_run(client.create_experiment("people"), tags={"release": "first"}).info
        client.log_text(made.run_id, "noisy", "public/privacy.json")
        yield made


@pytest.mark.parametrize("user", ["auditor", "somebody"])
def test_what_an_auditor_tries_to_write_is_refused_and_what_they_read_is_there(
    served: Served, run: Any, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = served.client(user, monkeypatch)
    for deed in WRITES.values():
        with pytest.raises((MlflowException, HTTPError), match="may not do this"):
            deed(client, run)
    assert client.get_run(run.run_id).data.tags["release"] == "first"
    assert [found.info.run_id for found in client.search_runs([run.experiment_id])] == [run.run_id]
    assert [found.path for found in client.list_artifacts(run.run_id, "public")] == ["public/privacy.json"]
    assert Path(client.download_artifacts(run.run_id, "public/privacy.json")).read_text() == "noisy"
    index = served.ask("GET", RUN_INDEX, user, params={"run_id": run.run_id})
    assert index.json()["runs"] == [run.run_id]
    query = {
        "operationName": "Q",
        "query": f'query Q {{ mlflowGetRun(input: {{runId: "{run.run_id}"}}) {{ run {{ info {{ runId }} }} }} }}',
    }
    answer = served.ask("POST", "/graphql", user, json=query)
    assert answer.json()["data"]["mlflowGetRun"]["run"]["info"]["runId"] == run.run_id
    shown = served.ask("POST", "/ajax-api/2.0/mlflow/runs/search", user, json={"experiment_ids": [run.experiment_id]})
    assert [each["info"]["run_id"] for each in shown.json()["runs"]] == [run.run_id]
    assert served.ask("GET", "/", user).is_success


def test_names_of_another_account_are_refused_in_one_sentence_when_a_release_begins(
    served: Served, run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        administrator = served.client("administrator", patch)
        administrator.create_registered_model("squatted")
        administrator.create_experiment("squatted")
    client = served.client("engineer", monkeypatch)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", served.address)
    with pytest.raises(Refused, match=r"the registered model squatted in MLflow must be one to which this account may"):
        reserve_name(client, "squatted", run.experiment_id)
    reserve_name(client, "reserved", run.experiment_id)
    reserve_name(client, "reserved", run.experiment_id)
    assert client.get_registered_model("reserved").tags == {"dataset": "reserved"}
    spec = load_spec(write_small_release(tmp_path, budget={"dataset": "squatted", "epsilon": 9, "delta": 0.1}))
    state = make_private_folder(tmp_path / "state")
    begun = recorded_release(state, "squatted-1", spec)
    with pytest.raises(Refused, match=r"the experiment squatted in MLflow must be one to which this account may"):
        begun.__enter__()


def test_the_door_and_mlflow_take_a_request_for_that_of_the_same_user(served: Served, run: Any) -> None:
    def basic(user: str, password: str = PASSWORD) -> str:
        return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"

    path = f"{served.address}/api/2.0/mlflow/runs/set-tag"
    said = {"run_id": run.run_id, "key": "approved_by", "value": "me"}
    both = [("Authorization", basic("engineer", "wrong")), ("Authorization", basic("auditor"))]
    tried: list[list[tuple[str, str]]] = [
        both,
        both[::-1],
        [("Authorization", basic("engineer", "wrong")), ("X-MLflow-Authorization", basic("auditor"))],
        [("Authorization", basic("engineer", "wrong"))],
        [("Authorization", f"Basic {base64.b64encode(b'engineer').decode()}")],
        [("Authorization", basic("auditor").replace("Basic", "Bearer"))],
        [("Authorization", "Basic ?")],
        [],
    ]
    for headers in tried:
        assert served.http.post(path, json=said, headers=headers).status_code == 401, headers
    assert served.http.post(path, json=said, headers=[("Authorization", basic("engineer"))]).is_success
