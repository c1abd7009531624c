"""The information limit of the tail of each number, by the plan alone: the noise of one count in its outermost bin."""

from math import sqrt

import numpy as np

from deniable.foundation.domain import Attribute
from deniable.learners.loglinear.plan import LoglinearPlan
from deniable.measurements.growing_bins import GrowingBins, growing_bins
from deniable.mechanisms import Tail

_FEWEST_DOUBLINGS = 9
"""Number of doublings from the smallest step to the outermost bin from which on a number has a tail."""


def tails_of(plan: LoglinearPlan) -> tuple[Tail, ...]:
    """The tails of the numbers with growing bins, in the order of the domain."""
    layout, found = plan.layout, []
    shares = zip(layout.counted, layout.value_shares, layout.bin_shares, strict=True)
    for i, of_values, of_bins in shares:
        attribute = plan.domain.attributes[i]
        bins = growing_bins(attribute) if of_bins else None
        if bins is None:
            continue
        own = _outermost(bins)
        begins, step = _distances(attribute, bins, own)
        if begins >= step * 2**_FEWEST_DOUBLINGS:
            precision = 1 / plan.deviation(of_bins) ** 2 + 1 / (bins.sizes[own] * plan.deviation(of_values) ** 2)
            found.append(Tail(attribute.name, begins, step, 1 / sqrt(precision)))
    return tuple(found)


def _outermost(bins: GrowingBins) -> int:
    """The bin that is farthest from zero."""
    first, last = (max(abs(bins.places[bins.of_value == own])) for own in (0, bins.chain - 1))
    return 0 if first > last else bins.chain - 1


def _distances(attribute: Attribute, bins: GrowingBins, own: int) -> tuple[float, float]:
    """The distance from zero at which a bin begins, and the smallest distance of two numbers."""
    is_number = bins.of_value < bins.chain
    first = np.asarray([float(value) for value in attribute.values])
    last = first if attribute.bins is None else np.asarray([float(value) for value in attribute.bins.last])
    zero = int(np.flatnonzero(is_number & (bins.places == 0))[0])
    inside = bins.of_value == own
    begins = first[inside].min() - first[zero] if own else last[zero] - last[inside].max()
    return float(begins), float(np.diff(first[is_number]).min())
