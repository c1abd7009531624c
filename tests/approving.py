"""Approvers with keys: made, admitted by the custodian of a state folder's ledger, and used to approve."""

from pathlib import Path

from flows.cli.approve import decide
from schemas.provenance import Approval
from stores.keys.approver_key import ApproverKey, load_approver_key, make_approver_key
from stores.ledger.approvers import admit_approver, approvers_of
from stores.ledger.state_ledger import state_ledger
from stores.vault.pending_approval import HeldNote


def key_place(state: Path, name: str) -> Path:
    """Where a person's key is: beside the state folder, in which no approver's key ever is."""
    return state.parent / "approvers" / f"{name.strip() or 'nameless'}.key"


def approver(state: Path, name: str) -> ApproverKey:
    """A person's key, made and admitted if it was not yet."""
    place = key_place(state, name)
    key = load_approver_key(place) if place.exists() else make_approver_key(place)
    ledger = state_ledger(state)
    if approvers_of(ledger).trusted.approver(key.keyid) is None:
        admit_approver(state, ledger, name=name, public=key.public, years=1, by="the custodian")
    return key


def approved(state: Path, note: HeldNote, by: str, reason: str = "as the board asked") -> Approval:
    """Approve a release with the key of a person."""
    return decide(state, note, "approved", by=by, identity="account", reason=reason, key=approver(state, by))
