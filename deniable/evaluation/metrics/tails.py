"""How a release describes amounts: mean, upper hundredth, share of the largest, and zeros, beyond what chance gives.

Each is computed from counts of a number's values: of a bin of numbers, from its middle. A gap beyond chance is the
difference between release and holdout, less that between training records and holdout; the worst number is reported, so
that a threshold bounds every one. Gaps of the mean and of the upper hundredth are relative to the mean size of the
holdout's numbers, whatever their signs. Missing values are left out.
"""

from collections.abc import Iterator, Sequence
from math import hypot, sqrt
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from deniable.evaluation.contract import Figure, Metric, Scope, Table, Value
from deniable.evaluation.metrics.numbers import numeric_columns
from deniable.foundation.domain import Attribute

if TYPE_CHECKING:
    from deniable.evaluation.evidence import UtilityEvidence

Numbers = NDArray[np.float64]

MEANS: Final = "amount_mean_gap_worst"
"""The gap of means, relative to the mean size of the holdout's numbers."""
UPPER: Final = "amount_upper_gap_worst"
"""The gap of the numbers that one record in a hundred exceeds, relative to the larger of this number and that size."""
LARGEST: Final = "amount_top_share_gap_worst"
"""The gap of the share of the sum of all sizes that the largest hundredth of the records has."""
ZEROS: Final = "amount_zero_share_gap_worst"
"""The gap of the share of zeros, of the numbers that may be zero."""

_HUNDREDTH: Final = 0.01
_ROUNDING: Final = 1e-12
_TABLES: Final[tuple[Table, ...]] = ("released", "training", "holdout")
_WORDS: Final = {
    MEANS: "error of a mean beyond chance, relative to the mean size, the worst number",
    UPPER: "error of the upper hundredth beyond chance, relative to it, the worst number",
    LARGEST: "error of the share of the largest hundredth beyond chance, the worst number",
    ZEROS: "error of the share of zeros beyond chance, the worst number",
}


def _figures(_: Scope) -> Iterator[Figure]:
    for name, words in _WORDS.items():
        yield Figure(name=name, better="low", words=words, each="attribute")


def _measure(evidence: "UtilityEvidence") -> dict[str, Value]:
    numbers = numeric_columns(evidence.domain)
    if not numbers or 1 not in evidence.marginals:
        return {}
    begun = [evidence.counts(1, name) for name in _TABLES]
    counts = [counted.result() for counted in begun]
    gaps: dict[str, dict[int, tuple[float, float]]] = {name: {} for name in _WORDS}
    for column, numerals in numbers.items():
        tables = [each.table((column,)).astype(float) * np.isfinite(numerals) for each in counts]
        if min(table.sum() for table in tables) < 2:
            continue
        for name, gap in gaps_of(middles(evidence.domain.attributes[column], numerals), tables).items():
            gaps[name][column] = gap
    every = range(len(evidence.domain))
    values = {}
    for name, found in gaps.items():
        if found:
            worst, error = max(found.values())
            # Attributes that are no numbers have no gap.
            each = [found.get(column, (0.0, 0.0))[0] for column in every]
            values[name] = Value(worst, error, each)
    return values


def middles(attribute: Attribute, numerals: Numbers) -> Numbers:
    """The middle of each value's bin, or the number itself; 0 for a missing one.

    Args:
        attribute: the attribute.
        numerals: the first number of each bin, NaN for a missing one, shape (cardinality,).
    """
    last = numerals if attribute.bins is None else np.asarray([float(value) for value in attribute.bins.last])
    return np.nan_to_num((numerals + last) / 2)


def gaps_of(numerals: Numbers, tables: Sequence[Numbers]) -> dict[str, tuple[float, float]]:
    """The gaps of one number beyond chance, with their standard errors; 0 where none is known.

    Args:
        numerals: the number of each value, shape (cardinality,).
        tables: counts of the values in the release, in training records and in the holdout, each of the same shape.
    """
    size = float((tables[-1] * np.abs(numerals)).sum() / tables[-1].sum()) or 1.0
    upper = [_upper(numerals, table) for table in tables]
    # Errors to first order may be 0, as where all have the same number; none is less than the share of one record.
    least = 1 / min(float(table.sum()) for table in tables)
    found = {
        MEANS: _beyond([_mean(numerals, table) for table in tables], least, size),
        UPPER: _beyond(upper, least, max(abs(upper[-1][0]), size)),
        LARGEST: _beyond([_top_share(np.abs(numerals), table) for table in tables], least),
    }
    if (numerals == 0).any():
        found[ZEROS] = _beyond([_mean((numerals == 0).astype(float), table) for table in tables], least)
    return found


def _mean(numerals: Numbers, counts: Numbers) -> tuple[float, float]:
    """The mean, and its standard error."""
    records = float(counts.sum())
    mean = float((counts * numerals).sum()) / records
    return mean, sqrt(float((counts * (numerals - mean) ** 2).sum())) / records


def _upper(numerals: Numbers, counts: Numbers) -> tuple[float, float]:
    """The smallest number that at most one record in a hundred exceeds, and its standard error.

    The error is half the distance of the numbers at a standard error of the share below and above.

    Source: Woodruff 1952, Confidence intervals for medians and other position measures.
    """
    order = np.argsort(numerals)
    records = float(counts.sum())
    cumulative = np.cumsum(counts[order]) / records
    apart = sqrt(_HUNDREDTH * (1 - _HUNDREDTH) / records)
    wanted = 1 - _HUNDREDTH + np.asarray([-apart, 0.0, apart])
    places = np.minimum(np.searchsorted(cumulative, np.minimum(wanted, 1.0) * (1 - _ROUNDING)), len(order) - 1)
    low, own, high = numerals[order][places].tolist()
    return own, (high - low) / 2


def _top_share(sizes: Numbers, counts: Numbers) -> tuple[float, float]:
    """The share of the sum of sizes that the largest hundredth of the records has, and its standard error.

    With q exceeded by a hundredth, it is the mean of max(x - q, 0) + q / 100 divided by that of x; the error is to
    first order.
    """
    mean, _ = _mean(sizes, counts)
    if mean <= 0:
        return 0.0, 0.0
    exceeded, _ = _upper(sizes, counts)
    largest = np.maximum(sizes - exceeded, 0.0) + _HUNDREDTH * exceeded
    share = _mean(largest, counts)[0] / mean
    return share, _mean(largest - share * sizes, counts)[1] / mean


def _beyond(figures: Sequence[tuple[float, float]], least: float, unit: float = 1.0) -> tuple[float, float]:
    """The difference of the release's figure from the holdout's, less that of training records', and its error."""
    (released, _), (training, _), (holdout, _) = figures
    gap = abs(released - holdout) - abs(training - holdout)
    return gap / unit, max(hypot(*(error for _, error in figures)) / unit, least)


METRIC: Final = Metric(figures=_figures, measure=_measure, needs=frozenset(_TABLES))
