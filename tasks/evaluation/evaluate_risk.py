"""Measure what a release discloses about the people in its data, by attacks on them and on the holdout."""

from collections.abc import Mapping
from math import sqrt

from deniable.evaluation.disclosure import (
    Tables,
    exact_matches,
    infer,
    nearer_to_training,
    reproduced,
    uniqueness,
)
from deniable.foundation.domain import Domain
from reports.pages.evaluation import record_evaluation, risk_pictures
from schemas.references import Reference
from schemas.spec.evaluation import NOT_MEASURED, EvaluationFigures, error_of, inferred, judge
from schemas.spec.release_spec import Evaluation
from stores.tracking.step_run import recorded_step
from stores.vault.workspace import Workspace
from tasks.running.sampling import sample_tables, training_parts
from tasks.running.step import as_task
from tasks.running.threads import threads

MAX_ATTACKED = 1_000_000
"""The largest number of records of a table that are attacked, or used in attacks."""

MAX_NEAREST_FROM = 2_000
MAX_NEAREST_TO = 20_000
"""The search for nearest records compares each of the former with each of the latter."""

Figures = dict[str, float]
Series = dict[str, tuple[float, ...]]


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
            record_evaluation(step, "risk", NOT_MEASURED, {})
        return NOT_MEASURED
    training = training_parts(parts)
    with recorded_step(workspace, "evaluate_risk", inputs=[released, *training, parts["holdout"]]) as step:
        sources = {"released": [released], "training": training, "holdout": [parts["holdout"]]}
        samples = sample_tables(workspace, "evaluate_risk", sources, MAX_ATTACKED)
        tables = Tables(**samples, cardinalities=spec.domain.cardinalities)
        figures, series = _attacks(tables, spec.domain, spec.evaluation)
        found = EvaluationFigures(figures=figures, series=series, verdicts=judge(figures, spec.thresholds))
        record_evaluation(step, "risk", found, risk_pictures(found, spec.evaluation))
    return found


evaluate_risk_task = as_task(evaluate_risk)


def _attacks(tables: Tables, domain: Domain, evaluation: Evaluation) -> tuple[Figures, Series]:
    """Carry out all attacks."""
    equal = _equal_parts(tables, released=len(tables.released), real=MAX_ATTACKED)
    sample = _equal_parts(tables, released=MAX_NEAREST_FROM, real=MAX_NEAREST_TO)
    known = domain.subset(evaluation.known)
    # Records are sorted and compared without the interpreter's lock.
    with threads() as pool:
        matches, copied = pool.submit(exact_matches, equal), pool.submit(reproduced, tables)
        nearer = pool.submit(nearer_to_training, sample)
        guesses = {
            attribute: pool.submit(infer, tables, known=known, sensitive=domain.index(attribute))
            for attribute in evaluation.sensitive
        }
        unique = uniqueness(tables, domain.subset(evaluation.quasi_identifiers))
    contrasts = {"exact_match": matches.result(), "reproduced": copied.result(), "unique_found": unique.found}
    figures: Figures = {
        "nearer_to_training": nearer.result(),
        "unique_share": unique.released.value,
        "unique_matches_unique_share": unique.released_and_population.value,
    }
    for attribute, guess in guesses.items():
        inference = guess.result()
        contrasts[inferred(attribute)] = inference.attack
        figures[f"{inferred(attribute)}_marginal"] = inference.marginal.holdout.value
    series: Series = {}
    for name, contrast in contrasts.items():
        figures[f"{name}_training"] = contrast.training.value
        figures[f"{name}_holdout"] = contrast.holdout.value
        figures[f"{name}_excess"] = contrast.excess
        series[name] = (
            contrast.training.value,
            contrast.training.variance**0.5,
            contrast.holdout.value,
            contrast.holdout.variance**0.5,
        )
        series[error_of(f"{name}_excess")] = (contrast.standard_error,)
    worst = max(evaluation.sensitive, key=lambda name: contrasts[inferred(name)].excess)
    figures["inferred_excess_worst"] = contrasts[inferred(worst)].excess
    series[error_of("inferred_excess_worst")] = series[error_of(f"{inferred(worst)}_excess")]
    share, cases = figures["nearer_to_training"], min(len(tables.released), MAX_NEAREST_FROM)
    series[error_of("nearer_to_training")] = (sqrt(share * (1 - share) / max(cases, 1)),)
    return figures, series


def _equal_parts(tables: Tables, *, released: int, real: int) -> Tables:
    """Return the first records of each table, as many for training as in the holdout; all are in random order."""
    real = min(real, len(tables.training), len(tables.holdout))
    return Tables(
        released=tables.released[:released],
        training=tables.training[:real],
        holdout=tables.holdout[:real],
        cardinalities=tables.cardinalities,
    )
