"""The commands `held`, `approve` and `refuse`: a person decides upon a release that does not publish by itself.

A run of a deployment that waits for the decision is resumed; it, and not this command, publishes.
"""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from deniable.foundation.errors import DeniableError, Refused
from flows.cli.subcommands import Subcommands
from schemas.provenance import Approval
from stores.releases.deciding import decide
from stores.vault.actors import is_stated, operator
from stores.vault.decisions import decision_on
from stores.vault.pending_approval import HeldNote, find_held, held_notes

DONE = 0


class NotResumed(DeniableError):
    """A decision is written down, and the run that waits for it was not told."""


def add_deciding_commands(subparsers: Subcommands, parents: Sequence[argparse.ArgumentParser] = ()) -> None:
    """Add the commands to a parser.

    Args:
        subparsers: where commands are added.
        parents: parsers of the options that all commands share.
    """
    subparsers.add_parser(
        "held", parents=parents, help="list the releases that wait for a decision, and what to look at"
    )
    helps = {"approve": "let a release that is held be published", "refuse": "see that one is never published"}
    for command, said in helps.items():
        parser = subparsers.add_parser(command, parents=parents, help=said)
        parser.add_argument("release", metavar="RELEASE", help="its name, as held lists it")
        parser.add_argument(
            "--reason", required=True, metavar="WHY", help="in words that may be published: they stand in the record"
        )
        parser.add_argument(
            "--candidate", metavar="DIGEST", help="beginning of the digest of what was looked at, as held lists it"
        )


def run_deciding_command(asked: argparse.Namespace, state: Path) -> int:
    """Carry out one of the commands.

    Args:
        asked: the arguments.
        state: the state folder.

    Returns:
        0.

    Raises:
        InvalidInput: no such release is held, or there is no reason.
        Refused: whoever asks may not decide, something else was decided before, or something else was looked at.
        NotResumed: the decision counts, and the run that waits for it must be resumed by hand.
    """
    if asked.command == "held":
        for line in _listed(state):
            _tell(line)
        return DONE
    note = find_held(state, asked.release)
    if asked.candidate is not None and not note.candidate.startswith(asked.candidate):
        msg = f"what is decided upon must be what is held, {note.candidate}, got {asked.candidate}; look at it again."
        raise Refused(msg)
    made = decide(
        state,
        note,
        "approved" if asked.command == "approve" else "refused",
        by=operator(),
        identity="stated" if is_stated() else "account",
        reason=asked.reason,
    )
    _tell(f"{note.release} is {made.decision} by {made.by}: {made.reason}")
    if made.decision == "refused":
        _tell(f"What was charged stays charged; python -m flows discard {note.release} gives it up.")
    if note.flow_run is not None:
        _tell(_resumed(note, made))
    elif made.decision == "approved":
        _tell("Nothing is published yet: the command that made it, such as make release, goes on with it.")
    return DONE


def _listed(state: Path) -> list[str]:
    """What there is to decide upon, and what to look at."""
    lines: list[str] = []
    for note in held_notes(state):
        made = decision_on(state, note)
        if made is not None:
            became = f"{made.decision} by {made.by} on {made.time}: {made.reason}"
        elif note.action == "refuse":
            became = "refused by the policy of its spec"
        else:
            became = f"held since {note.since}"
        lines += [
            f"{note.release}  {became}",
            f"  what        {note.title}, of the dataset {note.dataset}, started by {note.started_by}",
            *(f"  why         {reason}" for reason in note.why),
            f"  look at     {note.page}",
            f"  candidate   {note.candidate}",
        ]
        if made is None and note.action == "hold":
            whoever = " or ".join(note.approvers) if note.approvers else f"anybody but {note.started_by}"
            lines.append(f'  then        python -m flows approve {note.release} --reason "..."  (or refuse; {whoever})')
        if note.flow_run is not None:
            lines.append(f"  waiting     flow run {note.flow_run} of Prefect, which can be answered there too")
    return lines or ["No release waits for a decision."]


def _resumed(note: HeldNote, made: Approval) -> str:
    """Resume the run of a deployment that waits, if it still does, and say what became of it.

    Raises:
        NotResumed: Prefect does not answer, or does not resume it.
    """
    by_hand = (
        f"the decision on {note.release} counts, but Prefect's flow run {note.flow_run} was not told: start "
        "Prefect and give the same command again"
    )
    if "PREFECT_API_URL" not in os.environ:
        raise NotResumed(f"{by_hand}; DENIABLE_PREFECT_API_URL says where its server is.")
    from httpx import HTTPError, InvalidURL  # noqa: PLC0415 - few decisions need it

    from infra.servers.prefect_api import PrefectApi  # noqa: PLC0415

    there = {"id": {"any_": [note.flow_run]}, "state": {"type": {"any_": ["PAUSED"]}}}
    try:
        with PrefectApi() as prefect:
            if not prefect.post("flow_runs/filter", flow_runs=there):
                return f"Prefect's flow run {note.flow_run} does not wait any more; begin another if nothing goes on."
            answer = {"decision": made.decision, "name": made.by, "reason": made.reason}
            answered = prefect.post(f"flow_runs/{note.flow_run}/resume", run_input=answer)
    except (HTTPError, InvalidURL) as error:
        raise NotResumed(f"{by_hand} ({type(error).__name__}).") from None
    if answered["status"] == "REJECT":
        raise NotResumed(f"{by_hand}.")
    return f"Prefect's flow run {note.flow_run} goes on."


def _tell(line: str) -> None:
    print(line)  # noqa: T201 - this is the command line
