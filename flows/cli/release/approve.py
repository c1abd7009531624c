"""Lets a held release be published."""

import argparse
from pathlib import Path

from flows.cli.contract import StateCommand


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    from flows.cli.deciding import add_decision_arguments  # noqa: PLC0415 - imports pydantic

    add_decision_arguments(parser)


def _run(asked: argparse.Namespace, state: Path) -> int:
    from flows.cli.deciding import decide_on  # noqa: PLC0415 - as above

    return decide_on(asked, state, "approved")


COMMAND = StateCommand(arguments=_add_arguments, run=_run)
