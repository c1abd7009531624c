"""Lists the releases that a command would resume."""

import argparse
from pathlib import Path

from deniable.console import show
from flows.cli.contract import StateCommand

DONE = 0


def _run(_: argparse.Namespace, state: Path) -> int:
    from stores.releases.life import left_in_words  # noqa: PLC0415 - other commands need none of this

    show(left_in_words(state) or ["No release is unfinished."])
    return DONE


COMMAND = StateCommand(run=_run)
