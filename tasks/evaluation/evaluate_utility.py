"""Measure the utility of a release on the holdout, with real records and a product of marginals for comparison."""

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray

from deniable.evaluation.classifiers import classifiers
from deniable.evaluation.commutes import Commuters, largest_flows, mean_commutes
from deniable.evaluation.utility import (
    ClassifierFactory,
    accuracy,
    agreement_rate,
    compared_marginals,
    count_marginals,
    distinct_share,
    distinguishing_game,
    mean_distance_error,
    predictions,
    sample_rows,
    total_variation,
)
from deniable.foundation.domain import Codes, Domain
from deniable.foundation.errors import InvalidInput
from reports.pages.evaluation import record_evaluation, utility_pictures
from reports.plots.commutes import FLOWS, series_of_commutes
from reports.plots.pairs import pair_errors, series_of_pair, shares_of_pair, worst_pairs
from schemas.references import Reference
from schemas.spec.evaluation import NOT_MEASURED, EvaluationFigures, error_of, judge
from schemas.spec.release_spec import PublicComparison, ReleaseSpec
from stores.tracking.step_run import recorded_step
from stores.vault.workspace import Workspace
from tasks.data.public_rows import public_codes
from tasks.running.sampling import sample_tables, training_parts
from tasks.running.step import as_task
from tasks.running.threads import threads

MAX_COMPARED = 1_000_000
"""The largest number of records from which marginals are computed; more would not change a digit that is shown."""

SHOWN_VALUES = 100
"""An attribute with more values is plotted in at most this many runs of neighbouring values."""

Tables = Mapping[str, Codes]
"""The tables compared with the holdout: `released`, `training` and possibly `baseline`."""
Figures = dict[str, float]
Series = dict[str, tuple[float, ...]]

_FEWEST_PUBLIC = 20
"""The smallest number of rows of a public table that is split into halves for comparison."""

FEWEST_TOLD = 2
"""The smallest number of records of each table for the distinguishing game; with fewer, its figure is left out."""


def evaluate_utility(
    workspace: Workspace, released: Reference, parts: Mapping[str, Reference], baseline: Reference | None = None
) -> EvaluationFigures:
    """Compare the release with the holdout by marginals, classifiers and the distinguishing game.

    As benchmarks, equal numbers of real training records and of records from a product of marginals are compared with
    the holdout too. If no record is held out and the spec names a public table, a random half of that table serves as
    the holdout, and the other half as the training records. If there is no public table either, nothing is measured.

    Args:
        workspace: the release.
        released: codes of the released records.
        parts: codes of the parts of the real records, by name.
        baseline: codes of records with independently drawn attributes.

    Returns:
        The figures; internal, because they are measured on real records without noise.
    """
    spec = workspace.spec
    if spec.evaluation.public is not None:
        return _on_public_table(workspace, released, spec.evaluation.public)
    if not spec.is_evaluated:
        with recorded_step(workspace, "evaluate_utility", inputs=[released]) as step:
            record_evaluation(step, "utility", NOT_MEASURED, {})
        return NOT_MEASURED
    sources = {
        "released": [released],
        "training": training_parts(parts),
        **({"baseline": [baseline]} if baseline else {}),
        "holdout": [parts["holdout"]],
    }
    inputs = [table for source in sources.values() for table in source]
    with recorded_step(workspace, "evaluate_utility", inputs=inputs) as step:
        tables = sample_tables(workspace, "evaluate_utility", sources, MAX_COMPARED)
        holdout = tables.pop("holdout")
        found = _compared(workspace, released, tables, holdout)
        record_evaluation(step, "utility", found, utility_pictures(found, spec))
    return found


evaluate_utility_task = as_task(evaluate_utility)


