"""Copies a state folder with its databases."""

import argparse
from pathlib import Path

from flows.cli.contract import StateCommand
from flows.cli.spinner import at_work

DONE = 0


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="DIR", help="a folder that does not exist yet; it will hold keys")


def _run(asked: argparse.Namespace, state: Path) -> int:
    """Back up the state folder.

    Returns:
        0.

    Raises:
        DeniableError: the folder exists, a release is under way, or a database cannot be copied.
    """
    with at_work(f"Copying {state}"):
        from infra.stack.backup import back_up  # noqa: PLC0415 - imports what the ledger needs

        files = back_up(state, asked.folder.expanduser().resolve())
    print(f"{files} files of {state} are copied to {asked.folder}, which holds keys and confidential records.")  # noqa: T201
    return DONE


COMMAND = StateCommand(arguments=_add_arguments, run=_run)
