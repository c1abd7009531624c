"""The commands `cluster up`, `down`, `scheduler` and `worker`: several processes share a release.

Their additional requirements are installed by `make cluster`, and imported only when the commands are used.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from deniable.foundation.errors import InvalidInput, Refused
from flows.cli.contract import StateCommand
from infra.cluster.settings import (
    LOOPBACK,
    PORT,
    Cluster,
    checked_address,
    configured_trust,
    is_loopback,
)
from infra.environment import CLUSTER_VARIABLE
from stores.servers.ui_links import is_loopback_host

DONE = 0


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="cluster_command", required=True, metavar="COMMAND")
    up = commands.add_parser("up", help="start a scheduler and workers on this machine")
    up.add_argument(
        "--workers", type=_count, default=os.cpu_count() or 1, metavar="N", help="processes (default: one a core)"
    )
    commands.add_parser("down", help="stop the scheduler and workers on this machine")
    scheduler = commands.add_parser("scheduler", help="run a scheduler that other machines can reach")
    scheduler.add_argument("--host", default=LOOPBACK, help=f"address to listen on (default: {LOOPBACK})")
    scheduler.add_argument("--port", type=_count, default=PORT, help=f"port to listen on (default: {PORT})")
    worker = commands.add_parser("worker", help="run workers for a scheduler until they are stopped")
    worker.add_argument("address", metavar="ADDRESS", help="of the scheduler, such as tls://scheduler.example:8786")
    worker.add_argument("--host", help="address at which others reach this machine (default: Dask finds one)")
    worker.add_argument(
        "--workers", type=_count, default=os.cpu_count() or 1, metavar="N", help="processes (default: one a core)"
    )


def _run(asked: argparse.Namespace, state: Path) -> int:
    """Carry out one command of `cluster`.

    Args:
        asked: the parsed arguments.
        state: the state folder, the same on all machines.

    Returns:
        0.

    Raises:
        DeniableError: something does not start or stop, or is not installed.
    """
    try:
        trusted = configured_trust()
    except ImportError as error:
        raise InvalidInput(f"a cluster needs {error.name}, which is not installed; make cluster installs it.") from None
    cluster = Cluster(state)
    if asked.cluster_command == "scheduler":
        _require_trust(asked.host, trusted=trusted)
        if not (trusted or cluster.has_certificate):
            cluster.make_certificate()
        _become(cluster.scheduler(asked.host, asked.port), cluster, own=not trusted)
    if asked.cluster_command == "worker":
        address = checked_address(asked.address)
        own = is_loopback(address) and not trusted
        if own and not cluster.has_certificate:
            raise InvalidInput(
                "a worker must recognise its scheduler by a certificate, and there is none; start the scheduler first, "
                "with the same state folder, or name certificates in Dask's configuration."
            )
        _become(cluster.worker(address, asked.workers, asked.host), cluster, own=own)
    from infra.cluster.local import start, stop  # noqa: PLC0415 - needs what only a cluster needs

    if asked.cluster_command == "up":
        address = start(cluster, asked.workers)
        print(f"{asked.workers} workers at {address}. To use them: export {CLUSTER_VARIABLE}={address}")  # noqa: T201
    else:
        print("Stopped the cluster." if stop(cluster) else "No cluster was running.")  # noqa: T201 - this is the command line
    return DONE


def _require_trust(host: str, *, trusted: bool) -> None:
    """Refuse to start a scheduler that accepts work from anyone who can reach it."""
    if not (trusted or is_loopback_host(host)):
        raise Refused(
            "a scheduler that other machines can reach must authenticate them: name the certificates of the cluster in "
            "Dask's configuration, distributed.comm.tls, or DASK_DISTRIBUTED__COMM__TLS__CA_FILE and the like."
        )


def _become(arguments: Sequence[str], cluster: Cluster, *, own: bool) -> NoReturn:
    os.execve(sys.executable, [sys.executable, *arguments], cluster.environment(own=own))  # noqa: S606


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {number}")
    return number


COMMAND = StateCommand(arguments=_add_arguments, run=_run)
