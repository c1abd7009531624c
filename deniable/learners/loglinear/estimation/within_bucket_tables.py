"""The value within a bucket given another attribute, so that recodings of one attribute agree within their buckets.

Buckets are as fine as most tables can resolve. If one attribute nearly determines another, as years of schooling
determine a degree, this is too coarse; a table of the buckets of one by the values of the other corrects it. The
choice of such pairs and drawing values do not belong here.
"""

import numpy as np

from deniable.learners.loglinear.estimation.buckets import Bucketed
from deniable.learners.loglinear.estimation.empirical_bayes import posterior_mean
from deniable.measurements.noisy_tables import Cells
from deniable.models.contrasts import completed

_PRIOR_SHARE = 1e-3
"""Weight of the expected counts added to the estimate, so that no bucket is empty."""


def by_values(table: Cells, axis: int, own: Bucketed) -> Cells:
    """Divide a table's counts in each bucket of one attribute among its values, in their overall proportions.

    Args:
        table: counts over buckets.
        axis: the attribute's axis.
        own: its buckets.

    Returns:
        Counts in the table's shape, except that the axis has the attribute's values.
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
    """Estimated counts of an attribute's values in each bucket of its guide.

    Args:
        released: released entries of the guide's buckets by the attribute's values; differences for two buckets.
        deviation: standard deviation of their noise.
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
