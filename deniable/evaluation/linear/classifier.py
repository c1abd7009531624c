"""Linear classifiers as evaluations use them: with a fixed lambda, and one against the others for several labels."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from deniable.evaluation.linear.losses import Floats, Loss
from deniable.evaluation.linear.minimising import minimised
from deniable.evaluation.linear.records import encoded
from deniable.foundation.domain import Attribute, Codes

RIDGE: Final = 1e-4
"""Lambda, stated beforehand, so that it does not depend on the records that are learnt from."""


@dataclass
class Linear:
    """A linear classifier of codes; of several labels, the one with the largest margin against the others.

    Attributes:
        loss: what is minimised.
        attributes: the attributes from which the label is predicted.
    """

    loss: Loss
    attributes: Sequence[Attribute]
    names: NDArray[np.integer] = field(init=False, repr=False)
    weights: Sequence[Floats] = field(init=False, repr=False)

    def fit(self, codes: Codes, labels: NDArray[np.integer], /) -> None:
        """Learn from codes of shape (rows, attributes) and labels of shape (rows,)."""
        self.names = np.unique(labels)
        # Of two labels, the margin of one is that of the other with the opposite sign.
        against = self.names[1:] if len(self.names) == 2 else self.names
        self.weights = [
            minimised(encoded(self.attributes, codes, labels == name), self.loss, RIDGE, is_exact=False)
            for name in against
        ]

    def predict(self, codes: Codes, /) -> NDArray[np.integer]:
        """Return a label for each row; of labels with equal margins, the smallest."""
        records = encoded(self.attributes, codes, np.zeros(len(codes), np.bool_))
        margins = [records.products(own) for own in self.weights]
        if len(margins) < len(self.names):
            margins = [np.zeros(len(codes)), *margins]
        return np.asarray(self.names[np.argmax(margins, axis=0)])
