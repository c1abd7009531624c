"""Releases that wait for a person: the note of it in the vault, and the errors that end a run without publication.

Who may decide, and what was decided, is for stores.vault.decisions.
"""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from deniable.foundation.errors import DeniableError, InvalidInput, Refused
from schemas.provenance import Digest, Time
from schemas.references import Audience
from stores.vault.lease import leased
from stores.vault.workspace import Workspace

_NOTE = "held.json"


class HeldNote(BaseModel):
    """What the vault knows of a release that did not publish by itself.

    Attributes:
        release: the release's name, with its `title` and its `dataset`.
        action: whether it is held for a person, or refused by the policy of its spec.
        why: the reasons, in words.
        candidate: keyed digest of all that is to be looked at and would be published.
        since: since when that candidate is held.
        started_by: who started the release.
        approvers: who may decide; None for anybody but the one who started it.
        page: the report to look at, and `page_digest`, its SHA-256.
        mlflow_run: the release's run in MLflow.
        flow_run: the run of a deployment that waits for the decision; None where no run waits.
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


class Held(DeniableError):
    """A release waits for a person, and its run ends meanwhile; nothing is published, and nothing lost.

    Attributes:
        note: what is known of it.
    """

    def __init__(self, note: HeldNote) -> None:
        super().__init__(note)
        self.note = note

    def __str__(self) -> str:
        """How to look, approve and go on."""
        note = self.note
        whoever = " or ".join(note.approvers) if note.approvers else f"somebody other than {note.started_by}"
        return (
            f"{note.release} is held, and nothing is published, because {'; '.join(note.why)}: look at {note.page} "
            f"and, by python -m flows held, at what it is; then {whoever} approves it by python -m flows approve "
            f'{note.release} --reason "..." (or refuses it, by refuse), and the same command goes on.'
        )


class NotPublished(Refused):
    """A release will not be published, by its policy or by a person's decision."""


def note_held(workspace: Workspace, note: HeldNote) -> None:
    """Note that a release does not publish by itself."""
    with workspace.writing(_NOTE, Audience.RESTRICTED) as path:
        path.write_text(note.model_dump_json(), encoding="utf-8")


def note_waiting(state: Path, note: HeldNote, flow_run: str) -> None:
    """Note which run of a deployment waits for the decision from now on."""
    if note.flow_run != flow_run:
        with leased(state / "vault" / note.release):
            place = state / "vault" / note.release / _NOTE
            waiting = place.with_name(f".{_NOTE}")
            waiting.write_text(note.model_copy(update={"flow_run": flow_run}).model_dump_json(), encoding="utf-8")
            waiting.replace(place)


def held_note(state: Path, release_id: str) -> HeldNote | None:
    """What is known of a release that is held, or was once; None where it never was."""
    place = state / "vault" / release_id / _NOTE
    try:
        return HeldNote.model_validate_json(place.read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError:
        msg = f"{place} must be as this version of the program writes it, and is not; use the version that wrote it."
    raise Refused(msg)


def held_notes(state: Path) -> list[HeldNote]:
    """The notes of all releases that are held, or were, the oldest first; those that are public are left out."""
    vaults = sorted(path.parent.name for path in (state / "vault").glob(f"*/{_NOTE}"))
    found = [held_note(state, name) for name in vaults if not (state / "releases" / name).exists()]
    return [note for note in found if note is not None]


def find_held(state: Path, release_id: str) -> HeldNote:
    """What is known of a release that waits for a decision, or was decided and is not published yet.

    Raises:
        InvalidInput: no such release is held.
    """
    for note in held_notes(state):
        if note.release == release_id:
            return note
    if (state / "releases" / release_id).exists():
        raise InvalidInput(f"the release must wait for a decision, and {release_id} is published.")
    msg = (
        f"the release must be one that waits for a decision, got {release_id}, which does not; python -m flows held "
        "lists those that do."
    )
    raise InvalidInput(msg)
