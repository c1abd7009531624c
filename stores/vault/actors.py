"""Who started a release and who approved it, noted in its vault; permissions belong to the operating system."""

import getpass
import os

from schemas.provenance import Approval, People
from schemas.references import Audience
from stores.own_files import read_own
from stores.vault.workspace import Workspace

OPERATOR_VARIABLE = "DENIABLE_OPERATOR"

_NOTE = "people.json"


def operator() -> str:
    """The current operator: the value of DENIABLE_OPERATOR, or else the user's name."""
    named = " ".join(os.environ.get(OPERATOR_VARIABLE, "").split())
    try:
        return named or getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        return f"user {os.getuid()}"


def note_start(workspace: Workspace) -> None:
    """Note who starts a release; a person who resumes it later is not noted."""
    with workspace.writing(_NOTE, Audience.RESTRICTED) as path:
        path.write_text(People(started_by=operator(), approval=None).model_dump_json(), encoding="utf-8")


def is_stated() -> bool:
    """Whether the operator is stated in DENIABLE_OPERATOR and is not the account itself."""
    return bool(os.environ.get(OPERATOR_VARIABLE, "").split())


def note_approval(workspace: Workspace, approval: Approval | None) -> None:
    """Note who approved a release, or that no one has."""
    people = people_of(workspace)
    if people.approval != approval:
        with workspace.writing(_NOTE, Audience.RESTRICTED) as path:
            noted = people.model_copy(update={"approval": approval})
            path.write_text(noted.model_dump_json(), encoding="utf-8")


def people_of(workspace: Workspace) -> People:
    """Who started a release, and who approved it."""
    try:
        return People.model_validate_json(read_own(workspace.vault / _NOTE))
    except FileNotFoundError:
        return People(started_by=operator(), approval=None)
