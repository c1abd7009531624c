"""Convex losses of the margin m = y w x of a record x with the label y, -1 or 1.

Source: Chaudhuri, Monteleoni, Sarwate 2011, Differentially private empirical risk minimization, section 3.4.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Floats: TypeAlias = NDArray[np.float64]

HUBER: Final = 0.5
"""Half the width of the part of Huber's loss that is curved."""


@dataclass(frozen=True)
class Loss:
    """A convex loss of the margin m = y w x.

    Attributes:
        name: its classifier.
        c: a bound on its second derivative.
        value: the loss.
        slope: its first derivative.
        bend: its second derivative.
    """

    name: str
    c: float
    value: Callable[[Floats], Floats]
    slope: Callable[[Floats], Floats]
    bend: Callable[[Floats], Floats]


def _huber(m: Floats) -> Floats:
    curved = (1 + HUBER - m) ** 2 / (4 * HUBER)
    return np.where(m > 1 + HUBER, 0.0, np.where(m < 1 - HUBER, 1 - m, curved))


LOGISTIC: Final = Loss(
    "logistic regression",
    0.25,
    lambda m: np.logaddexp(0, -m),
    lambda m: -expit(-m),
    lambda m: expit(m) * expit(-m),
)
SVM: Final = Loss(
    "Huber SVM",
    1 / (2 * HUBER),
    _huber,
    lambda m: np.clip((m - 1 - HUBER) / (2 * HUBER), -1.0, 0.0),
    lambda m: np.where(np.abs(1 - m) <= HUBER, 1 / (2 * HUBER), 0.0),
)
