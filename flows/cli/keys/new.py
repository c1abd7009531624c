"""Makes the first key that signs releases."""

import argparse
from pathlib import Path

from deniable.console import show
from flows.cli.contract import StateCommand

DONE = 0


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    from stores.keys.signing_keys import YEARS  # noqa: PLC0415 - imports pydantic

    parser.add_argument("--owner", required=True, metavar="NAME", help="who signs with it")
    parser.add_argument(
        "--years", type=int, default=YEARS, metavar="N", help=f"how long it is valid (default: {YEARS})"
    )


def _run(asked: argparse.Namespace, state: Path) -> int:
    from stores.keys.signing_keys import new_key  # noqa: PLC0415 - as above

    made = new_key(state, owner=asked.owner, years=asked.years)
    show([made.to_tell, f"It is {made.keyid}, valid until {made.trusted.valid_until}."])
    return DONE


COMMAND = StateCommand(arguments=_add_arguments, run=_run)
