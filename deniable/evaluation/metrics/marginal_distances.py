"""Total variation distance from the holdout: the mean and the largest over marginals of one, two and three attributes.

Real training records show the distance that chance alone produces.
"""

from collections.abc import Iterator
from math import hypot
from typing import TYPE_CHECKING, Final

import numpy as np

from deniable.evaluation.contract import Figure, Metric, Scope, Table, Value, name_for, names_beside
from deniable.evaluation.utility import SIGMAS, mean_distance_error, total_variation, widened

if TYPE_CHECKING:
    from deniable.evaluation.evidence import UtilityEvidence
    from deniable.evaluation.utility import MarginalCounts

WORDS: Final = {1: "single attributes", 2: "pairs of attributes", 3: "triples of attributes"}
"""The marginals of each order, in words."""


ATTRIBUTE: Final = "tvd_1way_beyond_worst"
"""The distance of the worst attribute, less that of its training records; an interval of 95% covers all attributes."""

_SCORED, _PERFECT = 2, 1000.0


def name_of(order: int, table: Table = "released", *, worst: bool = False) -> str:
    """Name of the mean distance over the marginals of an order, or of the largest.

    Args:
        order: number of attributes of a marginal.
        table: the table that is compared with the holdout.
        worst: whether it is the largest distance.
    """
    return name_for(table, f"tvd_{order}way{'_worst' if worst else ''}")


def beyond_of(order: int) -> str:
    """Name of the release's mean distance, less that of real training records: what is not chance."""
    return f"tvd_{order}way_beyond"


def score_of(table: Table = "released") -> str:
    """Name of SDNist's score of pairs: 1000 less 500 times the mean L1 distance."""
    return name_for(table, "k_marginal_score")


def _figures(scope: Scope) -> Iterator[Figure]:
    for order, words in WORDS.items():
        for worst in (False, True):
            beside = names_beside(name_of(order, worst=worst), scope)
            yield Figure(
                name=name_of(order, worst=worst),
                better="low",
                words="" if worst else f"distance, {words}",
                summary="distance to real pairs of attributes" if order == 2 and not worst else "",
                beside=beside,
                each="attribute" if order == 1 and not worst else "",
                has_error=not worst,
                is_listed=order == 2 and not worst,
            )
            yield from (Figure(name=name, better="low", has_error=not worst) for name in beside if name)
        yield Figure(name=beyond_of(order), better="low")
    yield Figure(
        name=ATTRIBUTE,
        better="low",
        words="distance of an attribute beyond chance, the worst attribute",
        each="attribute",
    )
    beside = names_beside(score_of(), scope)
    yield Figure(name=score_of(), better="high", beside=beside)
    yield from (Figure(name=name, better="high") for name in beside if name)


def _measure(evidence: "UtilityEvidence") -> dict[str, Value]:
    begun = [(order, name, evidence.counts(order, name)) for order in evidence.marginals for name in evidence.has]
    counts = {(order, name): counted.result() for order, name, counted in begun}
    values: dict[str, Value] = {}
    for order in evidence.marginals:
        real = counts[order, "holdout"]
        for name, table in evidence.tables.items():
            counted = counts[order, name]
            distances = total_variation(counted, real)
            error = mean_distance_error(table, evidence.holdout, (counted, real))
            values[name_of(order, name)] = Value(float(distances.mean()), error, tuple(map(float, distances)))
            if order == _SCORED:
                values[score_of(name)] = Value(_PERFECT * (1 - float(distances.mean())), _PERFECT * error)
            values[name_of(order, name, worst=True)] = Value(float(np.max(distances)))
        if "training" in evidence.has:
            released, training = values[name_of(order)], values[name_of(order, "training")]
            error = hypot(released.error or 0.0, training.error or 0.0)
            values[beyond_of(order)] = Value(released.value - training.value, error)
            if order == 1:
                values[ATTRIBUTE] = worst_attribute(*(counts[1, name] for name in ("released", "training", "holdout")))
    return values


def worst_attribute(released: "MarginalCounts", training: "MarginalCounts", holdout: "MarginalCounts") -> Value:
    """The attribute whose shares are certainly furthest off, beyond chance.

    The distance 1/2 sum |p - q| has the derivative 1/2 sign(p - q) with respect to p. The error to first order is that
    of both distances, and is widened for the number of attributes (Bonferroni).

    Args:
        released: counts of single attributes in the release.
        training: those in training records.
        holdout: those in the holdout.
    """
    starts, real = holdout.starts[:-1], holdout.counts / holdout.rows
    gaps, variances = np.zeros(len(starts)), np.zeros(len(starts))
    for part, sign in ((released, 1), (training, -1)):
        differ = part.counts / part.rows - real
        gaps += sign * np.add.reduceat(np.abs(differ), starts) / 2
        pulls = np.sign(differ) / 2
        for table in (part, holdout):
            shares = table.counts / table.rows
            means, squares = (np.add.reduceat(shares * pulls**power, starts) for power in (1, 2))
            variances += np.maximum(squares - means**2, 0.0) / table.rows
    errors = np.sqrt(variances) * widened(len(gaps))
    worst = int(np.argmax(gaps - SIGMAS * errors))
    return Value(float(gaps[worst]), float(errors[worst]), tuple(map(float, gaps)))


METRIC: Final = Metric(figures=_figures, measure=_measure)
