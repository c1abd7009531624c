"""The public keys that an auditor trusts, and the periods in which their signatures are accepted.

A trust file reaches auditors by a channel other than that of the releases. The time of a signature is only stated by
the signer: under an expired or superseded key, any signature that claims an earlier time is still accepted. If someone
else may have had the private key, the key must be revoked as compromised, and none of its signatures are accepted.
Signatures (attestation), private keys and files (stores.keys.signing_keys) do not belong here.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, cast, get_args

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from deniable.foundation.errors import InvalidInput
from deniable.foundation.strict_json import members, parsed
from deniable.record.attestation import is_digest, keyid_of

Reason = Literal["compromised", "superseded"]
"""Reasons for revocation: someone else may have had the private key, or a new key replaced it."""

_TIME = re.compile(
    r"([0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])T(?:[01][0-9]|2[0-3])(?::[0-5][0-9]){2})(?:\.([0-9]{1,6}))?Z"
)
_LONGEST_OWNER = 200
_SHOWN_DIGITS = 16
_PUBLIC_BYTES = 32


def moment(time: str) -> str:
    """Write a time to the microsecond, so that texts sort in the order of times.

    Raises:
        InvalidInput: it is not written like `2026-11-20T07:45:00Z`.
    """
    found = _TIME.fullmatch(time) if isinstance(time, str) else None
    if found is None:
        raise InvalidInput("a time must be written like 2026-11-20T07:45:00Z, got something else.")
    return f"{found[1]}.{found[2] or '':0<6}Z"


@dataclass(frozen=True, kw_only=True)
class Revocation:
    """The revocation of a key.

    Attributes:
        time: when it takes effect.
        reason: the reason.
    """

    time: str
    reason: Reason

    def __post_init__(self) -> None:
        """Refuse a revocation with an unknown reason."""
        moment(self.time)
        if self.reason not in get_args(Reason):
            raise InvalidInput(f"a key must be revoked as {' or '.join(get_args(Reason))}, got another reason.")


@dataclass(frozen=True, kw_only=True)
class TrustedKey:
    """A public key whose signatures are accepted.

    Attributes:
        keyid: SHA-256 of the key, in hexadecimal.
        public: the key's 32 bytes, in hexadecimal.
        owner: the person or body that signs with it.
        valid_from: first moment at which it may sign.
        valid_until: first moment at which it may no longer sign.
        revoked: its revocation; None if it is not revoked.
    """

    keyid: str
    public: str
    owner: str
    valid_from: str
    valid_until: str
    revoked: Revocation | None = None

    def __post_init__(self) -> None:
        """Refuse a key that does not match its id, and invalid values."""
        if not is_digest(self.public):
            raise InvalidInput("a public key must be 64 lower-case hexadecimal digits, got something else.")
        if hashlib.sha256(bytes.fromhex(self.public)).hexdigest() != self.keyid:
            raise InvalidInput("a keyid must be the SHA-256 of its public key, got another; one of them was altered.")
        owner = self.owner
        if not isinstance(owner, str) or not owner.strip() or not owner.isprintable() or len(owner) > _LONGEST_OWNER:
            raise InvalidInput(
                f"the owner of a key must be a name on one line, of at most {_LONGEST_OWNER} characters, got something "
                "else."
            )
        if moment(self.valid_from) >= moment(self.valid_until):
            raise InvalidInput(
                f"a key must be valid for some time, got one from {self.valid_from} until {self.valid_until}."
            )

    @classmethod
    def of(cls, public_key: Ed25519PublicKey, *, owner: str, valid_from: str, valid_until: str) -> "TrustedKey":
        """A trusted key with a period of validity."""
        public = public_key.public_bytes_raw().hex()
        return cls(
            keyid=keyid_of(public_key), public=public, owner=owner, valid_from=valid_from, valid_until=valid_until
        )

    @classmethod
    def of_public(
        cls, public: str, *, owner: str, valid_from: str, valid_until: str, revoked: Revocation | None = None
    ) -> "TrustedKey":
        """A trusted key by its public half, in hexadecimal.

        Raises:
            InvalidInput: it is not a key, or the other values are not valid.
        """
        if not is_digest(public):
            raise InvalidInput("a public key must be 64 lower-case hexadecimal digits, got something else.")
        return cls(
            keyid=hashlib.sha256(bytes.fromhex(public)).hexdigest(),
            public=public,
            owner=owner,
            valid_from=valid_from,
            valid_until=valid_until,
            revoked=revoked,
        )

    @property
    def public_key(self) -> Ed25519PublicKey:
        """The key, for verifying signatures."""
        return Ed25519PublicKey.from_public_bytes(bytes.fromhex(self.public))

    @property
    def name(self) -> str:
        """The key in a sentence: the first digits of its id, and its owner."""
        return f"{self.keyid[:_SHOWN_DIGITS]} of {self.owner}"

    def objection_at(self, time: str) -> str | None:
        """Why the key may not sign at a time, as the end of a sentence; None if it may."""
        at = moment(time)
        if self.revoked is not None and self.revoked.reason == "compromised":
            return f"was revoked as compromised on {self.revoked.time}"
        if at < moment(self.valid_from):
            return f"is not valid before {self.valid_from}"
        if self.revoked is not None and at >= moment(self.revoked.time):
            return f"was superseded on {self.revoked.time}"
        if at >= moment(self.valid_until):
            return f"expired on {self.valid_until}"
        return None

    def fault_at(self, time: str) -> str | None:
        """Why the key's signature at a time is not accepted; None if it is."""
        objection = self.objection_at(time)
        if objection is None:
            return None
        if self.revoked is not None and self.revoked.reason == "compromised":
            return f"the key {self.name} {objection}: none of its signatures are accepted"
        return f"the key {self.name} {objection}, but this was signed on {time}"

    def to_record(self) -> dict[str, object]:
        """The key as plain values."""
        revoked = None if self.revoked is None else {"time": self.revoked.time, "reason": self.revoked.reason}
        return {
            "keyid": self.keyid,
            "public": self.public,
            "owner": self.owner,
            "valid_from": self.valid_from,
            "valid_until": self.valid_until,
            "revoked": revoked,
        }

    @classmethod
    def from_record(cls, record: object) -> "TrustedKey":
        """Read a key from plain values.

        Raises:
            InvalidInput: they do not describe a key.
        """
        names = ("keyid", "public", "owner", "valid_from", "valid_until", "revoked")
        values = members(record, names, "a trusted key")
        revoked = values["revoked"]
        revocation = None
        if revoked is not None:
            inner = members(revoked, ("time", "reason"), "a key's revocation")
            # The classes' own checks refuse values that are not text.
            revocation = Revocation(time=cast("str", inner["time"]), reason=cast("Reason", inner["reason"]))
        texts = {name: cast("str", values[name]) for name in names if name != "revoked"}
        return cls(**texts, revoked=revocation)


