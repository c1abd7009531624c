"""Decisions of persons on held releases: who may decide, how a decision is recorded, and what was decided.

A decision is one file in the release's vault, named after its candidate and written once. The file does not protect
against those who may write there; it prevents a second decision, and a decision on something other than what was
reviewed. The signature under an approval, which does protect, belongs to stores.releases.signed_approvals, and the
consequences of a decision to stores.releases.approval.
"""

import os
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Literal, TypeAlias

from deniable.command_names import command_line
from deniable.foundation.errors import InvalidInput, Refused
from schemas.plain_text import fault_of_line
from schemas.provenance import Approval
from stores.locks import locked
from stores.own_files import read_own
from stores.vault.disk import flush_to_disk
from stores.vault.pending_approval import HeldNote
from stores.vault.private_files import PRIVATE_FILE, make_private_folder
from stores.vault.step_log import time_now
from stores.vault.workspace import file_digest

STATUS = "status"
"""Tag of a release that needs a decision: held, approved or refused."""

DecisionWord: TypeAlias = Literal["approved", "refused"]
Identity: TypeAlias = Literal["key", "account", "stated"]

_FOLDER, _LOCK = "decisions", "setting-aside.lock"
_LONGEST_REASON = 1000
_SHOWN_DIGITS = 16


def afterwards(release_id: str) -> str:
    """The rest of a message about a release that is not published.

    Args:
        release_id: its name.
    """
    discard = command_line(f"release discard {release_id}")
    return f"what was charged stays charged; to abandon the release, run {discard}."


def refused_in_words(release_id: str, refusal: Approval) -> str:
    """The message about a release that a person refused."""
    said = f"{release_id} was refused by {refusal.by}, and nothing is published ({refusal.reason}); "
    return said + afterwards(release_id)


def take_decision(
    state: Path,
    note: HeldNote,
    word: DecisionWord,
    *,
    by: str,
    identity: Identity,
    reason: str,
    sign: Callable[[Approval], Approval] = lambda made: made,
    counts: Callable[[Approval], bool] = lambda _: True,
) -> Approval:
    """Record a decision once; repeating the same decision has no effect.

    Args:
        state: the state folder.
        note: the note on the release.
        word: approved or refused.
        by: the person who decides.
        identity: whether `by` is the account that runs the command, or a stated name.
        reason: the reason; it is published with the release.
        sign: signs the decision.
        counts: whether a decision made before counts; one that does not is set aside, and this one takes its place.

    Returns:
        The valid decision, which is the first one.

    Raises:
        InvalidInput: the name or the reason is missing.
        Refused: this person may not decide, a different decision was made before, or the report has changed.
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
    before = decision(vault, note.candidate)
    decided = [made for made in (before, *_refusals(vault)) if made is not None and counts(made)]
    if decided:
        return _agreeing(decided[0], word, note)
    _require_may_decide(note, word, by)
    if not note.page.is_file() or file_digest(note.page) != note.page_digest:
        msg = f"{note.page} must be unchanged since {note.release} was held, and is not; run the release again."
        raise Refused(msg)
    made = sign(Approval(decision=word, by=by, identity=identity, time=time_now(), reason=reason, seen=note.candidate))
    if before is not None:
        _set_aside(vault, before)
    if _write_once(vault, made):
        return made
    first = decision(vault, note.candidate)
    return made if first is None else _agreeing(first, word, note)


def _agreeing(first: Approval, word: DecisionWord, note: HeldNote) -> Approval:
    """The first decision, if it is the same."""
    if first.decision != word:
        msg = (
            f"a release is decided upon once, and {note.release} was {first.decision} by {first.by} on {first.time}; "
            f"to abandon a release that must not be published after all, run {command_line('release discard')}."
        )
        raise Refused(msg)
    return first


def _require_may_decide(note: HeldNote, word: DecisionWord, by: str) -> None:
    """Refuse a person who may not decide; the person who started a release may still refuse it."""
    if note.action == "refuse" and word == "approved":
        msg = f"{note.release} must be within the policy of its spec to be approved, and is not: {'; '.join(note.why)}."
        raise Refused(msg)
    started_it = by.casefold() == note.started_by.casefold()
    if started_it and word == "approved":
        msg = f"a release must be approved by a person other than {note.started_by}, who started it; ask a colleague."
        raise Refused(msg)
    if not started_it and note.approvers is not None and by not in note.approvers:
        msg = (
            f"a release must be decided upon by one of its approvers ({', '.join(note.approvers)}), got {by}; ask one "
            "of them."
        )
        raise Refused(msg)


def decision_on(state: Path, note: HeldNote) -> Approval | None:
    """The decision on a held release; None if there is none yet."""
    vault = state / "vault" / note.release
    return next(_refusals(vault), None) or decision(vault, note.candidate)


def decisions(vault: Path) -> Iterator[Approval]:
    """All decisions in a release's vault."""
    for path in sorted((vault / _FOLDER).glob("*.json")):
        yield Approval.model_validate_json(read_own(path))


def _refusals(vault: Path) -> Iterator[Approval]:
    return (made for made in decisions(vault) if made.decision == "refused")


def decision(vault: Path, candidate: str) -> Approval | None:
    """The decision on one candidate; None if there is none yet."""
    try:
        return Approval.model_validate_json(read_own(vault / _FOLDER / f"{candidate}.json"))
    except FileNotFoundError:
        return None


def _set_aside(vault: Path, before: Approval) -> None:
    """Keep a decision that does not count under a name of its own, unless another process has just replaced it."""
    place = vault / _FOLDER / f"{before.seen}.json"
    with locked(place.with_name(_LOCK), wait=True):
        if decision(vault, before.seen) == before:
            kept = sha256(before.model_dump_json().encode()).hexdigest()[:_SHOWN_DIGITS]
            place.rename(place.with_name(f"{before.seen}.{kept}.void"))


def _write_once(vault: Path, made: Approval) -> bool:
    """Write a decision completely and permanently to disk; False if there is already one."""
    folder = make_private_folder(vault / _FOLDER)
    with NamedTemporaryFile(dir=folder, prefix="writing-") as file:
        os.fchmod(file.fileno(), PRIVATE_FILE)
        file.write(made.model_dump_json().encode())
        file.flush()
        os.fsync(file.fileno())
        try:
            # Like O_EXCL, this uses only a free name, and the named file is complete.
            os.link(file.name, folder / f"{made.seen}.json")
        except FileExistsError:
            return False
    flush_to_disk(folder)
    return True
