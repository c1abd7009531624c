"""Servers that commands start answer only clients with the password, and no page of another origin.

A browser adds the password that it remembers to whatever a page sends, so what pages of others send is tried with it.
"""

import json
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from cryptography.fernet import Fernet
from starlette.datastructures import Headers
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from infra.servers.access import comes_from_own_page
from infra.servers.local_servers import (
    Server,
    guarded_prefect,
    listen,
    new_credentials,
    own_prefect,
    start_mlflow,
    start_prefect,
)
from infra.servers.prefect_pages import PAGES_THAT_ASK_NOBODY_ELSE
from tests.browser import browser
from tests.extent import is_night
from tests.flows.command import environment, run, servers_of, start
from tests.looking import look_at_prefect
from tests.small_release import QUICK, write_small_release
from tests.unpacked import files_with, forms_of_secret
from tests.warm.servers import PREFECT_BY_ITSELF, bring_databases, forked_servers

KEY = "5b" * 32
OTHERS = ("https://page.example", "http://127.0.0.1:9", "http://localhost:9", "null", "http://[")
SECRETS = "/api/block_documents/filter"
# What a form or a script of another page can send without asking the server first.
SIMPLE = {"Content-Type": "text/plain"}
JSON = {"Content-Type": "application/json"}
# Otherwise each request reads all certificates that the machine trusts.
TRUSTED = ssl.create_default_context()


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("state")
    bring_databases(folder)
    return folder


@pytest.fixture(scope="module")
def both(state: Path) -> Iterator[dict[str, Server]]:
    """What `make ui` serves; by day its servers are forked."""
    with pytest.MonkeyPatch.context() as shell, nullcontext() if is_night() else forked_servers():
        shell.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{state / 'mlflow' / 'mlflow.db'}")
        shell.setenv("PREFECT_HOME", str(state / "prefect"))
        started = {"prefect": start_prefect(state, pages=True), "mlflow": start_mlflow(state)}
    try:
        # Long before a server answers, nobody else can take its place.
        for server in started.values():
            with pytest.raises(OSError, match="in use"):
                socket.create_server(("127.0.0.1", httpx.URL(server.address).port or 0))
        for server in started.values():
            server.wait_until_up()
        yield started
    finally:
        for server in started.values():
            server.stop()


@pytest.fixture(scope="module")
def prefect(both: dict[str, Server]) -> Server:
    return both["prefect"]


def ask(server: Server, method: str, path: str, content: str = "", *, known: bool = True, **headers: str) -> Any:
    """What a server answers, with the password or without."""
    user, _, password = server.credentials.partition(":")
    return httpx.request(
        method,
        server.address + path,
        content=content or None,
        headers={name.replace("_", "-"): value for name, value in headers.items()},
        auth=(user, password) if known else None,
        timeout=60,
        verify=TRUSTED,
    )


ASKED = [
    ("prefect", "POST", SECRETS, '{"include_secrets": true}'),
    ("prefect", "POST", "/api/flow_runs/filter", "{}"),
    ("prefect", "GET", "/api/admin/settings", ""),
    ("prefect", "GET", "/api/openapi.json", ""),
    ("mlflow", "GET", "/", ""),
    ("mlflow", "POST", "/api/2.0/mlflow/experiments/search", '{"max_results": 9}'),
    ("mlflow", "GET", "/ajax-api/2.0/mlflow/experiments/get?experiment_id=0", ""),
    ("mlflow", "POST", "/graphql", '{"query": "{ __typename }"}'),
]


@pytest.mark.parametrize(("name", "method", "path", "content"), ASKED)
def test_nobody_is_answered_without_the_password(
    both: dict[str, Server], name: str, method: str, path: str, content: str
) -> None:
    server = both[name]
    assert ask(server, method, path, content, **JSON).status_code == 200
    for wrong in ("", "Basic ZGVuaWFibGU6", "Basic ZGVuaWFibGU6ZGVuaWFibGU=", "Bearer x", "Basic ü"):
        told = {**JSON, "Authorization": wrong} if wrong else JSON
        sent = [(k.encode(), v.encode()) for k, v in told.items()]
        answer = httpx.request(method, server.address + path, content=content, headers=sent, verify=TRUSTED)
        assert answer.status_code == 401, wrong
    said = ask(server, "GET", {"prefect": "/api/health", "mlflow": "/health"}[name], known=False)
    assert said.text in {"true", "OK"}


