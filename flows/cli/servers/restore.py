"""Restores a copy of a state folder, and verifies it."""

import argparse
import os
from pathlib import Path

from deniable.foundation.errors import InvalidInput
from flows.cli.contract import StateCommand
from flows.cli.spinner import at_work

DONE = 0


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="DIR", help="a folder that `backup` made")


def _run(asked: argparse.Namespace, state: Path) -> int:
    """Restore a backup, and verify what was restored.

    Returns:
        0.

    Raises:
        DeniableError: the state folder is not empty, the backup is incomplete, or its contents fail verification.
    """
    from infra.stack.backup import has_databases, put_back, require_consistent  # noqa: PLC0415 - as above
    from infra.stack.settings import Stack  # noqa: PLC0415

    place = asked.folder.expanduser().resolve()
    with at_work(f"Restoring {place}"):
        put_back(place, state)
    if has_databases(place):
        stack = Stack(state)
        try:
            from infra.stack.command import restore  # noqa: PLC0415 - needs what only the stack needs
        except ImportError as error:
            raise InvalidInput(
                f"the stack needs {error.name}, which is not installed; make stack installs it."
            ) from None
        restore(stack, place)
        os.environ["DENIABLE_LEDGER"] = stack.database("ledger")
    with at_work("Verifying what was restored"):
        releases = require_consistent(state)
    print(f"{state} is restored: {releases:,} release{'s' if releases != 1 else ''} and the ledger were verified.")  # noqa: T201
    if has_databases(place):
        print("PostgreSQL is running; make stack starts the rest.")  # noqa: T201
    return DONE


COMMAND = StateCommand(arguments=_add_arguments, run=_run)
