"""Whether a person approves a release: what the decision is about, who may take it, and how it is kept.

A decision is one file of the release's vault, named by the candidate that it is about and written once. Whoever may
write there may do anything; what the file is for is that nobody decides twice, or upon something else than was seen.
"""

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Literal, TypeAlias

from prefect import runtime
from pydantic_core import to_jsonable_python

from deniable.errors import InvalidInput, Refused
from deniable.ledger import digest_of
from schemas.accounts import Accounts
from schemas.decision import Outcome
from schemas.evaluation import EvaluationFigures
from schemas.plain_text import fault_of_line
from schemas.provenance import Approval
from schemas.references import Reference
from stores.held import Held, HeldNote, NotPublished, held_note, note_held
from stores.lineage import tag_release
from stores.people import note_approval, people_of
from stores.provenance import spec_document
from stores.step_notes import time_now
from stores.workspace import PRIVATE_FILE, Workspace, file_digest, make_private_folder

STATUS = "status"
"""Tag of a release that a person decides upon: held, approved or refused."""

DecisionWord: TypeAlias = Literal["approved", "refused"]
Identity: TypeAlias = Literal["account", "stated"]

_FOLDER = "decisions"
_LONGEST_REASON = 1000


def candidate_digest(
    workspace: Workspace,
    *,
    released: Reference,
    learnt: Sequence[Reference],
    accounts: Accounts,
    figures: Sequence[EvaluationFigures],
    page: Reference,
) -> str:
    """Digest of what is to be looked at and would be published; keyed, for it stands in the public record.

    Args:
        workspace: the release.
        released: codes of the records.
        learnt: what was learnt and is public.
        accounts: what it costs.
        figures: what was found of utility and risk.
        page: the report that is looked at.
    """
    said = {
        "release": workspace.release_id,
        "spec": digest_of(spec_document(workspace.spec)),
        "things": [[item.name, item.digest] for item in (released, *learnt, page)],
        "accounts": accounts,
        "figures": [found.figures for found in figures],
    }
    plain = to_jsonable_python(said, inf_nan_mode="strings", fallback=str)
    return workspace.key().digest("candidate", json.dumps(plain, sort_keys=True).encode())


def require_decision(workspace: Workspace, candidate: str, outcome: Outcome, page: Reference) -> None:
    """Let a release be published that its policy or a person lets be, and no other.

    What once was held, or beyond its policy, needs a person, whatever its spec says by now.

    Args:
        workspace: the release.
        candidate: digest of what would be published.
        outcome: what its policy makes of its figures.
        page: the report that is looked at.

    Raises:
        Held: a person must decide, and has not.
        NotPublished: it was refused.
    """
    before = held_note(workspace.state, workspace.release_id)
    refusal = next((made for made in _decisions(workspace.vault) if made.decision == "refused"), None)
    if refusal is None and outcome.action == "publish" and before is None:
        return
    approval = _decision(workspace.vault, candidate)
    if outcome.action != "refuse" and refusal is None and approval is not None:
        note_approval(workspace, approval)
        tag_release(workspace, {STATUS: approval.decision})
        return
    note_approval(workspace, None)
    note = _note(workspace, candidate, outcome, page, before)
    note_held(workspace, note)
    if refusal is not None:
        tag_release(workspace, {STATUS: "refused"})
        raise NotPublished(refused_in_words(note.release, refusal))
    if note.action == "refuse":
        tag_release(workspace, {STATUS: "refused"})
        msg = f"{note.release} is refused by the policy of its spec, and nothing is published: {'; '.join(note.why)}; "
        raise NotPublished(msg + _AFTERWARDS.format(release=note.release))
    tag_release(workspace, {STATUS: "held"})
    raise Held(note)


_AFTERWARDS = "what was charged stays charged, and python -m flows discard {release} gives it up."


def refused_in_words(release_id: str, refusal: Approval) -> str:
    """What is said of a release that a person refused."""
    said = f"{release_id} was refused by {refusal.by}, and nothing is published ({refusal.reason}); "
    return said + _AFTERWARDS.format(release=release_id)


def _note(workspace: Workspace, candidate: str, outcome: Outcome, page: Reference, before: HeldNote | None) -> HeldNote:
    """What is noted of a release that does not publish by itself."""
    spec = workspace.spec
    why = list(outcome.reasons)
    if before is not None and before.candidate != candidate:
        why.append("it is not what was held before, and so needs a decision of its own")
    elif before is not None and outcome.action == "publish":
        why.append("it was held before, and stays so until somebody decides")
    same = before is not None and before.candidate == candidate
    return HeldNote(
        release=workspace.release_id,
        title=spec.title,
        dataset=spec.dataset_name,
        action="refuse" if outcome.action == "refuse" else "hold",
        why=tuple(dict.fromkeys([*(before.why if same and before else ()), *why])),
        candidate=candidate,
        since=before.since if same and before else time_now(),
        started_by=people_of(workspace).started_by,
        approvers=spec.decision.approvers if spec.decision else None,
        page=page.path,
        page_digest=file_digest(page.path),
        mlflow_run=workspace.mlflow_run_id,
        flow_run=(before.flow_run if before else None) or _waiting_flow_run(),
    )