@pytest.mark.parametrize(("name", "method", "path", "content"), ASKED)
def test_a_name_that_was_made_to_point_here_is_not_answered(
    both: dict[str, Server], name: str, method: str, path: str, content: str
) -> None:
    port = httpx.URL(both[name].address).port
    for host in ("page.example", f"page.example:{port}", f"127.0.0.1.page.example:{port}", "192.168.0.1"):
        answer = ask(both[name], method, path, content, **JSON, Host=host)
        assert answer.status_code == 400, host
    assert ask(both[name], method, path, content, **JSON, Host=f"localhost:{port}").status_code == 200


@pytest.mark.parametrize("origin", OTHERS)
@pytest.mark.parametrize(("name", "method", "path", "content"), ASKED)
def test_other_pages_are_refused_although_the_browser_adds_the_password(
    both: dict[str, Server], name: str, method: str, path: str, content: str, origin: str
) -> None:
    for kind in (SIMPLE, JSON):
        answer = ask(both[name], method, path, content, **kind, Origin=origin)
        assert answer.status_code == 403
        assert "access-control-allow-origin" not in answer.headers
    preflight = ask(
        both[name],
        "OPTIONS",
        path,
        known=False,
        Origin=origin,
        Access_Control_Request_Method=method,
        Access_Control_Request_Headers="authorization, content-type",
    )
    assert preflight.status_code in {401, 403}
    assert "access-control-allow-origin" not in preflight.headers


@pytest.mark.parametrize("name", ["prefect", "mlflow"])
def test_no_other_page_shows_a_page_in_a_frame_and_no_page_tells_anything_elsewhere(
    both: dict[str, Server], name: str
) -> None:
    embedded = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "iframe"}
    assert ask(both[name], "GET", "/", **embedded).status_code == 403
    followed = ask(both[name], "GET", "/", **{**embedded, "Sec_Fetch_Dest": "document"})
    assert followed.status_code in {200, 307}
    policy = followed.headers["content-security-policy"]
    said = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert said.items() >= {"default-src": "'self'", "connect-src": "'self'", "frame-ancestors": "'self'"}.items()
    here = {"'self'", "'none'", "'unsafe-inline'", "'unsafe-eval'", "data:", "blob:"}
    assert {whence for allowed in said.values() for whence in allowed.split()} <= here
    assert followed.headers["x-frame-options"] == "SAMEORIGIN"


@pytest.mark.parametrize(
    ("origin", "told", "method", "own"),
    [
        (None, {}, "POST", True),  # no browser
        ("http://127.0.0.1:4200", {}, "POST", True),
        ("http://127.0.0.1:4200", {"sec-fetch-site": "same-origin"}, "POST", True),
        (None, {"sec-fetch-site": "none", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}, "GET", True),
        (None, {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "script"}, "GET", False),
        (None, {"sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"}, "GET", False),
        (None, {"sec-fetch-site": "cross-site"}, "POST", False),
        (
            None,
            {"sec-fetch-site": "same-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"},
            "POST",
            False,
        ),
        ("http://127.0.0.1:4201", {"sec-fetch-site": "same-origin"}, "POST", False),
        ("http://127.0.0.1:4200.page.example", {}, "POST", False),
        ("http://user@127.0.0.1:4200", {}, "POST", False),
    ],
)
def test_what_a_browser_says_of_a_page_decides(
    origin: str | None, told: dict[str, str], method: str, *, own: bool
) -> None:
    said = {"host": "127.0.0.1:4200", **told, **({"origin": origin} if origin else {})}
    assert comes_from_own_page(Headers(said), method) is own


def waiting_run(prefect: Server) -> str:
    """A run that waits for an answer, as a held release does."""
    flow = ask(prefect, "POST", "/api/flows/", json.dumps({"name": "held"}), **JSON).json()["id"]
    until = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    state = {
        "type": "PAUSED",
        "name": "Paused",
        "state_details": {"pause_timeout": until, "pause_key": "held-1"},
    }
    made = ask(prefect, "POST", "/api/flow_runs/", json.dumps({"flow_id": flow}), **JSON).json()["id"]
    # Prefect pauses no run that does not run.
    ask(prefect, "POST", f"/api/flow_runs/{made}/set_state", json.dumps({"state": {"type": "RUNNING"}}), **JSON)
    ask(prefect, "POST", f"/api/flow_runs/{made}/set_state", json.dumps({"state": state, "force": True}), **JSON)
    return str(made)


