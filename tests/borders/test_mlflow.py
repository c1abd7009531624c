"""What this project relies on in MLflow, beyond what MLflow documents."""

import inspect
from pathlib import Path
from typing import Any

import mlflow
import pytest
from mlflow.store.artifact.artifact_repo import ArtifactRepository
from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository
from mlflow.store.entities import PagedList
from mlflow.utils import rest_utils
from mlflow.utils.credentials import get_default_host_creds


def test_requests_go_to_the_host_of_an_address_and_may_be_repeated_less_often() -> None:
    assert get_default_host_creds("http://127.0.0.1:1").host == "http://127.0.0.1:1"  # type: ignore[no-untyped-call]
    assert {"host_creds", "endpoint", "method", "max_retries"} <= set(
        inspect.signature(rest_utils.http_request).parameters
    )


def test_a_store_of_artifacts_fetches_one_file_at_a_time(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store/a.txt").write_text("what is kept")
    store = get_artifact_repository((tmp_path / "store").as_uri())
    assert isinstance(store, ArtifactRepository)
    fetch: Any = store._download_file
    fetch("a.txt", str(tmp_path / "b.txt"))
    assert (tmp_path / "b.txt").read_text() == "what is kept"


def test_pages_of_answers_name_the_next_page() -> None:
    assert PagedList([1], "the next").token == "the next"  # noqa: S105 - of a page


def test_the_server_reads_where_it_keeps_things_from_its_environment() -> None:
    from mlflow.server import app, constants  # noqa: PLC0415 - it takes seconds
    from mlflow.server.fastapi_app import create_fastapi_app  # noqa: PLC0415

    assert constants.BACKEND_STORE_URI_ENV_VAR == "_MLFLOW_SERVER_FILE_STORE"
    assert constants.ARTIFACT_ROOT_ENV_VAR == "_MLFLOW_SERVER_ARTIFACT_ROOT"
    assert constants.SERVE_ARTIFACTS_ENV_VAR == "_MLFLOW_SERVER_SERVE_ARTIFACTS"
    assert "serve" in app.view_functions
    assert (Path(str(app.static_folder)) / "index.html").is_file()
    assert list(inspect.signature(create_fastapi_app).parameters)[:1] == ["flask_app"]


def test_users_are_known_by_a_client_and_asked_before_each_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_FLASK_SERVER_SECRET_KEY", "for this test alone")
    monkeypatch.chdir(tmp_path)
    from mlflow.server import auth, get_app_client  # noqa: PLC0415 - it takes seconds

    assert isinstance(auth.BEFORE_REQUEST_VALIDATORS, dict)
    assert callable(auth.validate_can_read_run)
    assert callable(auth.create_app)
    users: Any = get_app_client("basic-auth", tracking_uri="http://127.0.0.1:1")
    assert {"create_user", "update_user_password", "get_user"} <= set(dir(users))


def test_a_run_of_a_folder_is_found_by_its_name(tmp_path: Path) -> None:
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'mlflow.db'}")
    client = mlflow.MlflowClient()
    experiment = client.create_experiment("e", artifact_location=(tmp_path / "artifacts").as_uri())
    client.create_run(experiment, run_name="a release")
    assert len(client.search_runs([experiment], "attributes.run_name = 'a release'")) == 1
