"""Regressions fitted to a real and to a synthetic table, and the distance of their coefficients.

The figures are internal. They are not in `deniable`, where no floating-point sum is left to BLAS.

Source: Park, Ghosh, Shankar 2013, section 4.3.
"""

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Codes, Domain

Floats = NDArray[np.float64]

RIDGE = 1e-2
"""Ridge penalty per record: without it, coefficients of rare values in small tables would be arbitrary."""

_SMALL = 1e-6
_NEWTON_STEPS = 50


def regression_distance(domain: Domain, real: Codes, synthetic: Codes, target: int, *, ridge: float = RIDGE) -> float:
    """Return the Euclidean distance between the coefficients of an attribute's regression on all others in two tables.

    Args:
        domain: the tables' domain, m attributes.
        real: codes, shape (rows, m).
        synthetic: codes, shape (records, m).
        target: column number of the attribute that is explained.
        ridge: see `regression`.
    """
    one, other = (regression(domain, codes, target, ridge=ridge) for codes in (real, synthetic))
    return float(np.linalg.norm(one - other))


def columns_of(domain: Domain, target: int) -> int:
    """The number of columns of the regression of an attribute on all others."""
    others = (attribute for i, attribute in enumerate(domain.attributes) if i != target)
    return 1 + sum(1 if attribute.kind == "numeric" else attribute.cardinality - 1 for attribute in others)


def _design(domain: Domain, codes: Codes, target: int) -> Floats:
    """Return the design matrix: a constant, and the other attributes standardised by their public domain."""
    columns = [np.ones(len(codes))]
    for i, attribute in enumerate(domain.attributes):
        if i == target or attribute.cardinality == 1:
            continue
        size = attribute.cardinality
        if attribute.kind == "numeric":
            columns.append((codes[:, i] - (size - 1) / 2) / np.sqrt((size**2 - 1) / 12))
        else:
            spread = np.sqrt((1 / size) * (1 - 1 / size))
            columns += [((codes[:, i] == value) - 1 / size) / spread for value in range(1, size)]
    return np.stack(columns, axis=1)


def regression(domain: Domain, codes: Codes, target: int, *, ridge: float = RIDGE) -> Floats:
    """Return the coefficients of a regression of an attribute on all others, the constant first.

    The regression is logistic for an attribute with two values, and otherwise linear in its code, scaled to [0, 1].
    Numeric attributes enter by their codes, nominal ones by indicators of all values except the first; all are
    standardised by the mean and standard deviation of the uniform distribution over the public domain.

    Args:
        domain: the table's domain, m attributes.
        codes: codes, shape (rows, m).
        target: column number of the attribute that is explained.
        ridge: penalty per record on half the squared coefficients, without the constant.
    """
    design, size = _design(domain, codes, target), domain.cardinalities[target]
    penalty = ridge * max(len(codes), 1) * np.eye(design.shape[1])
    penalty[0, 0] = _SMALL
    wanted = codes[:, target] / max(size - 1, 1)
    found = np.linalg.solve(design.T @ design + penalty, design.T @ wanted)
    if size != 2:
        return np.asarray(found, np.float64)
    found = np.zeros(design.shape[1])
    for _ in range(_NEWTON_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(design @ found, -30, 30)))
        weights = np.maximum(chance * (1 - chance), _SMALL)
        slope = design.T @ (wanted - chance) - penalty @ found
        move = np.linalg.solve((design * weights[:, None]).T @ design + penalty, slope)
        found = found + move * min(1.0, 1.0 / max(float(np.abs(move).max()), _SMALL))
        if float(np.abs(move).max()) < _SMALL:
            break
    return np.asarray(found, np.float64)
