"""The products of a release, for the user who started it, and as kept in the vault until they are reported."""

import json
from dataclasses import dataclass

from pydantic import TypeAdapter

from schemas.references import Reference
from schemas.spec.accounts import Accounts
from schemas.spec.evaluation import EvaluationFigures, Verdict
from stores.vault.workspace import Workspace


@dataclass(frozen=True)
class Released:
    """The products of a release, for the user who started it."""

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
        """Return as JSON what the vault keeps until it is reported: what does not follow from the workspace."""
        return json.dumps(_RELEASED.dump_python(self, mode="json", exclude={"workspace", "accounts"}))

    @classmethod
    def from_told(cls, workspace: Workspace, told: str) -> "Released":
        """Read what `told` returned."""
        followed = {"workspace": workspace, "accounts": workspace.plan.accounts}
        return _RELEASED.validate_python({**json.loads(told), **followed})


_RELEASED = TypeAdapter(Released)
