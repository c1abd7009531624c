"""The key that signs releases: creation, loading, replacement and revocation.

DENIABLE_SIGNING_KEY names the file of the private key if it is not in the state folder. One process at a time changes
keys. The definition of a trusted key does not belong here (deniable.record.trust), nor does the writing of files
(private_key_file, trust_file).
"""

import getpass
import os
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NoReturn

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from deniable.command_names import command_line
from deniable.foundation.errors import InvalidInput, Refused
from deniable.foundation.keys import new_secret
from deniable.record.attestation import Envelope, keyid_of, sign
from deniable.record.trust import Reason, Revocation, TrustedKey, TrustedKeys, moment
from schemas.provenance import RECORD
from stores.keys.private_key_file import keep_waiting_key, load_private_key, put_in_place, settle
from stores.keys.trust_file import (
    TRUSTED_KEYS_VARIABLE,
    keys_folder,
    make_keys_folder,
    named_place,
    read_trusted_keys,
    trusted_keys_place,
    with_keys_to_itself,
    write_trusted_keys,
)

SIGNING_KEY_VARIABLE = "DENIABLE_SIGNING_KEY"

YEARS = 2
"""Validity of a key in years. Source: NIST SP 800-57 part 1, 5.3.6: one to three years for a private signature key."""
_MOST_YEARS = 20
_FEWEST_DIGITS = 8
_EXPIRES_SOON = timedelta(days=30)


@dataclass(frozen=True, kw_only=True)
class SigningKey:
    """A signing key. No repr shows it, and it refuses to be pickled.

    Attributes:
        trusted: its public half, as in the trust file.
        private: its private half.
        to_tell: messages for the user, in sentences; usually empty.
    """

    trusted: TrustedKey
    private: Ed25519PrivateKey = field(repr=False, compare=False)
    to_tell: str = ""

    @property
    def keyid(self) -> str:
        """The id of the key."""
        return self.trusted.keyid

    def sign(self, payload: bytes) -> Envelope:
        """Sign a payload."""
        return sign(payload, self.private)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Refuse to be pickled or copied."""
        raise TypeError("a signing key must not be pickled, got such a request; load the key where it is needed.")


def signing_key_place(state: Path) -> Path:
    """Location of the private key: the path in DENIABLE_SIGNING_KEY, or else a file in the state folder."""
    return named_place(SIGNING_KEY_VARIABLE) or keys_folder(state) / "signing.pem"


def signing_time() -> str:
    """The time of this machine's clock, in the format of a signed record."""
    return _written(datetime.now(UTC))


def signing_key(state: Path) -> SigningKey:
    """The current signing key. If there never was one, one is created for the current user.

    Call this at the start of a release as well, so that a refusal comes before anything is spent.

    Args:
        state: the state folder.

    Raises:
        InvalidInput: the key cannot be read, or is not in the trust file.
        Refused: the key may not sign now, or is missing.
    """
    place, trust = signing_key_place(state), trusted_keys_place(state)
    if place.parent == trust.parent == keys_folder(state):
        make_keys_folder(trust.parent)
    with with_keys_to_itself(trust.parent):
        known = read_trusted_keys(trust)
        settle(place, _may_sign(known))
        if not place.exists():
            _refuse_unless_first(state, known)
            return _first(state)
        return _loaded(place, trust, known)


def current_keyid(state: Path) -> str:
    """The id of the signing key, whether or not it may sign.

    Raises:
        InvalidInput: the key cannot be read, or there is none.
    """
    return keyid_of(load_private_key(signing_key_place(state)).public_key())


def new_key(state: Path, *, owner: str, years: int = YEARS) -> SigningKey:
    """Create a key and trust it. An existing private key that is not trusted yet is trusted instead.

    Args:
        state: the state folder.
        owner: the person who will sign with it.
        years: its validity.

    Raises:
        InvalidInput: owner or years are not valid, or a file cannot be read or written.
        Refused: there is a key that is or was trusted.
    """
    place, trust = signing_key_place(state), trusted_keys_place(state)
    make_keys_folder(trust.parent)
    with with_keys_to_itself(trust.parent):
        known = read_trusted_keys(trust)
        settle(place, _may_sign(known))
        if not place.exists():
            return _made(place, trust, owner=owner, years=years)
        private = load_private_key(place)
        key = _valid_from_now(private, owner, years)
        known = known or TrustedKeys()
        if (before := known.get(key.keyid)) is not None:
            raise Refused(
                f"a signing key must be created where there is none, and {place} holds {before.name}; replace it with "
                f"{command_line('keys rotate')}."
            )
        write_trusted_keys(known.with_key(key), trust)
        return SigningKey(trusted=key, private=private, to_tell=f"The key in {place} is trusted from now on.")


