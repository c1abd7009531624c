"""Empirical Bayes on lifts: the posterior mean of a noisy table's true counts, given its expected counts.

A cell's true count is its prior mean M times a lift. The lifts of all cells have a common distribution, estimated from
the noisy cells themselves: the share of structural zeros, the share of cells as expected, and the weight of the tail.
Only noisy values are used. Combining tables does not belong here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from deniable.measurements.noisy_tables import Cells

_WIDE = np.concatenate(([0.0], 0.02 * np.exp(0.25 * np.arange(40))))
LIFTS = np.concatenate((_WIDE, [1.0, 1.0]))
"""Support of the mixture of lifts: 0, 40 values from a fiftieth to about 340, and 1, the expected lift, twice."""
WIDTHS = np.concatenate((np.full(len(_WIDE), 1 / 8), [0.02, 0.05]))
"""Standard deviation of each component, relative to its lift; small for the component of cells as expected."""
PRIOR = np.exp(-((np.log(np.maximum(_WIDE, 1e-300)) / 0.5) ** 2) / 2)
PRIOR[0] = 0.05 * PRIOR.sum()
PRIOR = np.concatenate((PRIOR, PRIOR.sum() * np.asarray([0.1, 0.2])))
PRIOR /= PRIOR.sum()
STEPS = 40
PRIOR_CELLS = 10.0
_START_EVEN = 0.02
START = (1 - _START_EVEN) * PRIOR + _START_EVEN / len(LIFTS)
"""Weights of the components at first."""
_FEWEST_BUCKETS = 6

PosteriorMeans = Callable[..., list[Cells]]
"""A function with the arguments of `posterior_means`."""


def posterior_mean(noisy: Cells, expected: Cells, deviation: float | Cells, *, laplace: bool) -> Cells:
    """Posterior mean of the true counts given the noisy ones, never negative.

    Args:
        noisy: noisy counts, shape (cells,).
        expected: their expected values, at least 0, same shape.
        deviation: standard deviation of the noise.
        laplace: whether the noise is Laplace rather than Gaussian.
    """
    centre = expected[:, None] * LIFTS
    own = (centre * WIDTHS) ** 2
    noise = np.broadcast_to(np.asarray(deviation, np.float64) ** 2, noisy.shape)[:, None]
    variance = own + noise
    gap = noisy[:, None] - centre
    likelihood = likelihoods(gap, variance, laplace=laplace)
    weights = START.copy()
    plain_maximise(likelihood, weights, PRIOR_CELLS * PRIOR, STEPS)
    responsible = likelihood * weights
    responsible /= responsible.sum(axis=1, keepdims=True)
    means = (noisy[:, None] * own + centre * noise) / variance
    return np.asarray(np.maximum((responsible * means).sum(axis=1), 0.0))


def posterior_means(
    noisy: Sequence[Cells], expected: Sequence[Cells], deviations: Sequence[float | Cells], *, laplace: bool
) -> list[Cells]:
    """Posterior means of the true counts of several tables; see `posterior_mean`."""
    return [posterior_mean(*table, laplace=laplace) for table in zip(noisy, expected, deviations, strict=True)]


def nearest_with_total(values: Cells, variances: Cells, total: float) -> Cells:
    """The nearest non-negative counts with a given sum, in squared deviations divided by variances.

    The excess of the sum is divided in proportion to the variances; counts below 0 are set to 0, and the rest is
    divided again. With equal variances it is the projection onto the simplex (Duchi et al. 2008; Michelot 1986).

    Args:
        values: noisy counts, shape (cells,).
        variances: variances of their noise, above 0, same shape.
        total: the sum, above 0.
    """
    left = np.ones(values.shape, np.bool_)
    while True:
        moved = values + variances * ((total - values[left].sum()) / variances[left].sum())
        if bool((moved[left] >= 0).all()):
            return np.asarray(np.where(left, moved, 0.0))
        left &= moved >= 0


def likelihoods(gap: Cells, variance: Cells, *, laplace: bool) -> Cells:
    """Likelihood of each noisy count under each component of a mixture, relative to the largest.

    Args:
        gap: noisy count minus the component's mean, shape (cells, components).
        variance: total variance of the component and the noise, of a shape that broadcasts to this.
        laplace: whether the noise is Laplace rather than Gaussian.
    """
    if laplace:
        logarithm = -np.abs(gap) * np.sqrt(2 / variance) - 0.5 * np.log(variance)
    else:
        logarithm = -0.5 * gap**2 / variance - 0.5 * np.log(variance)
    return np.asarray(np.exp(logarithm - logarithm.max(axis=1, keepdims=True)))


def plain_maximise(likelihood: Cells, weights: Cells, prior: Cells, steps: int) -> None:
    """Expectation maximisation of the weights of a mixture's components.

    Args:
        likelihood: likelihood of each cell under each component, shape (cells, components).
        weights: weights of the components, shape (components,); changed.
        prior: added to the number of cells of each component, same shape.
        steps: number of steps.
    """
    for _ in range(steps):
        # Not by `@`: the order of summation in BLAS depends on the processor and the number of threads.
        likely = np.einsum("cl,l->c", likelihood, weights)
        weights *= np.einsum("cl,c->l", likelihood, 1 / likely)
        weights += prior
        weights /= weights.sum()


def smoothed(table: Cells, axes: Sequence[int]) -> Cells:
    """Running means over three neighbours with weights 1, 2, 1 along some axes, edges repeated."""
    for axis in axes:
        padded = np.concatenate([table.take([0], axis), table, table.take([-1], axis)], axis)
        n = table.shape[axis]
        left, middle, right = (padded.take(np.arange(start, start + n), axis) for start in range(3))
        table = (left + 2 * middle + right) / 4
    return table


@dataclass(frozen=True, eq=False)
class Uncertain:
    """A noisy table, and what is known of it otherwise.

    Attributes:
        noisy: noisy counts.
        expected: their expected values, same shape.
        deviation: standard deviation of the noise of a cell.
        ordered: whether the buckets of each axis have an order that carries meaning.
        possible: where the table may have records, if known; the counts of other cells are 0, and carry no information
            about lifts.
    """

    noisy: Cells
    expected: Cells
    deviation: float
    ordered: NDArray[np.bool_]
    possible: NDArray[np.bool_] | None = None

    @cached_property
    def smoothed_axes(self) -> list[int]:
        """The ordered axes with enough buckets."""
        return [i for i, size in enumerate(self.noisy.shape) if size >= _FEWEST_BUCKETS and self.ordered[i]]

    def restricted(self) -> "Uncertain":
        """The table with counts of 0 where there can be no records."""
        if self.possible is None:
            return self
        noisy, expected = (np.where(self.possible, counts, 0.0) for counts in (self.noisy, self.expected))
        return replace(self, noisy=noisy, expected=expected)


def denoised(tables: Sequence[Uncertain], *, laplace: bool, means: PosteriorMeans = posterior_means) -> list[Cells]:
    """Posterior means of the true counts of each table; the priors are first smoothed along ordered axes.

    Args:
        tables: the tables.
        laplace: whether the noise is Laplace.
        means: computes posterior means.
    """
    tables = [table.restricted() for table in tables]
    priors = [table.expected for table in tables]
    numbers = [number for number, table in enumerate(tables) if table.smoothed_axes]
    blurred = [smoothed(tables[number].noisy, tables[number].smoothed_axes) for number in numbers]
    levels = [smoothed(tables[number].expected, tables[number].smoothed_axes) for number in numbers]
    narrower = [tables[number].deviation * (6 / 16) ** (len(tables[number].smoothed_axes) / 2) for number in numbers]
    # The mean of several Laplace draws is close to Gaussian.
    found = means([own.ravel() for own in blurred], [own.ravel() for own in levels], narrower, laplace=False)
    for number, level, own in zip(numbers, levels, found, strict=True):
        priors[number] = tables[number].expected * own.reshape(level.shape) / np.maximum(level, 1e-9)
    cells = [slice(None) if table.possible is None else table.possible.ravel() for table in tables]
    found = means(
        [table.noisy.ravel()[some] for table, some in zip(tables, cells, strict=True)],
        [prior.ravel()[some] for prior, some in zip(priors, cells, strict=True)],
        [table.deviation for table in tables],
        laplace=laplace,
    )
    counts = [np.zeros(table.noisy.shape) for table in tables]
    for table, some, filled in zip(counts, cells, found, strict=True):
        table.ravel()[some] = filled
    return counts
