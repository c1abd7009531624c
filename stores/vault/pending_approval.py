"""Releases that wait for a decision: the note in the vault, and the errors that end a run without publication.

The persons who may decide and their decisions belong to stores.vault.decisions.
"""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from deniable.command_names import command_line
from deniable.foundation.errors import DeniableError, InvalidInput, Refused
from schemas.provenance import Digest, Time
from schemas.references import Audience
from stores.own_files import read_own
from stores.vault.disk import replace_whole
from stores.vault.lease import leased
from stores.vault.workspace import Workspace

_NOTE = "held.json"


class ApprovalSubject(BaseModel):
    """What a signed approval is bound to, besides the candidate (deniable.record.approval).

    Attributes:
        version: version of what is signed.
        plan: digest of the spec and of the table's domain.
        cost: digest of the release's costs.
        charges: digest of the identities of its charges.
        sentence: what is published, at what cost.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: Literal[1]
    plan: Digest
    cost: Digest
    charges: Digest
    sentence: str


class HeldNote(BaseModel):
    """The note on a release that was not published automatically.

    Attributes:
        release: the release's name, with its `title` and its `dataset`.
        action: whether it is held for a person, or refused by the policy of its spec.
        why: the reasons, in words.
        candidate: keyed digest of everything that is reviewed and would be published.
        since: the time since which this candidate is held.
        started_by: the person who started the release.
        approvers: the persons who may decide; None for anyone except the one who started it.
        page: the report to review, and `page_digest`, its SHA-256.
        mlflow_run: the release's run in MLflow.
        flow_run: the run of a deployment that waits for the decision; None if no run waits.
        subject: what an approval is bound to; None in notes of earlier versions.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    release: str
    title: str
    dataset: str
    action: Literal["hold", "refuse"]
    why: tuple[str, ...]
    candidate: Digest
    since: Time
    started_by: str
    approvers: tuple[str, ...] | None
    page: Path
    page_digest: Digest
    mlflow_run: str
    flow_run: str | None = None
    subject: ApprovalSubject | None = None


class Held(DeniableError):
    """A release waits for a person, and its run ends for now; nothing is published, and nothing is lost.

    Attributes:
        note: the note on the release.
    """

    def __init__(self, note: HeldNote) -> None:
        super().__init__(note)
        self.note = note

    def __str__(self) -> str:
        """How to review, approve and resume the release."""
        note = self.note
        whoever = " or ".join(note.approvers) if note.approvers else f"a person other than {note.started_by}"
        return (
            f"{note.release} is held, and nothing is published, because {'; '.join(note.why)}: review {note.page} "
            f"and the output of {command_line('release held')}; then {whoever} approves it with "
            f"{command_line('release approve')} "
            f'{note.release} --reason "..." (or refuses it with refuse), and the same command resumes the release.'
        )


class NotPublished(Refused):
    """A release will not be published, because of its policy or a person's decision."""


def note_held(workspace: Workspace, note: HeldNote) -> None:
    """Note that a release is not published automatically."""
    with workspace.writing(_NOTE, Audience.RESTRICTED) as path:
        path.write_text(note.model_dump_json(), encoding="utf-8")


def note_waiting(state: Path, note: HeldNote, flow_run: str) -> None:
    """Note which run of a deployment now waits for the decision."""
    if note.flow_run != flow_run:
        with leased(state / "vault" / note.release):
            waiting = note.model_copy(update={"flow_run": flow_run})
            replace_whole(state / "vault" / note.release / _NOTE, waiting.model_dump_json())


def held_note(state: Path, release_id: str) -> HeldNote | None:
    """The note on a release that is held or was held before; None if it never was."""
    place = state / "vault" / release_id / _NOTE
    try:
        return HeldNote.model_validate_json(read_own(place))
    except FileNotFoundError:
        return None
    except ValidationError:
        msg = f"{place} must be as this version of the program writes it, and is not; use the version that wrote it."
    raise Refused(msg)


def held_notes(state: Path) -> list[HeldNote]:
    """The notes on all releases that are or were held, the oldest first; published ones are left out."""
    vaults = sorted(path.parent.name for path in (state / "vault").glob(f"*/{_NOTE}"))
    found = [held_note(state, name) for name in vaults if not (state / "releases" / name).exists()]
    return [note for note in found if note is not None]


def find_held(state: Path, release_id: str) -> HeldNote:
    """The note on a release that waits for a decision, or was decided; it may be published by now.

    Raises:
        InvalidInput: no such release is or was held.
    """
    for place in (state / "vault").glob(f"*/{_NOTE}"):
        note = held_note(state, release_id) if place.parent.name == release_id else None
        if note is not None:
            return note
    if (state / "releases" / release_id).exists():
        raise InvalidInput(
            f"the release must wait for a decision, got {release_id}, which was published without one; check its name."
        )
    msg = (
        f"the release must be one that waits for a decision, got {release_id}, which does not; "
        f"{command_line('release held')} lists the releases that wait."
    )
    raise InvalidInput(msg)
