"""Mutual information of each pair of attributes, normalized: of a table, and how far it is from the holdout's.

The normalized mutual information of two attributes, 2 I / (H1 + H2), is 0 if they are independent and 1 if each follows
from the other; it is also called symmetrical uncertainty. Chance alone makes it positive, more so in small tables, so
tables of equal size are compared, and real training records stand beside. Standard errors are to first order.

Source: Witten, Frank, Hall 2011, Data Mining, section 7.1; Ping, Stoyanovich, Howe 2017, section 3.4, whose inspector
shows the matrices of a real and a synthetic table.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from deniable.evaluation.contract import Figure, Metric, Scope, Table, Value, name_for, names_beside
from deniable.evaluation.utility import resampling_error

if TYPE_CHECKING:
    from deniable.evaluation.evidence import UtilityEvidence
    from deniable.evaluation.utility import MarginalCounts

_PAIRS: Final = 2


def name_of(table: Table = "released") -> str:
    """Name of the mean over pairs of a table's normalized mutual information; it summarizes that of each pair."""
    return name_for(table, "mutual_information")


def gap_of(table: Table = "released", *, worst: bool = False) -> str:
    """Name of the mean absolute difference from the holdout over pairs, or of the largest."""
    return name_for(table, f"mutual_information_gap{'_worst' if worst else ''}")


def _figures(scope: Scope) -> Iterator[Figure]:
    for table in ("released", "holdout", *scope.beside):
        yield Figure(name=name_of(table), better="neither", has_error=False, may_be_bounded=False)
    for worst in (False, True):
        beside = names_beside(gap_of(worst=worst), scope)
        words = "" if worst else "difference of mutual information, pairs"
        yield Figure(name=gap_of(worst=worst), better="low", words=words, beside=beside, has_error=not worst)
        yield from (Figure(name=name, better="low", has_error=not worst) for name in beside if name)


def _measure(evidence: "UtilityEvidence") -> dict[str, Value]:
    if _PAIRS not in evidence.marginals:
        return {}
    begun = {name: evidence.counts(_PAIRS, name) for name in ("holdout", *evidence.tables)}
    counts = {name: counting.result() for name, counting in begun.items()}
    found = {name: normalized_information(counted) for name, counted in counts.items()}
    real, real_slopes = found["holdout"]
    values = {}
    for name, (information, slopes) in found.items():
        table, counted = evidence.table(name), counts[name]
        values[name_of(name)] = Value(float(information.mean()), summarizes=tuple(map(float, information)))
        if name == "holdout":
            continue
        gaps = information - real
        signs = np.repeat(np.sign(gaps), np.diff(counted.starts))
        error = resampling_error(
            (table, evidence.holdout), (counted, counts["holdout"]), (signs * slopes, signs * -real_slopes)
        )
        values[gap_of(name)] = Value(float(np.abs(gaps).mean()), error)
        values[gap_of(name, worst=True)] = Value(float(np.abs(gaps).max()))
    return values


def normalized_information(counts: "MarginalCounts") -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Normalized mutual information of each of M pairs of attributes.

    Args:
        counts: counts of a table in marginals of two attributes.

    Returns:
        The information in [0, 1], shape (M,), 0 if neither attribute varies; and its derivatives with respect to the
        shares of all cells.
    """
    shares = counts.counts / max(counts.rows, 1)
    sizes = np.asarray(counts.cardinalities)[np.asarray(counts.marginals, np.int64).reshape(-1, _PAIRS)]
    pair = np.repeat(np.arange(len(sizes)), np.diff(counts.starts))
    place = np.arange(len(shares)) - counts.starts[pair]
    both, terms_of_both = _entropies(shares, pair, len(sizes))
    margins, slopes_of_margins = np.zeros(len(sizes)), np.zeros(len(shares))
    for side, value in enumerate((place // sizes[pair, 1], place % sizes[pair, 1])):
        begins = np.concatenate(([0], np.cumsum(sizes[:, side])))
        cell = begins[pair] + value
        of_value = _sums(cell, shares, int(begins[-1]))
        entropy, slopes = _entropies(of_value, np.repeat(np.arange(len(sizes)), sizes[:, side]), len(sizes))
        margins += entropy
        slopes_of_margins += slopes[cell]
    known = np.where(margins > 0, margins, 1.0)
    information = np.where(margins > 0, np.clip(2 - 2 * both / known, 0, 1), 0.0)
    slopes = 2 * (both[pair] * slopes_of_margins - known[pair] * terms_of_both) / known[pair] ** 2
    return information, np.where(margins[pair] > 0, slopes, 0.0)


def _entropies(
    shares: NDArray[np.float64], group: NDArray[np.int64], groups: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Entropy of each group of shares, in nats, and its derivatives; 0 where a share is 0."""
    logarithm = np.log(np.where(shares > 0, shares, 1.0))
    return _sums(group, -shares * logarithm, groups), np.where(shares > 0, -logarithm - 1, 0.0)


def _sums(group: NDArray[np.int64], values: NDArray[np.float64], groups: int) -> NDArray[np.float64]:
    """The sum of the values of each group."""
    return np.asarray(np.bincount(group, values, minlength=groups), np.float64)


METRIC: Final = Metric(figures=_figures, measure=_measure)
