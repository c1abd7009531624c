"""How a release describes numbers: means, quantiles and correlations, each beyond what chance gives real records.

All are computed from counts of single attributes and of pairs. A gap beyond chance is the difference between release
and holdout, less that between training records and holdout; the worst number, or pair of numbers, is reported.
"""

from collections.abc import Iterator
from math import sqrt
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from deniable.evaluation.contract import Figure, Metric, Scope, Table, Value
from deniable.foundation.domain import Attribute, Domain

if TYPE_CHECKING:
    from deniable.evaluation.evidence import UtilityEvidence

MEANS: Final = "mean_gap_worst"
"""The gap of means, in standard deviations of the holdout's records."""
QUANTILES: Final = "quantile_gap_worst"
"""The largest gap of distribution functions: by how much the share of records up to a number is off."""
CORRELATIONS: Final = "correlation_gap_worst"
"""The gap of Pearson's correlations."""

_TABLES: Final[tuple[Table, ...]] = ("released", "training", "holdout")


def _figures(_: Scope) -> Iterator[Figure]:
    yield Figure(
        name=MEANS, better="low", words="error of a mean beyond chance, in standard deviations, the worst number"
    )
    yield Figure(name=QUANTILES, better="low", words="error of a cumulative share beyond chance, the worst number")
    yield Figure(
        name=CORRELATIONS, better="low", words="error of a correlation beyond chance, the worst pair of numbers"
    )


def _measure(evidence: "UtilityEvidence") -> dict[str, Value]:
    numbers = numeric_columns(evidence.domain)
    if not numbers:
        return {}
    begun = [
        (order, name, evidence.counts(order, name))
        for order in (1, 2)
        for name in _TABLES
        if order in evidence.marginals
    ]
    counts = {(order, name): counted.result() for order, name, counted in begun}
    means, quantiles, correlations = [], [], []
    for column, numerals in numbers.items():
        tables = [counts[1, name].table((column,)).astype(float) for name in _TABLES]
        shares = [table * np.isfinite(numerals) for table in tables]
        if min(table.sum() for table in shares) >= 2:
            means.append(_gap_of_means(shares, np.nan_to_num(numerals)))
            quantiles.append(_gap_of_quantiles(shares, np.argsort(numerals)))
    for pair in evidence.marginals.get(2, ()):
        if pair[0] in numbers and pair[1] in numbers:
            found = [_correlation(counts[2, name].table(pair), numbers[pair[0]], numbers[pair[1]]) for name in _TABLES]
            if all(each is not None for each in found):
                correlations.append(_beyond([each for each in found if each is not None]))
    gaps = {MEANS: means, QUANTILES: quantiles, CORRELATIONS: correlations}
    return {name: Value(*max(found), tuple(gap for gap, _ in found)) for name, found in gaps.items() if found}


def numeric_columns(domain: Domain) -> dict[int, NDArray[np.float64]]:
    """The numbers that the codes of each numeric column stand for; NaN for a value that stands for a missing one."""
    return {
        column: np.array([_number(attribute, value) for value in attribute.values])
        for column, attribute in enumerate(domain.attributes)
        if attribute.kind == "numeric" and attribute.cardinality > 1
    }


def _number(attribute: Attribute, value: object) -> float:
    return float(value) if isinstance(value, int | float) and value != attribute.missing else float("nan")


def _gap_of_means(counts: list[NDArray[np.float64]], numerals: NDArray[np.float64]) -> tuple[float, float]:
    """The gap of means beyond chance, and its standard error."""
    rows = [float(table.sum()) for table in counts]
    means = [float((table * numerals).sum()) / n for table, n in zip(counts, rows, strict=True)]
    spreads = [
        float((table * (numerals - mean) ** 2).sum()) / n for table, mean, n in zip(counts, means, rows, strict=True)
    ]
    unit = sqrt(spreads[-1]) or 1.0
    errors = [sqrt(spread / n) / unit for spread, n in zip(spreads, rows, strict=True)]
    return _beyond([(mean / unit, error) for mean, error in zip(means, errors, strict=True)])


def _gap_of_quantiles(counts: list[NDArray[np.float64]], order: NDArray[np.int64]) -> tuple[float, float]:
    """The largest gap of distribution functions beyond chance, and its standard error."""
    rows = [float(table.sum()) for table in counts]
    released, training, holdout = (np.cumsum(table[order]) / n for table, n in zip(counts, rows, strict=True))
    place = int(np.argmax(np.abs(released - holdout)))
    at = [float(each[place]) for each in (released, training, holdout)]
    errors = [sqrt(share * (1 - share) / n) for share, n in zip(np.clip(at, 0, 1), rows, strict=True)]
    by_chance = float(np.abs(training - holdout).max())
    return abs(at[0] - at[2]) - by_chance, sqrt(sum(error**2 for error in errors))


def _correlation(
    table: NDArray[np.int64], rows: NDArray[np.float64], columns: NDArray[np.float64]
) -> tuple[float, float] | None:
    """Pearson's correlation of two numbers, and its standard error; None without records or without variation."""
    counts = table * np.outer(np.isfinite(rows), np.isfinite(columns))
    n = float(counts.sum())
    if n < 2:
        return None
    one, other = counts.sum(axis=1), counts.sum(axis=0)
    first, second = np.nan_to_num(rows), np.nan_to_num(columns)
    first, second = first - (one * first).sum() / n, second - (other * second).sum() / n
    spreads = float((one * first**2).sum()), float((other * second**2).sum())
    if min(spreads) <= 0:
        return None
    found = float((counts * np.outer(first, second)).sum()) / sqrt(spreads[0] * spreads[1])
    found = min(max(found, -1.0), 1.0)
    return found, (1 - found**2) / sqrt(n)


def _beyond(estimates: list[tuple[float, float]]) -> tuple[float, float]:
    """The difference of the first estimate from the last, less that of the second, and its standard error."""
    (released, _), (training, _), (holdout, _) = estimates
    gap = abs(released - holdout) - abs(training - holdout)
    return gap, sqrt(sum(error**2 for _, error in estimates))


METRIC: Final = Metric(figures=_figures, measure=_measure, needs=frozenset({"released", "training", "holdout"}))
