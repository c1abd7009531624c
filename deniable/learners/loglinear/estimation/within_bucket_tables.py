"""Which value of a bucket it is, by another attribute: recodings of one attribute stay in step within their buckets.

Buckets tell apart what most tables can tell from noise. Where one attribute says nearly what another one is, as years
of schooling and a degree do, that is too coarse: one table of the one's buckets by the other's values mends it. Which
pairs are asked for in that way does not belong here, nor how values are drawn.
"""

import numpy as np

from deniable.learners.loglinear.estimation.buckets import Bucketed
from deniable.learners.loglinear.estimation.empirical_bayes import posterior_mean
from deniable.models.contrasts import completed
from deniable.models.noisy_marginals import Cells

_PRIOR_SHARE = 1e-3
"""Share of what is expected in what is believed, so that no bucket is without a value."""


def by_values(table: Cells, axis: int, own: Bucketed) -> Cells:
    """A table whose counts in each bucket of one attribute are spread over its values, as in all records.

    Args:
        table: counts over buckets.
        axis: the attribute's axis.
        own: its buckets.

    Returns:
        Counts, shape as the table's but for that axis, which has the attribute's values.
    """
    held = own.added_up(own.counts)
    members = own.added_up(np.ones(len(own.counts)))
    shares = np.where(
        held[own.of_value] > 0, own.counts / np.maximum(held, 1e-12)[own.of_value], 1 / members[own.of_value]
    )
    shape = [-1 if other == axis else 1 for other in range(table.ndim)]
    return np.asarray(table.take(own.of_value, axis) * shares.reshape(shape))


def within_bucket_counts(
    released: Cells, deviation: float, pair: Cells, axis: int, own: Bucketed, *, laplace: bool
) -> Cells:
    """Most likely counts of an attribute's values in each bucket of its guide.

    Args:
        released: what was released of the guide's buckets by the attribute's values; differences for two buckets.
        deviation: standard deviation of its noise.
        pair: denoised counts of the two over buckets.
        axis: the attribute's axis in both.
        own: the attribute's buckets.
        laplace: whether the noise is Laplace.

    Returns:
        Counts, shape (buckets of the guide, values).
    """
    expected = by_values(pair, axis, own)
    noisy, left = completed(released, expected, deviation)
    counts = posterior_mean(noisy.ravel(), expected.ravel(), left, laplace=laplace).reshape(expected.shape)
    return np.moveaxis(counts + _PRIOR_SHARE * expected, axis, -1)
