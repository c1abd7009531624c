"""The minimiser of J(w) = mean loss + lambda / 2 |w|^2 over records, by Newton's method."""

from typing import Final

import numpy as np

from deniable.evaluation.linear.losses import Floats, Loss
from deniable.evaluation.linear.records import Records

GRADIENT: Final = 1e-7
"""Norm of the gradient at which a minimiser is taken as exact."""
_MOST_STEPS = 200


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
    if not is_exact:
        return w
    raise ArithmeticError(f"the gradient of {loss.name} must fall to {GRADIENT}; raise lambda.")


def _value(margins: Floats, loss: Loss, w: Floats, ridge: float, pull: Floats) -> float:
    return float(loss.value(margins).mean() + ridge / 2 * w @ w + pull @ w)