@dataclass(frozen=True)
class TrustedKeys:
    """The keys that are or were trusted, in the order in which they were entered.

    Attributes:
        keys: the keys that sign releases.
        approvers: the keys that approve them.
    """

    keys: tuple[TrustedKey, ...] = ()
    approvers: tuple[TrustedKey, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a key that is entered twice."""
        # A key that could do both would let one person release alone.
        if len({key.keyid for key in (*self.keys, *self.approvers)}) != len(self.keys) + len(self.approvers):
            raise InvalidInput("a key must be entered once, got one twice; remove one of the entries.")

    def __iter__(self) -> Iterator[TrustedKey]:
        """Iterate over the keys that sign releases."""
        return iter(self.keys)

    def __len__(self) -> int:
        """Count the keys that sign releases."""
        return len(self.keys)

    def __bool__(self) -> bool:
        """Whether there is any key."""
        return bool(self.keys or self.approvers)

    def get(self, keyid: str) -> TrustedKey | None:
        """A key that signs releases, by its id; None if there is none."""
        return next((key for key in self.keys if key.keyid == keyid), None)

    def approver(self, keyid: str) -> TrustedKey | None:
        """A key that approves releases, by its id; None if there is none."""
        return next((key for key in self.approvers if key.keyid == keyid), None)

    def public_keys(self) -> tuple[Ed25519PublicKey, ...]:
        """All keys, for verifying signatures; whether a signature is accepted is decided by `judge`."""
        return tuple(key.public_key for key in self.keys)

    def judge(self, keyid: str, signed_time: str) -> str | None:
        """Why a signature is not accepted, as a sentence without full stop; None if it is.

        Args:
            keyid: the key that signed.
            signed_time: the time of signature, from the signed record.
        """
        key = self.get(keyid)
        if key is None:
            others = f"{len(self)} other key{'' if len(self) == 1 else 's'}"
            return f"the key {keyid} is not trusted: the trust file has {others}, and its owner is unknown"
        try:
            return key.fault_at(signed_time)
        except InvalidInput:
            return f"the key {key.name} signed at an invalid time, so its validity cannot be judged"

    def note(self, keyid: str, signed_time: str, now: str | None = None) -> str:
        """The signer in words, with the later status of the key.

        Args:
            keyid: one of the keys.
            signed_time: the time of signature.
            now: the current time, if known.

        Raises:
            InvalidInput: the key is unknown, or a time is invalid.
        """
        key = self.get(keyid)
        if key is None:
            raise InvalidInput("a key must be in the trust file to be described, got one that is not.")
        since = ""
        if key.revoked is not None and key.revoked.reason == "superseded" and key.fault_at(signed_time) is None:
            since = f"; superseded on {key.revoked.time}, after this was signed"
        elif now is not None and moment(now) >= moment(key.valid_until) and key.fault_at(signed_time) is None:
            since = "; expired since, but signed while valid"
        return f"by the key {key.name}, valid from {key.valid_from} until {key.valid_until}{since}"

    def with_key(self, key: TrustedKey) -> "TrustedKeys":
        """Add a key.

        Raises:
            InvalidInput: it is already there.
        """
        return replace(self, keys=(*self.keys, key))

    def with_revoked(self, keyid: str, revocation: Revocation) -> "TrustedKeys":
        """Revoke a key. A compromised key remains compromised.

        Raises:
            InvalidInput: the key is unknown, or was already revoked for the same or a worse reason.
        """
        key = self.get(keyid)
        if key is None:
            raise InvalidInput(f"a key must be trusted to be revoked, got {keyid}, which is not.")
        if key.revoked is not None and (key.revoked.reason, revocation.reason) != ("superseded", "compromised"):
            raise InvalidInput(
                f"a key must not be revoked already, but {key.name} was revoked as {key.revoked.reason} on "
                f"{key.revoked.time}; leave it so."
            )
        changed = replace(key, revoked=revocation)
        return replace(self, keys=tuple(changed if each is key else each for each in self.keys))

    def with_approvers(self, approvers: tuple[TrustedKey, ...]) -> "TrustedKeys":
        """The same keys, with others that approve releases.

        Raises:
            InvalidInput: one of them also signs releases.
        """
        return replace(self, approvers=approvers)

    def to_text(self) -> str:
        """The keys as the text of a trust file."""
        content = {"keys": [key.to_record() for key in self.keys]}
        if self.approvers:
            content["approvers"] = [key.to_record() for key in self.approvers]
        return json.dumps(content, sort_keys=True, indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_text(cls, text: str) -> "TrustedKeys":
        """Read a trust file; its indentation does not matter.

        Raises:
            InvalidInput: it is not a trust file, or a key does not match its id.
        """
        said = parsed(text, "a trust file")
        # Trust files from before approvals were signed, and those of ledgers without approvers, name none.
        names = ("keys", "approvers") if isinstance(said, dict) and "approvers" in said else ("keys",)
        listed = members(said, names, "a trust file")
        return cls(*(_keys_in(listed[name]) for name in names))


def _keys_in(listed: object) -> tuple[TrustedKey, ...]:
    if not isinstance(listed, list):
        raise InvalidInput("a trust file's keys must be a list, got something else.")
    return tuple(TrustedKey.from_record(record) for record in listed)
