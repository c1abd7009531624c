"""Multinomial logistic regression of one attribute on all others, with an elastic net, by accelerated proximal steps.

The result affects draws only through probabilities, which may be arbitrary: no privacy argument relies on the fit, its
convergence, or the choice of the penalty.

Source: Park, Ghosh, Shankar 2013, section 3.5 (an elastic net with mixing 1/2, penalty by 5-fold cross-validation);
Beck, Teboulle 2009 (accelerated proximal gradient).
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Codes, Domain
from deniable.foundation.tables import Counts
from deniable.learners.imputed.plan import ONE
from deniable.models.sequential_model import starts

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

Told = Callable[[int], None]
"""Receives the work done, in the unit of `work_of`; it may raise to end a fit."""

MIXING = 0.5
PENALTIES = (1e-2, 1e-3, 1e-4)
FOLDS = 5
FIXED_POINT = 1 << 16
"""Coefficients are stored as integers, in units of 2^-16."""

_STEPS = 60
_MOST_ROWS_OF_FOLDS = 4_000
_LARGEST_COEFFICIENT = 60.0


@dataclass(frozen=True)
class Features:
    """The other attributes as indicators of their values, preceded by a constant.

    Attributes:
        domain: the public domain.
        attribute: the outcome.
    """

    domain: Domain
    attribute: int

    @property
    def others(self) -> tuple[int, ...]:
        """The predictors."""
        return tuple(j for j in range(len(self.domain)) if j != self.attribute)

    @property
    def places(self) -> NDArray[np.int64]:
        """Start of each predictor's indicators; the last entry is the number of features."""
        return 1 + starts([self.domain.cardinalities[j] for j in self.others], closed=True)

    def indices(self, codes: Codes) -> NDArray[np.int64]:
        """The features equal to 1, besides the constant; shape (rows, m - 1)."""
        return np.asarray(codes[:, list(self.others)].astype(np.int64) + self.places[:-1], np.int64)


def work_of(domain: Domain, attribute: int, rows: int) -> int:
    """The work of a fit: numbers of records times values, summed over all steps.

    Args:
        domain: the public domain.
        attribute: the attribute.
        rows: number of records.
    """
    values = domain.cardinalities[attribute]
    if rows == 0 or values == 1:
        return 0
    folded = min(rows, _MOST_ROWS_OF_FOLDS)
    searched = len(PENALTIES) * (FOLDS - 1) * folded if folded >= FOLDS else 0
    return values * _STEPS * (searched + rows)


def _nothing(_: int) -> None:
    """Tell nobody."""


def fit(domain: Domain, attribute: int, codes: Codes, told: Told = _nothing) -> Counts:
    """Fit the regression of an attribute on all others.

    Args:
        domain: the public domain.
        attribute: the attribute.
        codes: records, shape (rows, m).
        told: receives the work done, `work_of` in all.

    Returns:
        Coefficients in units of 2^-16, the constant first, shape (features, values); all zero without records.
    """
    features, values = Features(domain, attribute), domain.cardinalities[attribute]
    if len(codes) == 0 or values == 1:
        return np.zeros((int(features.places[-1]), values), np.int64)
    sizes = int(features.places[-1]), values
    there, wanted = features.indices(codes), codes[:, attribute].astype(np.int64)
    penalty = _best_penalty(there[:_MOST_ROWS_OF_FOLDS], wanted[:_MOST_ROWS_OF_FOLDS], sizes, told)
    found = np.clip(_fit(there, wanted, sizes, penalty, told), -_LARGEST_COEFFICIENT, _LARGEST_COEFFICIENT)
    return np.rint(np.nan_to_num(found) * FIXED_POINT).astype(np.int64)


def _best_penalty(there: Indices, wanted: Indices, sizes: tuple[int, int], told: Told) -> float:
    """The penalty with the smallest loss on held-out records (cross-validation)."""
    fold = np.arange(len(wanted)) % FOLDS
    if len(wanted) < FOLDS:
        return PENALTIES[0]

    def loss(penalty: float) -> float:
        total = 0.0
        for number in range(FOLDS):
            out = fold == number
            found = _fit(there[~out], wanted[~out], sizes, penalty, told)
            shares = _softmax(_scores(there[out], found))
            total -= float(np.log(shares[np.arange(out.sum()), wanted[out]] + 1e-300).sum())
        return total

    return min(PENALTIES, key=loss)


