"""Compare the figures of utility and risk with the spec's thresholds and its policy for publication."""

import json
from typing import Literal

from pydantic import BaseModel, ConfigDict

from deniable.measurements.document import Measurements
from deniable.measurements.signal import signal_of
from schemas.references import Audience, Reference
from schemas.spec.decision import Outcome, outcome_of
from schemas.spec.evaluation import EvaluationFigures, Verdict
from schemas.spec.plan import planned_steps
from schemas.spec.release_spec import ReleaseSpec
from stores.own_files import read_own
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
    workspace: Workspace, utility: EvaluationFigures, risk: EvaluationFigures, measured: Reference | None = None
) -> Decided:
    """Determine which thresholds are met, and apply the spec's policy to the figures.

    A release that misses thresholds is still published if its spec has no policy; its report shows the misses. But a
    release that would be published automatically is held for a person if noise hides most attributes, or if its plan
    says so. The first depends only on its noisy counts, the second on spec and schema, all of which are public, and so
    discloses nothing more.

    Args:
        workspace: the release.
        utility: the figures of utility.
        risk: the figures of risk.
        measured: the noisy counts that the model was made from, if its learner publishes them.

    Returns:
        The verdicts, and whether the release is published automatically.
    """
    verdicts = (*utility.verdicts, *risk.verdicts)
    outcome = held_if_hidden(
        outcome_of(workspace.spec.decision, {**utility.figures, **risk.figures}), workspace, measured
    )
    outcome = held_by_plan(outcome, workspace.spec)
    with recorded_step(workspace, "decide") as step:
        met = sum(verdict.met for verdict in verdicts)
        step.figures({"thresholds_met": met, "thresholds_missed": len(verdicts) - met}, Audience.INTERNAL)
        step.document([verdict.model_dump() for verdict in verdicts], "verdicts.json", Audience.INTERNAL)
        if workspace.spec.decision is not None or outcome.reasons:
            step.document(outcome.model_dump(), "outcome.json", Audience.INTERNAL)
    return Decided(verdicts=verdicts, outcome=outcome)


def held_if_hidden(outcome: Outcome, workspace: Workspace, measured: Reference | None) -> Outcome:
    """Return the outcome, or require a person's decision because noise hides most attributes.

    Args:
        outcome: the result of the policy.
        workspace: the release.
        measured: the noisy counts from which the model was made; without them, the outcome is unchanged.
    """
    if measured is None:
        return outcome
    document = json.loads(read_own(measured.path))
    signal = signal_of(Measurements.from_document(workspace.spec.domain.modelled, document))
    if not signal.is_too_low:
        return outcome
    return _held(outcome, signal.in_words())


def held_by_plan(outcome: Outcome, spec: ReleaseSpec) -> Outcome:
    """Return the outcome, or require a person's decision because of a caution of the plan.

    Args:
        outcome: the result so far.
        spec: the spec, from which the plan follows.
    """
    reasons = [step.caution for step in planned_steps(spec) if step.is_held and step.caution]
    return _held(outcome, *reasons) if reasons else outcome


def _held(outcome: Outcome, *reasons: str) -> Outcome:
    action: Literal["refuse", "hold"] = "refuse" if outcome.action == "refuse" else "hold"
    return Outcome(action=action, reasons=(*outcome.reasons, *reasons))


decide_task = as_task(decide)
