"""Tables whose noise chose the buckets of an attribute, and how they can still be used without bias.

A learner that gives frequent values buckets of their own, and rare values a common one, finds the former too frequent
and the latter too rare: their noise is part of the choice. Sums of these counts over buckets are therefore biased, and
with them every joint estimate. Unbiased are counts from tables whose noise was drawn after the choice, and functions
of the choosing counts that do not depend on it: single values, and the sum of all.
"""

import numpy as np

from deniable.measurements.document import Measurements
from deniable.measurements.noisy_tables import MeasuredTable


def choosing_tables(measured: Measurements, i: int) -> tuple[MeasuredTable, ...]:
    """The tables of an attribute alone whose noisy counts chose its buckets; none if the buckets are public.

    Runs of neighbouring values of an ordered attribute do not count as chosen: a run ends at a count that does not
    depend on later noise, so that the noise of its sum has mean 0 (optional stopping).

    Args:
        measured: what was measured.
        i: the attribute's column number.
    """
    attribute, own = measured.domain.attributes[i], np.asarray(measured.buckets[i])
    if np.array_equal(own, np.arange(len(own))) or np.array_equal(own, attribute.bucket_of):
        return ()
    if attribute.is_ordered and _are_runs(own):
        return ()
    using = (table for table in measured.tables if i in table.attributes and i not in table.by_values)
    turns = [release.turn for table in using for release in table.releases]
    return tuple(
        table
        for table in measured.tables
        if table.attributes == table.by_values == (i,)
        and turns
        and min(release.turn for release in table.releases) < min(turns)
    )


def _are_runs(buckets: np.ndarray) -> bool:
    """Whether buckets are several runs of consecutive values; a single one, among single values, may be a pool."""
    several = np.bincount(buckets) > 1
    return bool((np.diff(buckets) >= 0).all() and np.count_nonzero(several) > 1)
