"""The servers of an agency, on one machine.

Their additional requirements are installed by `make stack`, and imported only when the command is used.
"""

import argparse
from pathlib import Path

from deniable.foundation.errors import InvalidInput
from flows.cli.contract import StateCommand


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="stack_command", required=True, metavar="COMMAND")
    commands.add_parser("up", help="start what is not running, and wait until everything answers")
    commands.add_parser("down", help="stop all servers; all data are kept")
    commands.add_parser("leave", help="move the ledger and history back into the state folder, to work without servers")
    commands.add_parser("status", help="show what is running, and where")


def _run(asked: argparse.Namespace, state: Path) -> int:
    """Carry out one command of `stack`.

    Returns:
        0; 1 if `status` finds something down.

    Raises:
        DeniableError: a server does not start or stop, or is not installed.
    """
    try:
        from infra.stack.command import stack_command  # noqa: PLC0415 - needs what only the stack needs
    except ImportError as error:
        raise InvalidInput(f"the stack needs {error.name}, which is not installed; make stack installs it.") from None
    return stack_command(asked.stack_command, state)


COMMAND = StateCommand(arguments=_add_arguments, run=_run)