def _fit(there: Indices, wanted: Indices, sizes: tuple[int, int], penalty: float, told: Told) -> Floats:
    """Coefficients that minimise the mean loss and the penalty; the constant is not penalised."""
    rows, values = len(wanted), sizes[1]
    target = np.zeros((rows, values))
    target[np.arange(rows), wanted] = 1
    sums = _SumsByFeature(there, sizes[0])
    # The loss has a Lipschitz gradient: half the largest squared norm of a record, its number of indicators.
    step = 1 / ((there.shape[1] + 1) / 2 + penalty * (1 - MIXING))
    now = ahead = np.zeros(sizes)
    speed = 1.0
    for _ in range(_STEPS):
        slope = sums.of(_softmax(_scores(there, ahead)) - target) / rows
        slope[1:] += penalty * (1 - MIXING) * ahead[1:]
        moved = ahead - step * slope
        moved[1:] = np.sign(moved[1:]) * np.maximum(np.abs(moved[1:]) - step * penalty * MIXING, 0)
        faster = (1 + sqrt(1 + 4 * speed**2)) / 2
        now, ahead, speed = moved, moved + (speed - 1) / faster * (moved - now), faster
        told(rows * values)
    return now


def _scores(there: Indices, coefficients: Floats) -> Floats:
    """The constant plus the coefficients of the features equal to 1, added in the order of the attributes."""
    found = np.repeat(coefficients[:1], len(there), axis=0)
    for column in there.T:
        found += coefficients[column]
    return found


class _SumsByFeature:
    """Sums records by their features equal to 1, in the order of the records.

    Args:
        there: the features equal to 1, shape (rows, m - 1).
        features: number of features, including the constant.
    """

    def __init__(self, there: Indices, features: int) -> None:
        self._features = features
        self._orders = [np.argsort(column, kind="stable") for column in there.T]
        sorted_columns = [column[order] for column, order in zip(there.T, self._orders, strict=True)]
        self._begins = [np.flatnonzero(np.r_[True, column[1:] != column[:-1]]) for column in sorted_columns]
        self._which = [column[begin] for column, begin in zip(sorted_columns, self._begins, strict=True)]

    def of(self, values: Floats) -> Floats:
        """The sums, shape (features, columns of `values`)."""
        found = np.zeros((self._features, values.shape[1]))
        found[0] = values.sum(axis=0)
        for order, begin, which in zip(self._orders, self._begins, self._which, strict=True):
            found[which] = np.add.reduceat(values[order], begin, axis=0)
        return found


def _softmax(scores: Floats) -> Floats:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True), np.float64)


def integer_probabilities(features: Features, coefficients: Counts, codes: Codes) -> Counts:
    """The probabilities of an attribute's values given the others, as integers that sum to 2^32 in each row.

    Args:
        features: the other attributes.
        coefficients: as `fit` returns them.
        codes: records, shape (rows, m); the attribute itself is ignored.

    Returns:
        Shape (rows, values), rounded by largest remainders.
    """
    scores = np.zeros((len(codes), coefficients.shape[1]), np.int64) + coefficients[0]
    for column in features.indices(codes).T:
        scores += coefficients[column]
    shares = _softmax(scores / FIXED_POINT) * ONE
    whole = np.floor(shares).astype(np.int64)
    missing = ONE - whole.sum(axis=1)
    order = np.argsort(whole - shares, axis=1, kind="stable")
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.broadcast_to(np.arange(order.shape[1]), order.shape), axis=1)
    whole += ranks < missing[:, None]
    # If rounding of the sum itself leaves more than that, the first value gets it.
    whole[:, 0] += ONE - whole.sum(axis=1)
    return np.asarray(np.maximum(whole, 0), np.int64)
