"""The estimates of an analysis from records, with standard errors: regressions, means and quantiles.

Records without a number that an analysis needs are left out of it.
"""

from dataclasses import dataclass
from math import sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from deniable.evaluation.analyses.declared import Analysis
from deniable.foundation.domain import Attribute, Codes, Domain

Numbers = NDArray[np.float64]

SIGMAS: Final = 1.959964
"""Half the width of a 95% interval, in standard errors."""

_ALIASED: Final = 1e-9
"""The smallest share of a column's variance that earlier columns do not explain, for it to have a coefficient."""


@dataclass(frozen=True, eq=False)
class Estimates:
    """The estimates of an analysis.

    Attributes:
        values: the estimates, shape (estimates,); NaN where the records give none.
        errors: their standard errors, same shape; NaN in the same places.
        records: the number of records behind each, same shape.
        spreads: standard deviation of the column of each coefficient; 1 for means and quantiles; same shape.
        spread: standard deviation of the outcome.
    """

    values: Numbers
    errors: Numbers
    records: Numbers
    spreads: Numbers
    spread: float


def estimated(analysis: Analysis, domain: Domain, codes: Codes) -> Estimates:
    """Estimate an analysis from records.

    Args:
        analysis: the analysis, whose attributes the table has.
        domain: the table's.
        codes: value codes, shape (records, attributes).

    Returns:
        The estimates, in the order of their names.
    """
    outcome = _outcome(analysis, domain)[codes[:, domain.index(analysis.outcome)]]
    if analysis.kind == "regression":
        columns = [_terms(domain.attributes[domain.index(name)]) for name in analysis.terms]
        taken = [each[codes[:, domain.index(name)]] for name, each in zip(analysis.terms, columns, strict=True)]
        return _regressed(outcome, np.concatenate(taken, axis=1))
    known = np.isfinite(outcome)
    groups = np.zeros(int(known.sum()), np.int64)
    size = len(analysis.estimates(domain))
    if analysis.by is not None:
        groups = codes[known, domain.index(analysis.by)].astype(np.int64)
    outcome = outcome[known]
    spread = float(outcome.std()) if len(outcome) else 0.0
    values, errors, records = (
        _means(outcome, groups, size) if analysis.kind == "mean" else _quantiles(outcome, groups, size, analysis.at)
    )
    return Estimates(values, errors, records, np.ones(size), spread)


def _outcome(analysis: Analysis, domain: Domain) -> Numbers:
    """The number that each value of the outcome stands for; NaN for a missing one."""
    attribute = domain.attributes[domain.index(analysis.outcome)]
    if analysis.value is not None:
        return np.array([float(str(value) == analysis.value) for value in attribute.values])
    return _numbers(attribute)


def _numbers(attribute: Attribute) -> Numbers:
    return np.array(
        [
            float(value) if isinstance(value, int | float) and value != attribute.missing else np.nan
            for value in attribute.values
        ]
    )


def _terms(attribute: Attribute) -> Numbers:
    """The columns of each value of an attribute in a regression, shape (values, columns)."""
    if attribute.kind == "numeric":
        return _numbers(attribute)[:, np.newaxis]
    return np.eye(attribute.cardinality)[:, 1:]


def _regressed(outcome: Numbers, columns: Numbers) -> Estimates:
    """Ordinary least squares with a constant, and standard errors for any variance of the residuals.

    Source: White 1980, A heteroskedasticity-consistent covariance matrix estimator, with the factor n / (n - k) of
    MacKinnon and White 1985 (HC1).
    """
    known = np.isfinite(outcome) & np.isfinite(columns).all(axis=1)
    y, x = outcome[known], columns[known]
    n, size = x.shape
    nothing = np.full(size, np.nan)
    if n == 0:
        return Estimates(nothing, nothing, np.zeros(size), nothing, 0.0)
    spread, spreads = float(y.std()), x.std(axis=0)
    records = np.full(size, float(n))
    scaled = (x - x.mean(axis=0)) / np.where(spreads > 0, spreads, 1.0)
    inverted, seen, hidden = _inverse(np.einsum("ni,nj->ij", scaled, scaled) / n)
    coefficients = _product(inverted, np.einsum("ni,n->i", scaled, y - y.mean()) / n)
    left = n - int(seen.sum()) - 1
    if left < 1:
        return Estimates(nothing, nothing, records, spreads, spread)
    pulls = _product(scaled, inverted) * (y - y.mean() - _product(scaled, coefficients))[:, np.newaxis]
    variances = (pulls**2).mean(axis=0) / left
    unit = np.where(hidden | (spreads == 0), np.nan, np.where(spreads > 0, spreads, 1.0))
    return Estimates(coefficients / unit, np.sqrt(variances) / unit, records, spreads, spread)


