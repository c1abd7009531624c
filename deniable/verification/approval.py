"""Verification of who approved a release against the policy of its spec, both as in its record.

A signed approval must be bound to this very release, and its key to a person who could approve when it signed: by the
trust file, and by the exported ledger if there is one. The figures that the policy bounds are internal, so whether they
were within the bounds cannot be verified here.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from deniable.foundation.checks import Check, found
from deniable.foundation.errors import InvalidInput
from deniable.ledger.entries import SIGNED_APPROVALS, Approver, Entry, Fact, Opening
from deniable.record.approval import approver_keys, faults_of_signed, since_signed, subject_of
from deniable.record.trust import TrustedKeys, moment

_APPROVED = "approved"
_NAME = "the release was approved as its spec requires"


def check_approval(
    record: Mapping[str, Any], keys: TrustedKeys | None = None, exported: Sequence[object] | None = None
) -> Check:
    """Check that an entitled person approved the release, if its spec always requires approval.

    Args:
        record: the record's predicate.
        keys: the trusted keys, among them those of approvers; None if there are none.
        exported: the whole ledger, as plain values, if available; it says whose keys could approve.
    """
    faults = found(lambda: _faults(record))
    if not faults and record["people"]["approval"] is not None:
        faults = found(lambda: _faults_of_key(record, TrustedKeys() if keys is None else keys, exported))
    return Check(_NAME, faults, _note(record["people"]["approval"]) if not faults else "")


def asks_somebody(record: Mapping[str, Any]) -> bool:
    """Whether approval was required, or the spec states when it is."""
    return bool(record["people"]["approval"] or record["spec"]["document"].get("decision"))


def _faults(record: Mapping[str, Any]) -> Iterator[str]:
    """Faults where an approval is missing, or was given by a person who may not approve."""
    policy = record["spec"]["document"].get("decision") or {}
    approval, started_by = record["people"]["approval"], record["people"]["started_by"]
    if approval is None:
        # Older records do not state whether exact figures decide; in those they do if there are bounds.
        by_itself = policy.get("publish_within") and policy.get("exact_figures_decide", True)
        if policy.get("always_ask") or not by_itself:
            yield "no one approved it, but its spec requires approval of every release"
        return
    if approval["decision"] != _APPROVED:
        yield f"{approval['by']} did not approve it, but it is published"
    if approval["by"].casefold() == started_by.casefold():
        yield f"{approval['by']} approved it, but also started it"
    approvers = policy.get("approvers")
    if approvers is not None and approval["by"] not in approvers:
        yield f"{approval['by']} approved it, but is not one of its approvers ({', '.join(approvers)})"


def _faults_of_key(record: Mapping[str, Any], keys: TrustedKeys, exported: Sequence[object] | None) -> Iterator[str]:
    """Faults of the signature under an approval, or of its absence."""
    approval = record["people"]["approval"]
    entered = None if exported is None else [*_facts(exported, record["ledger"]["head"]["number"])]
    signed = approval.get("signed")
    if signed is None:
        since = since_signed(keys)
        if approval["identity"] == "key":
            yield f"{approval['by']} approved it with a key by its record, which shows no signature"
        elif since is not None and moment(approval["time"]) >= moment(since):
            yield f"no key signed the approval of {approval['by']}, and since {since} those of approvers must"
        elif entered is not None and any(map(_requires_signatures, entered)):
            yield f"no key signed the approval of {approval['by']}, but its ledger requires that of each approval"
        return
    yield from faults_of_signed(record["release"], subject_of(record), approval, keys)
    if signed["keyid"] == record["signed"]["keyid"]:
        yield "the key that approved it also signed its record"
    if entered is not None:
        known = {key.keyid: key for key in approver_keys(_facts(exported))}
        key = known.get(signed["keyid"])
        if key is None or key.keyid not in {each.keyid for each in approver_keys(entered)}:
            yield f"the custodian did not admit the key {signed['keyid']} of {approval['by']} before it was published"
        elif (fault := key.fault_at(approval["time"])) is not None:
            yield f"by the exported ledger, {fault}"


def _requires_signatures(fact: Fact) -> bool:
    return isinstance(fact, Approver) or (isinstance(fact, Opening) and fact.approvals == SIGNED_APPROVALS)


def _facts(exported: Sequence[object] | None, last: int | None = None) -> Iterator[Fact]:
    """The facts of an exported ledger that concern approvals, up to an entry; other checks report unreadable ones."""
    for record in exported or ():
        if not isinstance(record, Mapping) or record.get("kind") not in (Approver.kind, Opening.kind):
            continue
        try:
            entry = Entry.from_record(record)
            if last is None or entry.number <= last:
                yield entry.fact()
        except InvalidInput:
            continue


def _note(approval: Mapping[str, Any] | None) -> str:
    """Who approved it, and how that is known."""
    if approval is None:
        return ""
    signed = approval.get("signed")
    if signed is None:
        return f"by {approval['by']}, which is stated and not signed by a key"
    return f"by {approval['by']}, signed: {signed['sentence']}"
