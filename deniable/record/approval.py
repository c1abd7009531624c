"""Signed approvals: what the key of an approver signs, so that an approval holds for one release and nothing else.

A signature covers the release, its plan, its charges, its costs and the sentence that states them, all of which follow
from the public record, besides the keyed digest of what was reviewed. An approval that is moved to another release, or
whose release costs anything else, therefore does not verify. The keys that may approve are in the trust file (trust),
and entries of the ledger admit and revoke them (deniable.ledger.entries.Approver). The keeping of private keys does not
belong here (stores.keys.approver_key), nor the check of a whole record (deniable.verification.approval).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, cast

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from deniable.learners.registry import relation_of
from deniable.ledger.entries import Approver, Charge, Fact, canonical, digest_of
from deniable.privacy.rounding import rounded_up
from deniable.record.trust import Reason, Revocation, TrustedKey, TrustedKeys, moment

VERSION: Final = 1
"""The version of what is signed; the words of its sentence never change."""

_PURPOSE = "deniable/v1/approval"
_PARTS = {
    "version": "form of approvals",
    "plan": "plan",
    "cost": "cost",
    "charges": "list of charges",
    "sentence": "sentence",
}
_SAID = ("decision", "by", "identity", "time", "reason", "seen")


def subject_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """What an approval of a release is bound to, as it follows from the release's record.

    Args:
        record: the record's predicate, or as much of it as there is before publication: `release`, `spec`, `schema`,
            `cost` and `ledger`.

    Returns:
        Plain values: digests of the plan, of the costs and of the charges, and the sentence.
    """
    charged = sorted(
        entry["content"]["identity"]
        for entry in record["ledger"]["entries"]
        if entry["kind"] == Charge.kind and "content" in entry
    )
    return {
        "version": VERSION,
        "plan": digest_of([record["spec"]["digest"], record["schema"]["domain"]]),
        "cost": digest_of(record["cost"]),
        "charges": digest_of(charged),
        "sentence": sentence_of(record),
    }


def sentence_of(record: Mapping[str, Any]) -> str:
    """The sentence that an approver signs: what is published, at what cost, and what the guarantee is for.

    Args:
        record: as for `subject_of`.
    """
    release, total = record["release"], record["cost"]["total"]
    relation = relation_of(record["spec"]["document"]["learner"], record["schema"].get("person"))
    named = f"The release {release['id']} of the dataset {release['dataset']}"
    if total is None or total["epsilon"] is None or not relation.is_guarantee:
        return f"{named} is published without differential privacy."
    return (
        f"{named} is published at a cost of epsilon {rounded_up(total['epsilon'])} and delta "
        f"{rounded_up(total['delta'])} for {relation.unit}."
    )


def bytes_to_sign(release: Mapping[str, Any], approval: Mapping[str, Any], subject: Mapping[str, Any]) -> bytes:
    """What an approver's key signs.

    Args:
        release: the record's part of that name, for the release's id and dataset.
        approval: the decision, as in the record; fields other than those of every decision are left out.
        subject: what it is bound to (`subject_of`).
    """
    said = {name: approval[name] for name in _SAID}
    return canonical([_PURPOSE, release["id"], release["dataset"], said, dict(subject)]).encode()


def sign(
    release: Mapping[str, Any], approval: Mapping[str, Any], subject: Mapping[str, Any], private: Ed25519PrivateKey
) -> str:
    """The signature of an approver under an approval, in hexadecimal."""
    return private.sign(bytes_to_sign(release, approval, subject)).hex()


def faults_of_signed(
    release: Mapping[str, Any], subject: Mapping[str, Any], approval: Mapping[str, Any], keys: TrustedKeys
) -> Iterator[str]:
    """The faults of a signed approval, as sentences without full stop.

    Args:
        release: the record's part of that name, for the release's id and dataset.
        subject: what an approval of this release is bound to (`subject_of`).
        approval: the approval, with its signature.
        keys: the trusted keys, among them those of approvers.
    """
    signed, by = approval["signed"], approval["by"]
    key = keys.approver(signed["keyid"])
    if key is None:
        yield (
            f"the approval by {by} is signed with the key {signed['keyid']}, which is none of the "
            f"{len(keys.approvers)} approvers' keys that are trusted"
        )
        return
    if by != key.owner:
        yield f"the approval by {by} is signed with the key {key.name}"
    if (fault := key.fault_at(approval["time"])) is not None:
        yield fault
    bound = {name: signed[name] for name in subject}
    try:
        key.public_key.verify(bytes.fromhex(signed["signature"]), bytes_to_sign(release, approval, bound))
    except (InvalidSignature, ValueError):
        yield f"the approval by {by} is not what the key {key.name} signed for {release['id']}"
    for name, right in subject.items():
        if signed[name] != right:
            yield f"{by} approved another {_PARTS[name]} than that of {release['id']}"


def since_signed(keys: TrustedKeys) -> str | None:
    """The time from which trusted keys require approvals to be signed; None if there are no approvers' keys."""
    return min((key.valid_from for key in keys.approvers), key=moment, default=None)


def approver_keys(facts: Iterable[Fact]) -> tuple[TrustedKey, ...]:
    """The keys of approvers as the entries of a ledger leave them, in the order in which they were admitted.

    Args:
        facts: facts of the ledger, in order; others than those of approvers are ignored.

    Raises:
        InvalidInput: an entry does not describe a key that can be trusted.
    """
    found: dict[str, Approver] = {}
    for fact in facts:
        if isinstance(fact, Approver):
            found[fact.public] = fact
    return tuple(map(trusted_approver, found.values()))


def trusted_approver(fact: Approver) -> TrustedKey:
    """An approver's key in the form of the trust file.

    Raises:
        InvalidInput: it cannot be trusted, because its owner has no name that can be shown.
    """
    revoked = Revocation(time=fact.revoked_at, reason=cast("Reason", fact.revoked_as)) if fact.revoked_as else None
    return TrustedKey.of_public(
        fact.public, owner=fact.owner, valid_from=fact.valid_from, valid_until=fact.valid_until, revoked=revoked
    )