@dataclass(frozen=True, kw_only=True)
class Rotated:
    """A replaced key.

    Attributes:
        before: the previous key; its private half no longer exists.
        after: the new key.
    """

    before: TrustedKey
    after: TrustedKey


def rotate_key(state: Path, *, years: int = YEARS) -> Rotated:
    """Replace the signing key by a new one of the same owner; signatures of the previous key remain valid.

    Args:
        state: the state folder.
        years: validity of the new key.

    Raises:
        InvalidInput: years is not valid, the key is missing or not trusted, or a file cannot be read or written.
    """
    place, trust = signing_key_place(state), trusted_keys_place(state)
    if not trust.parent.is_dir():
        raise InvalidInput(f"a signing key must be there to be replaced, and there is none in {place}; {_make_one()}.")
    with with_keys_to_itself(trust.parent):
        known = read_trusted_keys(trust)
        settle(place, _may_sign(known))
        before = _trusted(place, trust, known, load_private_key(place))
        private = _drawn()
        after = _valid_from_now(private, before.owner, years)
        changed = known or TrustedKeys()
        if before.revoked is None:
            changed = changed.with_revoked(before.keyid, Revocation(time=moment_after_now(), reason="superseded"))
        keep_waiting_key(private, place)
        write_trusted_keys(changed.with_key(after), trust)
        put_in_place(place, replacing=True)
        return Rotated(before=changed.get(before.keyid) or before, after=after)


def revoke_key(state: Path, keyid: str, reason: Reason) -> TrustedKey:
    """Revoke a key.

    Args:
        state: the state folder.
        keyid: its id, or at least the first eight digits of it.
        reason: `compromised`: none of its signatures are valid; `superseded`: its earlier signatures remain valid.

    Returns:
        The revoked key.

    Raises:
        InvalidInput: no key or several keys match; it was already revoked; or the file cannot be written.
    """
    trust = trusted_keys_place(state)
    known = read_trusted_keys(trust)
    if known is None:
        raise InvalidInput(f"a trust file must be there for a key to be revoked, and there is none at {trust}.")
    with with_keys_to_itself(trust.parent):
        known = read_trusted_keys(trust) or TrustedKeys()
        meant = [key for key in known if key.keyid.startswith(keyid)] if len(keyid) >= _FEWEST_DIGITS else []
        if len(meant) != 1:
            raise InvalidInput(
                f"a key must be named by its id, or by at least its first {_FEWEST_DIGITS} digits if they are unique, "
                f"got {keyid}; nothing was revoked. {command_line('keys show')} lists the keys."
            )
        revoked = known.with_revoked(meant[0].keyid, Revocation(time=moment_after_now(), reason=reason))
        write_trusted_keys(revoked, trust)
        return revoked.get(meant[0].keyid) or meant[0]


def _refuse_unless_first(state: Path, known: TrustedKeys | None) -> None:
    """Refuse to create a key where a different key is expected."""
    place, trust = signing_key_place(state), trusted_keys_place(state)
    if named_place(SIGNING_KEY_VARIABLE):
        raise InvalidInput(
            f"the signing key must be in {place}, which {SIGNING_KEY_VARIABLE} names, and there is none; "
            f"{_make_one()}, or name the right file."
        )
    if known is not None and len(known):
        raise Refused(
            f"the signing key must be in {place}, and is missing, while the trust file {trust} exists; restore it, "
            f"or {_make_one()} and revoke the lost one with {command_line('keys revoke')}."
        )
    if named_place(TRUSTED_KEYS_VARIABLE):
        raise InvalidInput(
            f"the trust file must be at {trust}, which {TRUSTED_KEYS_VARIABLE} names, and there is none; "
            f"{_make_one()}, or name the right file."
        )
    if any((state / "releases").glob(f"*/{RECORD}")):
        raise Refused(
            f"the signing key must be in {place}, and is missing together with the trust file, while there are signed "
            f"releases; restore both, or {_make_one()}."
        )


