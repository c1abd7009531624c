"""Records a decision on a held release, signed where it must be, and ends its MLflow run if it is refused."""

from pathlib import Path
from typing import TYPE_CHECKING

from deniable.command_names import command_line
from deniable.foundation.errors import Refused
from schemas.provenance import Approval
from stores.keys.approver_key import ApproverKey
from stores.vault.decisions import STATUS, decision_on, refused_in_words, take_decision
from stores.vault.pending_approval import HeldNote
from stores.vault.step_log import time_now

if TYPE_CHECKING:
    from stores.vault.decisions import DecisionWord, Identity


def not_signed() -> str:
    """The remark on an approval where none must be signed."""
    return (
        "This approval is stated and not signed: its ledger is older than signed approvals, and the custodian has "
        f"admitted no approver ({command_line('keys approver admit')})."
    )


def decide(
    state: Path,
    note: HeldNote,
    word: "DecisionWord",
    *,
    by: str,
    identity: "Identity",
    reason: str,
    key: ApproverKey | None = None,
) -> Approval:
    """Record a decision, and end the MLflow run of a refused release.

    A refusal publishes nothing, and needs no key.

    Args:
        state: the state folder.
        note: the note on the release.
        word: approved or refused.
        by: the person who decides; of an approval with a key, its owner does.
        identity: whether `by` is the account that runs the command, or a stated name.
        reason: the reason.
        key: the key of the person who approves, if there is one.

    Returns:
        The valid decision.

    Raises:
        Refused: an approval must be signed, and is not, or not with a key that may; otherwise as `take_decision`.
        InvalidInput: the name or the reason is missing.
    """
    from stores.releases.signed_approvals import fault_of_approval, signer_with, who_approves  # noqa: PLC0415 - a ledger

    approvers = who_approves(state)
    signer = None
    if word == "approved" and key is not None and approvers.required:
        signer = signer_with(approvers, key, time_now())
        by, identity = signer.admitted.owner, "key"

    def sign(made: Approval) -> Approval:
        if signer is not None:
            return signer.sign(note, made)
        if word == "approved" and approvers.required:
            raise Refused(
                f"an approval must be signed with the key of an approver, got the name {by} alone; approve with "
                f'{command_line("release approve")} {note.release} --reason "..." as the account that has the key.'
            )
        return made

    made = take_decision(
        state,
        note,
        word,
        by=by,
        identity=identity,
        reason=reason,
        sign=sign,
        counts=lambda before: before.decision == "refused" or fault_of_approval(note, before, approvers) is None,
    )
    if made.decision == "refused":
        from stores.tracking.release_run import end_refused  # noqa: PLC0415 - imports MLflow

        end_refused(state, note.mlflow_run, {STATUS: made.decision}, refused_in_words(note.release, made))
    return made


def valid_decision(state: Path, note: HeldNote) -> Approval | None:
    """The decision on a held release that counts; None if there is none, or one that does not."""
    made = decision_on(state, note)
    if made is None or made.decision == "refused":
        return made
    from stores.releases.signed_approvals import fault_of_approval, who_approves  # noqa: PLC0415 - opens a ledger

    return made if fault_of_approval(note, made, who_approves(state)) is None else None