def _product(one: Numbers, other: Numbers) -> Numbers:
    """A product of matrices that is added up in a fixed order."""
    return np.asarray(np.einsum("ni,i...->n...", one, other))


def _inverse(square: Numbers) -> tuple[Numbers, NDArray[np.bool_], NDArray[np.bool_]]:
    """The inverse of a matrix of correlations, without the columns that earlier ones determine.

    Columns are swept one after the other (Beaton 1964; Goodnight 1979, A tutorial on the SWEEP operator).

    Returns:
        The inverse, with zeros for columns left out; which columns are in it; and which belong to a set of columns that
        determine each other, whose coefficients the records do not give.
    """
    found, seen = square.copy(), np.zeros(len(square), bool)
    for k in range(len(found)):
        pivot = found[k, k]
        if pivot <= _ALIASED:
            continue
        seen[k] = True
        row, column = found[k] / pivot, found[:, k].copy()
        found -= column[:, np.newaxis] * row
        found[k], found[:, k] = row, -column / pivot
        found[k, k] = 1 / pivot
    hidden = ~seen
    # Swept entries of a column left out are its coefficients on the others; a constant column has none.
    for k in np.flatnonzero(~seen & (np.diag(square) > 0)).tolist():
        hidden |= seen & (np.abs(found[:, k]) > sqrt(_ALIASED))
    return found * seen * seen[:, np.newaxis], seen, hidden


def _means(outcome: Numbers, groups: NDArray[np.int64], size: int) -> tuple[Numbers, Numbers, Numbers]:
    """Means by group, and their standard errors; none for a group of fewer than two records."""
    records = np.bincount(groups, minlength=size).astype(float)
    known = np.where(records > 1, records, np.nan)
    centre = float(outcome.mean()) if len(outcome) else 0.0
    sums, squares = (np.bincount(groups, weights=(outcome - centre) ** power, minlength=size) for power in (1, 2))
    variances = np.maximum(squares - sums**2 / known, 0.0) / (known - 1)
    return centre + sums / known, np.sqrt(variances / known), records


def _quantiles(outcome: Numbers, groups: NDArray[np.int64], size: int, at: float) -> tuple[Numbers, Numbers, Numbers]:
    """Quantiles by group: the smallest number that a share of at least `at` of the records does not exceed.

    Standard errors are by the quantiles at the ends of the interval of the share (Woodruff 1952, Confidence intervals
    for medians and other position measures).
    """
    records = np.bincount(groups, minlength=size).astype(float)
    values, errors = np.full(size, np.nan), np.full(size, np.nan)
    order = np.lexsort((outcome, groups))
    ends = np.concatenate(([0], np.cumsum(records).astype(np.int64)))
    for group in np.flatnonzero(records > 1):
        own = outcome[order[ends[group] : ends[group + 1]]]
        reach = SIGMAS * sqrt(at * (1 - at) / len(own))
        low, middle, high = (_at(own, share) for share in (at - reach, at, at + reach))
        values[group], errors[group] = middle, (high - low) / (2 * SIGMAS)
    return values, errors, records


def _at(ordered: Numbers, share: float) -> float:
    """The smallest of some numbers in order that a share of at least so many does not exceed."""
    place = int(np.ceil(share * len(ordered) - 1e-9)) - 1
    return float(ordered[min(max(place, 0), len(ordered) - 1)])
