"""The approvers and the custodian in a ledger: keys are admitted, replaced and revoked by signed entries.

What a key signed stays valid for the time at which it signed, unless it was compromised. Every entry here is signed by
the custodian's key, or by its spare key, and a state folder keeps a note of it, so that an old copy of the ledger
brings no revoked key back (stores.ledger.evidence). The trust file of the state folder follows the ledger.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from deniable.command_names import command_line
from deniable.foundation.errors import InvalidInput, Refused
from deniable.ledger.entries import Approver, Custodian, Entry
from deniable.ledger.signatures import key_name
from deniable.record.approval import approver_keys, trusted_approver
from deniable.record.trust import Reason, TrustedKey, TrustedKeys
from stores.keys.custodian_key import (
    CustodianKey,
    custodian_key,
    load_spare_key,
    make_next_key,
    make_spare_key,
    take_next_key,
)
from stores.keys.signing_keys import last_moment, moment_after_now, signing_time
from stores.keys.trust_file import (
    make_keys_folder,
    read_trusted_keys,
    trusted_keys_place,
    with_keys_to_itself,
    write_trusted_keys,
)
from stores.ledger.ledger import Ledger

_FEWEST_DIGITS = 8


@dataclass(frozen=True)
class Approvers:
    """Who may approve releases by a ledger.

    Attributes:
        required: whether each approval must be signed by one of the keys.
        keys: the keys that may or might approve.
    """

    required: bool
    keys: tuple[TrustedKey, ...] = ()

    @property
    def trusted(self) -> TrustedKeys:
        """The keys, for verifying approvals."""
        return TrustedKeys(approvers=self.keys)


def approvers_of(ledger: Ledger) -> Approvers:
    """Who may approve releases by a ledger; the strongest witnesses are heard."""
    books = ledger.proven_books()
    return Approvers(books.signs_approvals, approver_keys(books.approvers.values()))


def admit_approver(state: Path, ledger: Ledger, *, name: str, public: str, years: int, by: str) -> TrustedKey:
    """Admit a key that may approve releases; an earlier one of the same person is superseded.

    Args:
        state: the state folder.
        ledger: its ledger.
        name: the person, as approvals name them.
        public: the public key, in hexadecimal.
        years: its validity.
        by: who enters it.

    Returns:
        The key.

    Raises:
        Refused: the key was admitted before, is the custodian's, or signs releases.
        InvalidInput: the name, the key or the years are not valid.
    """
    name, now = " ".join(name.split()), signing_time()
    fact = Approver(public=public, owner=name, valid_from=now, valid_until=last_moment(years), set_by=by)
    # Before anything is entered: the name can be shown, and the key signs no releases.
    key, known = trusted_approver(fact), ledger.proven_books()
    if public in (known.custodian, known.spare):
        raise Refused("an approver's key must be another one than the custodian's, got the same; make one of its own.")
    if public in known.approvers:
        raise Refused(
            f"an approver's key must be admitted once, and {key.keyid} was admitted for "
            f"{known.approvers[public].owner}; make another with {command_line('keys approver rotate')}."
        )
    signing = read_trusted_keys(trusted_keys_place(state)) or TrustedKeys()
    signing.with_approvers((key,))
    for before in approver_keys(known.approvers.values()):
        if before.owner == name and before.revoked is None:
            _revoke(ledger, before, "superseded", by)
    ledger.enter_signed(fact)
    follow_ledger(state, ledger)
    return key


def revoke_approver(state: Path, ledger: Ledger, who: str, reason: Reason, *, by: str) -> TrustedKey:
    """Revoke an approver's key.

    Args:
        state: the state folder.
        ledger: its ledger.
        who: the person, or at least the first eight digits of the key's id.
        reason: `compromised`: no approval that it signed is valid; `superseded`: its earlier ones remain valid.
        by: who enters it.

    Returns:
        The revoked key.

    Raises:
        InvalidInput: no key or several keys match.
    """
    keys = approvers_of(ledger).keys
    named = [key for key in keys if key.owner == who and key.revoked is None]
    meant = named or [key for key in keys if len(who) >= _FEWEST_DIGITS and key.keyid.startswith(who)]
    if len(meant) != 1:
        raise InvalidInput(
            f"an approver's key must be named by its owner, or by at least the first {_FEWEST_DIGITS} digits of its id "
            f"if they are unique, got {who}; nothing was revoked. {command_line('keys approver show')} lists the keys."
        )
    if meant[0].revoked is not None and (meant[0].revoked.reason, reason) != ("superseded", "compromised"):
        raise InvalidInput(
            f"a key must not be revoked already, but {meant[0].name} was revoked as {meant[0].revoked.reason} on "
            f"{meant[0].revoked.time}; leave it so."
        )
    revoked = _revoke(ledger, meant[0], reason, by)
    follow_ledger(state, ledger)
    return trusted_approver(revoked)


def _revoke(ledger: Ledger, key: TrustedKey, reason: Reason, by: str) -> Approver:
    fact = replace(
        ledger.proven_books().approvers[key.public],
        revoked_at=moment_after_now(),
        revoked_as=reason,
        set_by=by,
        signature="",
    )
    ledger.enter_signed(fact)
    return fact


def follow_ledger(state: Path, ledger: Ledger) -> None:
    """Make the state folder's trust file name the approvers' keys as the ledger does.

    Raises:
        InvalidInput: it cannot be read or written.
    """
    keys, place = approvers_of(ledger).keys, trusted_keys_place(state)
    if (read_trusted_keys(place) or TrustedKeys()).approvers == keys:
        return
    make_keys_folder(place.parent)
    with with_keys_to_itself(place.parent):
        write_trusted_keys((read_trusted_keys(place) or TrustedKeys()).with_approvers(keys), place)


def add_spare_key(state: Path, ledger: Ledger, place: Path) -> CustodianKey:
    """Make a spare key, which can replace the custodian's key if that is lost or compromised.

    Args:
        state: the state folder.
        ledger: its ledger.
        place: the file of the spare key, to be kept elsewhere.

    Returns:
        The spare key.

    Raises:
        Refused: there is one already, or the custodian's key is missing.
    """
    ledger.name_custodian()
    books = ledger.proven_books()
    if books.spare:
        raise Refused(
            f"a ledger must have one spare key, and this one names {key_name(books.spare)}; replace it together with "
            f"the custodian's key, with {command_line('keys custodian rotate')} --spare FILE --new-spare FILE."
        )
    current = custodian_key(state, books.custodian)
    spare = make_spare_key(place)
    ledger.enter_signed(Custodian(public=current.public, owner=current.owner, spare=spare.public))
    return spare


def rotate_custodian(
    state: Path, ledger: Ledger, *, reason: str, spare: Path | None = None, new_spare: Path | None = None
) -> CustodianKey:
    """Replace the custodian's key; what the one before signed stays as it is entered.

    Args:
        state: the state folder.
        ledger: its ledger.
        reason: superseded, lost or compromised.
        spare: file of the spare key, which signs if the key itself is lost or compromised.
        new_spare: file in which another spare key is made; only with the present one.

    Returns:
        The new key.

    Raises:
        Refused: neither key that may sign is there.
        InvalidInput: a file cannot be read or written.
    """
    if reason != "superseded" and spare is None:
        raise InvalidInput(
            f"a custodian's key that is {reason} must be replaced with the spare key, got none; give its file with "
            "--spare, or follow docs/release-engineer/keys.md if there is none."
        )
    if new_spare is not None and spare is None:
        raise InvalidInput("a spare key must be replaced with itself, got no --spare; give its file, or leave it be.")
    ledger.name_custodian()
    books = ledger.proven_books()
    signer = custodian_key(state, books.custodian) if spare is None else load_spare_key(spare, books.spare)
    after = make_next_key(state)
    kept = books.spare if new_spare is None else make_spare_key(new_spare).public
    ledger.enter_signed(
        Custodian(public=after.public, owner=after.owner, spare=kept, reason=reason), signer=signer.private
    )
    take_next_key(state, after.public)
    return after


def custodian_entries(ledger: Ledger) -> list[Entry]:
    """The entries that name custodians' keys, in order: the first entry, and each that replaced a key."""
    return [entry for entry in ledger.entries() if entry.number == 0 or entry.kind == Custodian.kind]
