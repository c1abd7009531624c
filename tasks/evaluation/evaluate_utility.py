"""Measure the utility of a release on the holdout, with real records and a product of marginals for comparison."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from math import ceil, nan
from typing import Final

import numpy as np
from numpy.typing import NDArray

from deniable.evaluation.classifiers import classifiers
from deniable.evaluation.commutes import Places, largest_flows, mean_commutes
from deniable.evaluation.contract import BESIDE, Table, Value
from deniable.evaluation.evidence import UtilityEvidence
from deniable.evaluation.utility import sample_rows
from deniable.foundation.domain import Codes, Domain
from deniable.foundation.errors import InvalidInput
from reports.pages.evaluation import record_evaluation, utility_pictures
from reports.plots.commutes import FLOWS, series_of_commutes
from reports.plots.marginal_pictures import series_of_shares
from reports.plots.pairs import pair_errors, series_of_pair, shares_of_pair, worst_pairs
from schemas.references import Reference
from schemas.spec.evaluation import NOT_MEASURED, EvaluationFigures
from schemas.spec.release_spec import PublicComparison, ReleaseSpec
from stores.tracking.step_run import recorded_step
from stores.vault.workspace import Workspace
from tasks.data.public_rows import public_codes
from tasks.evaluation.measuring import measure_figures
from tasks.running.sampling import sample_tables, training_parts
from tasks.running.step import as_task

MAX_COMPARED = 1_000_000
"""The largest number of records from which marginals are computed; more would not change a digit that is shown."""

SHOWN_VALUES = 100
"""An attribute with more values is plotted in at most this many runs of neighbouring values."""

Series = dict[str, tuple[float, ...]]

_COMPARED: Final[tuple[Table, ...]] = ("released", *BESIDE)

_FEWEST_PUBLIC = 20
"""The smallest number of rows of a public table that is split into halves for comparison."""


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
            record_evaluation(step, "utility", NOT_MEASURED, spec, {})
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
        record_evaluation(step, "utility", found, spec, utility_pictures(found, spec))
    return found


evaluate_utility_task = as_task(evaluate_utility)


def _on_public_table(workspace: Workspace, released: Reference, public: PublicComparison) -> EvaluationFigures:
    """Compare the release with a public table; no confidential record is read."""
    spec = workspace.spec
    with recorded_step(workspace, "evaluate_utility", inputs=[released]) as step:
        rows = public_codes(spec, public, workspace.state)
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
        record_evaluation(step, "utility", found, spec, utility_pictures(found, spec))
    return found


def _compared(
    workspace: Workspace, released: Reference, tables: Mapping[str, Codes], holdout: Codes
) -> EvaluationFigures:
    """Measure all figures, comparing the tables with the holdout."""
    spec = workspace.spec
    words = workspace.key().stream(
        step="evaluate_utility", mechanism="classifiers", inputs=released.digest, parameters={}
    )
    rows = min(map(len, tables.values()))
    predictors = [each for each in spec.domain.attributes if each.name != spec.domain.target]
    # Rows are in random order, so that the first ones are a sample.
    equal: dict[Table, Codes] = {name: tables[name][:rows] for name in _COMPARED if name in tables}

    def evidence(pool: Executor) -> UtilityEvidence:
        return UtilityEvidence(
            domain=spec.domain,
            tables=equal,
            holdout=holdout,
            rows=spec.evaluation.train_rows,
            classifiers=spec.evaluation.classifiers,
            factories=classifiers(words, attributes=predictors),
            groups=spec.domain.subset(spec.group_attributes),
            pool=pool,
            analyses=spec.analyses,
            are_declared=spec.evaluation.analyses is not None,
            places=_places(spec),
        )

    def series(values: Mapping[str, Value]) -> Series:
        shown = {"released": equal["released"], "holdout": holdout}
        summarized = {name: value.summarizes for name, value in values.items()}
        return {
            **_attribute_shares(shown, spec.domain),
            **_worst_tables(shown, spec.domain, summarized),
            **_commutes({"released": equal["released"], "real": equal["training"]}, spec),
        }

    return measure_figures("utility", spec, evidence, series)


def _attribute_shares(tables: Mapping[str, Codes], domain: Domain) -> Series:
    """Return the shares of all values of each attribute."""
    return {
        series_of_shares(name, attribute.name): _plain(_shares(table[:, column], attribute.cardinality))
        for name, table in tables.items()
        for column, attribute in enumerate(domain.attributes)
    }


def _worst_tables(tables: Mapping[str, Codes], domain: Domain, series: Mapping[str, Sequence[float]]) -> Series:
    """Return the tables of the pairs of attributes with the largest errors in the release, to be shown side by side."""
    return {
        series_of_pair(name, error.names): _plain(shares_of_pair(table, domain, error.names).ravel())
        for error in worst_pairs(pair_errors(domain, series))
        for name, table in tables.items()
    }


_NOWHERE = (nan, nan)


def _places(spec: ReleaseSpec) -> Places | None:
    """Return the places between which commutes are compared, if the spec names them."""
    asked, domain = spec.evaluation.commutes, spec.domain
    if asked is None:
        return None
    origin, destination = domain.index(asked.origin), domain.index(asked.destination)
    known = [
        np.array(
            [list(map(float, asked.places.get(str(value), _NOWHERE))) for value in domain.attributes[column].values]
        )
        for column in (origin, destination)
    ]
    return Places(origin, destination, *known)


def _commutes(tables: Mapping[str, Codes], spec: ReleaseSpec) -> Series:
    """Return commute distances and the largest flows of the release and of real records, if the spec names places."""
    places = _places(spec)
    if places is None:
        return {}
    homes, works = places.origin_places, places.destination_places
    workers, means, flows = np.zeros(0, np.int64), dict[str, NDArray[np.float64]](), dict[str, NDArray[np.float64]]()
    for name, table in tables.items():
        commuters = places.commuters(table)
        workers, means[name] = mean_commutes(commuters, homes, works)
        largest = largest_flows(commuters, len(homes), FLOWS)
        ends = (homes[largest[:, 0]], works[largest[:, 1]], largest[:, 2:])
        flows[name] = np.concatenate(ends, axis=1)
    return series_of_commutes(workers, means, flows)


def _shares(column: Codes, cardinality: int) -> NDArray[np.float64]:
    """Return the share of each value, or of each run of neighbouring values if there are many."""
    shares = np.bincount(column, minlength=cardinality) / len(column)
    run = ceil(cardinality / SHOWN_VALUES)
    return np.asarray(np.add.reduceat(shares, np.arange(0, cardinality, run)))


def _plain(values: NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(map(float, values))
