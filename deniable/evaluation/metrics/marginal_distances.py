"""Total variation distance from the holdout: the mean and the largest over marginals of one, two and three attributes.

Real training records show the distance that chance alone produces.
"""

from collections.abc import Iterator
from math import hypot
from typing import TYPE_CHECKING, Final

import numpy as np

from deniable.evaluation.contract import Figure, Metric, Scope, Table, Value, name_for, names_beside
from deniable.evaluation.utility import mean_distance_error, total_variation

if TYPE_CHECKING:
    from deniable.evaluation.evidence import UtilityEvidence

WORDS: Final = {1: "single attributes", 2: "pairs of attributes", 3: "triples of attributes"}
"""The marginals of each order, in words."""


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
    return values


METRIC: Final = Metric(figures=_figures, measure=_measure)
