"""A privacy test that compares the exact number of plausible seeds with k: that a record passed tells who was there.

The fault of plausible deniability by itself, where it is taken for differential privacy.
"""

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class ExactThreshold:
    """The test: k plausible seeds pass, and k - 1 do not."""

    k: int
    gamma: Fraction

    def pass_probability(self, count: int) -> float:
        """Whether a record with so many plausible seeds is released."""
        return float(count >= self.k)