def _on_public_table(workspace: Workspace, released: Reference, public: PublicComparison) -> EvaluationFigures:
    """Compare the release with a public table; no confidential record is read."""
    spec = workspace.spec
    with recorded_step(workspace, "evaluate_utility", inputs=[released]) as step:
        rows = public_codes(spec, public, workspace.state / "cache")
        step.parameters(public_table=public.file, public_table_sha256=public.sha256)
        words = workspace.key().stream(
            step="evaluate_utility",
            mechanism="sample public records",
            inputs=public.sha256,
            parameters={"size": 2 * MAX_COMPARED},
        )
        real = sample_rows(rows, words, 2 * MAX_COMPARED)
        if len(real) < _FEWEST_PUBLIC:
            raise InvalidInput(
                f"the public table {public.file} must have at least {_FEWEST_PUBLIC} valid rows, to be compared with, "
                f"got {len(real)}; name another, or leave out evaluation.public."
            )
        half = len(real) // 2
        tables = {
            **sample_tables(workspace, "evaluate_utility", {"released": [released]}, MAX_COMPARED),
            "training": real[:half],
        }
        found = _compared(workspace, released, tables, real[half:])
        record_evaluation(step, "utility", found, utility_pictures(found, spec))
    return found


def _compared(workspace: Workspace, released: Reference, tables: Tables, holdout: Codes) -> EvaluationFigures:
    """Measure all figures, comparing the tables with the holdout."""
    spec = workspace.spec
    domain, rows = spec.domain, spec.evaluation.train_rows
    words = workspace.key().stream(
        step="evaluate_utility", mechanism="classifiers", inputs=released.digest, parameters={}
    )
    factories = classifiers(words)
    compared = _first(tables, min(map(len, tables.values())))
    shown, fewer = _first(compared, rows), holdout[:rows]
    chosen: dict[str, ClassifierFactory] = {name: factories[name] for name in spec.evaluation.classifiers}
    # Trees grow, and marginals are counted, without the interpreter's lock.
    with threads() as pool:
        games = {
            name: pool.submit(distinguishing_game, factories["forest"], fewer, table)
            for name, table in shown.items()
            if min(len(fewer), len(table)) >= FEWEST_TOLD
        }
        target = domain.index(domain.target or "")
        predicted = {
            classifier: {name: pool.submit(predictions, factory, table, fewer, target) for name, table in shown.items()}
            for classifier, factory in chosen.items()
        }
        figures, series = _marginals(compared, holdout, domain, pool)
    figures |= {f"distinguished{_about(name)}": game.result() for name, game in games.items()}
    learnt, errors = _learning(predicted, fewer[:, target])
    figures |= learnt
    told = 2 * (min(len(fewer), *map(len, shown.values())) // 2)
    errors |= {name: _share_error(value, told) for name, value in figures.items() if name.startswith("distinguished")}
    series |= _worst_tables({"released": compared["released"], "holdout": holdout}, domain, series)
    series |= _commutes({"released": compared["released"], "real": compared["training"]}, spec)
    series |= {error_of(name): (error,) for name, error in errors.items()}
    return EvaluationFigures(figures=figures, series=series, verdicts=judge(figures, spec.thresholds))


def _first(tables: Tables, rows: int) -> dict[str, Codes]:
    """Return the first records of each table, which are a sample, because the order is random."""
    return {name: table[:rows] for name, table in tables.items()}


def _about(table: str) -> str:
    """Return the suffix of a figure's name for a table; figures on the release have none."""
    return "" if table == "released" else f"_{table}"


def _marginals(tables: Tables, holdout: Codes, domain: Domain, pool: ThreadPoolExecutor) -> tuple[Figures, Series]:
    """Return distances between the marginals, the shares of all values, and the shares of distinct records."""
    cardinalities = domain.cardinalities
    distinct = {name: pool.submit(distinct_share, table, cardinalities) for name, table in tables.items()}
    figures: Figures = {"compared_records": float(len(tables["released"]))}
    series: Series = {}
    for order, marginals in compared_marginals(cardinalities).items():
        counts = {
            name: pool.submit(count_marginals, [table], cardinalities, marginals)
            for name, table in {"holdout": holdout, **tables}.items()
        }
        real = counts.pop("holdout").result()
        for name, table in tables.items():
            counted = counts.pop(name).result()
            distances = total_variation(counted, real)
            series[f"tvd_{order}way{_about(name)}"] = _plain(distances)
            figures[f"tvd_{order}way{_about(name)}"] = float(distances.mean())
            figures[f"tvd_{order}way_worst{_about(name)}"] = float(distances.max())
            error = mean_distance_error(table, holdout, (counted, real))
            series[error_of(f"tvd_{order}way{_about(name)}")] = (error,)
    for name, table in {"released": tables["released"], "holdout": holdout}.items():
        for j, attribute in enumerate(domain.attributes):
            series[f"shares_{name}/{attribute.name}"] = _plain(_shares(table[:, j], attribute.cardinality))
    figures |= {f"distinct_share{_about(name)}": share.result() for name, share in distinct.items()}
    return figures, series


def _worst_tables(tables: Tables, domain: Domain, series: Series) -> Series:
    """Return the tables of the pairs of attributes with the largest errors in the release, to be shown side by side."""
    return {
        series_of_pair(name, error.names): _plain(shares_of_pair(table, domain, error.names).ravel())
        for error in worst_pairs(pair_errors(domain, series))
        for name, table in tables.items()
    }


def _commutes(tables: Tables, spec: ReleaseSpec) -> Series:
    """Return commute distances and the largest flows of the release and of real records, if the spec names places."""
    asked, domain = spec.evaluation.commutes, spec.domain
    if asked is None:
        return {}
    origin, destination = domain.index(asked.origin), domain.index(asked.destination)
    places = {
        column: np.array([list(map(float, asked.places[str(value)])) for value in domain.attributes[column].values])
        for column in (origin, destination)
    }
    workers, means, flows = np.zeros(0, np.int64), dict[str, NDArray[np.float64]](), dict[str, NDArray[np.float64]]()
    for name, table in tables.items():
        commuters = Commuters(table[:, origin], table[:, destination])
        workers, means[name] = mean_commutes(commuters, places[origin], places[destination])
        largest = largest_flows(commuters, len(places[origin]), FLOWS)
        ends = (places[origin][largest[:, 0]], places[destination][largest[:, 1]], largest[:, 2:])
        flows[name] = np.concatenate(ends, axis=1)
    return series_of_commutes(workers, means, flows)


def _shares(column: Codes, cardinality: int) -> NDArray[np.float64]:
    """Return the share of each value, or of each run of neighbouring values if there are many."""
    shares = np.bincount(column, minlength=cardinality) / len(column)
    run = ceil(cardinality / SHOWN_VALUES)
    return np.asarray(np.add.reduceat(shares, np.arange(0, cardinality, run)))


def _plain(values: NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(map(float, values))


def _share_error(share: float, cases: int) -> float:
    """Return the standard error of a share of independent cases."""
    return sqrt(share * (1 - share) / max(cases, 1))


def _learning(
    labels_by: Mapping[str, Mapping[str, Future[NDArray[np.integer]]]], truth: NDArray[np.integer]
) -> tuple[Figures, Figures]:
    """Measure the holdout accuracy of classifiers trained on each table, and agreement with those of real records.

    Args:
        labels_by: what each classifier predicts after learning from each table.
        truth: what it should have predicted.

    Returns:
        The figures, and their standard errors over redrawn holdouts, given the classifiers.
    """
    figures: Figures = {"accuracy_majority": float(np.bincount(truth).max() / len(truth))}
    lost: Figures = {}
    for classifier, by_table in labels_by.items():
        predicted = {name: labels.result() for name, labels in by_table.items()}
        accuracies = {name: accuracy(labels, truth) for name, labels in predicted.items()}
        figures |= {f"accuracy_{classifier}{_about(name)}": value for name, value in accuracies.items()}
        figures |= {
            f"agreement_{classifier}{_about(name)}": agreement_rate(labels, predicted["training"])
            for name, labels in predicted.items()
            if name != "training"
        }
        figures[f"accuracy_loss_{classifier}"] = accuracies["training"] - accuracies["released"]
        right = [(predicted[name] == truth).astype(np.float64) for name in ("training", "released")]
        lost[f"accuracy_loss_{classifier}"] = float(np.std(right[0] - right[1])) / sqrt(len(truth))
    errors = {name: _share_error(value, len(truth)) for name, value in figures.items() if name not in lost}
    return figures, {**errors, **lost}
