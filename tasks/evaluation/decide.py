"""Compare the figures of utility and risk with the spec: its thresholds, and its policy for publication."""

from pydantic import BaseModel, ConfigDict

from schemas.references import Audience
from schemas.spec.decision import Outcome, outcome_of
from schemas.spec.evaluation import EvaluationFigures, Verdict
from stores.tracking.step_run import recorded_step
from stores.vault.workspace import Workspace
from tasks.running.step import as_task


class Decided(BaseModel):
    """What follows from the figures.

    Attributes:
        verdicts: one for each threshold; internal, for they contain what was measured on real records.
        outcome: whether the release publishes by itself.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    verdicts: tuple[Verdict, ...]
    outcome: Outcome


def decide(workspace: Workspace, utility: EvaluationFigures, risk: EvaluationFigures) -> Decided:
    """Determine which thresholds are met, and apply the spec's policy to the figures.

    A release that misses thresholds, and whose spec has no policy, is published all the same; its report shows that.

    Args:
        workspace: the release.
        utility: the figures of utility.
        risk: the figures of risk.

    Returns:
        The verdicts, and whether the release publishes by itself.
    """
    verdicts = (*utility.verdicts, *risk.verdicts)
    outcome = outcome_of(workspace.spec.decision, {**utility.figures, **risk.figures})
    with recorded_step(workspace, "decide") as step:
        met = sum(verdict.met for verdict in verdicts)
        step.figures({"thresholds_met": met, "thresholds_missed": len(verdicts) - met}, Audience.INTERNAL)
        step.document([verdict.model_dump() for verdict in verdicts], "verdicts.json", Audience.INTERNAL)
        if workspace.spec.decision is not None:
            step.document(outcome.model_dump(), "outcome.json", Audience.INTERNAL)
    return Decided(verdicts=verdicts, outcome=outcome)


decide_task = as_task(decide)
