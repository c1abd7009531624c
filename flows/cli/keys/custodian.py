"""The commands `keys custodian`: make, show and replace the key that sets budgets and admits approvers."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from deniable.command_names import command_line
from deniable.console import show
from deniable.ledger.entries import Approver, Custodian, Entry, Opening, Policy
from deniable.ledger.signatures import key_name
from flows.cli.contract import StateCommand
from stores.keys.custodian_key import CUSTODIAN_KEY_VARIABLE, custodian_key_place, make_custodian_key

DONE = 0
_REASONS = ("superseded", "lost", "compromised")
_DAY = len("2026-11-20")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="custodian_command", required=True, metavar="COMMAND")
    commands.add_parser(
        "new",
        help=f"make the key before the first release, in the file that {CUSTODIAN_KEY_VARIABLE} names",
    )
    commands.add_parser("show", help="show the custodian's keys, and what each one signed")
    spare = commands.add_parser("spare", help="make a spare key, which can replace a lost one")
    spare.add_argument("file", type=Path, metavar="FILE", help="its file, to be kept apart from the key itself")
    rotate = commands.add_parser("rotate", help="replace the key; what it signed stays entered")
    rotate.add_argument("--reason", choices=_REASONS, default=_REASONS[0], help=f"(default: {_REASONS[0]})")
    rotate.add_argument("--spare", type=Path, metavar="FILE", help="sign with the spare key in this file")
    rotate.add_argument("--new-spare", type=Path, metavar="FILE", help="also replace the spare key, into this file")


def _run(asked: argparse.Namespace, state: Path) -> int:
    """Carry out one command of `keys custodian`.

    Args:
        asked: the parsed arguments.
        state: the state folder.

    Returns:
        0.

    Raises:
        DeniableError: a file or the ledger cannot be read or written, or the arguments make no sense.
    """
    if asked.custodian_command == "new":
        key = make_custodian_key(state)
        show([f"The custodian's key {key_name(key.public)} is in {custodian_key_place(state)}; keep a copy of it."])
        return DONE
    from stores.ledger.approvers import add_spare_key, rotate_custodian  # noqa: PLC0415 - opens a ledger
    from stores.ledger.state_ledger import state_ledger  # noqa: PLC0415

    ledger = state_ledger(state)
    if asked.custodian_command == "spare":
        spare = add_spare_key(state, ledger, asked.file)
        show(
            [
                f"The spare key {key_name(spare.public)} is in {asked.file}; keep it apart from the custodian's key.",
                f"It replaces a lost one: {command_line('keys custodian rotate')} --reason lost --spare FILE",
            ]
        )
    elif asked.custodian_command == "rotate":
        before = ledger.proven_books().custodian
        after = rotate_custodian(state, ledger, reason=asked.reason, spare=asked.spare, new_spare=asked.new_spare)
        show(
            [
                f"{key_name(after.public)} is the custodian's key from now on, in {custodian_key_place(state)}.",
                *(_to_review(ledger.entries(), before) if asked.reason == "compromised" else []),
            ]
        )
    else:
        show(_history(ledger.entries()))
    return DONE


def _history(entries: Sequence[Entry]) -> list[str]:
    """Return a line for each key of the custodian, and for what it signed."""
    lines: list[str] = []
    public = spare = ""
    for entry in entries:
        fact = entry.fact()
        if isinstance(fact, Opening) and fact.custodian:
            public = fact.custodian
            lines.append(f"entry {entry.number}, {entry.time[:_DAY]}: {key_name(public)}, the first")
        elif isinstance(fact, Custodian):
            if fact.public != public:
                lines.append(f"entry {entry.number}, {entry.time[:_DAY]}: {key_name(fact.public)}{_why(fact, public)}")
            if fact.spare != spare:
                lines.append(f"entry {entry.number}, {entry.time[:_DAY]}: {key_name(fact.spare)}, the spare key")
            public, spare = fact.public, fact.spare
        elif isinstance(fact, Policy | Approver) and public:
            lines.append(f"  {_signed(entry)}")
    return lines or ["The ledger names no custodian yet; its first account does."]


def _why(fact: Custodian, before: str) -> str:
    return f" of {fact.owner}, after {key_name(before)} was {fact.reason}" if before else f" of {fact.owner}"


def _signed(entry: Entry) -> str:
    """What an entry states that the custodian signed."""
    fact, where = entry.fact(), f"entry {entry.number}, {entry.time[:_DAY]}"
    if isinstance(fact, Approver):
        what = f"revoked as {fact.revoked_as}" if fact.revoked_as else "admitted"
        return f"{where}: the approver's key {key_name(fact.public)} of {fact.owner}, {what}"
    return f"{where}: a budget of {entry.content['dataset']}, set by {entry.content['set_by']}"


def _to_review(entries: Sequence[Entry], before: str) -> list[str]:
    """Return what a compromised key signed, for the custodian to confirm or undo."""
    signed: list[str] = []
    public = ""
    for entry in entries:
        fact = entry.fact()
        if isinstance(fact, Opening):
            public = fact.custodian
        elif isinstance(fact, Custodian):
            public = fact.public
        elif isinstance(fact, Policy | Approver) and public == before:
            signed.append(f"  {_signed(entry)}")
    return [
        "Review what the key before signed; set budgets again, and revoke approvers, that you did not enter:",
        *signed,
    ]


COMMAND = StateCommand(arguments=_add_arguments, run=_run)
