"""Whether a release may be published: the result of its policy, and the decision of a person on the same candidate.

The decisions of persons are made in stores.vault.decisions.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from prefect import runtime
from pydantic_core import to_jsonable_python

from deniable.ledger.entries import digest_of
from schemas.provenance import Approval
from schemas.references import Reference
from schemas.spec.accounts import Accounts
from schemas.spec.decision import Outcome
from schemas.spec.evaluation import EvaluationFigures
from stores.ledger.approvers import approvers_of, follow_ledger
from stores.ledger.state_ledger import state_ledger
from stores.record.provenance import approval_subject, spec_document
from stores.releases.signed_approvals import fault_of_approval
from stores.tracking.release_run import tag_release
from stores.vault.actors import note_approval, people_of
from stores.vault.decisions import STATUS, afterwards, decision, decisions, refused_in_words
from stores.vault.pending_approval import ApprovalSubject, Held, HeldNote, NotPublished, held_note, note_held
from stores.vault.step_log import time_now
from stores.vault.workspace import Workspace, file_digest


def candidate_digest(
    workspace: Workspace,
    *,
    released: Reference,
    learnt: Sequence[Reference],
    accounts: Accounts,
    figures: Sequence[EvaluationFigures],
    page: Reference,
) -> str:
    """Digest of the material that is reviewed and would be published; keyed, because the public record contains it.

    Args:
        workspace: the release.
        released: codes of the records.
        learnt: the learnt files that are public.
        accounts: the privacy costs.
        figures: figures of utility and risk.
        page: the report under review.
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


def require_decision(
    workspace: Workspace, candidate: str, outcome: Outcome, page: Reference, accounts: Accounts
) -> None:
    """Return only if the policy or a person permits the publication of a release.

    A release that was held once, or was outside its policy, needs a decision by a person, even if its spec has changed.

    Args:
        workspace: the release.
        candidate: digest of what would be published.
        outcome: the result of the policy for its figures.
        page: the report under review.
        accounts: the privacy costs.

    Raises:
        Held: a person must decide and has not decided yet, or not with a key that may.
        NotPublished: the release was refused.
    """
    before = held_note(workspace.state, workspace.release_id)
    refusal = next((made for made in decisions(workspace.vault) if made.decision == "refused"), None)
    if refusal is None and outcome.action == "publish" and before is None:
        return
    approval = decision(workspace.vault, candidate)
    note = _note(workspace, candidate, outcome, page, before, approval_subject(workspace, accounts))
    if outcome.action != "refuse" and refusal is None and approval is not None:
        fault = _fault_of(workspace.state, note, approval)
        if fault is None:
            note_approval(workspace, approval)
            tag_release(workspace, {STATUS: approval.decision})
            return
        note = note.model_copy(update={"why": tuple(dict.fromkeys([*note.why, fault]))})
    note_approval(workspace, None)
    note_held(workspace, note)
    if refusal is not None:
        tag_release(workspace, {STATUS: "refused"})
        raise NotPublished(refused_in_words(note.release, refusal))
    if note.action == "refuse":
        tag_release(workspace, {STATUS: "refused"})
        msg = f"{note.release} is refused by the policy of its spec, and nothing is published: {'; '.join(note.why)}; "
        raise NotPublished(msg + afterwards(note.release))
    tag_release(workspace, {STATUS: "held"})
    raise Held(note)


def _fault_of(state: Path, note: HeldNote, approval: Approval) -> str | None:
    """Why an approval does not count; None if it does, and then the trust file names the key that signed it."""
    ledger = state_ledger(state)
    fault = fault_of_approval(note, approval, approvers_of(ledger))
    if fault is None and approval.signed is not None:
        follow_ledger(state, ledger)
    return fault


def _note(
    workspace: Workspace,
    candidate: str,
    outcome: Outcome,
    page: Reference,
    before: HeldNote | None,
    subject: Mapping[str, Any],
) -> HeldNote:
    """The note on a release that is not published automatically."""
    spec = workspace.spec
    why = list(outcome.reasons)
    if before is not None and before.candidate != candidate:
        why.append("it differs from the candidate that was held before, and needs a new decision")
    elif before is not None and outcome.action == "publish":
        why.append("it was held before, and remains held until a person decides")
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
        subject=ApprovalSubject.model_validate(subject),
    )


def _waiting_flow_run() -> str | None:
    """The current run, if it belongs to a deployment and can therefore be suspended."""
    return str(runtime.flow_run.id) if runtime.deployment.id and runtime.flow_run.id else None
