"""Empirical Bayes on the lift: the posterior mean of a noisy table's true counts, given its expected counts.

A cell's true count is its prior mean M times a lift. The lifts of all cells have one distribution, which is estimated
from the noisy cells themselves: how many cells are structural zeros, how many are as expected, how heavy the tail is.
Only noisy values are used. How tables are combined does not belong here.
"""

# numba infers the types of kernels
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, disallow-untyped-decorators=False

from collections.abc import Sequence

import numba
import numpy as np
from numpy.typing import NDArray

from deniable.measurements.noisy_tables import Cells

_WIDE = np.concatenate(([0.0], 0.02 * np.exp(0.25 * np.arange(40))))
_LIFTS = np.concatenate((_WIDE, [1.0, 1.0]))
"""Support of the mixture of lifts: 0, 40 values from a fiftieth to about 340, and 1, the expected one, twice."""
_WIDTHS = np.concatenate((np.full(len(_WIDE), 1 / 8), [0.02, 0.05]))
"""Standard deviation of each component, relative to its lift; small for the component of cells that are as expected."""
_PRIOR = np.exp(-((np.log(np.maximum(_WIDE, 1e-300)) / 0.5) ** 2) / 2)
_PRIOR[0] = 0.05 * _PRIOR.sum()
_PRIOR = np.concatenate((_PRIOR, _PRIOR.sum() * np.asarray([0.1, 0.2])))
_PRIOR /= _PRIOR.sum()
_STEPS = 40
_PRIOR_CELLS = 10.0
_START_EVEN = 0.02
_FEWEST_BUCKETS = 6


def posterior_mean(noisy: Cells, expected: Cells, deviation: float | Cells, *, laplace: bool) -> Cells:
    """Mean of the true counts given the noisy ones, never negative.

    Args:
        noisy: noisy counts, shape (cells,).
        expected: what each of them is expected to be, at least 0, same shape.
        deviation: standard deviation of the noise.
        laplace: whether the noise is Laplace rather than Gaussian.
    """
    centre = expected[:, None] * _LIFTS
    own = (centre * _WIDTHS) ** 2
    noise = np.broadcast_to(np.asarray(deviation, np.float64) ** 2, noisy.shape)[:, None]
    variance = own + noise
    gap = noisy[:, None] - centre
    likelihood = likelihoods(gap, variance, laplace=laplace)
    weights = (1 - _START_EVEN) * _PRIOR + _START_EVEN / len(_LIFTS)
    maximise(likelihood, weights, _PRIOR_CELLS * _PRIOR, _STEPS)
    responsible = likelihood * weights
    responsible /= responsible.sum(axis=1, keepdims=True)
    means = (noisy[:, None] * own + centre * noise) / variance
    return np.asarray(np.maximum((responsible * means).sum(axis=1), 0.0))


def likelihoods(gap: Cells, variance: Cells, *, laplace: bool) -> Cells:
    """How likely each noisy count is under each component of a mixture, relative to its likeliest.

    Args:
        gap: noisy count less the component's mean, shape (cells, components).
        variance: of the component and of the noise, of a shape that broadcasts to this.
        laplace: whether the noise is Laplace rather than Gaussian.
    """
    if laplace:
        logarithm = -np.abs(gap) * np.sqrt(2 / variance) - 0.5 * np.log(variance)
    else:
        logarithm = -0.5 * gap**2 / variance - 0.5 * np.log(variance)
    return np.asarray(np.exp(logarithm - logarithm.max(axis=1, keepdims=True)))


