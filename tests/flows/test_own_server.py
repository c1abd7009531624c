"""A command waits for its own server, and tells a server that it is alive only if that outlives its process."""

import ast
import sys
from pathlib import Path

import httpx
import pytest
from prefect.settings import get_current_settings

from flows.cli.own_server import heartbeats_for, served_by
from infra.servers.local_servers import start_prefect
from stores.servers.mlflow_database import import_stores
from tests.warm.servers import forked_servers, prefect_server

ROOT = Path(__file__).resolve().parents[2]
STORE = "mlflow.store.tracking.sqlalchemy_workspace_store"


def frequency() -> int | None:
    return get_current_settings().flows.heartbeat_frequency


def test_only_a_server_that_outlives_the_process_is_told(tmp_path: Path) -> None:
    usual = frequency()
    assert usual is not None
    with heartbeats_for(None):
        assert frequency() == usual
    with prefect_server(tmp_path) as own, heartbeats_for(own):
        assert frequency() is None
    assert frequency() == usual


def test_within_the_block_modules_are_imported_and_the_server_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = "imported_while_a_server_starts"
    (tmp_path / f"{module}.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    (tmp_path / "prefect").mkdir()
    # Importing it again changes nothing that is imported elsewhere.
    monkeypatch.delitem(sys.modules, STORE, raising=False)
    with forked_servers():
        server = start_prefect(tmp_path)
    wait, waited = server.wait_until_up, []

    def wait_until_up() -> None:
        # It is waited for last, because imports take as long.
        waited.append({module, STORE} <= sys.modules.keys())
        wait()

    monkeypatch.setattr(server, "wait_until_up", wait_until_up)
    try:
        with served_by(server, "a test", module):
            assert waited == [True]
            assert module in sys.modules
            assert httpx.get(f"{server.address}/api/health").status_code == 200
            assert frequency() is None
    finally:
        server.stop()
        sys.modules.pop(module, None)


def test_without_a_server_of_its_own_a_command_waits_for_none() -> None:
    usual = frequency()
    with served_by(None, "a test", "json"):
        assert frequency() == usual


def test_what_mlflow_imports_first_is_imported_for_a_database_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, STORE, raising=False)
    import_stores("http://127.0.0.1:1")
    assert STORE not in sys.modules
    import_stores("sqlite:////nowhere/mlflow.db")
    assert STORE in sys.modules


def _called(tree: ast.AST) -> set[str]:
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return {call.id if isinstance(call, ast.Name) else getattr(call, "attr", "") for call in calls}


def test_every_command_that_runs_a_flow_on_a_server_of_its_own_is_served_by_it() -> None:
    starting = {}
    for path in (ROOT / "flows").rglob("*.py"):
        called = _called(ast.parse(path.read_text(encoding="utf-8")))
        if "own_prefect" in called:
            starting[str(path.relative_to(ROOT))] = "served_by" in called
    # This one only asks the server, and runs no flow.
    assert starting.pop("flows/cli/release/runs.py") is False
    assert len(starting) == 6
    assert all(starting.values()), starting
