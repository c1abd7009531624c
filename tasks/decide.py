"""Hold the figures of utility and risk against the spec's thresholds."""

from schemas.evaluation import EvaluationFigures, Verdict
from schemas.references import Audience
from stores.lineage import recorded_step
from stores.workspace import Workspace
from tasks.step import as_task


def decide(workspace: Workspace, utility: EvaluationFigures, risk: EvaluationFigures) -> tuple[Verdict, ...]:
    """Say which thresholds are met. A release that misses some is published all the same, and its staff are told.

    Args:
        workspace: the release.
        utility: what was found of utility.
        risk: what was found of risk.

    Returns:
        One verdict for each threshold; internal, for they say what was measured on real records.
    """
    verdicts = (*utility.verdicts, *risk.verdicts)
    with recorded_step(workspace, "decide") as step:
        step.figure("thresholds_met", sum(verdict.met for verdict in verdicts), Audience.INTERNAL)
        step.figure("thresholds_missed", sum(not verdict.met for verdict in verdicts), Audience.INTERNAL)
        step.document([verdict.model_dump() for verdict in verdicts], "verdicts.json", Audience.INTERNAL)
    return verdicts


decide_task = as_task(decide)
