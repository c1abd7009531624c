"""What the watch reports about itself."""

from pathlib import Path

import pytest

from tests.isolation import own_state  # noqa: F401 - before Prefect and MLflow are imported

from prefect.settings import PREFECT_API_URL, PREFECT_CLIENT_MAX_RETRIES, temporary_settings  # isort: skip

from flows.cli.servers.watching import Keeper, _look_after_runs
from infra.stack.settings import Stack


def test_that_prefect_does_not_answer_is_told_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keeper = Keeper(Stack(tmp_path), 0)
    with temporary_settings({PREFECT_API_URL: "http://127.0.0.1:9/api", PREFECT_CLIENT_MAX_RETRIES: 0}):
        trouble = _look_after_runs(tmp_path, keeper, 0, "")
        assert "Prefect must answer" in trouble
        assert _look_after_runs(tmp_path, keeper, 0, trouble) == trouble
        assert capsys.readouterr().out.count(trouble) == 1
        _look_after_runs(tmp_path, keeper, 0, "what was the matter before")
    assert capsys.readouterr().out.count(trouble) == 1
