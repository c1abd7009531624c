"""Which attributes of a release are distinguishable from noise.

Everything follows from published integers, so that publication may depend on it. The quality of a release does not
belong here.
"""

from dataclasses import dataclass
from math import pi, sqrt
from typing import Final

import numpy as np

from deniable.measurements.document import Measurements
from deniable.measurements.noisy_tables import Cells, MeasuredTable

LARGEST_ERROR: Final = 0.1
"""An attribute is known if noise moves its shares by at most this mean total variation distance,"""

SIGMAS: Final = 5.0
"""or if its counts differ from uniform by this many standard deviations of the statistic under noise alone."""

_HALF: Final = 2


@dataclass(frozen=True)
class Signal:
    """The number of attributes that are distinguishable from noise.

    Attributes:
        known: the attributes that are distinguishable from noise.
        attributes: all attributes with more than one value.
    """

    known: int
    attributes: int

    @property
    def is_too_low(self) -> bool:
        """Whether fewer than half of the attributes are known."""
        return _HALF * self.known < self.attributes

    def in_words(self) -> str:
        """The problem and its remedy, as the end of a sentence."""
        hidden = self.attributes - self.known
        return (
            f"noise hides {hidden} of its {self.attributes} attributes, about which it says next to nothing (raise "
            "epsilon, bring more records, or describe fewer attributes and values)"
        )


def signal_of(measured: Measurements) -> Signal:
    """Count the attributes that are distinguishable from noise.

    For a marginal y of c cells with noise variance v and N records, noise moves the shares by a mean total variation
    distance of c sqrt(v) / (N sqrt(2 pi)). If the counts are uniform, the sum of (y - mean y)^2 has mean (c - 1) v and
    standard deviation v sqrt(2 (c - 1)). Of several tables with the attribute, the one with the least noise is used,
    and that of its growing bins, if there is one.

    Args:
        measured: what a learner measured.
    """
    several = [i for i, size in enumerate(measured.domain.cardinalities) if size > 1]
    return Signal(sum(_is_known(measured, i) for i in several), len(several))


def _is_known(measured: Measurements, attribute: int) -> bool:
    marginals = [
        _marginal(table, attribute)
        for table in measured.tables
        if attribute in table.attributes and not (table.differences and len(table.attributes) > 1)
    ]
    several = [marginal for marginal in marginals if marginal[0].size > 1]
    if not several:
        return False
    binned = [
        _marginal(own, attribute)
        for table in measured.tables
        if attribute in table.attributes and (own := table.of_bins) is not None
    ]
    best = min(several, key=lambda marginal: marginal[1])
    return any(_stands_out(*marginal, measured.records) for marginal in (best, *binned))


def _stands_out(counts: Cells, variance: float, records: float) -> bool:
    """Whether noise is small, or the counts differ from uniform by more than noise does."""
    error = counts.size * sqrt(variance) / (max(records, 1.0) * sqrt(2 * pi))
    if error <= LARGEST_ERROR:
        return True
    spread = float(np.sum((counts - counts.mean()) ** 2)) - (counts.size - 1) * variance
    return spread >= SIGMAS * variance * sqrt(2 * (counts.size - 1))


def _marginal(table: MeasuredTable, attribute: int) -> tuple[Cells, float]:
    """The counts of one attribute in a table, and the variance of each."""
    axis = table.attributes.index(attribute)
    others = tuple(i for i in range(len(table.attributes)) if i != axis)
    counts = table.values.sum(axis=others)
    return counts, table.variance * table.values.size / counts.size
