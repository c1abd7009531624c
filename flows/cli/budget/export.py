"""Writes all entries of the ledger to a file."""

import argparse
from pathlib import Path

from deniable.console import show
from flows.cli.contract import StateCommand

DONE = 0


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="the file, one entry a line")


def _run(asked: argparse.Namespace, state: Path) -> int:
    from deniable.ledger.verification import records_of, verify  # noqa: PLC0415 - imports NumPy
    from stores.ledger.ledger import kept_lines, ledger_place, write_lines  # noqa: PLC0415 - opens a ledger

    # An altered ledger is exported too: it is evidence.
    lines = kept_lines(ledger_place(state))
    write_lines(lines, asked.file)
    head = verify(records_of(lines)).head
    show([f"{len(lines)} entries are in {asked.file}; keep a note of the head {head} elsewhere."])
    return DONE


COMMAND = StateCommand(arguments=_add_arguments, run=_run)
