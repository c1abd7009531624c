"""Pages are linked where they are served, and a password in an address goes into no page."""

import pytest

from stores.servers.ui_links import flow_run_page, mlflow_pages, mlflow_shown_when, prefect_pages


def test_pages_of_a_database_are_those_of_make_ui(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "sqlite:////state/mlflow.db")
    monkeypatch.delenv("DENIABLE_PREFECT_API_URL", raising=False)
    assert mlflow_pages() == "http://127.0.0.1:5000"
    assert mlflow_shown_when() == "while `make ui` runs"
    assert prefect_pages() == "http://127.0.0.1:4200"


def test_pages_of_servers_are_theirs_without_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "https://engineer:secret@mlflow.example:8443/base/")
    monkeypatch.setenv("DENIABLE_PREFECT_API_URL", "http://admin:secret@prefect.example:4242/api")
    assert mlflow_pages() == "https://mlflow.example:8443/base"
    assert mlflow_shown_when() == "by MLflow's server"
    assert flow_run_page("1") == "http://prefect.example:4242/runs/flow-run/1"
