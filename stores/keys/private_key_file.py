"""The file of a private key: written once, readable by its owner alone, replaced completely or not at all.

A new key waits next to the old one under another name until it is trusted, and then takes its place by a rename. A
process that is killed in between leaves a waiting key: `settle` puts it in place if it is trusted, and removes it
otherwise. signing_keys decides which keys are trusted. No error reveals the content of the file, and no
variable of a function that raises an error contains it.
"""

import os
import stat
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from deniable.foundation.errors import InvalidInput, Refused
from deniable.record.attestation import keyid_of
from schemas.regular_files import opened_regular
from stores.vault.disk import flush_to_disk
from stores.vault.private_files import PRIVATE_FILE, PRIVATE_FOLDER

_OTHERS = 0o077
_LONGEST = 1 << 16


def load_private_key(place: Path) -> Ed25519PrivateKey:
    """Read a private key.

    Raises:
        InvalidInput: there is none, other accounts may read it, or it is not an Ed25519 key as PKCS8 PEM without a
            password.
    """
    try:
        with opened_regular(place, "the signing key") as file:
            status = os.fstat(file.fileno())
            if status.st_mode & _OTHERS:
                raise InvalidInput(
                    f"the signing key must be readable by its owner alone, got mode {stat.S_IMODE(status.st_mode):04o} "
                    f"of {place}; run chmod 600 on it, and revoke it as compromised if others may have read it."
                )
            key = _key_in(file.read(_LONGEST))
    except FileNotFoundError:
        raise InvalidInput(f"the signing key must be in {place}, and there is none.") from None
    except OSError as error:
        raise InvalidInput(f"the signing key must be readable, got {place}: {error.strerror}.") from None
    if key is None:
        raise InvalidInput(
            f"the signing key must be an Ed25519 key, as PKCS8 PEM without a password, got something else in {place}."
        )
    return key


def keep_waiting_key(key: Ed25519PrivateKey, place: Path) -> None:
    """Write a key next to its future place; no other process may be working on it.

    Raises:
        InvalidInput: the folder is not writable.
    """
    waiting = _waiting(place)
    try:
        place.parent.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        descriptor = os.open(waiting, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, PRIVATE_FILE)
        with open(descriptor, "wb") as file:  # noqa: PTH123 - of a descriptor
            file.write(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
            file.flush()
            os.fsync(file.fileno())
        flush_to_disk(place.parent)
    except OSError as error:
        raise _cannot_write(place, error) from None


def put_in_place(place: Path, *, replacing: bool) -> None:
    """Move the waiting key to its place.

    Args:
        place: the place.
        replacing: whether an existing key is replaced; otherwise it is never overwritten.

    Raises:
        Refused: there is already a key that is not to be replaced.
        InvalidInput: the folder is not writable.
    """
    waiting = _waiting(place)
    try:
        if replacing:
            waiting.replace(place)
        else:
            place.hardlink_to(waiting)
        # A rename leaves two names of the same file unchanged.
        waiting.unlink(missing_ok=True)
        flush_to_disk(place.parent)
    except FileExistsError:
        raise Refused(f"a signing key must never be overwritten, and there is one in {place}; it was kept.") from None
    except OSError as error:
        raise _cannot_write(place, error) from None


def settle(place: Path, trusted: Collection[str]) -> None:
    """Complete the work of a killed process; no other process may be working on it.

    Args:
        place: the place of the key.
        trusted: keyids of the keys that may sign.

    Raises:
        InvalidInput: the folder is not writable.
    """
    waiting = _waiting(place)
    if not waiting.is_file():
        return
    try:
        complete = keyid_of(load_private_key(waiting).public_key()) in trusted
    except InvalidInput:
        complete = False
    if complete:
        put_in_place(place, replacing=True)
        return
    try:
        waiting.unlink()
    except OSError as error:
        raise _cannot_write(place, error) from None


def _key_in(pem: bytes) -> Ed25519PrivateKey | None:
    """The key in a text; None if it is of another kind, or there is none."""
    with suppress(ValueError, TypeError, UnsupportedAlgorithm):
        key = load_pem_private_key(pem, password=None)
        return key if isinstance(key, Ed25519PrivateKey) else None
    return None


def _waiting(place: Path) -> Path:
    return place.with_name(f".{place.name}.waiting")


def _cannot_write(place: Path, error: OSError) -> InvalidInput:
    return InvalidInput(
        f"the signing key must be in a folder that can be written to, got {place.parent}: {error.strerror}."
    )
