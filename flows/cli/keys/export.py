"""Writes the trust file that auditors need."""

import argparse
from pathlib import Path

from deniable.console import show
from flows.cli.contract import StateCommand

DONE = 0


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="the file; it holds public keys only")


def _run(asked: argparse.Namespace, state: Path) -> int:
    show([_exported(state, asked.file)])
    return DONE


def _exported(state: Path, file: Path) -> str:
    """Write the trust file for others, with instructions."""
    from deniable.foundation.errors import InvalidInput  # noqa: PLC0415 - here and below: only what the command needs
    from flows.cli.keys.hand_out import no_key  # noqa: PLC0415
    from stores.keys.trust_file import trusted_keys, trusted_keys_place  # noqa: PLC0415
    from stores.ledger.ledger import write_lines  # noqa: PLC0415

    keys = trusted_keys(state)
    if not len(keys):
        raise InvalidInput(
            f"there must be a key for auditors to trust, and there is {no_key(trusted_keys_place(state))}"
        )
    write_lines(keys.to_text().splitlines(), file)
    number = len(keys) + len(keys.approvers)
    count = f"{number} keys are" if number > 1 else "1 key is"
    return f"{count} in {file}; give it to auditors by a channel other than that of the releases."


COMMAND = StateCommand(arguments=_add_arguments, run=_run)
