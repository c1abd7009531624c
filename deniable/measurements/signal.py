"""Which attributes a release says anything about: the noise of what was measured against the counts themselves.

Everything follows from published integers, so that it may decide whether a release is published. How good a release is
does not belong here.
"""

from dataclasses import dataclass
from math import pi, sqrt
from typing import Final

import numpy as np

from deniable.measurements.document import Measurements
from deniable.measurements.noisy_tables import Cells, MeasuredTable

LARGEST_ERROR: Final = 0.1
"""An attribute is known if noise moves its shares by at most this much, in total variation distance on average."""

SIGMAS: Final = 5.0
"""Or if its counts differ from even ones by so many standard deviations of what noise alone would give."""

_HALF: Final = 2


@dataclass(frozen=True)
class Signal:
    """How many attributes the noisy tables say anything about.

    Attributes:
        known: the attributes about which they do.
        attributes: all attributes of several values.
    """

    known: int
    attributes: int

    @property
    def is_too_low(self) -> bool:
        """Whether fewer than half of the attributes are known."""
        return _HALF * self.known < self.attributes

    def in_words(self) -> str:
        """What is the matter and what to do, as the end of a sentence."""
        hidden = self.attributes - self.known
        return (
            f"noise hides {hidden} of its {self.attributes} attributes, about which it says next to nothing (raise "
            "epsilon, bring more records, or describe fewer attributes and values)"
        )


def signal_of(measured: Measurements) -> Signal:
    """Count the attributes about which noisy tables say anything.

    Of a marginal y of c cells with noise of variance v each, and N records, noise alone moves the shares by
    c sqrt(v) / (N sqrt(2 pi)) in mean total variation distance. If the counts are even, the sum of (y - mean y)^2 has
    mean (c - 1) v and standard deviation v sqrt(2 (c - 1)). Of several tables with the attribute the one with the least
    noise counts.

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
    counts, variance = min(several, key=lambda marginal: marginal[1])
    error = counts.size * sqrt(variance) / (max(measured.records, 1.0) * sqrt(2 * pi))
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
