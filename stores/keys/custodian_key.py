"""The key of the custodian of the data, who opens accounts, sets caps and recovers a ledger by signing the entry.

The first account of an installation makes it, next to the signing key and readable by its owner alone, so that a single
person needs no other command. An agency keeps it elsewhere, in a file that DENIABLE_CUSTODIAN_KEY names for the
custodian alone: those who make releases can then neither open an account nor change a cap. It signs no release.
"""

import getpass
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from deniable.foundation.errors import InvalidInput, Refused
from deniable.foundation.keys import new_secret
from deniable.ledger.signatures import key_name
from stores.keys.secret_file import make_once
from stores.keys.trust_file import keys_folder, make_keys_folder, named_place
from stores.own_files import own_descriptor

CUSTODIAN_KEY_VARIABLE = "DENIABLE_CUSTODIAN_KEY"

CUSTODIAN_MADE = (
    "The ledger's first account was opened with a new custodian's key: {place}; keep a copy, and keep it from others: "
    "it opens further accounts and sets their budgets."
)
"""Message, to be formatted with the place of the key."""

_OTHERS = 0o077
_BYTES = 32


@dataclass(frozen=True, kw_only=True)
class CustodianKey:
    """The custodian's key. No repr shows its private half.

    Attributes:
        private: its private half.
        owner: the account that uses it.
    """

    private: Ed25519PrivateKey = field(repr=False, compare=False)
    owner: str

    @property
    def public(self) -> str:
        """Its public half, in hexadecimal."""
        return self.private.public_key().public_bytes_raw().hex()


def custodian_key_place(state: Path) -> Path:
    """Location of the key: the path in DENIABLE_CUSTODIAN_KEY, or else a file in the state folder."""
    return named_place(CUSTODIAN_KEY_VARIABLE) or keys_folder(state) / "custodian.key"


def custodian_key(state: Path, public: str) -> CustodianKey:
    """The custodian's key; one is made for the current user if the ledger names none yet.

    Args:
        state: the state folder.
        public: the public key that the ledger names, in hexadecimal; empty if it names none.

    Raises:
        Refused: the key is missing, or is not the one that the ledger names.
        InvalidInput: the file cannot be read or made, or other accounts may read it.
    """
    place = custodian_key_place(state)
    if not public and not place.exists() and not named_place(CUSTODIAN_KEY_VARIABLE):
        make_keys_folder(place.parent)
        try:
            make_once(place, new_secret())
        except OSError as error:
            raise InvalidInput(
                f"the custodian's key must be in a folder that can be written to, got {place.parent}: {error.strerror}."
            ) from None
    held = _held(place, public)
    key = CustodianKey(private=Ed25519PrivateKey.from_private_bytes(held), owner=getpass.getuser())
    if public and key.public != public:
        raise Refused(
            f"a budget must be set with the custodian's key {key_name(public)}, which the ledger names, got "
            f"{key_name(key.public)} in {place}; name the custodian's file in {CUSTODIAN_KEY_VARIABLE}."
        )
    return key


def _held(place: Path, public: str) -> bytes:
    """The bytes of the key."""
    try:
        with os.fdopen(own_descriptor(place, os.O_RDONLY, sets_mode=True), "rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            held = file.read(_BYTES + 1)
    except OSError as error:
        named = f"the custodian's key {key_name(public)}, which the ledger names" if public else "the custodian's key"
        raise Refused(
            f"a budget must be set with {named}, and {place} cannot be read: {error.strerror}; restore it, name the "
            f"custodian's file in {CUSTODIAN_KEY_VARIABLE}, or have the custodian set the budget."
        ) from None
    if mode & _OTHERS:
        raise InvalidInput(
            f"the custodian's key must be readable by its owner alone, got mode {mode:04o} of {place}; run chmod 600."
        )
    if len(held) != _BYTES:
        raise InvalidInput(f"the custodian's key must be {_BYTES} bytes, got {place}, which holds something else.")
    return held
