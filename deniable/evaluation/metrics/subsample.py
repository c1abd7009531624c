"""To how many real records a release is equivalent: a random sample of as many is as far from the holdout.

Samples of the real training records, from a few to all of them, show how the distance falls with their number. The
release's own distance is looked up on this curve. Between two sizes s the squared distance is interpolated linearly in
1/s, which is the law of sampling error. A release that is as close as all training records is equivalent to all of
them, or to more.

Source: the equivalent sub-sample of NIST's SDNist 2.4, here with samples that do not overlap with what they are
compared with.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from deniable.evaluation.contract import Figure, Metric, Scope, Table, Value
from deniable.evaluation.utility import count_marginals, mean_distance_error, total_variation
from deniable.foundation.domain import Codes

if TYPE_CHECKING:
    from deniable.evaluation.evidence import UtilityEvidence
    from deniable.evaluation.utility import MarginalCounts

ORDERS: Final = {2: "pairs", 3: "triples"}
"""The marginals in which tables are compared, in words."""

_RATIO, _SAMPLES, _FEWEST = 4, 4, 10
"""The ratio of neighbouring sizes, the number of samples of a size, and the smallest size."""

_LARGE: Final = 25_000
"""Samples as large as this differ too little for several of one size to be worth their time."""

_FEW_CELLS, _MANY_CELLS = 1 << 20, 1 << 24
"""With more cells than the former there is one sample of each size; with more than the latter there are fewer sizes."""


def name_of(order: int) -> str:
    """Name of the number of real records to which the release is equivalent, by marginals of an order."""
    return f"equivalent_records_{order}way"


def share_of(order: int) -> str:
    """Name of that number divided by the number of training records that are compared."""
    return f"equivalent_share_{order}way"


def _figures(_: Scope) -> Iterator[Figure]:
    for order, words in ORDERS.items():
        yield Figure(
            name=name_of(order),
            better="high",
            words=f"as close as this many real records, {words}",
            summary="real records are as close to others, by pairs of attributes" if order == 2 else "",
            is_listed=order == 2,
            is_count=True,
        )
        yield Figure(name=share_of(order), better="high")


def _measure(evidence: "UtilityEvidence") -> dict[str, Value]:
    values: dict[str, Value] = {}
    tables: tuple[Table, ...] = ("released", "training", "holdout")
    orders = [order for order in ORDERS if order in evidence.marginals]
    begun = {(order, name): evidence.counts(order, name) for order in orders for name in tables}
    released, rows = evidence.table("released"), len(evidence.table("training"))
    for order in orders:
        own, training, real = (begun[order, name].result() for name in tables)
        samples = _sampled(evidence, real)
        error = mean_distance_error(released, evidence.holdout, (own, real))
        curve = [(size, sum(each.result() for each in distances) / len(distances)) for size, distances in samples]
        curve.append((rows, float(total_variation(training, real).mean())))
        equivalent = equivalent_size(curve, float(total_variation(own, real).mean()), error)
        values[name_of(order)] = equivalent
        values[share_of(order)] = Value(equivalent.value / rows, (equivalent.error or 0.0) / rows)
    return values


def _sampled(evidence: "UtilityEvidence", real: "MarginalCounts") -> list[tuple[int, list[Future[float]]]]:
    """Begin to measure samples of the training records, the smallest first."""
    table, cells, sizes = evidence.table("training"), len(real.counts), list[int]()
    ratio = _RATIO if cells <= _MANY_CELLS else _RATIO**2
    size = len(table) // ratio
    while size >= _FEWEST:
        sizes.insert(0, size)
        size //= ratio
    return [
        (
            size,
            [
                evidence.submit(_distance, table[size * i : size * (i + 1)], real)
                for i in range(_SAMPLES if size < _LARGE and cells <= _FEW_CELLS else 1)
            ],
        )
        for size in sizes
    ]


def _distance(sample: Codes, real: "MarginalCounts") -> float:
    """Mean distance of a sample; its counts are not kept."""
    return float(total_variation(count_marginals([sample], real.cardinalities, real.marginals), real).mean())


def equivalent_size(curve: Sequence[tuple[int, float]], distance: float, error: float) -> Value:
    """Number of real records that are as far away as a release.

    Args:
        curve: numbers of real records, ascending, and the mean distance of a sample of as many.
        distance: the distance of the release.
        error: its standard error.

    Returns:
        The number, between the smallest and the largest of the curve, and its standard error to first order.
    """
    # More records are closer; where chance says otherwise, the larger sample tells more about the smaller one.
    falling = list(curve)
    for i in range(len(falling) - 2, -1, -1):
        falling[i] = (falling[i][0], max(falling[i][1], falling[i + 1][1]))
    sizes, found = (falling[0][0], falling[-1][0]), float(falling[0][0])
    slope = 0.0
    for (few, far), (many, near) in pairwise(falling):
        if far > near:
            slope = (1 / few - 1 / many) / (far**2 - near**2)
        if near <= distance <= far and far > near:
            inverse = 1 / many + slope * (distance**2 - near**2)
            found = min(max(1 / inverse, sizes[0]), sizes[1])
            break
    else:
        found = float(sizes[1] if distance <= falling[-1][1] else sizes[0])
    return Value(found, found**2 * slope * 2 * distance * error)


METRIC: Final = Metric(figures=_figures, measure=_measure, needs=frozenset({"released", "training", "holdout"}))