def _waiting_flow_run() -> str | None:
    """The run of a deployment that this happens in: that one can be suspended."""
    return str(runtime.flow_run.id) if runtime.deployment.id and runtime.flow_run.id else None


def take_decision(
    state: Path, note: HeldNote, word: DecisionWord, *, by: str, identity: Identity, reason: str
) -> Approval:
    """Write down what somebody decided, once; the same decision again is harmless.

    Args:
        state: the state folder.
        note: what is known of the release.
        word: approved or refused.
        by: who decides.
        identity: whether that is the account that decides, or what somebody said.
        reason: why; it is published with the release.

    Returns:
        The decision that counts, which is the first one.

    Raises:
        InvalidInput: there is no name or no reason.
        Refused: that person may not decide, something else was decided before, or the report is not what was held.
    """
    by, reason = " ".join(by.split()), " ".join(reason.split())
    if not by or not reason or len(reason) > _LONGEST_REASON:
        msg = f"a decision must have a name and a reason of at most {_LONGEST_REASON} characters; give both."
        raise InvalidInput(msg)
    for text in (by, reason):
        if fault := fault_of_line(text, most=_LONGEST_REASON):
            msg = f"a decision must have a name and a reason that can be shown, and one of them {fault}."
            raise InvalidInput(msg)
    vault = state / "vault" / note.release
    decided = [made for made in (_decision(vault, note.candidate), *_refusals(vault)) if made is not None]
    if decided:
        return _agreeing(decided[0], word, note)
    _require_may_decide(note, word, by)
    if not note.page.is_file() or file_digest(note.page) != note.page_digest:
        msg = f"{note.page} must be as it was when {note.release} was held, and is not; run the release again."
        raise Refused(msg)
    made = Approval(decision=word, by=by, identity=identity, time=time_now(), reason=reason, seen=note.candidate)
    if _write_once(vault, made):
        return made
    first = _decision(vault, note.candidate)
    return made if first is None else _agreeing(first, word, note)


def _agreeing(first: Approval, word: DecisionWord, note: HeldNote) -> Approval:
    """The first decision, if it is the same."""
    if first.decision != word:
        msg = (
            f"a release is decided upon once, and {note.release} was {first.decision} by {first.by} on {first.time}; "
            "python -m flows discard gives up one that must not be published after all."
        )
        raise Refused(msg)
    return first


def _require_may_decide(note: HeldNote, word: DecisionWord, by: str) -> None:
    """Refuse whoever may not decide; who started a release may still refuse it."""
    if note.action == "refuse" and word == "approved":
        msg = f"{note.release} must be within the policy of its spec to be approved, and is not: {'; '.join(note.why)}."
        raise Refused(msg)
    started_it = by.casefold() == note.started_by.casefold()
    if started_it and word == "approved":
        msg = f"a release must be approved by somebody other than {note.started_by}, who started it; ask a colleague."
        raise Refused(msg)
    if not started_it and note.approvers is not None and by not in note.approvers:
        msg = f"a release must be decided upon by one of its approvers ({', '.join(note.approvers)}), got {by}."
        raise Refused(msg)


def decision_on(state: Path, note: HeldNote) -> Approval | None:
    """What was decided upon what is held; None while nobody has."""
    vault = state / "vault" / note.release
    return next(_refusals(vault), None) or _decision(vault, note.candidate)


def _decisions(vault: Path) -> Iterator[Approval]:
    for path in sorted((vault / _FOLDER).glob("*.json")):
        yield Approval.model_validate_json(path.read_bytes())


def _refusals(vault: Path) -> Iterator[Approval]:
    return (made for made in _decisions(vault) if made.decision == "refused")


def _decision(vault: Path, candidate: str) -> Approval | None:
    try:
        return Approval.model_validate_json((vault / _FOLDER / f"{candidate}.json").read_bytes())
    except FileNotFoundError:
        return None


def _write_once(vault: Path, made: Approval) -> bool:
    """Write a decision whole, on the disk and for good; False where there is one already."""
    folder = make_private_folder(vault / _FOLDER)
    with NamedTemporaryFile(dir=folder, prefix="writing-") as file:
        os.fchmod(file.fileno(), PRIVATE_FILE)
        file.write(made.model_dump_json().encode())
        file.flush()
        os.fsync(file.fileno())
        try:
            # Like O_EXCL this takes a name that is free and no other, and what it names is complete.
            os.link(file.name, folder / f"{made.seen}.json")
        except FileExistsError:
            return False
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return True
