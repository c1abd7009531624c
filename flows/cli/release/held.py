"""Lists the releases that await a decision, and what to review."""

import argparse
from pathlib import Path

from deniable.console import show
from flows.cli.contract import StateCommand

DONE = 0


def _run(_: argparse.Namespace, state: Path) -> int:
    from flows.cli.deciding import held_lines  # noqa: PLC0415 - other commands need none of this

    show(held_lines(state))
    return DONE


COMMAND = StateCommand(run=_run)
