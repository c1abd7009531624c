"""What a release made, for the user who started it, and as its vault keeps it until it is reported."""

import json
from dataclasses import dataclass

from pydantic import TypeAdapter

from schemas.references import Reference
from schemas.spec.accounts import Accounts, accounts_of
from schemas.spec.evaluation import EvaluationFigures, Verdict
from stores.vault.workspace import Workspace


@dataclass(frozen=True)
class Released:
    """What a release made, for the user who started it."""

    workspace: Workspace
    published: Reference
    passed: int
    utility: EvaluationFigures
    risk: EvaluationFigures
    verdicts: tuple[Verdict, ...]
    accounts: Accounts
    report: Reference
    record: Reference

    def told(self) -> str:
        """What the vault keeps of it until it is reported, as JSON: what does not follow from its workspace."""
        return json.dumps(_RELEASED.dump_python(self, mode="json", exclude={"workspace", "accounts"}))

    @classmethod
    def from_told(cls, workspace: Workspace, told: str) -> "Released":
        """Read it back."""
        followed = {"workspace": workspace, "accounts": accounts_of(workspace.spec)}
        return _RELEASED.validate_python({**json.loads(told), **followed})


_RELEASED = TypeAdapter(Released)
