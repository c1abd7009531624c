"""Compare the figures of utility and risk with the spec's thresholds and its policy for publication."""

import json
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from deniable.foundation.domain import Domain
from deniable.measurements.document import Measurements
from deniable.measurements.foreseen_uses import Foreseen, foreseen
from schemas.references import Audience, Reference
from schemas.spec.decision import Outcome, outcome_of
from schemas.spec.evaluation import EvaluationFigures, Verdict
from schemas.spec.plan import ReleasePlan
from schemas.spec.release_spec import ReleaseSpec
from stores.own_files import read_own
from stores.tables.tables import read_codes
from stores.tracking.step_run import recorded_step
from stores.vault.workspace import Workspace
from tasks.running.step import as_task


class Decided(BaseModel):
    """The conclusions from the figures.

    Attributes:
        verdicts: one for each threshold; internal, because they contain what was measured on real records.
        outcome: whether the release is published automatically.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    verdicts: tuple[Verdict, ...]
    outcome: Outcome


def decide(
    workspace: Workspace,
    utility: EvaluationFigures,
    risk: EvaluationFigures,
    measured: Reference | None = None,
    released: Reference | None = None,
) -> Decided:
    """Determine which thresholds are met, and apply the spec's policy to the figures.

    A release that misses thresholds is still published if its spec has no policy; its report shows the misses. But a
    release that would be published automatically is held for a person if noise leaves fewer than half of the uses
    possible, if the shares of single attributes are off from its own noisy counts, or if its plan says so. The first
    two depend only on its noisy counts and its records, the last on spec and schema, all of which are public, and so
    discloses nothing more.

    Args:
        workspace: the release.
        utility: the figures of utility.
        risk: the figures of risk.
        measured: the noisy counts that the model was made from, if its learner publishes them.
        released: codes of the released records.

    Returns:
        The verdicts, and whether the release is published automatically.
    """
    verdicts = (*utility.verdicts, *risk.verdicts)
    outcome = outcome_of(workspace.spec.decision, {**utility.figures, **risk.figures})
    public = None if measured is None else foreseen_by(workspace.spec, measured, released)
    if public is not None and (reasons := public.reasons()):
        outcome = _held(outcome, *reasons)
    outcome = held_by_plan(outcome, workspace.plan)
    read = [item for item in (measured, None if measured is None else released) if item is not None]
    with recorded_step(workspace, "decide", inputs=read) as step:
        met = sum(verdict.met for verdict in verdicts)
        step.figures({"thresholds_met": met, "thresholds_missed": len(verdicts) - met}, Audience.INTERNAL)
        step.document([verdict.model_dump() for verdict in verdicts], "verdicts.json", Audience.INTERNAL)
        if public is not None:
            step.figures({"foreseen_uses": len(public.uses), "foreseen_uses_good": public.good}, Audience.INTERNAL)
        if workspace.spec.decision is not None or outcome.reasons:
            step.document(outcome.model_dump(), "outcome.json", Audience.INTERNAL)
    return Decided(verdicts=verdicts, outcome=outcome)


def foreseen_by(spec: ReleaseSpec, measured: Reference, released: Reference | None) -> Foreseen:
    """Say for which uses a release can be good, by what is public of it.

    Args:
        spec: the release's spec.
        measured: the noisy counts from which the model was made.
        released: codes of the released records; without them, single attributes are not compared.
    """
    modelled = spec.domain.modelled
    known = Measurements.from_document(modelled, json.loads(read_own(measured.path)))
    return foreseen(known, spec.analyses, None if released is None else _counted(spec.domain, modelled, released))


def _counted(domain: Domain, modelled: Domain, released: Reference) -> list[NDArray[np.int64]]:
    """Counts of the values of each modelled attribute in the released records."""
    counts = [np.zeros(size, np.int64) for size in modelled.cardinalities]
    columns = domain.subset(modelled.names)
    for codes in read_codes(released.path, domain):
        more = [np.bincount(codes[:, column], minlength=len(own)) for own, column in zip(counts, columns, strict=True)]
        counts = [own + added for own, added in zip(counts, more, strict=True)]
    return counts


def held_by_plan(outcome: Outcome, plan: ReleasePlan) -> Outcome:
    """Return the outcome, or require a person's decision because of a caution of the plan.

    Args:
        outcome: the result so far.
        plan: the plan of the release.
    """
    reasons = [step.caution for step in plan.steps if step.is_held and step.caution]
    return _held(outcome, *reasons) if reasons else outcome


def _held(outcome: Outcome, *reasons: str) -> Outcome:
    action: Literal["refuse", "hold"] = "refuse" if outcome.action == "refuse" else "hold"
    return Outcome(action=action, reasons=(*outcome.reasons, *reasons))


decide_task = as_task(decide)
