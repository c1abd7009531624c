"""Growing bins of a number: public groups of its values, each twice as wide as the one before, on either side of zero.

Counts of single values in a long tail are far below their noise, and so is their sum, which has the noise of all of
them. A count of a whole bin has the noise of one count. The bins follow from the public domain alone. Which counts are
released, and what is made of them, does not belong here.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from math import isfinite, log2

import numpy as np

from deniable.foundation.domain import Attribute, Codes
from deniable.measurements.noisy_tables import Cells, Sums

FEWEST_VALUES = 25
"""Smallest number of values of a number that has growing bins."""


@dataclass(frozen=True, eq=False)
class GrowingBins:
    """The growing bins of an attribute.

    Attributes:
        of_value: bin of each code, numbered from 0 in ascending order of the numbers, shape (cardinality,); a value
            that stands for a missing one has the last bin by itself.
        chain: number of bins of numbers, without that of missing ones.
        places: the middle of each value, in units of the smallest distance of two values, from zero, same shape as
            `of_value`; 0 for a missing one.
        widths: the width of each value in the same units, same shape.
        spans: log2 of the ratio of the distances from zero at which each bin of numbers ends and begins, shape
            (chain,); 1 for that of zero, and for a whole doubling.
    """

    of_value: Codes
    chain: int
    places: Cells
    widths: Cells
    spans: Cells

    @property
    def size(self) -> int:
        """Number of bins."""
        return int(self.of_value.max()) + 1

    @cached_property
    def sizes(self) -> Cells:
        """Number of values of each bin, shape (bins,)."""
        return np.bincount(self.of_value).astype(np.float64)

    def added_up(self, values: Cells) -> Cells:
        """Sum figures of values to bins."""
        return np.bincount(self.of_value, weights=values, minlength=self.size).astype(np.float64)

    def counted(self, counts: Sums) -> Sums:
        """Sum exact counts of values to bins."""
        found = np.zeros(self.size, np.int64)
        np.add.at(found, self.of_value, counts)
        return found


@lru_cache(maxsize=256)
def growing_bins(attribute: Attribute) -> GrowingBins | None:
    """The growing bins of an attribute; None if it has none.

    The bin of zero is that of the number nearest to it. A number that begins d units from there is in the same bin as
    all others on its side with the same integer part of log2(d). A unit is the smallest distance between neighbours.

    Args:
        attribute: a number with enough values in ascending order, or any other attribute.
    """
    numbers = [code for code, value in enumerate(attribute.values) if value != attribute.missing]
    if attribute.kind != "numeric" or len(numbers) < FEWEST_VALUES:
        return None
    if not all(isinstance(own := attribute.values[code], int | float) and isfinite(own) for code in numbers):
        return None
    starts, ends = attribute.edges(numbers)
    gaps = [after - before for before, after in pairwise(starts)]
    if min(gaps) <= 0:
        return None
    unit = min(gaps)
    zero = min(range(len(numbers)), key=lambda place: max(starts[place], -ends[place] + 1, 0))
    # Distances from zero at which each number begins and ends; below zero, from the far end of its bin.
    near = [ends[zero] - end if place < zero else starts[place] - starts[zero] for place, end in enumerate(ends)]
    far = [own + end - start for own, start, end in zip(near, starts, ends, strict=True)]
    levels = [(own // unit).bit_length() * (-1 if place < zero else 1) for place, own in enumerate(near)]
    _, bins = np.unique(levels, return_inverse=True)
    spans = np.ones(int(bins.max()) + 1)
    for own in range(len(spans)):
        inside = np.flatnonzero(bins == own)
        if levels[inside[0]]:
            spans[own] = log2(max(far[place] for place in inside) / min(near[place] for place in inside))
    of_value = np.full(attribute.cardinality, bins.max() + 1, np.uint16)
    of_value[numbers] = bins
    places, widths = np.zeros((2, attribute.cardinality))
    middle = starts[zero] + ends[zero]
    widths[numbers] = [(end - start) / unit for start, end in zip(starts, ends, strict=True)]
    places[numbers] = [(start + end - middle) / (2 * unit) for start, end in zip(starts, ends, strict=True)]
    return GrowingBins(of_value, len(spans), places, widths, spans)
