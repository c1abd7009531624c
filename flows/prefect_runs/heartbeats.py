"""Heartbeats of flow runs, by which a server notices that a run's process is lost."""

from collections.abc import Iterator
from contextlib import contextmanager

from prefect.settings import PREFECT_FLOWS_HEARTBEAT_FREQUENCY, temporary_settings

from infra.servers.local_servers import Server


@contextmanager
def heartbeats_for(server: Server | None) -> Iterator[None]:
    """Send none to a server of this process, which ends with it: a flow would wait up to a second for them to stop.

    Args:
        server: the server that this process has started, if any.
    """
    if server is None:
        yield
        return
    with temporary_settings({PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}):
        yield
