"""Jensen-Shannon divergence from the holdout, in bits, by attribute: the mean over the attributes and the largest.

The divergence of shares p and q with the mean m is 1/2 sum p log2(p / m) + 1/2 sum q log2(q / m): 0 if they are equal,
and 1 if they have no value in common. Rare values that are lost or made up weigh more in it than in total variation.
Its standard error is to first order, and conservative where tables differ by chance alone.

Source: Lin 1991, Divergence measures based on the Shannon entropy.
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

_ORDER: Final = 1


def name_of(table: Table = "released", *, worst: bool = False) -> str:
    """Name of the mean divergence of a table's attributes, or of the largest."""
    return name_for(table, f"jensen_shannon{'_worst' if worst else ''}")


def _figures(scope: Scope) -> Iterator[Figure]:
    for worst in (False, True):
        beside = names_beside(name_of(worst=worst), scope)
        words = "" if worst else "Jensen-Shannon divergence, single attributes"
        yield Figure(
            name=name_of(worst=worst),
            better="low",
            words=words,
            beside=beside,
            has_error=not worst,
            each="" if worst else "attribute",
        )
        yield from (Figure(name=name, better="low", has_error=not worst) for name in beside if name)


def _measure(evidence: "UtilityEvidence") -> dict[str, Value]:
    begun = {name: evidence.counts(_ORDER, name) for name in evidence.has}
    real = begun.pop("holdout").result()
    values = {}
    for name, counting in begun.items():
        counted = counting.result()
        divergences, slopes = divergence(counted, real)
        tables = evidence.table(name), evidence.holdout
        error = resampling_error(tables, (counted, real), slopes)
        values[name_of(name)] = Value(float(divergences.mean()), error, tuple(map(float, divergences)))
        values[name_of(name, worst=True)] = Value(float(divergences.max()))
    return values


def divergence(
    first: "MarginalCounts", second: "MarginalCounts"
) -> tuple[NDArray[np.float64], tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Jensen-Shannon divergence of two tables in each of M marginals, in bits.

    Args:
        first: counts of one table.
        second: counts of the other in the same marginals.

    Returns:
        Divergences, shape (M,), and their derivatives with respect to the shares of all cells of either table: for the
        first, 1/2 log2(p / m) where p is positive; where it is 0, the derivative is not needed, and 0.
    """
    shares = [counts.counts / counts.rows for counts in (first, second)]
    mean = (shares[0] + shares[1]) / 2
    slopes = [np.log2(np.divide(each, mean, out=np.ones_like(mean), where=each > 0)) / 2 for each in shares]
    terms = shares[0] * slopes[0] + shares[1] * slopes[1]
    return np.maximum(np.add.reduceat(terms, first.starts[:-1]), 0.0), (slopes[0], slopes[1])


METRIC: Final = Metric(figures=_figures, measure=_measure)
