"""Runs the flows of deployments as separate processes, until stopped."""

import argparse
from pathlib import Path

from flows.cli.contract import StateCommand
from flows.cli.servers.reaching import become_prefect


def _run(_: argparse.Namespace, state: Path) -> int:
    from infra.stack.settings import POOL  # noqa: PLC0415 - other commands need none of this

    become_prefect(["worker", "start", "--pool", POOL, "--type", "process"], state)


COMMAND = StateCommand(run=_run, imports=("prefect",))
