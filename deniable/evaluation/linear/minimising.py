"""The minimiser of J(w) = mean loss + lambda / 2 |w|^2 over records, by Newton's method.

Newton's steps are found by conjugate gradients, whose sums are the same on every machine.

Source: Nocedal, Wright 2006, Numerical Optimization, Algorithms 5.3 and 7.1.
"""

from typing import Final

import numpy as np

from deniable.evaluation.linear.losses import Floats, Loss
from deniable.evaluation.linear.records import Records

GRADIENT: Final = 1e-7
"""Norm of the gradient at which a minimiser is taken as exact."""
_MOST_STEPS = 200
_ROUNDS, _LEFT = 10, 1e-10


def minimised(
    records: Records,
    loss: Loss,
    ridge: float,
    *,
    pull: Floats | None = None,
    start: Floats | None = None,
    is_exact: bool = True,
) -> Floats:
    """The minimiser of mean loss + ridge / 2 |w|^2 + pull w, by Newton's method with a line search.

    Args:
        records: the records.
        loss: the loss.
        ridge: above 0.
        pull: a linear term, shape (d,).
        start: where to begin.
        is_exact: whether a minimiser with a larger gradient is refused; otherwise it is returned after the last step.

    Returns:
        w, shape (d,), with a gradient of norm at most `GRADIENT`.

    Raises:
        ArithmeticError: the gradient does not become so small, and it must.
    """
    n, d, y = len(records), records.size, records.labels
    pull = np.zeros(d) if pull is None else pull
    w = np.zeros(d) if start is None else start.copy()
    margins = y * records.products(w)
    for _ in range(_MOST_STEPS):
        gradient = records.weighted(y * loss.slope(margins)) / n + ridge * w + pull
        if _length(gradient) <= GRADIENT:
            return w
        hessian = records.squares(loss.bend(margins)) / n + ridge * np.eye(d)
        step = _solution(hessian, gradient)
        along, value = y * records.products(step), _value(margins, loss, w, ridge, pull)
        length = 1.0
        while (
            _value(margins - length * along, loss, w - length * step, ridge, pull)
            > value - 1e-4 * length * float((gradient * step).sum())
            and length > 1e-10
        ):
            length /= 2
        w, margins = w - length * step, margins - length * along
    if not is_exact:
        return w
    raise ArithmeticError(f"the gradient of {loss.name} must fall to {GRADIENT}; raise lambda.")


def _value(margins: Floats, loss: Loss, w: Floats, ridge: float, pull: Floats) -> float:
    return float(loss.value(margins).mean() + ridge / 2 * (w * w).sum() + (pull * w).sum())


def _length(vector: Floats) -> float:
    return float(np.sqrt((vector * vector).sum()))


def _solution(matrix: Floats, right: Floats) -> Floats:
    """The solution of a positive definite system, by conjugate gradients that are scaled by its diagonal."""
    scale = 1 / np.diag(matrix)
    found, left = np.zeros_like(right), right.copy()
    scaled = scale * left
    along, size = scaled.copy(), float((left * scaled).sum())
    for _ in range(_ROUNDS * len(right)):
        if _length(left) <= _LEFT * _length(right):
            break
        turned = (matrix * along).sum(axis=1)
        part = size / float((along * turned).sum())
        found, left = found + part * along, left - part * turned
        scaled = scale * left
        before, size = size, float((left * scaled).sum())
        along = scaled + size / before * along
    return found
