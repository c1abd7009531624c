"""The commands `keys approver`: approvers make and replace their keys, and the custodian admits and revokes them."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from deniable.command_names import command_line
from deniable.console import show
from deniable.record.trust import Reason, TrustedKey
from flows.cli.contract import StateCommand
from flows.cli.keys.hand_out import hand_out
from stores.keys.approver_key import ApproverKey, approver_key_place, make_approver_key
from stores.keys.signing_keys import YEARS, signing_time

DONE = 0
_SHOWN_DIGITS = 16
_DAY = len("2026-11-20")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="approver_command", required=True, metavar="COMMAND")
    commands.add_parser("new", help="make your own key for approving releases")
    commands.add_parser("rotate", help="replace your own key by a new one, which must be admitted")
    admit = commands.add_parser("admit", help="as the custodian: let a key approve releases")
    admit.add_argument("name", metavar="NAME", help="who has the key, by the name that approvals are given")
    admit.add_argument("public", metavar="KEY", help="the public key, as `new` and `rotate` print it")
    admit.add_argument("--years", type=int, default=YEARS, metavar="N", help=f"how long it is valid (default: {YEARS})")
    revoke = commands.add_parser("revoke", help="as the custodian: revoke an approver's key")
    revoke.add_argument("who", metavar="WHO", help="the approver's name, or the digits of the key that `show` prints")
    revoke.add_argument(
        "--reason",
        choices=get_args(Reason),
        required=True,
        help="compromised: someone else may have it, and nothing that it approved is approved; superseded: it approves "
        "no longer, and what it approved before now stays approved",
    )
    commands.add_parser("show", help="show the keys that approve releases, or did")


def _run(asked: argparse.Namespace, state: Path) -> int:
    """Carry out one command of `keys approver`.

    Args:
        asked: the parsed arguments.
        state: the state folder.

    Returns:
        0.

    Raises:
        DeniableError: a file or the ledger cannot be read or written, or the arguments make no sense.
    """
    command = asked.approver_command
    if command in ("new", "rotate"):
        place = approver_key_place()
        show(_made(make_approver_key(place, replacing=command == "rotate"), place))
        return DONE
    from stores.ledger.approvers import admit_approver, approvers_of, revoke_approver  # noqa: PLC0415 - a ledger
    from stores.ledger.state_ledger import state_ledger  # noqa: PLC0415
    from stores.vault.actors import operator  # noqa: PLC0415 - imports the specs

    ledger = state_ledger(state)
    if command == "admit":
        key = admit_approver(state, ledger, name=asked.name, public=asked.public, years=asked.years, by=operator())
        show([f"{key.keyid} of {key.owner} approves releases from now on, until {key.valid_until}.", hand_out()])
    elif command == "revoke":
        key = revoke_approver(state, ledger, asked.who, asked.reason, by=operator())
        counts = "nothing" if asked.reason == "compromised" else "only what"
        ended = (
            "that it approved is approved" if asked.reason == "compromised" else "it approved before now is approved"
        )
        show([f"{key.keyid} of {key.owner} is revoked: {counts} {ended}.", hand_out()])
    else:
        show(_listed(approvers_of(ledger).keys))
    return DONE


def _made(key: ApproverKey, place: Path) -> list[str]:
    """Say what was made, and what the custodian does with it."""
    return [
        f"A key for approving releases is in {place}; keep it from others.",
        f"Its public half is {key.public}.",
        f"Have the custodian admit it: {command_line('keys approver admit')} NAME {key.public}",
    ]


def _listed(keys: Sequence[TrustedKey]) -> list[str]:
    """Return a line for each key, in the order in which they were admitted."""
    now = signing_time()
    return [
        f"{key.keyid[:_SHOWN_DIGITS]}  {key.owner}  from {key.valid_from[:_DAY]} until {key.valid_until[:_DAY]}  "
        f"{_state(key, now)}"
        for key in keys
    ] or [_no_approver()]


def _no_approver() -> str:
    new, admit = command_line("keys approver new"), command_line("keys approver admit NAME KEY")
    return f"No approver's key is admitted: {new} makes one, and the custodian admits it with {admit}."


def _state(key: TrustedKey, now: str) -> str:
    """Say whether a key may approve; a revocation shows at once, although it takes effect with the next second."""
    if key.revoked is not None:
        return f"{key.revoked.reason} on {key.revoked.time}"
    return key.objection_at(now) or "may approve"


COMMAND = StateCommand(arguments=_add_arguments, run=_run)
