"""The commands `backup DIR` and `restore DIR`: copy a state folder with its databases, and restore it."""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from deniable.foundation.errors import InvalidInput
from flows.cli.spinner import at_work
from flows.cli.subcommands import Subcommands

DONE = 0


def add_backup_commands(subparsers: Subcommands, parents: Sequence[argparse.ArgumentParser] = ()) -> None:
    """Add the commands `backup` and `restore` to a parser.

    Args:
        subparsers: the commands of the parser, as `add_subparsers` returns them.
        parents: parsers of the options that all commands share.
    """
    backup = subparsers.add_parser("backup", parents=parents, help="copy the state folder and its databases")
    backup.add_argument("folder", type=Path, metavar="DIR", help="a folder that does not exist yet; it will hold keys")
    restore = subparsers.add_parser("restore", parents=parents, help="restore a copy into an empty state folder")
    restore.add_argument("folder", type=Path, metavar="DIR", help="a folder that `backup` made")


def run_backup_command(asked: argparse.Namespace, state: Path) -> int:
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


def run_restore_command(asked: argparse.Namespace, state: Path) -> int:
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
