"""Rebuilds a ledger that was lost or replaced, or accepts it as it is."""

import argparse
from pathlib import Path

from deniable.console import show
from flows.cli.contract import StateCommand

DONE = 0


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--reason", required=True, metavar="WHY", help="the reason; the ledger keeps it, with the user's name"
    )
    parser.add_argument(
        "--from",
        dest="copies",
        action="append",
        type=Path,
        default=[],
        metavar="FILE",
        help="an export, or a ledger.db",
    )
    parser.add_argument(
        "--accept", action="store_true", help="give up entries that no copy has, or accept that this is another ledger"
    )


def _run(asked: argparse.Namespace, state: Path) -> int:
    from stores.ledger.recovery import recover  # noqa: PLC0415 - opens a ledger
    from stores.vault.actors import operator  # noqa: PLC0415

    show(recover(state, asked.copies, by=operator(), reason=asked.reason, accept=asked.accept))
    return DONE


COMMAND = StateCommand(arguments=_add_arguments, run=_run)
