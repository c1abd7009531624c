"""Private training of linear classifiers (DP-ERM): output and objective perturbation, for one record replaced.

The minimised function is J(w) = mean loss + lambda / 2 |w|^2 over n records of norm at most 1, with labels -1 and 1.
Noise is in floating point, and exact minimisers are assumed, so this is for comparison only: no release uses it.
Losses, records and minimisers are those of the evaluation's linear classifiers (deniable.evaluation.linear).

Source: Chaudhuri, Monteleoni, Sarwate 2011, Differentially private empirical risk minimization, Algorithms 1 and 2.
"""

from dataclasses import dataclass
from math import expm1, log1p

import numpy as np
from scipy.special import gammaincinv, ndtri

from deniable.evaluation.linear import records as of_tables
from deniable.evaluation.linear.losses import Loss
from deniable.evaluation.linear.minimising import minimised
from deniable.evaluation.linear.records import Records
from deniable.foundation.domain import Codes, Domain
from deniable.foundation.keys import WordStream
from papers.chance import Floats, uniforms


@dataclass(frozen=True)
class Objective:
    """Objective perturbation's parameters.

    Attributes:
        epsilon: the epsilon of its noise.
        ridge: Delta, which is added to lambda.
    """

    epsilon: float
    ridge: float


def encoded(domain: Domain, codes: Codes, target: int) -> Records:
    """A table as records of numbers.

    Args:
        domain: the domain.
        codes: the table, shape (n, m).
        target: the column of the label, which has two values.
    """
    others = [attribute for i, attribute in enumerate(domain.attributes) if i != target]
    return of_tables.encoded(others, np.delete(codes, target, axis=1), codes[:, target] == 1)


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
