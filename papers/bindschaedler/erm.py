"""Private training of linear classifiers (DP-ERM): output and objective perturbation, for one record replaced.

The minimised function is J(w) = mean loss + lambda / 2 |w|^2 over n records of norm at most 1, with labels -1 and 1.
Noise is in floating point, and exact minimisers are assumed, so this is for comparison only: no release uses it.

Source: Chaudhuri, Monteleoni, Sarwate 2011, Differentially private empirical risk minimization, Algorithms 1 and 2.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement
from math import expm1, log1p
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, gammaincinv, ndtri

from deniable.foundation.domain import Codes, Domain
from deniable.foundation.keys import WordStream
from papers.chance import Floats, uniforms

GRADIENT: Final = 1e-7
"""Norm of the gradient at which a minimiser is taken as exact."""
HUBER: Final = 0.5
_MOST_STEPS = 200


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


@dataclass(frozen=True)
class Objective:
    """Objective perturbation's parameters.

    Attributes:
        epsilon: the epsilon of its noise.
        ridge: Delta, which is added to lambda.
    """

    epsilon: float
    ridge: float


@dataclass(frozen=True, eq=False)
class Records:
    """Records as d numbers of norm at most 1 by a public bound, and labels.

    Categories are one number for each value, numeric attributes one number in [0, 1], and a constant is added; all are
    divided by the root of the number of attributes. The numbers of an attribute follow from its value, so that sums
    over records are sums over counts of values, and of pairs of values.

    Attributes:
        columns: the value of each attribute, a constant first, shapes (n,).
        numbers: for each of them the numbers of each value, shape (values, numbers).
        labels: -1 or 1, shape (n,).
    """

    columns: tuple[NDArray[np.int64], ...]
    numbers: tuple[Floats, ...]
    labels: Floats

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        """Where the numbers of each attribute end."""
        return np.cumsum([each.shape[1] for each in self.numbers])

    @property
    def size(self) -> int:
        """The number of numbers, d."""
        return int(self.ends[-1])

    def __len__(self) -> int:
        """The number of records, n."""
        return len(self.labels)

    def products(self, w: Floats) -> Floats:
        """The product of each record with a vector, shape (n,)."""
        found = np.zeros(len(self))
        for column, numbers, own in zip(self.columns, self.numbers, np.split(w, self.ends[:-1]), strict=True):
            found += (numbers @ own)[column]
        return found

    def weighted(self, weights: Floats) -> Floats:
        """The sum of all records, each times its weight, shape (d,)."""
        return np.concatenate([
            np.bincount(column, weights, len(numbers)) @ numbers
            for column, numbers in zip(self.columns, self.numbers, strict=True)
        ])  # fmt: skip

    def squares(self, weights: Floats) -> Floats:
        """The sum of the outer products of all records with themselves, each times its weight, shape (d, d)."""
        found = np.empty((self.size, self.size))
        places = [slice(end - each.shape[1], end) for end, each in zip(self.ends, self.numbers, strict=True)]
        for (i, j), cells in self._cells.items():
            one, other = self.numbers[i], self.numbers[j]
            table = np.bincount(cells, weights, len(one) * len(other)).reshape(len(one), len(other))
            found[places[i], places[j]] = one.T @ table @ other
            found[places[j], places[i]] = found[places[i], places[j]].T
        return found

    @cached_property
    def _cells(self) -> dict[tuple[int, int], NDArray[np.int64]]:
        """The pair of values of each record, by pair of attributes."""
        return {
            (i, j): self.columns[i] * len(self.numbers[j]) + self.columns[j]
            for i, j in combinations_with_replacement(range(len(self.columns)), 2)
        }


def encoded(domain: Domain, codes: Codes, target: int) -> Records:
    """A table as records of numbers.

    Args:
        domain: the domain.
        codes: the table, shape (n, m).
        target: the column of the label, which has two values.
    """
    root = np.sqrt(len(domain))
    columns, numbers = [np.zeros(len(codes), np.int64)], [np.ones((1, 1)) / root]
    for i, attribute in enumerate(domain.attributes):
        if i != target:
            size = attribute.cardinality
            columns.append(codes[:, i].astype(np.int64))
            numeric = attribute.kind == "numeric"
            numbers.append((np.arange(size)[:, None] / (size - 1) if numeric else np.eye(size)) / root)
    return Records(tuple(columns), tuple(numbers), np.where(codes[:, target] == 1, 1.0, -1.0))


def minimised(
    records: Records, loss: Loss, ridge: float, *, pull: Floats | None = None, start: Floats | None = None
) -> Floats:
    """The minimiser of mean loss + ridge / 2 |w|^2 + pull w, by Newton's method with a line search.

    Args:
        records: the records.
        loss: the loss.
        ridge: above 0.
        pull: a linear term, shape (d,).
        start: where to begin.

    Returns:
        w, shape (d,), with a gradient of norm at most `GRADIENT`.

    Raises:
        ArithmeticError: the gradient does not become so small.
    """
    n, d, y = len(records), records.size, records.labels
    pull = np.zeros(d) if pull is None else pull
    w = np.zeros(d) if start is None else start.copy()
    margins = y * records.products(w)
    for _ in range(_MOST_STEPS):
        gradient = records.weighted(y * loss.slope(margins)) / n + ridge * w + pull
        if np.linalg.norm(gradient) <= GRADIENT:
            return w
        hessian = records.squares(loss.bend(margins)) / n + ridge * np.eye(d)
        step: Floats = np.asarray(np.linalg.solve(hessian, gradient), np.float64)
        along, value = y * records.products(step), _value(margins, loss, w, ridge, pull)
        length = 1.0
        while (
            _value(margins - length * along, loss, w - length * step, ridge, pull)
            > value - 1e-4 * length * gradient @ step
            and length > 1e-10
        ):
            length /= 2
        w, margins = w - length * step, margins - length * along
    raise ArithmeticError(f"the gradient of {loss.name} must fall to {GRADIENT}; raise lambda.")


def _value(margins: Floats, loss: Loss, w: Floats, ridge: float, pull: Floats) -> float:
    return float(loss.value(margins).mean() + ridge / 2 * w @ w + pull @ w)


def output_scale(rows: int, ridge: float, epsilon: float) -> float:
    """Scale of the norm of output perturbation's noise, 2 / (n lambda epsilon).

    Args:
        rows: n.
        ridge: lambda.
        epsilon: for one record replaced.
    """
    return 2 / (rows * ridge * epsilon)


def objective(rows: int, ridge: float, epsilon: float, c: float) -> Objective:
    """Objective perturbation's parameters; arguments as of `output_scale`, and the loss's bound c."""
    left = epsilon - 2 * log1p(c / (rows * ridge))
    if left > 0:
        return Objective(left, 0.0)
    return Objective(epsilon / 2, c / (rows * expm1(epsilon / 4)) - ridge)


def noise(stream: WordStream, size: int, scale: float) -> Floats:
    """A vector with a density proportional to exp(-|b| / scale): its norm is of the gamma law of shape d.

    Args:
        stream: fresh words.
        size: d.
        scale: the scale.
    """
    direction = ndtri(np.clip(uniforms(stream, size), 2.0**-53, None))
    norm = scale * float(gammaincinv(size, uniforms(stream, 1)[0]))
    found: Floats = direction / np.linalg.norm(direction) * norm
    return found


def perturbed_output(w: Floats, rows: int, ridge: float, epsilon: float, stream: WordStream) -> Floats:
    """A minimiser with noise (Algorithm 1); arguments as of `output_scale`."""
    return w + noise(stream, len(w), output_scale(rows, ridge, epsilon))


def perturbed_objective(
    records: Records, loss: Loss, ridge: float, epsilon: float, stream: WordStream, start: Floats
) -> Floats:
    """The minimiser of an objective with noise (Algorithm 2).

    Args:
        records: the records.
        loss: the loss.
        ridge: lambda.
        epsilon: for one record replaced.
        stream: fresh words.
        start: where to begin.
    """
    asked = objective(len(records), ridge, epsilon, loss.c)
    pull = noise(stream, records.size, 2 / asked.epsilon) / len(records)
    return minimised(records, loss, ridge + asked.ridge, pull=pull, start=start)


def right(w: Floats, records: Records) -> float:
    """Share of records on the right side; one on the border counts as -1."""
    return float(np.mean(np.where(records.products(w) > 0, 1.0, -1.0) == records.labels))
