"""Measure what a release discloses about the people in its data, by attacks on them and on the holdout."""

from collections.abc import Mapping
from concurrent.futures import Executor

from deniable.evaluation.disclosure import Tables
from deniable.evaluation.evidence import AttackEvidence
from reports.pages.evaluation import record_evaluation, risk_pictures
from schemas.references import Reference
from schemas.spec.evaluation import NOT_MEASURED, EvaluationFigures
from schemas.spec.release_spec import ReleaseSpec
from stores.tracking.step_run import recorded_step
from stores.vault.workspace import Workspace
from tasks.evaluation.measuring import measure_figures
from tasks.running.sampling import sample_tables, training_parts
from tasks.running.step import as_task

MAX_ATTACKED = 1_000_000
"""The largest number of records of a table that are attacked, or used in attacks."""


def evaluate_risk(workspace: Workspace, released: Reference, parts: Mapping[str, Reference]) -> EvaluationFigures:
    """Attack the people whose records were used and those in the holdout, and compare the success rates.

    Without a holdout nothing is measured.

    Args:
        workspace: the release.
        released: codes of the released records.
        parts: codes of the parts of the real records, by name.

    Returns:
        The figures; internal, because they are measured on real records without noise.
    """
    spec = workspace.spec
    if not spec.is_evaluated:
        with recorded_step(workspace, "evaluate_risk", inputs=[released]) as step:
            record_evaluation(step, "risk", NOT_MEASURED, spec, {})
        return NOT_MEASURED
    training = training_parts(parts)
    with recorded_step(workspace, "evaluate_risk", inputs=[released, *training, parts["holdout"]]) as step:
        sources = {"released": [released], "training": training, "holdout": [parts["holdout"]]}
        samples = sample_tables(workspace, "evaluate_risk", sources, MAX_ATTACKED)
        tables = Tables(**samples, cardinalities=spec.domain.cardinalities)
        found = measure_figures("risk", spec, lambda pool: _evidence(tables, spec, pool))
        record_evaluation(step, "risk", found, spec, risk_pictures(found, spec.evaluation))
    return found


evaluate_risk_task = as_task(evaluate_risk)


def _evidence(tables: Tables, spec: ReleaseSpec, pool: Executor) -> AttackEvidence:
    """Return what the attacks are carried out on."""
    evaluation, domain = spec.evaluation, spec.domain
    return AttackEvidence(
        domain=domain,
        tables=tables,
        known=domain.subset(evaluation.known),
        quasi_identifiers=domain.subset(evaluation.quasi_identifiers),
        sensitive=evaluation.sensitive,
        pool=pool,
    )
