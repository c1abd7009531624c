"""Records a decision on a held release, and ends its MLflow run if it is refused."""

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
    """Record a decision, and end the MLflow run of a refused release.

    Args:
        state: the state folder.
        note: the note on the release.
        word: approved or refused.
        by: the person who decides.
        identity: whether `by` is the account that runs the command, or a stated name.
        reason: the reason.

    Returns:
        The valid decision.
    """
    made = take_decision(state, note, word, by=by, identity=identity, reason=reason)
    if made.decision == "refused":
        from stores.tracking.release_run import end_refused  # noqa: PLC0415 - imports MLflow

        end_refused(state, note.mlflow_run, {STATUS: made.decision}, refused_in_words(note.release, made))
    return made
