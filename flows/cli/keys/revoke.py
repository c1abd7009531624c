"""Revokes a key."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from deniable.command_names import command_line
from deniable.console import show
from flows.cli.contract import StateCommand

DONE = 0
if TYPE_CHECKING:
    from deniable.record.trust import TrustedKey


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    from deniable.record.trust import Reason  # noqa: PLC0415 - imports cryptography

    parser.add_argument("keyid", metavar="KEYID", help="its id, or the digits of it that `show` prints")
    parser.add_argument(
        "--reason",
        choices=get_args(Reason),
        required=True,
        help="compromised: someone else may have it, and nothing that it signed is valid; superseded: it signs no "
        "longer, and what it signed before now stays valid",
    )


def _run(asked: argparse.Namespace, state: Path) -> int:
    from stores.keys.signing_keys import revoke_key  # noqa: PLC0415 - imports pydantic

    show([_revoked(revoke_key(state, asked.keyid, asked.reason), state)])
    return DONE


def _revoked(key: "TrustedKey", state: Path) -> str:
    """Return the effect of a revocation, in words."""
    from flows.cli.keys.hand_out import hand_out  # noqa: PLC0415 - as above
    from flows.cli.keys.show import signing_now  # noqa: PLC0415

    compromised = key.revoked is not None and key.revoked.reason == "compromised"
    counts = "nothing that it signed is valid" if compromised else "what it signed before now stays valid"
    rotate = ""
    if signing_now(state)[0] == key.keyid:
        rotate = f" It is the signing key: {command_line('keys rotate')} replaces it."
    return f"{key.keyid} is revoked: {counts}. {hand_out()}{rotate}"


COMMAND = StateCommand(arguments=_add_arguments, run=_run)
