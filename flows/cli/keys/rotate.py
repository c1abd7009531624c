"""Replaces the signing key by a new one."""

import argparse
from pathlib import Path

from deniable.console import show
from flows.cli.contract import StateCommand

DONE = 0


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    from stores.keys.signing_keys import YEARS  # noqa: PLC0415 - imports pydantic

    parser.add_argument(
        "--years", type=int, default=YEARS, metavar="N", help=f"how long it is valid (default: {YEARS})"
    )


def _run(asked: argparse.Namespace, state: Path) -> int:
    from flows.cli.keys.hand_out import hand_out  # noqa: PLC0415 - as the next
    from stores.keys.signing_keys import rotate_key  # noqa: PLC0415 - as above

    rotated = rotate_key(state, years=asked.years)
    show(
        [
            f"{rotated.before.keyid} no longer signs; its private key is gone.",
            f"{rotated.after.keyid} signs from now on, until {rotated.after.valid_until}. {hand_out()}",
        ]
    )
    return DONE


COMMAND = StateCommand(
    arguments=_add_arguments,
    run=_run,
    description="Replace the signing key by a new one. What the old one signed stays valid.",
)
