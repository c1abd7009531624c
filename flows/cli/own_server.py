"""A command's own Prefect server, which starts while the command imports Prefect and MLflow."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from flows.cli.spinner import at_work
from infra.servers.local_servers import Server


@contextmanager
def served_by(server: Server | None, said: str, *modules: str) -> Iterator[None]:
    """Import modules while a server starts, wait for it, and carry out the block with it.

    Args:
        server: the server that this process has started (infra.servers.local_servers.own_prefect), if any.
        said: what the server is for, such as the title of a release, shown meanwhile.
        modules: modules that import Prefect and MLflow, and that the block needs.

    Raises:
        ServerFailed: the server did not start.
    """
    with at_work(f"{said}: starting Prefect and MLflow"):
        for module in modules:
            import_module(module)
        if server is not None:
            from stores.servers.mlflow_database import import_stores  # noqa: PLC0415 - imports MLflow

            # What MLflow imports at its first request, there is time to import now.
            import_stores(os.environ["MLFLOW_TRACKING_URI"])
            server.wait_until_up()
    with heartbeats_for(server):
        yield


@contextmanager
def heartbeats_for(server: Server | None) -> Iterator[None]:
    """Send no heartbeats to a server of this process, which ends with it: a flow would wait a second for their end.

    By heartbeats, a server notices that the process of a flow run is lost.

    Args:
        server: the server that this process has started, if any.
    """
    if server is None:
        yield
        return
    from prefect.settings import PREFECT_FLOWS_HEARTBEAT_FREQUENCY, temporary_settings  # noqa: PLC0415 - takes seconds

    with temporary_settings({PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}):
        yield
