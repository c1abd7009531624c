"""The operator's commands for signing keys: make, show, rotate and revoke them, and export the trust file.

The keys of persons, who approve releases or set budgets, have commands of their own (flows.cli.people). There is no
command for signing: a release signs automatically, and makes the first key if there is none.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from deniable.foundation.errors import DeniableError, InvalidInput
from deniable.record.trust import Reason, TrustedKey, TrustedKeys, moment
from flows.cli.people.approver_keys import add_approver_commands, run_approver_command
from flows.cli.people.custodian_keys import add_custodian_commands, run_custodian_command
from flows.cli.subcommands import Subcommands
from stores.keys.signing_keys import (
    YEARS,
    current_keyid,
    new_key,
    revoke_key,
    rotate_key,
    signing_key_place,
    signing_time,
)
from stores.keys.trust_file import trusted_keys, trusted_keys_place
from stores.ledger.ledger import write_lines

DONE = 0
_SHOWN_DIGITS = 16
_DAY = len("2026-11-20")


def add_key_commands(subparsers: Subcommands, parents: Sequence[argparse.ArgumentParser] = ()) -> None:
    """Add the command `keys` and its own commands to a parser.

    Args:
        subparsers: the commands of the parser, as `add_subparsers` returns them.
        parents: parsers of the options that all commands share.
    """
    keys = subparsers.add_parser("keys", help="manage the keys that sign releases, approve them and set budgets")
    commands = keys.add_subparsers(dest="keys_command", required=True, metavar="COMMAND")
    new = commands.add_parser("new", parents=parents, help="make the first key that signs releases")
    new.add_argument("--owner", required=True, metavar="NAME", help="who signs with it")
    rotate = commands.add_parser(
        "rotate", parents=parents, help="replace the signing key by a new one; what the old one signed stays valid"
    )
    for command in (new, rotate):
        command.add_argument(
            "--years", type=int, default=YEARS, metavar="N", help=f"how long it is valid (default: {YEARS})"
        )
    commands.add_parser("show", parents=parents, help="show the keys that are trusted, or were")
    revoke = commands.add_parser("revoke", parents=parents, help="revoke a key")
    revoke.add_argument("keyid", metavar="KEYID", help="its id, or the digits of it that `show` prints")
    revoke.add_argument(
        "--reason",
        choices=get_args(Reason),
        required=True,
        help="compromised: someone else may have it, and nothing that it signed is valid; superseded: it signs no "
        "longer, and what it signed before now stays valid",
    )
    export = commands.add_parser("export", parents=parents, help="write the trust file that auditors need")
    export.add_argument("file", type=Path, metavar="FILE", help="the file; it holds public keys only")
    add_approver_commands(commands, parents)
    add_custodian_commands(commands, parents)


def run_key_command(asked: argparse.Namespace, state: Path) -> int:
    """Carry out one command of `keys`.

    Args:
        asked: the parsed arguments.
        state: the state folder, which holds the keys unless DENIABLE_SIGNING_KEY or DENIABLE_TRUSTED_KEYS name others.

    Returns:
        0.

    Raises:
        DeniableError: a file cannot be read or written, or the arguments make no sense.
    """
    if asked.keys_command == "approver":
        return run_approver_command(asked, state)
    if asked.keys_command == "custodian":
        return run_custodian_command(asked, state)
    console = Console(highlight=False, markup=False, soft_wrap=True)
    if asked.keys_command == "new":
        made = new_key(state, owner=asked.owner, years=asked.years)
        console.print(made.to_tell)
        console.print(f"It is {made.keyid}, valid until {made.trusted.valid_until}.")
    elif asked.keys_command == "rotate":
        rotated = rotate_key(state, years=asked.years)
        console.print(f"{rotated.before.keyid} no longer signs; its private key is gone.")
        console.print(f"{rotated.after.keyid} signs from now on, until {rotated.after.valid_until}. {_HAND_OUT}")
    elif asked.keys_command == "revoke":
        console.print(_revoked(revoke_key(state, asked.keyid, asked.reason), state))
    elif asked.keys_command == "export":
        console.print(_exported(state, asked.file))
    else:
        _show(state, console)
    return DONE


_HAND_OUT = "Give auditors the new trust file: python -m flows keys export FILE."
_NO_KEY = (
    "no trusted key at {place}; python -m flows keys new --owner NAME makes one, and so does the first release of a "
    "state folder."
)


def _revoked(key: TrustedKey, state: Path) -> str:
    """Return the effect of a revocation, in words."""
    compromised = key.revoked is not None and key.revoked.reason == "compromised"
    counts = "nothing that it signed is valid" if compromised else "what it signed before now stays valid"
    rotate = ""
    if _current(state)[0] == key.keyid:
        rotate = " It is the signing key: python -m flows keys rotate replaces it."
    return f"{key.keyid} is revoked: {counts}. {_HAND_OUT}{rotate}"


def _exported(state: Path, file: Path) -> str:
    """Write the trust file for others, with instructions."""
    keys = trusted_keys(state)
    if not len(keys):
        raise InvalidInput(
            f"there must be a key for auditors to trust, and there is {_NO_KEY.format(place=trusted_keys_place(state))}"
        )
    write_lines(keys.to_text().splitlines(), file)
    number = len(keys) + len(keys.approvers)
    count = f"{number} keys are" if number > 1 else "1 key is"
    return f"{count} in {file}; give it to auditors by a channel other than that of the releases."


def _show(state: Path, console: Console) -> None:
    """Print the keys that are or were trusted, and which of them signs."""
    keys = trusted_keys(state)
    if not len(keys):
        console.print(f"There is {_NO_KEY.format(place=trusted_keys_place(state))}")
        return
    keyid, complaint = _current(state)
    Console(highlight=False).print(_table(keys, keyid))
    console.print(f"trust file:   {trusted_keys_place(state)}\nprivate key:  {signing_key_place(state)}")
    if complaint:
        console.print(complaint)
    elif keys.get(keyid) is None:
        console.print(f"The private key is that of {keyid}, which is not trusted.")


def _table(keys: TrustedKeys, current: str) -> Table:
    """Return a table of the keys, a row each, in the order in which they were entered."""
    now = signing_time()
    table = Table(box=box.SIMPLE_HEAD, title="Signing keys", title_justify="left", title_style="bold")
    for name in ("key", "owner", "valid from", "valid until", "state"):
        table.add_column(name, no_wrap=name == "key", overflow="fold")
    for key in keys:
        counts = key.objection_at(now) is None
        signs = key.keyid == current
        table.add_row(
            key.keyid[:_SHOWN_DIGITS],
            Text(key.owner, "bold" if signs else ""),
            key.valid_from[:_DAY],
            key.valid_until[:_DAY],
            Text(_state(key, now, signs=signs), "green" if counts else "red"),
        )
    return table


def _state(key: TrustedKey, now: str, *, signs: bool) -> str:
    if key.revoked is not None:
        return f"{key.revoked.reason} {key.revoked.time[:_DAY]}"
    if key.objection_at(now) is not None:
        return "expired" if moment(now) >= moment(key.valid_until) else "not valid yet"
    return "signs" if signs else "valid"


def _current(state: Path) -> tuple[str, str]:
    """Return the id of the signing key and the fault of its file; one of them is empty."""
    try:
        return current_keyid(state), ""
    except DeniableError as error:
        return "", str(error)
