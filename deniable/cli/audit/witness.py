"""Cosigns the checkpoints of a ledger, each only if it continues the one before."""

import argparse
import os
import re
from typing import TYPE_CHECKING

from deniable.cli.contract import Command
from deniable.cli.files import (
    KEYS_HELP,
    Unreadable,
    content,
    one_at_a_time,
    replace_file,
    say,
    seconds_now,
    trusted,
    write_new_secret,
)
from deniable.foundation.errors import DeniableError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from deniable.record.trust import TrustedKeys

_KEY, _LINE = "witness.key", "witness.pub"
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9._-]")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("request", metavar="REQUEST", help="the file that `budget checkpoint` wrote")
    parser.add_argument("folder", metavar="FOLDER", help="a folder of your own, for your key and the last checkpoints")
    parser.add_argument("--name", help="your name in signatures, at the first use of the folder: your key is made")
    parser.add_argument("--keys", metavar="FILE", help=KEYS_HELP)


def _run(asked: argparse.Namespace) -> int:
    trust = trusted(asked)
    if trust.keys is None:
        raise Unreadable(f"a witness must know the keys of the agency: {trust.found}.")
    # Of two requests at once, each could continue the last checkpoint, and not the other.
    with one_at_a_time(asked.folder):
        return _cosign(asked, trust.keys)


def _cosign(asked: argparse.Namespace, keys: "TrustedKeys") -> int:
    from deniable.ledger.checkpoint import read_checkpoint, read_request  # noqa: PLC0415 - slow to import
    from deniable.ledger.witness import NotContinued, require_continued  # noqa: PLC0415

    try:
        request = read_request(_text(asked.request, "the request"))
        place = _in(asked.folder, f"{_NOT_PLAIN.sub('-', request.checkpoint.origin)}.checkpoint")
        seen = read_checkpoint(_text(place, "the last checkpoint")) if os.path.exists(place) else None  # noqa: PTH110
        new = require_continued(request, seen, keys.public_keys())
        name, key = _own_key(asked.folder, asked.name)
    except NotContinued as error:
        return say([str(error)], holds=False)
    except DeniableError as error:
        raise Unreadable(str(error)) from None
    replace_file(place, new.cosigned(name, key, seconds_now()).text)
    since = "the first checkpoint here" if seen is None else f"{new.size - seen.size:,} more than at the last one"
    lines = [f"Cosigned: {new.origin} has {new.size:,} entries, {since}.", f"The agency needs the file {place}"]
    if seen is None:
        lines.append(f"and, once, your key: {_text(_in(asked.folder, _LINE), 'your public key').strip()}")
    return say(lines, holds=True)


def _own_key(folder: str, name: str | None) -> "tuple[str, Ed25519PrivateKey]":
    """The name and the key of the witness, which are made at the first use."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415

    from deniable.foundation.keys import new_secret  # noqa: PLC0415
    from deniable.ledger.checkpoint import verifier_key  # noqa: PLC0415

    place, public = _in(folder, _KEY), _in(folder, _LINE)
    if not os.path.exists(place):  # noqa: PTH110
        if name is None:
            raise Unreadable(
                f"a witness must have a key, and {folder} has none; to make one, add --name and your name."
            )
        secret = new_secret()
        line = verifier_key(name, Ed25519PrivateKey.from_private_bytes(secret).public_key())
        write_new_secret(place, secret.hex() + "\n")
        replace_file(public, line + "\n")
    try:
        key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(_text(place, "your key").strip()))
    except ValueError:
        raise Unreadable(f"your key must be 32 bytes in hexadecimal, got another content of {place}.") from None
    known = _text(public, "your public key").strip()
    own = known.partition("+")[0]
    if verifier_key(own, key.public_key()) != known or name not in {None, own}:
        raise Unreadable(f"{public} must state your name and your key in {place}, and does not; use another folder.")
    return own, key


def _in(folder: str, name: str) -> str:
    return os.path.join(folder, name)  # noqa: PTH118


def _text(path: str, what: str) -> str:
    try:
        return content(path, what).decode()
    except UnicodeDecodeError:
        raise Unreadable(f"{what} must be a text, got {path}, which is none; name another.") from None


COMMAND = Command(
    arguments=_add_arguments,
    run=_run,
    description="Cosign the checkpoint of an agency's privacy ledger, if it continues the last one that you have "
    "cosigned. Run it on a machine, or at least in a folder, that the agency cannot change. A ledger that was put "
    "back to an earlier day, or of which there are two, is not cosigned. Exits with 0 if it was cosigned, 1 if it does "
    "not continue, and 2 if something cannot be read.",
)
