"""A privacy test that compares the exact number of plausible seeds with k: passing reveals who was in the table.

The fault of plausible deniability alone, if it is mistaken for differential privacy.
"""

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class ExactThreshold:
    """The test: a record with k plausible seeds passes, one with k - 1 does not."""

    k: int
    gamma: Fraction

    def pass_probability(self, count: int) -> float:
        """Return 1 if a record with a given number of plausible seeds is released, otherwise 0."""
        return float(count >= self.k)
