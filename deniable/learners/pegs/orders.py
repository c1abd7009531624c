"""Orders of the other attributes by mutual information in noisy tables of pairs, which are charged.

The paper orders them by the exact mutual information in the confidential records, without a charge, which is a leak.
Here each pair of attributes with more than one bucket is counted by buckets, with discrete Laplace noise. The orders
are post-processing.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Domain
from deniable.foundation.keys import StreamOpener
from deniable.foundation.noise import DiscreteLaplace
from deniable.foundation.tables import Counts, bucketize
from deniable.learners.pegs.plan import bucketed_pairs, pair_scale
from deniable.learners.privbayes.counting import Family, FamilyTables

if TYPE_CHECKING:
    from deniable.foundation.keys import Parameter


def pair_tables(domain: Domain) -> FamilyTables:
    """An empty tally of the tables of all pairs, the first by its buckets and the second by its values."""
    return FamilyTables(domain, [Family((i,), j) for i, j in bucketed_pairs(domain)])


def noisy_pairs(
    domain: Domain, epsilon: Fraction, tables: Sequence[Counts], open_stream: StreamOpener
) -> tuple[Counts, ...]:
    """Noisy counts of pairs of buckets.

    Args:
        domain: the public domain.
        epsilon: total budget of all tables.
        tables: the tables of `pair_tables`.
        open_stream: opens the streams of this step.
    """
    law, found = DiscreteLaplace(pair_scale(domain, epsilon)), []
    for (i, j), table in zip(bucketed_pairs(domain), tables, strict=True):
        counts = bucketize(table, domain.attributes[j].bucket_of, 1)
        names = [domain.names[i], domain.names[j]]
        parameters: dict[str, Parameter] = {"scale": law.scale, "attributes": names, "domain": domain.digest}
        noise = law.sample(open_stream(mechanism="pair_counts", parameters=parameters), counts.size)
        found.append(counts + noise.reshape(counts.shape))
    return tuple(found)


def orders_by_information(domain: Domain, noisy: Sequence[Counts]) -> tuple[tuple[int, ...], ...]:
    """For each attribute, the others by their mutual information with it; ties and the rest in the schema's order.

    Args:
        domain: the public domain.
        noisy: the tables of all pairs; negative counts are set to 0.
    """
    m = len(domain)
    found = np.zeros((m, m))
    for (i, j), table in zip(bucketed_pairs(domain), noisy, strict=True):
        found[i, j] = found[j, i] = _information(np.maximum(table, 0))
    return tuple(
        tuple(sorted((j for j in range(m) if j != i), key=lambda j, i=i: -found[i, j]))  # type: ignore[misc]
        for i in range(m)
    )


def _information(counts: NDArray[np.int64]) -> float:
    """Mutual information of the rows and columns of a table, in nats."""
    total = counts.sum()
    if total == 0:
        return 0.0
    apart = np.outer(counts.sum(axis=1), counts.sum(axis=0))
    here = counts > 0
    shares = counts[here] / total
    return float((shares * np.log(shares * (total * total / apart[here]))).sum())
