"""A run tells a server that outlives its process that it is alive, and only such a server."""

from pathlib import Path

from prefect.settings import get_current_settings

from flows.prefect_runs.heartbeats import heartbeats_for
from tests.warm.servers import prefect_server


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
