"""Decides upon a release that is held: writes the decision down, and ends its run in MLflow where it is refused."""

from pathlib import Path
from typing import TYPE_CHECKING

from schemas.provenance import Approval
from stores.vault.decisions import STATUS, refused_in_words, take_decision
from stores.vault.pending_approval import HeldNote

if TYPE_CHECKING:
    from stores.vault.decisions import DecisionWord, Identity


def decide(
    state: Path, note: HeldNote, word: "DecisionWord", *, by: str, identity: "Identity", reason: str
) -> Approval:
    """Write down a decision, and end the MLflow run of a release that is refused.

    Args:
        state: the state folder.
        note: what is known of the release.
        word: approved or refused.
        by: who decides.
        identity: whether that is the account that decides, or what somebody said.
        reason: why.

    Returns:
        The decision that counts.
    """
    made = take_decision(state, note, word, by=by, identity=identity, reason=reason)
    if made.decision == "refused":
        from stores.tracking.release_run import end_refused  # noqa: PLC0415 - imports MLflow

        end_refused(state, note.mlflow_run, {STATUS: made.decision}, refused_in_words(note.release, made))
    return made
