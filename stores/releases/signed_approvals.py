"""Approvals signed with the key of a person who may approve: made, and checked before anything is published.

A ledger says whether approvals must be signed, and by whose keys (stores.ledger.approvers). Where it does not, because
it was begun by an earlier version and no approver was admitted since, an approval is a statement, as its record says.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from deniable.command_names import command_line
from deniable.foundation.errors import Refused
from deniable.record.approval import faults_of_signed, sign
from deniable.record.trust import TrustedKey, moment
from schemas.provenance import Approval, SignedApproval
from stores.keys.approver_key import ApproverKey
from stores.ledger.approvers import Approvers, approvers_of
from stores.ledger.state_ledger import state_ledger
from stores.vault.pending_approval import HeldNote


@dataclass(frozen=True)
class Signer:
    """An approver with the key at hand.

    Attributes:
        key: the key.
        admitted: the same, as the custodian admitted it.
    """

    key: ApproverKey
    admitted: TrustedKey

    def sign(self, note: HeldNote, made: Approval) -> Approval:
        """Sign an approval, bound to what the note on the release states."""
        if note.subject is None:
            raise Refused(
                f"an approval must be bound to what it approves, and the note on {note.release} was made by an earlier "
                "version; run the command that made the release again, and then approve it."
            )
        subject = note.subject.model_dump()
        signature = sign(_release(note), made.model_dump(mode="json"), subject, self.key.private)
        signed = SignedApproval(keyid=self.key.keyid, signature=signature, **subject)
        return made.model_copy(update={"signed": signed})


def who_approves(state: Path) -> Approvers:
    """Who may approve releases of a state folder."""
    return approvers_of(state_ledger(state))


def signer_with(approvers: Approvers, key: ApproverKey, now: str) -> Signer:
    """The approver whose key this is.

    Args:
        approvers: who may approve.
        key: the key.
        now: the current time.

    Raises:
        Refused: the custodian did not admit the key, or it may not sign now.
    """
    admitted = approvers.trusted.approver(key.keyid)
    if admitted is None:
        raise Refused(
            f"an approval must be signed with a key that the custodian admitted, and {key.keyid} is not one; have the "
            f"custodian run {command_line('keys approver admit')} NAME {key.public}."
        )
    if (objection := admitted.objection_at(now)) is not None:
        raise Refused(
            f"an approver's key must be valid now, and {admitted.name} {objection}; make another with "
            f"{command_line('keys approver rotate')}, and have the custodian admit it."
        )
    return Signer(key, admitted)


def fault_of_approval(note: HeldNote, made: Approval, approvers: Approvers) -> str | None:
    """Why an approval does not let a release be published, as a sentence without full stop; None if it does.

    Args:
        note: the note on the release as it is held now.
        made: the approval.
        approvers: who may approve.
    """
    return next(_faults(note, made, approvers), None)


def _faults(note: HeldNote, made: Approval, approvers: Approvers) -> Iterator[str]:
    # The command checks both, too; a file in the vault may have been written without it.
    if made.by.casefold() == note.started_by.casefold():
        yield f"{made.by} approved it, but also started it"
    if note.approvers is not None and made.by not in note.approvers:
        yield f"{made.by} approved it, but is not one of its approvers ({', '.join(note.approvers)})"
    if made.signed is None:
        if approvers.required:
            yield f"the approval by {made.by} is not signed with the key of an approver"
        return
    if note.subject is None or made.seen != note.candidate:
        yield f"the approval by {made.by} is for another candidate than the one that is held"
        return
    subject = note.subject.model_dump()
    yield from faults_of_signed(_release(note), subject, made.model_dump(mode="json"), approvers.trusted)
    if moment(made.time) < moment(note.since):
        yield f"the approval by {made.by} is of {made.time}, before the release was held on {note.since}"


def _release(note: HeldNote) -> dict[str, str]:
    return {"id": note.release, "dataset": note.dataset}
