"""The exponential mechanism for monotone scores, with scores that a record can raise or lower: half the true cost.

The fault of dpsynth's AIM. Without the 2 in its exponent the mechanism costs epsilon only if a record moves all scores
in the same direction; distances between tables do not.
"""

import numpy as np
from numpy.typing import NDArray


def log_law(scores: NDArray[np.float64], sensitivity: float, epsilon: float) -> NDArray[np.float64]:
    """Return the logarithms of all candidates' probabilities."""
    exponents = epsilon * scores / sensitivity
    exponents -= exponents.max()
    return np.asarray(exponents - np.log(np.exp(exponents).sum()))
