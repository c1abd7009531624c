"""Runs one of Prefect's own commands, set up for the server of this state folder."""

import argparse
import os
from pathlib import Path

from flows.cli.contract import StateCommand
from flows.cli.servers.reaching import become_prefect, require_answer, require_prefect


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="arguments of Prefect's command")


def _run(asked: argparse.Namespace, state: Path) -> int:
    require_prefect(state)
    require_answer(os.environ["PREFECT_API_URL"])
    become_prefect(asked.arguments, state)


COMMAND = StateCommand(
    arguments=_add_arguments,
    run=_run,
    description="Run a Prefect command, such as: deployment run release/acs_ma --watch.",
    imports=("prefect",),
)