def test_another_page_cannot_answer_an_approval_form(prefect: Server) -> None:
    run_id, form = waiting_run(prefect), f'{{"run_input": {json.dumps({"decision": "approve", "name": "alice"})}}}'
    page = f"/api/flow_runs/{run_id}"
    for origin in OTHERS:
        for kind in ({}, SIMPLE, JSON, {"Content-Type": "application/x-www-form-urlencoded"}):
            assert ask(prefect, "POST", f"{page}/resume", form, **kind, Origin=origin).status_code == 403
            assert ask(prefect, "POST", f"{page}/resume", form, **kind, Origin=origin, known=False).status_code == 403
    assert ask(prefect, "POST", f"{page}/resume", form, **SIMPLE, Sec_Fetch_Site="cross-site").status_code == 403
    assert ask(prefect, "POST", f"{page}/resume", form, **JSON, known=False).status_code == 401
    assert ask(prefect, "GET", page).json()["state"]["type"] == "PAUSED"
    answered = ask(prefect, "POST", f"{page}/resume", form, **JSON, Origin=prefect.address)
    assert answered.json()["status"] == "ACCEPT"
    assert ask(prefect, "GET", page).json()["state"]["type"] == "RUNNING"


def refused_socket(server: Server, origin: str | None) -> bool:
    """Whether a server says nothing of what happens to whoever listens without its password, or from elsewhere."""
    address = server.address.replace("http", "ws", 1) + "/api/events/out"
    token = "" if origin is None else server.credentials
    try:
        with connect(address, subprotocols=["prefect"], origin=origin) as opened:  # type: ignore[arg-type,list-item]
            opened.send(json.dumps({"type": "auth", "token": token}))
            return json.loads(opened.recv(timeout=60)).get("type") != "auth_success"
    except (ConnectionClosed, InvalidStatus):
        return True


def test_events_are_told_to_own_pages_and_to_who_knows_the_password(prefect: Server) -> None:
    assert refused_socket(prefect, None)
    assert all(refused_socket(prefect, origin) for origin in OTHERS[:-1])
    assert not refused_socket(prefect, prefect.address)


def test_a_key_in_a_secret_block_is_read_by_who_knows_the_password_alone_and_from_no_copy_of_the_database(
    prefect: Server, state: Path
) -> None:
    kind = ask(prefect, "GET", "/api/block_types/slug/secret").json()["id"]
    schemas = {"block_schemas": {"block_type_id": {"any_": [kind]}}}
    schema = ask(prefect, "POST", "/api/block_schemas/filter", json.dumps(schemas), **JSON).json()[0]["id"]
    block = {"name": "release-key-held", "block_type_id": kind, "block_schema_id": schema, "data": {"value": KEY}}
    assert ask(prefect, "POST", "/api/block_documents/", json.dumps(block), **JSON).status_code == 201
    question = json.dumps({"include_secrets": True})
    assert KEY in ask(prefect, "POST", SECRETS, question, **JSON).text
    for origin in (None, *OTHERS):
        told = {"Origin": origin} if origin else {}
        answer = ask(prefect, "POST", SECRETS, question, **JSON, **told, known=origin is not None)
        assert answer.status_code in {401, 403}
        assert KEY not in answer.text
    assert files_with(bytes.fromhex(KEY), state) == set()
    place = state / "keys" / "prefect-blocks.key"
    assert place.stat().st_mode & 0o777 == 0o600
    assert [path for path in state.rglob("*") if path.is_file() and place.read_bytes() in path.read_bytes()] == [place]


@pytest.mark.parametrize("name", ["prefect", "mlflow"])
def test_the_password_is_no_argument_and_in_no_log(both: dict[str, Server], name: str, state: Path) -> None:
    secret = both[name].credentials.partition(":")[2]
    assert len(secret) == 32
    ask(both[name], "GET", "/api/flow_runs/no-number")
    # By day, these are forked from one process, which has arguments of its own.
    arguments = [" ".join(both[name]._process.args)]
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # it ended meanwhile
            arguments.append(" ".join(child.cmdline()))
    assert sum(f"infra.servers.{name}_server" in line for line in arguments) == 1 + is_night()
    assert not [line for line in arguments if secret in line]
    written = [path.read_bytes() for path in state.rglob("*") if path.is_file()]
    assert not [form for form in forms_of_secret(secret.encode()) for text in written if form in text]
    assert both["prefect"].credentials != both["mlflow"].credentials


def test_a_command_s_own_server_asks_for_the_password_while_it_runs(tmp_path: Path) -> None:
    spec = write_small_release(tmp_path / "spec", **QUICK, key={"custodian": "prefect_secret"})
    (tmp_path / "home").mkdir()
    bring_databases(tmp_path / "state")
    release = start("release", "make", spec, "--state", tmp_path / "state", home=tmp_path / "home")
    assert release.stderr is not None
    for line in release.stderr:
        if line.startswith("learn parameters"):
            break
    [server] = servers_of(tmp_path / "state")
    [listening] = [one for one in psutil.Process(server).net_connections("inet") if one.status == psutil.CONN_LISTEN]
    assert listening.laddr.ip == "127.0.0.1"
    address = f"http://127.0.0.1:{listening.laddr.port}"
    answer = httpx.post(address + SECRETS, json={"include_secrets": True}, timeout=60)
    assert (answer.status_code, "release-key" in answer.text) == (401, False)
    assert httpx.get(f"{address}/api/health", headers={"Host": "page.example"}).status_code == 400
    assert release.stderr.read()
    assert release.wait() == 0
    [published] = (tmp_path / "state" / "releases").iterdir()
    replayed = run("audit", "replay", published.name, "--state", tmp_path / "state", home=tmp_path / "home")
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr


