"""Approvers with keys: made, admitted by the custodian of a state folder's ledger, and used to approve."""

from pathlib import Path
from typing import Any

from flows.cli.deciding import decide
from schemas.provenance import Approval
from stores.keys.approver_key import ApproverKey, load_approver_key, make_approver_key
from stores.ledger.approvers import admit_approver, approvers_of
from stores.ledger.state_ledger import state_ledger
from stores.vault.pending_approval import ApprovalSubject, HeldNote
from stores.vault.workspace import file_digest


def held_note(page: Path, release: str, **changes: Any) -> HeldNote:
    """The note on a release of the dataset `people` that waits for a decision on what its page shows."""
    note = HeldNote(
        release=release,
        title="Made-up people",
        dataset="people",
        action="hold",
        why=("its spec always asks",),
        candidate="0" * 64,
        since="2026-11-22T11:01:11Z",
        started_by="ada",
        approvers=None,
        page=page,
        page_digest=file_digest(page),
        mlflow_run="a run",
        subject=ApprovalSubject(version=1, plan="1" * 64, cost="2" * 64, charges="3" * 64, sentence="It costs 1."),
    )
    return note.model_copy(update=changes)


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
