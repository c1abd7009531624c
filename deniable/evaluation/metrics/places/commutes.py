"""Commutes and flows of a release of commuters, compared with those of the holdout.

Four figures: the mean commute of all workers; mean commutes by destination; flows, which are pairs of origin and
destination; and the destinations' totals. Real training records show the differences that chance alone produces. If the
prior weighs more than the workers, commutes come out too long, and flows do not overlap.

Source: Machanavajjhala, Kifer, Abowd, Gehrke, Vilhuber 2008, figures 1 to 4: mean commutes by destination.
"""

from collections.abc import Iterator
from math import hypot, sqrt
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from deniable.evaluation.contract import Better, Figure, Metric, Scope, Value, name_for, names_beside

if TYPE_CHECKING:
    from deniable.evaluation.commutes import Places
    from deniable.evaluation.evidence import UtilityEvidence
    from deniable.foundation.domain import Codes

GAP: Final = "commute_gap"
"""The mean commute of all workers less that in the holdout, in miles."""
BY_DESTINATION: Final = "commute_gap_by_destination"
"""The mean absolute gap of the destinations' mean commutes, in miles, weighted by their workers."""
OVERLAP: Final = "flow_overlap"
"""The share of workers in flows that both tables have: the sum over pairs of the smaller share."""
TOTALS: Final = "destination_distance"
"""Total variation distance of the destinations' shares of the workers."""

_FIGURES: Final[tuple[tuple[str, Better, str], ...]] = (
    (GAP, "near", "mean commute, miles above the real one"),
    (BY_DESTINATION, "low", "gap of mean commutes by destination, miles"),
    (OVERLAP, "high", "overlap of flows"),
    (TOTALS, "low", "distance, totals of destinations"),
)


def _figures(scope: Scope) -> Iterator[Figure]:
    if not scope.commutes:
        return
    for name, better, words in _FIGURES:
        beside = names_beside(name, scope)
        yield Figure(name=name, better=better, words=words, beside=beside)
        yield from (Figure(name=each, better=better) for each in beside if each)


def _measure(evidence: "UtilityEvidence") -> dict[str, Value]:
    places = evidence.places
    if places is None:
        return {}
    real = evidence.holdout
    return {
        name_for(name, figure): value
        for name, table in evidence.tables.items()
        for figure, value in _compared(table, real, places).items()
    }


def _compared(table: "Codes", real: "Codes", places: "Places") -> dict[str, Value]:
    """The four figures of a table."""
    totals = places.destinations(table, real)
    found = {OVERLAP: _overlap(*places.flows(table, real)), TOTALS: _distance(*totals)}
    distances = places.distances(table, real)
    # Whoever comes from an origin without a place has no commute.
    known = [np.isfinite(each) for each in distances]
    one, other = (each[own] for each, own in zip(distances, known, strict=True))
    if not len(one) or not len(other):
        return found
    gap = float(one.mean() - other.mean())
    work, real_work = (each[own] for each, own in zip(totals, known, strict=True))
    return found | {
        GAP: Value(gap, sqrt(float(one.var()) / len(one) + float(other.var()) / len(other))),
        BY_DESTINATION: _by_destination(one, other, (work, real_work)),
    }


def _by_destination(
    one: NDArray[np.float64], other: NDArray[np.float64], totals: tuple[NDArray[np.int64], NDArray[np.int64]]
) -> Value:
    """The gap by destination; its error is to first order, with one variance of commutes for all destinations."""
    size = int(max(each.max(initial=0) for each in totals)) + 1
    workers = [np.bincount(each, minlength=size) for each in totals]
    means = [
        np.bincount(each, distances, minlength=size) / np.maximum(number, 1)
        for each, distances, number in zip(totals, (one, other), workers, strict=True)
    ]
    both = (workers[0] > 0) & (workers[1] > 0)
    weights = workers[1][both] / max(workers[1][both].sum(), 1)
    within = [
        float(np.mean((each - mean[own]) ** 2)) for each, mean, own in zip((one, other), means, totals, strict=True)
    ]
    variances = sum(variance / number[both] for variance, number in zip(within, workers, strict=True))
    gap = float((weights * np.abs(means[0] - means[1])[both]).sum())
    return Value(gap, sqrt(float((weights**2 * variances).sum())))


def _shares(one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.float64]:
    """The shares of each number in either list, shape (2, numbers), of those that occur."""
    found, places = np.unique(np.concatenate([one, other]), return_inverse=True)
    return np.stack(
        [np.bincount(each, minlength=len(found)) / len(each) for each in (places[: len(one)], places[len(one) :])]
    )


def _overlap(one: NDArray[np.int64], other: NDArray[np.int64]) -> Value:
    shares = _shares(one, other)
    overlap = float(np.minimum(*shares).sum())
    # To first order, more records of a flow count where it is smaller than in the other table.
    counted = [float(shares[k][shares[k] < shares[1 - k]].sum()) for k in range(2)]
    errors = [sqrt(share * (1 - share) / len(each)) for share, each in zip(counted, (one, other), strict=True)]
    return Value(overlap, hypot(*errors))


def _distance(one: NDArray[np.int64], other: NDArray[np.int64]) -> Value:
    overlap = _overlap(one, other)
    return Value(1 - overlap.value, overlap.error)


METRIC: Final = Metric(figures=_figures, measure=_measure)
