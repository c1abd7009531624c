"""Classifiers of codes by which releases are evaluated: trees, forests, AdaBoost, and two linear ones.

The cuts of trees are those of scikit-learn's classifiers of the same names, which take ten times as long on codes, and
whose import takes a second.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from deniable.evaluation.linear.classifier import Linear
from deniable.evaluation.linear.losses import LOGISTIC, SVM
from deniable.evaluation.tree_kernels import Cells, boost, fill_cells, vote
from deniable.evaluation.utility import ClassifierFactory
from deniable.foundation.domain import Attribute, Codes
from deniable.foundation.keys import Words, WordStream

Labels = NDArray[np.integer]

TREES, SHARE = 50, 0.5
"""The number of trees of a random forest, and the share of the records from which each learns.

More than 99 of a hundred verdicts are those of 100 trees of scikit-learn that learn from all records:
`make bench-classifiers`.
"""


@dataclass
class _Taught(ABC):
    """A classifier that learns when it predicts, because no tree is kept."""

    cells: Cells = field(init=False, repr=False)
    names: Labels = field(init=False, repr=False)
    labels: NDArray[np.int64] = field(init=False, repr=False)

    def fit(self, codes: Codes, labels: Labels, /) -> None:
        """Take codes of shape (rows, attributes) and labels of shape (rows,) to learn from."""
        columns = _columns(codes)
        self.names, numbers = np.unique(labels, return_inverse=True)
        self.labels = numbers.astype(np.int64)
        of_row, start = np.empty(columns.shape, np.uint32), np.empty(len(columns) + 1, np.int64)
        value, label = np.empty((2, columns.size), np.int64)
        fill_cells(columns, self.labels, len(self.names), of_row, start, value, label)
        self.cells = Cells(of_row, start, value, label)

    def predict(self, codes: Codes, /) -> Labels:
        """Return a label for each row; of labels with equal votes, the smallest."""
        votes = np.zeros((len(codes), len(self.names)))
        self._vote(_columns(codes), votes)
        return np.asarray(self.names[votes.argmax(axis=1)])

    @abstractmethod
    def _vote(self, columns: NDArray[np.uint32], votes: NDArray[np.float64]) -> None:
        """Add votes, shape (rows, labels), for the rows of columns of shape (attributes, rows)."""


@dataclass
class Trees(_Taught):
    """Decision trees that vote with the shares of labels in their leaves.

    A tree is cut where Gini's index of the parts is smallest, until no cut is allowed or all labels are equal.

    Attributes:
        seeds: a random word for each tree.
        least: the smallest number of rows of a leaf.
        share: the share of the rows from which each tree learns, drawn without replacement.
        tries_all: whether all attributes are tried at each node, or only as many as the square root of their number,
            drawn without replacement until one of them has several values in the node.

    Source:
        Breiman 2001, Random forests; for samples without replacement, Bühlmann and Yu 2002, Analyzing bagging.
    """

    seeds: Words
    least: int
    share: float = 1.0
    tries_all: bool = False

    def _vote(self, columns: NDArray[np.uint32], votes: NDArray[np.float64]) -> None:
        m, rows = self.cells.of_row.shape
        tried = m if self.tries_all else isqrt(m)
        vote(
            self.cells, columns, self.seeds.astype(np.uint64), max(int(self.share * rows), 1), tried, self.least, votes
        )


@dataclass
class AdaBoost(_Taught):
    """Trees of one cut, each of which learns from rows weighted by the errors of those before it (SAMME).

    Attributes:
        rounds: the largest number of trees.

    Source:
        Zhu, Zou, Rosset, Hastie 2009, Multi-class AdaBoost.
    """

    rounds: int = 50

    def _vote(self, columns: NDArray[np.uint32], votes: NDArray[np.float64]) -> None:
        of_row = np.ascontiguousarray(self.cells.of_row.T)
        boost(of_row, self.cells, self.labels, columns, self.rounds, votes)


def classifiers(
    words: WordStream, trees: int = TREES, attributes: Sequence[Attribute] | None = None
) -> dict[str, ClassifierFactory]:
    """Return factories of the classifiers that a spec may name.

    Args:
        words: where their random numbers come from; those of one kind use the same, whatever they learn from.
        trees: number of trees of a forest.
        attributes: the attributes from which the target is predicted, for linear classifiers; without them, these are
            left out.
    """
    seeds = words.take(trees)
    linear = {"logistic": LOGISTIC, "svm": SVM} if attributes is not None else {}
    return {
        "tree": lambda: Trees(seeds[:1], least=10, tries_all=True),
        "forest": lambda: Trees(seeds, least=5, share=SHARE),
        "adaboost": AdaBoost,
        **{name: partial(Linear, loss, attributes or ()) for name, loss in linear.items()},
    }


def _columns(codes: Codes) -> NDArray[np.uint32]:
    """Return a table by columns."""
    return np.ascontiguousarray(codes.T, np.uint32)
