"""When the noise of a row of counts exceeds its records: computed from spec and schema, before anything is charged.

A row has the counts of an attribute for one combination of its parents' buckets. Its number of records is confidential,
so that only the number of records is stated below which the noise exceeds them on average.
"""

from collections.abc import Sequence
from math import ceil, pi, prod, sqrt

from deniable.foundation.domain import Domain
from deniable.foundation.tables import configuration_count
from deniable.models.graph import Graph
from deniable.privacy.loss import DiscreteGaussianEvent, DiscreteLaplaceEvent, MechanismEvent


def rows_of_graph(domain: Domain, graph: Graph) -> tuple[int, ...]:
    """Number of rows of each attribute: combinations of its parents' buckets."""
    return tuple(configuration_count(domain, parents) for parents in graph.parents)


def mean_noise(event: MechanismEvent) -> float:
    """Mean size of the noise of one count, close to that of continuous noise."""
    if isinstance(event, DiscreteLaplaceEvent):
        return float(event.scale)
    if isinstance(event, DiscreteGaussianEvent):
        return sqrt(2 * float(event.variance) / pi)
    raise TypeError(event.mechanism)


def most_rows(domain: Domain, max_cost: int) -> tuple[int, ...]:
    """The largest number of rows that a learnt graph may give each attribute."""
    buckets = domain.bucket_counts
    return tuple(min(max_cost, prod(buckets[:i]) * prod(buckets[i + 1 :])) for i in range(len(domain)))


def caution_of_rows(domain: Domain, rows: Sequence[int], events: Sequence[MechanismEvent], *, learnt: bool) -> str:
    """What to know about the noise of rows; empty without parents.

    Args:
        domain: the public domain.
        rows: number of rows of each attribute.
        events: the events of the counts.
        learnt: whether the graph is yet to be learnt, so that these are the largest possible numbers.
    """
    sizes = domain.cardinalities
    cells = [number * size if number > 1 else 0 for number, size in zip(rows, sizes, strict=True)]
    if not events or max(cells) == 0:
        return ""
    i = cells.index(max(cells))
    noise = mean_noise(events[0])
    up_to, remedy = ("up to ", "lower structure.max_cost") if learnt else ("", "leave out a parent")
    return (
        f"if the parameters are learnt from fewer than {ceil(noise * cells[i]):,} records, the noise is more than the "
        f"records of most rows of counts: {domain.names[i]} has {sizes[i]:,} counts for each of {up_to}{rows[i]:,} "
        f"combinations of its parents' buckets, each with a mean noise of {noise:.3g}; then {remedy}, or make buckets "
        "coarser"
    )
