"""MLflow's pages are there to be looked at: they show releases, change nothing, run nothing and ask nobody else."""

import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import mlflow.server
import pytest
from mlflow import MlflowClient
from mlflow.server.handlers import get_endpoints

from flows.cli.servers.pages import pages_of
from infra.servers.local_servers import CREDENTIALS_VARIABLE, Server, listen, new_credentials
from infra.servers.mlflow_rights import Right, right_for
from infra.servers.mlflow_server import front_page
from stores.servers.ui_links import TRAINING_PAGES
from stores.tracking.experiment_page import releases_view
from tests.browser import browser
from tests.extent import spread
from tests.isolation import own_state
from tests.looking import look_at_mlflow
from tests.warm.servers import mlflow_server
from tests.whole_release import SEEDLESS, Drawn, drawn_release

BUILT = Path(mlflow.server.__file__).parent / "js" / "build"
SEARCHES = {
    *("search", "search-datasets", "get-latest-versions", "graphql", "presigned-download-url"),
    *("batchGetInfos", "metrics", "calculate-filter-correlation"),
}


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    drawn = drawn_release(
        tmp_path_factory.mktemp("shown"),
        "shown",
        run_name="shown",
        budget={"dataset": "shown-people", "epsilon": 1000, "delta": 0.1},
        **SEEDLESS,
    )
    drawn.publish()
    drawn.seal()
    return drawn


@pytest.fixture(scope="module")
def server(released: Drawn) -> Iterator[Server]:
    with mlflow_server(own_state()) as running:
        yield running


def ask(server: Server, path: str, method: str = "GET", **body: Any) -> tuple[int, str]:
    data = json.dumps(body).encode() if body else None
    password = base64.b64encode(server.credentials.encode()).decode()
    told = {"Content-Type": "application/json", "Authorization": f"Basic {password}"}
    request = Request(f"{server.address}{path}", data, told, method=method)  # noqa: S310 - our own server
    try:
        with urlopen(request, timeout=120) as answer:  # noqa: S310 - our own server
            return answer.status, answer.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


def test_pages_show_what_there_is(server: Server, released: Drawn) -> None:
    run_id = released.workspace.mlflow_run_id
    assert ask(server, "/")[0] == 200
    status, found = ask(
        server, "/api/2.0/mlflow/experiments/search", "POST", max_results=9, filter="name = 'shown-people'"
    )
    assert (status, [each["name"] for each in json.loads(found)["experiments"]]) == (200, ["shown-people"])
    assert ask(server, f"/ajax-api/2.0/mlflow/runs/get?run_id={run_id}")[0] == 200
    status, text = ask(server, f"/get-artifact?run_uuid={run_id}&path=public/PRIVACY.md")
    assert (status, text) == (200, (released.workspace.release_folder / "PRIVACY.md").read_text())


def test_pages_ask_nobody_else_and_begin_with_releases(server: Server, released: Drawn, tmp_path: Path) -> None:
    workspace = released.workspace
    run = MlflowClient(f"sqlite:///{own_state()}/mlflow/mlflow.db").get_run(workspace.mlflow_run_id)
    with browser(tmp_path) as chromium:
        dataset = (run.info.experiment_id, "shown-people")
        look_at_mlflow(
            chromium,
            server.address,
            server.credentials,
            dataset,
            run.info.run_id,
            file="public/PRIVACY.md",
            only=partial(spread, least=3),
        )
    assert chromium.asked_elsewhere == []


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/2.0/mlflow/runs/delete"),
        ("POST", "/ajax-api/2.0/mlflow/runs/set-tag"),
        ("POST", "/api/2.0/mlflow/runs/log-batch"),
        ("PATCH", "/api/2.0/mlflow/registered-models/update"),
        ("DELETE", "/api/2.0/mlflow/registered-models/delete"),
        ("POST", "/ajax-api/3.0/mlflow/assistant/message"),
        ("GET", "/ajax-api/3.0/mlflow/assistant/config"),
        ("POST", "/gateway/any/mlflow/invocations"),
        ("POST", "/ajax-api/3.0/jobs/"),
    ],
)
def test_pages_neither_change_anything_nor_run_anything(
    method: str, path: str, server: Server, released: Drawn
) -> None:
    client = MlflowClient(f"sqlite:///{own_state()}/mlflow/mlflow.db")
    run_id = released.workspace.mlflow_run_id
    before = client.get_run(run_id).to_dictionary()
    status, said = ask(server, path, method, run_id=run_id, key="release", value="another", name="shown-people")
    assert status == 403
    assert "change nothing" in said
    assert client.get_run(run_id).to_dictionary() == before


def test_of_all_that_mlflow_serves_only_what_asks_is_let_through() -> None:
    changing = {
        (method, path)
        for path, _, methods in get_endpoints()
        for method in methods
        if method not in {"GET", "HEAD", "OPTIONS"}
    }
    let_through = {path for method, path in changing if right_for(method, path) is Right.READ}
    assert len(changing) > 100
    assert {path.rpartition("/")[2] for path in let_through} == SEARCHES
    assert right_for("POST", "/api/2.0/mlflow-artifacts/mpu/create/search") is Right.WRITE
    assert right_for("PUT", "/api/2.0/mlflow/runs/search") is Right.CLOSED


def test_the_front_page_is_mlflows_own_prepared_for_releases() -> None:
    own = (BUILT / "index.html").read_text()
    prepared = front_page(own, releases_view())
    assert json.dumps(releases_view()) in prepared
    added = prepared.index("<style>[data-assistant-ui]")
    assert added < prepared.index("<script defer")
    left = prepared[:added] + prepared[prepared.index("<script defer") :]
    assert left == own


def test_what_the_front_page_prepares_is_what_mlflows_pages_ask_for() -> None:
    scripts = "".join(path.read_text() for path in (BUILT / "static" / "js").glob("*.js"))
    asked = [
        "mlflow.workflowType",
        "_mlflow_model_registry_promo_modal_dismissed",
        "mlflow.assistant.fab.autoOpenedOnFirstLoad",
        "mlflow.assistant.panelOpen",
        "mlflow.settings.telemetry.enabled",
        "mlflow.telemetry.info.alert.dismissed",
        "data-assistant-ui",
        "ReactComponentState",
        "ExperimentPage",
        "mlflow.sharedViewState.",
        *releases_view(),
    ]
    assert [name for name in asked if name not in scripts] == []


def test_what_is_printed_for_whoever_looks_opens_the_right_pages(server: Server, released: Drawn) -> None:
    lines = pages_of(server)
    first = lines.index("  shown-people")
    pages = dict(line.strip().split(": ", 1) for line in lines[first + 1 : first + 5])
    assert pages["their models"] == f"{server.address}/#/models/shown-people?{TRAINING_PAGES}"
    release_page = pages["the newest, shown"]
    assert f"/runs/{released.workspace.mlflow_run_id}?" in release_page
    assert pages["its report"].partition("?")[0].endswith("/artifacts/internal/report.html")
    assert "viewStateShareKey=releases" in pages["all releases, their cost and quality"]


def test_pages_end_with_whoever_serves_them() -> None:
    command = [sys.executable, "-m", "infra.servers.mlflow_server", str(own_state() / "mlflow" / "artifacts")]
    with listen() as socket:
        abandoned = subprocess.Popen(
            [*command, str(socket.fileno())],
            env={**os.environ, CREDENTIALS_VARIABLE: new_credentials()},
            pass_fds=[socket.fileno()],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    assert abandoned.stdin is not None
    abandoned.stdin.close()
    abandoned.wait(timeout=180)