def _first(state: Path) -> SigningKey:
    """Create the first key of a state folder, for the current user."""
    place = signing_key_place(state)
    made = _made(place, trusted_keys_place(state), owner=_user(), years=YEARS)
    key = made.trusted
    told = (
        f"A key for signing releases was created for {key.owner}: {place}, valid until {key.valid_until}; "
        f"{command_line('keys export')} FILE writes the information that auditors need."
    )
    return replace(made, to_tell=told)


def _make_one() -> str:
    return f"create one with {command_line('keys new --owner NAME')}"


def _loaded(place: Path, trust: Path, known: TrustedKeys | None) -> SigningKey:
    """The existing key, if it may sign now."""
    private = load_private_key(place)
    key = _trusted(place, trust, known, private)
    # A key that is superseded within this second signs nothing more.
    if (objection := key.objection_at(moment_after_now())) is not None:
        early = moment(moment_after_now()) < moment(key.valid_from)
        remedy = "set this machine's clock" if early else f"replace it with {command_line('keys rotate')}"
        raise Refused(f"the signing key must be valid now, and {key.name} {objection}; {remedy}.")
    told = ""
    if moment(_written(datetime.now(UTC) + _EXPIRES_SOON)) >= moment(key.valid_until):
        told = (
            f"The signing key {key.name} is valid only until {key.valid_until}; replace it with "
            f"{command_line('keys rotate')}."
        )
    return SigningKey(trusted=key, private=private, to_tell=told)


def _trusted(place: Path, trust: Path, known: TrustedKeys | None, private: Ed25519PrivateKey) -> TrustedKey:
    """The entry of a private key in the trust file."""
    keyid = keyid_of(private.public_key())
    key = None if known is None else known.get(keyid)
    if key is None:
        raise InvalidInput(
            f"the signing key must be one of the trusted keys in {trust}, and {keyid} in {place} is not; trust "
            f"it with {command_line('keys new')} --owner NAME, or name the right files."
        )
    return key


def _made(place: Path, trust: Path, *, owner: str, years: int) -> SigningKey:
    """Create a key, trust it, and put it in place: in this order, an interruption does no harm."""
    private = _drawn()
    key = _valid_from_now(private, owner, years)
    known = (read_trusted_keys(trust) or TrustedKeys()).with_key(key)
    keep_waiting_key(private, place)
    write_trusted_keys(known, trust)
    put_in_place(place, replacing=False)
    return SigningKey(trusted=key, private=private, to_tell=f"A key was created for {key.owner}: {place}.")


def _drawn() -> Ed25519PrivateKey:
    """A new private key. Source: RFC 8032, 5.1.5: it is 32 random bytes."""
    return Ed25519PrivateKey.from_private_bytes(new_secret())


def _valid_from_now(private: Ed25519PrivateKey, owner: str, years: int) -> TrustedKey:
    until = last_moment(years)
    return TrustedKey.of(private.public_key(), owner=owner, valid_from=signing_time(), valid_until=until)


def last_moment(years: int) -> str:
    """The end of a validity of so many years that begins now.

    Raises:
        InvalidInput: there are too few or too many.
    """
    if not 1 <= years <= _MOST_YEARS:
        raise InvalidInput(f"a key must be valid for 1 to {_MOST_YEARS} years, got {years}; give such a number.")
    now = datetime.now(UTC)
    # The last day of February that every year has.
    day = now.replace(day=min(now.day, 28)) if now.month == 2 else now
    return _written(day.replace(year=day.year + years))


def _may_sign(known: TrustedKeys | None) -> set[str]:
    return {key.keyid for key in known or () if key.revoked is None}


def moment_after_now() -> str:
    """The next whole second: signatures made in this one remain valid."""
    now = datetime.now(UTC)
    return _written(now if now.microsecond == 0 else now + timedelta(seconds=1))


def _written(time: datetime) -> str:
    return f"{time:%Y-%m-%dT%H:%M:%SZ}"


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # A container may run under a user number without a name.
        return f"user {os.getuid()}"
