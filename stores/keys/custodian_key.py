"""The key of the custodian of the data, who opens accounts, sets caps and recovers a ledger by signing the entry.

The first account of an installation makes it, next to the signing key and readable by its owner alone, so that a single
person needs no other command. An agency keeps it elsewhere, in a file that DENIABLE_CUSTODIAN_KEY names for the
custodian alone: those who make releases can then neither open an account nor change a cap. It signs no release.
"""

import getpass
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from deniable.foundation.errors import Refused
from deniable.ledger.signatures import key_name
from stores.keys.personal_key import (
    load_personal_key,
    make_personal_key,
    new_waiting_key,
    public_of,
    settle_waiting,
    waiting_place,
)
from stores.keys.trust_file import keys_folder, named_place

CUSTODIAN_KEY_VARIABLE = "DENIABLE_CUSTODIAN_KEY"

CUSTODIAN_MADE = (
    "The ledger's first account was opened with a new custodian's key: {place}; keep a copy, and keep it from others: "
    "it opens further accounts and sets their budgets."
)
"""Message, to be formatted with the place of the key."""

_WHOSE = "the custodian's key"


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
        return public_of(self.private)


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
        make_personal_key(place, _WHOSE, unless_there=True)
    if public and waiting_place(place).exists():
        # A process may have been killed between the entry of the new key and its file.
        settle_waiting(place, public, _WHOSE)
    key = _held(place, public)
    if public and key.public != public:
        raise Refused(
            f"budgets and approvers must be set with the custodian's key {key_name(public)}, which the ledger names, "
            f"got {key_name(key.public)} in {place}; name the custodian's file in {CUSTODIAN_KEY_VARIABLE}."
        )
    return key


def make_custodian_key(state: Path) -> CustodianKey:
    """Make the custodian's key before there is a ledger, in the file that DENIABLE_CUSTODIAN_KEY names or its own.

    Raises:
        Refused: there is one.
        InvalidInput: it cannot be made.
    """
    return _of(make_personal_key(custodian_key_place(state), _WHOSE))


def make_spare_key(place: Path) -> CustodianKey:
    """Make the custodian's spare key in a file, which must be kept apart from the custodian's key.

    Raises:
        Refused: there is a file.
        InvalidInput: it cannot be made.
    """
    return _of(make_personal_key(place, "the custodian's spare key"))


def load_spare_key(place: Path, public: str) -> CustodianKey:
    """The custodian's spare key from its file.

    Args:
        place: the file.
        public: the public key that the ledger names as the spare key, in hexadecimal.

    Raises:
        Refused: it cannot be read, or is another key.
        InvalidInput: others may read it, or it is no key.
    """
    try:
        key = _of(load_personal_key(place, "the custodian's spare key"))
    except OSError as error:
        raise Refused(f"the custodian's spare key must be readable, got {place}: {error.strerror}.") from None
    if key.public != public:
        named = f"{key_name(public)}, which the ledger names" if public else "named by the ledger, which names none"
        raise Refused(f"the custodian's spare key must be {named}, got {key_name(key.public)} in {place}.")
    return key


def make_next_key(state: Path) -> CustodianKey:
    """Make the custodian's next key, which waits beside its place until the ledger names it.

    Raises:
        InvalidInput: it cannot be made.
    """
    return _of(new_waiting_key(custodian_key_place(state), _WHOSE))


def take_next_key(state: Path, public: str) -> None:
    """Replace the custodian's key by the one that waits, now that the ledger names it.

    Args:
        state: the state folder.
        public: the public key that the ledger names, in hexadecimal.

    Raises:
        InvalidInput: it cannot be moved.
    """
    settle_waiting(custodian_key_place(state), public, _WHOSE)


def _of(private: Ed25519PrivateKey) -> CustodianKey:
    return CustodianKey(private=private, owner=getpass.getuser())


def _held(place: Path, public: str) -> CustodianKey:
    try:
        return _of(load_personal_key(place, _WHOSE))
    except OSError as error:
        named = f"the custodian's key {key_name(public)}, which the ledger names" if public else "the custodian's key"
        raise Refused(
            f"budgets and approvers must be set with {named}, and {place} cannot be read: {error.strerror}; restore "
            f"it, name the custodian's file in {CUSTODIAN_KEY_VARIABLE}, or have the custodian do this."
        ) from None
