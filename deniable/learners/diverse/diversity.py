"""The smallest prior mass at which a row of counts is entropy l-diverse.

H(P_alpha), the entropy of the probabilities proportional to n_j + alpha, is non-decreasing in alpha, since P_alpha is
a mixture with the uniform distribution. The smallest alpha with H >= ln l is found by bisection. It exists if l < C,
the number of values, or if l = C and all counts are equal.

Source: Park, Ghosh, Shankar 2013, section 3.3; entropy l-diversity: Machanavajjhala et al. 2007, definition 4.1.
"""

from math import log

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.tables import Counts
from deniable.models.urns import EVEN, Integers
from deniable.privacy.urn_costs import UNIT

_LARGEST_ALPHA_BITS = 40
# A row whose entropy falls short only by rounding is diverse.
_ROUNDING = 1e-12


def entropy(counts: Counts, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
    """Entropy of the probabilities proportional to counts plus alpha, in nats; ln C for a row without mass.

    Args:
        counts: shape (rows, values).
        alpha: shape (rows,).
    """
    mass = counts + alpha[:, None]
    total = mass.sum(axis=1, keepdims=True)
    shares = np.where(total > 0, mass / np.where(total > 0, total, 1), 1 / counts.shape[1])
    return np.asarray(-(shares * np.log(np.where(shares > 0, shares, 1))).sum(axis=1), np.float64)


def diverse_priors(counts: Counts, diversity: float) -> Integers:
    """The smallest prior weight of each row at which it is diverse, in units of 1 / b records; EVEN if none.

    Args:
        counts: shape (rows, values).
        diversity: l, above 1.

    Returns:
        Shape (rows,): alpha rounded up; 0 for a row that is already diverse.
    """
    least = log(diversity) - _ROUNDING
    low, high = np.full(len(counts), -1, np.int64), np.full(len(counts), UNIT << _LARGEST_ALPHA_BITS, np.int64)
    # With l = C only uniform rows are diverse; others are drawn uniformly.
    uneven = counts.max(axis=1) > counts.min(axis=1)
    never = (entropy(counts, high / UNIT) < least) | (uneven & (diversity >= counts.shape[1]))
    while (high - low > 1).any():
        middle = (low + high) // 2
        enough = (entropy(counts, middle / UNIT) >= least) & (high - low > 1)
        low, high = np.where(enough | (high - low <= 1), low, middle), np.where(enough, middle, high)
    return np.where(never, EVEN, high)
