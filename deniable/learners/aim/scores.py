"""The error of a model on a candidate, in integers.

The score of a table r is w_r (|M_r(D) - M_r(p)|_1 - sqrt(2 / pi) sigma n_r), the gain of a measurement over its noise.
M_r(D) are exact counts, and M_r(p) the model's expected counts. The latter are public, and rounded to multiples of 1 /
UNIT before they are compared with the counts, so that there is no floating-point arithmetic between the counts and a
choice.

Adding or removing a record changes one count by 1, so UNIT times the distance changes by at most UNIT, and the score
by at most UNIT w_r, whatever the model and the noise: |sum |c - e| - sum |c' - e|| <= sum |c - c'| by the triangle
inequality. It may increase or decrease: a record added to a cell that the model overestimates reduces the distance.
Scores are therefore not monotone, and a choice with epsilon needs Pr[r] proportional to exp(epsilon q_r / (2 s)) with
s the sensitivity; the form with exp(epsilon q_r / s), for monotone scores, would cost up to 2 epsilon
(tests/privacy/test_aim_choices_cost_what_they_are_charged.py has a table for which it does).

Source: McKenna, Mullins, Sheldon, Miklau 2022, eq. 1 and Theorem 3.
"""

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.tables import Counts
from deniable.learners.aim.plan import mean_noise
from deniable.learners.aim.workload import Attributes

UNIT = 64
"""Expected counts are multiples of 1 / 64, because large tables have many cells with small expected counts."""


def score(counts: Counts, expected: NDArray[np.float64], weight: int, variance: Fraction) -> int:
    """The score of one candidate, in units of 1 / UNIT; one record changes it by at most UNIT times its weight.

    Args:
        counts: the exact counts, confidential.
        expected: the model's counts, public, in the same shape.
        weight: the candidate's weight.
        variance: variance of the noise that the table would have.
    """
    distance = int(np.abs(UNIT * counts - _in_units(expected)).sum())
    return weight * (distance - hidden(counts.size, variance))


def hidden(cells: int, variance: Fraction) -> int:
    """The part of a distance that noise would hide, in units of 1 / UNIT; public."""
    return round(UNIT * mean_noise(variance) * cells)


def sensitivity(weights: Mapping[Attributes, int]) -> int:
    """Largest change of any candidate's score by one record."""
    return UNIT * max(weights.values())


def _in_units(expected: NDArray[np.float64]) -> Counts:
    return np.asarray(np.rint(UNIT * expected), np.int64)
