"""A release of the small table up to its publication, made by calling the steps, without Prefect."""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from deniable.foundation.keys import ReleaseKey
from deniable.mechanisms import drawn_from
from schemas.references import Audience, Reference
from schemas.spec.accounts import Accounts
from schemas.spec.evaluation import EvaluationFigures
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import ReleaseSpec, load_spec
from stores.ledger.accounts import declared, source_marks
from stores.ledger.charging import policy_of
from stores.ledger.state_ledger import state_ledger
from stores.tracking.release_run import recorded_release
from stores.vault.actors import note_start
from stores.vault.workspace import Workspace
from tasks.data.account import account
from tasks.data.clean import clean
from tasks.data.ingest import ingest
from tasks.data.split import part, split
from tasks.data.validate import validate
from tasks.evaluation.evaluate_risk import evaluate_risk
from tasks.evaluation.evaluate_utility import evaluate_utility
from tasks.learning.planned_step import planned_step
from tasks.publication.publish import publish
from tasks.publication.seal import seal
from tasks.synthesis.draw_baseline import draw_baseline
from tasks.synthesis.gather import gather
from tasks.synthesis.synthesize import blocks, synthesize
from tests.isolation import own_state
from tests.pictures import drawn_once
from tests.small_release import write_small_release

HISTOGRAM: dict[str, Any] = {
    "synthesis": {
        "guarantee": "histogram_seeds",
        "omega": 2,
        "epsilon": 1,
        "delta": 1e-6,
        "k": 10,
        "beta": 1e-3,
        "max_rows": 10_000,
        "records": 400,
        "chunk_candidates": 128,
    }
}
SEEDLESS: dict[str, Any] = {
    "learner": {
        "kind": "marginals",
        "noise": "gaussian",
        "parameters": {"epsilon": 1, "delta": 1e-6, "prior": 1, "estimate": "mean"},
    },
    "split": {"seeds": 0.1, "parameters": 0.6, "holdout": 0.3},
    "synthesis": {"guarantee": "seedless", "records": 400, "chunk_candidates": 128},
}
GUARANTEES: dict[str, dict[str, Any]] = {"tested_seeds": {}, "histogram_seeds": HISTOGRAM, "seedless": SEEDLESS}


@dataclass(frozen=True)
class Drawn:
    """Everything that publication needs."""

    workspace: Workspace
    codes: Reference
    learnt: tuple[Reference, ...]
    accounts: Accounts
    figures: tuple[EvaluationFigures, EvaluationFigures]

    def publish(self) -> Reference:
        return publish(self.workspace, self.codes, self.learnt, self.accounts)

    def seal(self) -> Reference:
        return seal(self.workspace)

    def moved_to(self, state: Path) -> "Drawn":
        """Return the same in a copy of its state folder."""
        before = self.workspace.state
        shutil.copytree(before, state)

        def there(reference: Reference) -> Reference:
            return reference.model_copy(update={"path": state / reference.path.relative_to(before)})

        return replace(
            self,
            workspace=replace(self.workspace, state=state),
            codes=there(self.codes),
            learnt=tuple(there(item) for item in self.learnt),
        )


def drawn_release(
    folder: Path, release_id: str = "small-1", key: bytes = b"", *, run_name: str = "", **changes: Any
) -> Drawn:
    """Run all steps up to publication.

    Args:
        folder: folder for the spec and the state folder, in separate subfolders.
        release_id: the release's name.
        key: its key; by default a new one.
        run_name: its name in MLflow; by default one that no other test uses.
        changes: changes to the spec.
    """
    spec = load_spec(write_small_release(folder / "spec", **changes))
    return drawn_by(spec, folder, release_id, key, run_name or f"{folder.name}-{release_id}")


def open_account(state: Path, spec: ReleaseSpec) -> None:
    """Open the account of a spec's dataset beside others, as the custodian of its people."""
    ledger = state_ledger(state)
    if spec.budget is not None and ledger.policies() and spec.dataset_name not in ledger.policies():
        opening = policy_of(spec, spec.budget)
        ledger.set_policy(declared(opening, ledger, "other people of a test", source_marks(state, spec)))


Spoiling = Callable[[Workspace, Reference, Mapping[str, Reference]], Reference]
"""Changes the released records, given the parts of the real ones."""


def drawn_by(
    spec: ReleaseSpec, folder: Path, release_id: str, key: bytes, run_name: str, spoil: Spoiling | None = None
) -> Drawn:
    """Run all steps of a spec up to publication; what spoils the records does so before they are evaluated."""
    with drawn_once(), recorded_release(own_state(), run_name, spec) as run_id:
        workspace = Workspace(state=folder / "state", release_id=release_id, spec=spec, mlflow_run_id=run_id)
        with workspace.writing("key", Audience.RESTRICTED) as path:
            path.write_bytes(key or ReleaseKey.generate().secret)
        note_start(workspace)
        open_account(workspace.state, spec)
        accounts = account(workspace)
        parts = split(workspace, clean(workspace, validate(workspace, ingest(workspace))))
        made: dict[str, Reference] = {}
        for step in plan_release(spec).steps:
            read = None if step.counts is None else part(parts, step.counts)
            found = planned_step(workspace, step.task, read, tuple(made[name] for name in step.reads))
            made |= {reference.name: reference for reference in found}
        prepare = plan_release(spec).sampler.prepare
        model, seeds = drawn_from(made), None if prepare is None else made[prepare.makes[0].name]
        released = gather(workspace, [synthesize(workspace, model, seeds, block) for block in blocks(spec)], seeds)
        if spoil is not None:
            released = spoil(workspace, released, parts)
        baseline = draw_baseline(workspace, part(parts, "parameters"))
        utility = evaluate_utility(workspace, released, parts, baseline)
        risk = evaluate_risk(workspace, released, parts)
    public = tuple(item for item in made.values() if item.audience is Audience.PUBLIC)
    return Drawn(workspace=workspace, codes=released, learnt=public, accounts=accounts, figures=(utility, risk))
