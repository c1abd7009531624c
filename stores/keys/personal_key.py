"""The file of one person's private key: 32 bytes, written once, readable by its owner alone.

The custodian of the data and those who approve releases have such keys; the key that signs releases has a file of its
own form (private_key_file). A new key waits next to the old one until the ledger names it, and then takes its place.
"""

import os
import stat
from contextlib import suppress
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from deniable.foundation.errors import InvalidInput, Refused
from deniable.foundation.keys import new_secret
from stores.keys.secret_file import make_once
from stores.keys.trust_file import make_keys_folder
from stores.own_files import own_descriptor
from stores.vault.disk import flush_to_disk

_OTHERS = 0o077
_BYTES = 32


def make_personal_key(place: Path, whose: str, *, unless_there: bool = False) -> Ed25519PrivateKey:
    """Make a private key; an existing one is never overwritten. Source: RFC 8032, 5.1.5: it is 32 random bytes.

    Args:
        place: its file.
        whose: the key, as the subject of a sentence.
        unless_there: whether to return an existing key, such as one that another process has just made.

    Raises:
        Refused: there is a file.
        InvalidInput: the folder cannot be made, or is not writable.
    """
    if place.exists() and not unless_there:
        raise Refused(f"{whose} must never be overwritten, and there is a file at {place}; it was kept.")
    make_keys_folder(place.parent)
    try:
        make_once(place, new_secret())
    except OSError as error:
        raise InvalidInput(
            f"{whose} must be in a folder that can be written to, got {place.parent}: {error.strerror}."
        ) from None
    return load_personal_key(place, whose)


def load_personal_key(place: Path, whose: str) -> Ed25519PrivateKey:
    """Read a private key.

    Args:
        place: its file.
        whose: the key, as the subject of a sentence.

    Raises:
        OSError: it cannot be opened.
        InvalidInput: other accounts may read it, or it is not such a key.
    """
    with os.fdopen(own_descriptor(place, os.O_RDONLY, sets_mode=True), "rb") as file:
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        held = file.read(_BYTES + 1)
    if mode & _OTHERS:
        raise InvalidInput(
            f"{whose} must be readable by its owner alone, got mode {mode:04o} of {place}; run chmod 600."
        )
    if len(held) != _BYTES:
        raise InvalidInput(f"{whose} must be {_BYTES} bytes, got {place}, which holds something else.")
    return Ed25519PrivateKey.from_private_bytes(held)


def public_of(private: Ed25519PrivateKey) -> str:
    """The public half of a key, in hexadecimal."""
    return private.public_key().public_bytes_raw().hex()


def waiting_place(place: Path) -> Path:
    """Where a key waits that is to replace the one in a place."""
    return place.with_name(f".{place.name}.waiting")


def settle_waiting(place: Path, public: str, whose: str) -> None:
    """Put a waiting key in its place if it is the one that is expected, as after a process that was killed.

    Args:
        place: the place of the key.
        public: the public half of the key that is expected, in hexadecimal.
        whose: the key, as the subject of a sentence.

    Raises:
        InvalidInput: it cannot be moved.
    """
    waiting = waiting_place(place)
    try:
        with suppress(FileNotFoundError):
            if public_of(load_personal_key(waiting, whose)) == public:
                waiting.replace(place)
                flush_to_disk(place.parent)
    except OSError as error:
        raise InvalidInput(
            f"{whose} must be in a folder that can be written to, got {place.parent}: {error.strerror}."
        ) from None


def new_waiting_key(place: Path, whose: str) -> Ed25519PrivateKey:
    """Make a key that waits to replace the one in a place; one that waits already was never used, and is removed.

    Raises:
        InvalidInput: the folder is not writable.
    """
    waiting = waiting_place(place)
    try:
        waiting.unlink(missing_ok=True)
    except OSError as error:
        raise InvalidInput(
            f"{whose} must be in a folder that can be written to, got {place.parent}: {error.strerror}."
        ) from None
    return make_personal_key(waiting, whose)
