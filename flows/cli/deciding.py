"""A person decides on a release that is not published automatically: the commands `held`, `approve` and `refuse`.

If a run of a deployment waits for the decision, it is resumed. That run, not this command, publishes.
"""

import argparse
import os
from pathlib import Path

from deniable.command_names import command_line
from deniable.console import show
from deniable.foundation.errors import DeniableError, InvalidInput, Refused
from schemas.provenance import Approval
from stores.keys.approver_key import approver_key_place, load_approver_key
from stores.releases.deciding import decide, not_signed, valid_decision
from stores.vault.actors import is_stated, operator
from stores.vault.decisions import DecisionWord, decision_on
from stores.vault.pending_approval import HeldNote, find_held, held_notes

DONE = 0


class NotResumed(DeniableError):
    """A decision is recorded, but the run that waits for it was not resumed."""


def add_decision_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of a decision to a parser.

    Args:
        parser: the parser of `approve` or `refuse`.
    """
    parser.add_argument("release", metavar="RELEASE", help="its name, as held lists it")
    parser.add_argument("--reason", required=True, metavar="WHY", help="the reason, for the public record")
    parser.add_argument(
        "--candidate", metavar="DIGEST", help="beginning of the digest of what was reviewed, as held lists it"
    )


def decide_on(asked: argparse.Namespace, state: Path, word: DecisionWord) -> int:
    """Decide on a held release.

    Args:
        asked: the parsed arguments.
        state: the state folder.
        word: the decision.

    Returns:
        0.

    Raises:
        InvalidInput: no such release is held, or there is no reason.
        Refused: the user may not decide, decided otherwise before, or reviewed something else.
        NotResumed: the decision is recorded, and the run that waits for it must be resumed by hand.
    """
    note = find_held(state, asked.release)
    if (before := valid_decision(state, note)) is not None:
        return _told_again(state, note, before, word)
    if (state / "releases" / note.release).exists():
        raise InvalidInput(
            f"the release must wait for a decision, got {note.release}, which is published; "
            f"{command_line('release held')} lists "
            "the releases that wait."
        )
    if asked.candidate is not None and not note.candidate.startswith(asked.candidate):
        msg = f"the candidate must be the one that is held, {note.candidate}, got {asked.candidate}; review it again."
        raise Refused(msg)
    signs = word == "approved" and _must_sign(state)
    made = decide(
        state,
        note,
        word,
        by=operator(),
        identity="stated" if is_stated() else "account",
        reason=asked.reason,
        key=load_approver_key(approver_key_place()) if signs else None,
    )
    _tell(f"{note.release} is {made.decision} by {made.by}: {made.reason}")
    if made.signed is not None:
        _tell(f"Signed with the key {made.signed.keyid}: {made.signed.sentence}")
    elif made.decision == "approved":
        _tell(not_signed())
    _tell_what_follows(note, made)
    return DONE


def _must_sign(state: Path) -> bool:
    """Whether an approval must be signed with a key."""
    from stores.releases.signed_approvals import who_approves  # noqa: PLC0415 - opens a ledger

    return who_approves(state).required


def _told_again(state: Path, note: HeldNote, before: Approval, word: DecisionWord) -> int:
    """Say what was decided by whom and when, and continue with what that decision has not led to yet.

    Raises:
        Refused: the user wants another decision.
        NotResumed: the run that waits for the decision must be resumed by hand.
    """
    said = f"{note.release} was {before.decision} by {before.by} on {before.time}: {before.reason}"
    published = (state / "releases" / note.release).exists()
    if before.decision != word:
        then = (
            "it is published, and a published release can only be withdrawn from those who have it"
            if published
            else f"to abandon a release that must not be published after all, run {command_line('release discard')}"
        )
        raise Refused(f"a release is decided upon once, and {said.rstrip('.')}; {then}.")
    _tell(said)
    if published:
        _tell("It is published.")
    else:
        _tell_what_follows(note, before)
    return DONE


def _tell_what_follows(note: HeldNote, made: Approval) -> None:
    """Say what follows from a decision, and resume the run that waits for it."""
    if made.decision == "refused":
        _tell(f"What was charged stays charged; {command_line('release discard')} {note.release} gives it up.")
    if note.flow_run is not None:
        _tell(_resumed(note, made))
    elif made.decision == "approved":
        _tell("Nothing is published yet: run the command that made it, such as make release, again to resume it.")


def held_lines(state: Path) -> list[str]:
    """Return lines on the releases that await a decision, and what to review.

    Args:
        state: the state folder.
    """
    lines: list[str] = []
    for note in held_notes(state):
        made = decision_on(state, note)
        if made is not None and valid_decision(state, note) is None:
            became, made = f"held since {note.since}; the approval by {made.by} does not count", None
        elif made is not None:
            became = f"{made.decision} by {made.by} on {made.time}: {made.reason}"
        elif note.action == "refuse":
            became = "refused by the policy of its spec"
        else:
            became = f"held since {note.since}"
        lines += [
            f"{note.release}  {became}",
            f"  what        {note.title}, of the dataset {note.dataset}, started by {note.started_by}",
            *(f"  why         {reason}" for reason in note.why),
            f"  review      {note.page}",
            *([f"  costs       {note.subject.sentence}"] if note.subject is not None else []),
            f"  candidate   {note.candidate}",
        ]
        if made is None and note.action == "hold":
            whoever = " or ".join(note.approvers) if note.approvers else f"anyone but {note.started_by}"
            lines.append(
                f'  then        {command_line("release approve")} {note.release} --reason "..."  (or refuse; {whoever})'
            )
        if note.flow_run is not None:
            lines.append(f"  waiting     Prefect's flow run {note.flow_run}, which can be answered there too")
    return lines or ["No release awaits a decision."]


def _resumed(note: HeldNote, made: Approval) -> str:
    """Resume the waiting run of a deployment, if it still waits, and return the outcome.

    Raises:
        NotResumed: Prefect does not answer, or does not resume it.
    """
    by_hand = (
        f"the decision on {note.release} is recorded, but Prefect's flow run {note.flow_run} was not resumed: start "
        "Prefect and run the same command again"
    )
    if "PREFECT_API_URL" not in os.environ:
        raise NotResumed(f"{by_hand}; DENIABLE_PREFECT_API_URL names its server.")
    from httpx import HTTPError, InvalidURL  # noqa: PLC0415 - few decisions need it

    from infra.servers.prefect_api import PrefectApi  # noqa: PLC0415

    there = {"id": {"any_": [note.flow_run]}, "state": {"type": {"any_": ["PAUSED"]}}}
    try:
        with PrefectApi() as prefect:
            if not prefect.post("flow_runs/filter", flow_runs=there):
                return f"Prefect's flow run {note.flow_run} is no longer waiting; start another if nothing happens."
            answer = {"decision": made.decision, "name": made.by, "reason": made.reason}
            answered = prefect.post(f"flow_runs/{note.flow_run}/resume", run_input=answer)
    except (HTTPError, InvalidURL) as error:
        raise NotResumed(f"{by_hand} ({type(error).__name__}).") from None
    if answered["status"] == "REJECT":
        raise NotResumed(f"{by_hand}.")
    return f"Prefect's flow run {note.flow_run} resumes."


def _tell(line: str) -> None:
    show([line])