@numba.njit(nogil=True, cache=True)
def maximise(likelihood, weights, prior, steps):
    """Expectation maximisation of the weights of a mixture's components.

    Sums are added in a stated order, on every machine the same: a cell's likelihood in two halves, of even and of odd
    components; the weights as numpy adds them.

    Args:
        likelihood: of each cell under each component, shape (cells, components).
        weights: of the components, shape (components,); changed.
        prior: added to the number of cells of each component, same shape.
        steps: number of steps.
    """
    cells, components = likelihood.shape
    whole = components - components % 8
    counts = np.empty(components)
    for _ in range(steps):
        counts[:] = 0.0
        for c in range(cells):
            own = likelihood[c]
            even, odd = 0.0, 0.0
            for block in range(0, whole, 8):
                for pair in (6, 4, 2, 0):
                    even += own[block + pair] * weights[block + pair]
                    odd += own[block + pair + 1] * weights[block + pair + 1]
            for i in range(whole, components - 1, 2):
                even += own[i] * weights[i]
                odd += own[i + 1] * weights[i + 1]
            if components % 2:
                even += own[components - 1] * weights[components - 1]
            scale = 1.0 / (even + odd)
            for i in range(components):
                counts[i] += own[i] * scale
        for i in range(components):
            weights[i] = weights[i] * counts[i] + prior[i]
        total = _added_up(weights)
        for i in range(components):
            weights[i] /= total


@numba.njit(nogil=True, cache=True)
def _added_up(values):
    """The sum of at most 240 values, as numpy adds them: in eight parts, or in halves of that."""
    count = len(values)
    first = count if count <= 128 else count // 2 - count // 2 % 8
    found = 0.0
    for begin, end in ((0, first), (first, count)):
        whole = end - (end - begin) % 8
        added = 0.0
        if whole > begin:
            parts = values[begin : begin + 8].copy()
            for block in range(begin + 8, whole, 8):
                for i in range(8):
                    parts[i] += values[block + i]
            added = ((parts[0] + parts[1]) + (parts[2] + parts[3])) + ((parts[4] + parts[5]) + (parts[6] + parts[7]))
        for i in range(whole, end):
            added += values[i]
        found += added
    return found


def smoothed(table: Cells, axes: Sequence[int]) -> Cells:
    """Running means over three neighbours with weights 1, 2, 1 along some axes, edges repeated."""
    for axis in axes:
        padded = np.concatenate([table.take([0], axis), table, table.take([-1], axis)], axis)
        n = table.shape[axis]
        left, middle, right = (padded.take(np.arange(start, start + n), axis) for start in range(3))
        table = (left + 2 * middle + right) / 4
    return table


def denoised(
    noisy: Cells,
    expected: Cells,
    deviation: float,
    ordered: NDArray[np.bool_],
    *,
    laplace: bool,
    possible: NDArray[np.bool_] | None = None,
) -> Cells:
    """Posterior mean of a table's true counts; the prior is first smoothed along ordered axes.

    Args:
        noisy: noisy counts.
        expected: what they are expected to be, same shape.
        deviation: standard deviation of the noise of a cell.
        ordered: whether the buckets of each axis have an order that carries meaning.
        laplace: whether the noise is Laplace.
        possible: where the table may have records, if that is known; the counts of other cells are 0, and tell nothing
            of the lifts.
    """
    if possible is not None:
        noisy, expected = np.where(possible, noisy, 0.0), np.where(possible, expected, 0.0)
    axes = [axis for axis in range(noisy.ndim) if ordered[axis] and noisy.shape[axis] >= _FEWEST_BUCKETS]
    prior = expected
    if axes:
        blurred, level = smoothed(noisy, axes), smoothed(expected, axes)
        narrower = deviation * (6 / 16) ** (len(axes) / 2)
        # The mean of several Laplace draws is close to Gaussian.
        found = posterior_mean(blurred.ravel(), level.ravel(), narrower, laplace=False).reshape(noisy.shape)
        prior = expected * found / np.maximum(level, 1e-9)
    if possible is not None:
        counts = np.zeros(noisy.shape)
        counts[possible] = posterior_mean(noisy[possible], prior[possible], deviation, laplace=laplace)
        return counts
    return posterior_mean(noisy.ravel(), prior.ravel(), deviation, laplace=laplace).reshape(noisy.shape)