@pytest.mark.nightly
def test_prefects_pages_ask_nobody_else(prefect: Server, tmp_path: Path) -> None:
    with browser(tmp_path) as chromium:
        look_at_prefect(chromium, prefect.address, prefect.credentials, waiting_run(prefect))
    assert chromium.asked_elsewhere == []


def test_no_page_is_served_that_would(prefect: Server, both: dict[str, Server]) -> None:
    assert ask(prefect, "GET", "/ui-settings").json()["available_uis"] == ["v1"]
    page = {"Accept": "text/html", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    for path in ("/v2", "/v2/login"):
        answer = ask(prefect, "GET", path, **page, Cookie="prefect_ui_version=v2")
        assert "v2" not in answer.headers.get("location", "")
        assert "/v2/assets" not in answer.text
    for server, path in (
        ("prefect", "/docs"),
        ("prefect", "/api/docs"),
        ("prefect", "/api/redoc"),
        ("mlflow", "/docs"),
    ):
        assert ask(both[server], "GET", path).status_code == 404, path


@pytest.mark.nightly
def test_the_pages_that_prefect_serves_by_itself_would_ask_and_are_found_out(state: Path, tmp_path: Path) -> None:
    bring_databases(tmp_path)
    listening, credentials = listen(), new_credentials()
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    told = guarded_prefect(credentials, Fernet.generate_key().decode(), address)
    by_itself = {name: value for name, value in told.items() if name not in PAGES_THAT_ASK_NOBODY_ELSE}
    here = {"PREFECT_HOME": str(tmp_path / "prefect"), "PREFECT_UI_ENABLED": "1", "PREFECT__SERVER_WEBSERVER_ONLY": "1"}
    quietest = {"PREFECT_SERVER_ANALYTICS_ENABLED": "false"}
    with forked_servers():
        server = Server(
            "Prefect by itself",
            [sys.executable, "-m", PREFECT_BY_ITSELF],
            listening=listening,
            health="/api/health",
            log=tmp_path / "log",
            credentials=credentials,
            environment={**by_itself, **here, **quietest},
        )
    try:
        server.wait_until_up()
        with browser(tmp_path) as chromium:
            page = chromium.page(address)
            page.goto(address)
            page.get_by_role("textbox").wait_for()
            page.wait_for_timeout(1000)
    finally:
        server.stop()
    assert "amplitude" in "".join(chromium.asked_elsewhere)


def test_a_process_that_is_told_of_a_server_starts_none_and_prefect_never_does_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    assert own_prefect(tmp_path) is None
    asked = "from infra.environment import prepare_environment as p; p(); import prefect; prefect.get_client()"
    done = subprocess.run(
        [sys.executable, "-c", asked],
        env={
            **environment(tmp_path / "home"),
            "DENIABLE_STATE": str(tmp_path / "state"),
            "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "true",
            "PREFECT_API_URL": "http://127.0.0.1:9/api",
        },
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "No Prefect API URL provided" in done.stderr


@pytest.mark.nightly
def test_make_ui_says_how_to_enter(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    asked = ("ui", "--mlflow-port", "0", "--prefect-port", "0", "--state", tmp_path / "state")
    shown = start(*asked, home=tmp_path / "home", piped="stdout", PYTHONUNBUFFERED="1")
    assert shown.stdout is not None
    said = ""
    for line in shown.stdout:
        said += line
        if line.startswith("The password is valid"):
            break
    pages = [word for word in said.split() if word.startswith("http://127.0.0.1:")]
    user, password = said.partition("user ")[2].split(",")[0], said.partition("password ")[2].split(";")[0]
    assert f"in Prefect's form, {user}:{password}\n" in said
    for page in pages:
        path = "/api/admin/version" if page.endswith("/runs") else "/"
        place = str(httpx.URL(page).copy_with(path=path, query=None, fragment=None))
        assert httpx.get(place, timeout=60).status_code == 401
        assert httpx.get(place, auth=(user, password), timeout=60).status_code == 200
    assert len({httpx.URL(page).port for page in pages}) == 2
    shown.terminate()
    assert shown.wait() == 0
