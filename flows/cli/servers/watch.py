"""Restarts servers that go down, and resumes runs that an outage ended, until stopped."""

import argparse
from contextlib import suppress
from pathlib import Path

from flows.cli.contract import StateCommand
from flows.cli.servers.reaching import require_prefect

DONE = 0


def _run(_: argparse.Namespace, state: Path) -> int:
    require_prefect(state)
    from flows.cli.servers.watching import watch  # noqa: PLC0415 - imports Prefect

    with suppress(KeyboardInterrupt):
        watch(state)
    return DONE


COMMAND = StateCommand(
    run=_run,
    description="Watch the stack of the state folder, if it has one, and the runs of deployments, until this process "
    "is stopped.",
    imports=("prefect", "mlflow"),
)
