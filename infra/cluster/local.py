"""Starts and stops a scheduler and workers on this machine's loopback; workers that exit are restarted."""

# Dask's functions have no annotations
# mypy: disallow-untyped-calls=False

import signal
import socket
import sys
from collections.abc import Callable

from distributed import Client

from deniable.foundation.errors import Refused
from infra.cluster.runner import security
from infra.cluster.settings import LOOPBACK, PORT, Cluster
from infra.servers.local_servers import free_port
from infra.stack.daemons import Daemon, running
from infra.stack.daemons import stop as stop_daemon

_NAMES = ("scheduler", "workers")
_PATIENCE_S = 5


def start(cluster: Cluster, workers: int) -> str:
    """Start a scheduler and workers, and wait until all are up; if one fails, stop all that were started.

    A running cluster may be working on a release, and is left alone.

    Args:
        cluster: the cluster.
        workers: number of workers.

    Returns:
        The scheduler's address.

    Raises:
        Refused: there is already a cluster.
        DeniableError: a process does not start.
    """
    if all(running(cluster.part("run"), name) is not None for name in _NAMES):
        raise Refused(
            "a state folder must have one cluster at a time, and its cluster runs; stop it by make cluster-down."
        )
    stop(cluster)
    cluster.make_certificate()
    port = free_port(PORT)
    address = f"tls://{LOOPBACK}:{port}"
    try:
        for daemon in (
            _daemon(cluster, "scheduler", cluster.scheduler(LOOPBACK, port), lambda: _listens(port)),
            _daemon(
                cluster, "workers", cluster.worker(address, workers, LOOPBACK), lambda: _has(cluster, address, workers)
            ),
        ):
            daemon.start()
            daemon.wait_until_up()
    except BaseException:
        stop(cluster)
        raise
    return address


def stop(cluster: Cluster) -> bool:
    """Stop the cluster.

    Returns:
        Whether anything was running.

    Raises:
        DaemonFailed: the process belongs to another user.
    """
    run = cluster.part("run")
    stopped = [stop_daemon(run, name, signal.SIGTERM) for name in reversed(_NAMES)]
    return any(stopped)


def _daemon(cluster: Cluster, name: str, arguments: list[str], up: Callable[[], bool]) -> Daemon:
    return Daemon(
        name=name,
        command=[sys.executable, *arguments],
        environment=cluster.environment(own=True),
        run=cluster.part("run"),
        logs=cluster.part("logs"),
        up=up,
    )


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((LOOPBACK, port)) == 0


def _has(cluster: Cluster, address: str, workers: int) -> bool:
    """Whether all workers have reported to the scheduler."""
    try:
        with Client(address, security=security(cluster.state), timeout=_PATIENCE_S, set_as_default=False) as client:
            return len(client.nthreads()) == workers
    except OSError:
        return False
