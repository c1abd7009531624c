"""Who started a release, noted in its vault as it begins; who may start one is for the operating system to say."""

import getpass
import os

from schemas.provenance import People
from schemas.references import Audience
from stores.workspace import Workspace

OPERATOR_VARIABLE = "DENIABLE_OPERATOR"

_NOTE = "people.json"


def operator() -> str:
    """Who is at work: what DENIABLE_OPERATOR says, else the user's name."""
    named = " ".join(os.environ.get(OPERATOR_VARIABLE, "").split())
    try:
        return named or getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        return f"user {os.getuid()}"


def note_start(workspace: Workspace) -> None:
    """Note who starts a release; whoever goes on with it later did not."""
    with workspace.writing(_NOTE, Audience.RESTRICTED) as path:
        path.write_text(People(started_by=operator(), approval=None).model_dump_json(), encoding="utf-8")


def people_of(workspace: Workspace) -> People:
    """Who started a release, and who approved it."""
    try:
        return People.model_validate_json((workspace.vault / _NOTE).read_bytes())
    except FileNotFoundError:
        return People(started_by=operator(), approval=None)
