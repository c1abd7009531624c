"""The key of a person who approves releases: made by that person, kept in their own account, admitted by the custodian.

DENIABLE_APPROVER_KEY names its file if it is not in the person's own folder of configuration. It is never in the state
folder: those who make releases may write there. Which keys may approve is in the ledger (stores.ledger.approvers).
"""

import os
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from deniable.command_names import command_line
from deniable.foundation.errors import InvalidInput
from deniable.record.attestation import keyid_of
from stores.keys.personal_key import (
    load_personal_key,
    make_personal_key,
    new_waiting_key,
    public_of,
    settle_waiting,
)
from stores.keys.trust_file import named_place

APPROVER_KEY_VARIABLE = "DENIABLE_APPROVER_KEY"
_CONFIGURATION_VARIABLE = "XDG_CONFIG_HOME"

_WHOSE = "an approver's key"


@dataclass(frozen=True, kw_only=True)
class ApproverKey:
    """An approver's key. No repr shows its private half.

    Attributes:
        private: its private half.
    """

    private: Ed25519PrivateKey = field(repr=False, compare=False)

    @property
    def public(self) -> str:
        """Its public half, in hexadecimal, which the custodian admits."""
        return public_of(self.private)

    @property
    def keyid(self) -> str:
        """The id of the key."""
        return keyid_of(self.private.public_key())


def approver_key_place() -> Path:
    """Location of the key: the path in DENIABLE_APPROVER_KEY, or else a file in the user's folder of configuration."""
    named = named_place(APPROVER_KEY_VARIABLE)
    return named or Path(os.environ.get(_CONFIGURATION_VARIABLE) or "~/.config").expanduser() / "deniable/approver.key"


def load_approver_key(place: Path) -> ApproverKey:
    """Read an approver's key.

    Raises:
        InvalidInput: it cannot be read, others may read it, or it is no key.
    """
    try:
        return ApproverKey(private=load_personal_key(place, _WHOSE))
    except FileNotFoundError:
        raise InvalidInput(
            f"{_WHOSE} must be in {place}, and there is none; make one with {command_line('keys approver new')}, and "
            f"have the custodian admit it, or name its file in {APPROVER_KEY_VARIABLE}."
        ) from None
    except OSError as error:
        raise InvalidInput(f"{_WHOSE} must be readable, got {place}: {error.strerror}.") from None


def make_approver_key(place: Path, *, replacing: bool = False) -> ApproverKey:
    """Make an approver's key.

    Args:
        place: its file.
        replacing: whether an existing key is replaced; its private half is then gone.

    Raises:
        Refused: there is one, and it is not to be replaced.
        InvalidInput: it cannot be written.
    """
    if not replacing:
        return ApproverKey(private=make_personal_key(place, _WHOSE))
    key = ApproverKey(private=new_waiting_key(place, _WHOSE))
    settle_waiting(place, key.public, _WHOSE)
    return key
