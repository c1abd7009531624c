"""Posterior means as in `empirical_bayes`, in compiled code: the same digits, several times faster.

Logarithms and exponentials are NumPy's, because those of compiled code differ in their last digits.

Verification needs no compiled code and uses the plain form, so denoising does not import this.
"""

# numba infers the types of kernels
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, disallow-untyped-decorators=False

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from deniable.kernels import inner_kernel, kernel
from deniable.learners.loglinear.estimation.empirical_bayes import LIFTS, PRIOR, PRIOR_CELLS, START, STEPS, WIDTHS
from deniable.measurements.noisy_tables import Cells

_AT_A_TIME = 2_000
"""Number of cells from which further tables are computed separately, so that intermediate results stay in the cache."""


def posterior_mean(noisy: Cells, expected: Cells, deviation: float | Cells, *, laplace: bool) -> Cells:
    """Posterior mean of the true counts; see `empirical_bayes.posterior_mean`."""
    noise = np.full(noisy.shape, np.asarray(deviation, np.float64) ** 2)
    return _posterior_means(np.asarray([0, len(noisy)]), noisy, expected, noise, laplace=laplace)


def posterior_means(
    noisy: Sequence[Cells], expected: Sequence[Cells], deviations: Sequence[float | Cells], *, laplace: bool
) -> list[Cells]:
    """Posterior means of the true counts of several tables; see `empirical_bayes.posterior_means`."""
    found: list[Cells] = []
    while len(found) < len(noisy):
        begin, end = len(found), len(found) + 1
        cells = len(noisy[begin])
        while end < len(noisy) and cells + len(noisy[end]) <= _AT_A_TIME:
            cells += len(noisy[end])
            end += 1
        starts = np.cumsum([0, *(len(own) for own in noisy[begin:end])])
        noise = np.empty(cells)
        for own, start, stop in zip(deviations[begin:end], starts, starts[1:], strict=False):
            noise[start:stop] = np.asarray(own, np.float64) ** 2
        joined = np.concatenate(noisy[begin:end]), np.concatenate(expected[begin:end])
        means = _posterior_means(starts, *joined, noise, laplace=laplace)
        found += (means[start:stop] for start, stop in pairwise(starts.tolist()))
    return found


def _posterior_means(starts: NDArray[np.int64], noisy: Cells, expected: Cells, noise: Cells, *, laplace: bool) -> Cells:
    """Posterior means of successive tables.

    Args:
        starts: the first cell of each table, and the number of all cells.
        noisy: noisy counts of the cells.
        expected: their expected values.
        noise: variance of their noise.
        laplace: whether the noise is Laplace.
    """
    noisy, expected = np.ascontiguousarray(noisy), np.ascontiguousarray(expected)
    variance, likelihood = np.empty((2, len(noisy), len(LIFTS)))
    _scores(noisy, expected, noise, LIFTS, WIDTHS, laplace, variance, likelihood)
    likelihood -= 0.5 * np.log(variance)
    likelihood -= likelihood.max(axis=1, keepdims=True)
    np.exp(likelihood, out=likelihood)
    found = np.empty(noisy.shape)
    _means_of_tables(starts, noisy, expected, noise, variance, likelihood, START, PRIOR_CELLS * PRIOR, STEPS, found)
    return found


@kernel
def _scores(noisy, expected, noise, lifts, widths, laplace, variance, scores):
    """Set the total variance of each cell under each component, and its logarithmic likelihood up to a term of that.

    Args:
        noisy: noisy counts, shape (cells,).
        expected: their expected values, same shape.
        noise: variance of their noise, same shape.
        lifts: mean of each component, relative to the expected value, shape (components,).
        widths: standard deviation of each, relative to its mean, same shape.
        laplace: whether the noise is Laplace.
        variance: filled, shape (cells, components).
        scores: filled, same shape.
    """
    for c in range(len(noisy)):
        for i in range(len(lifts)):
            centre = expected[c] * lifts[i]
            own = centre * widths[i]
            variance[c, i] = own * own + noise[c]
            gap = noisy[c] - centre
            if laplace:
                scores[c, i] = -abs(gap) * np.sqrt(2.0 / variance[c, i])
            else:
                scores[c, i] = -0.5 * (gap * gap) / variance[c, i]


@kernel
def _means_of_tables(starts, noisy, expected, noise, variance, likelihood, first, prior, steps, found):
    """Set the means of successive tables, each of which has weights of its own; see `_posterior_means`.

    Args:
        starts: the first cell of each table, and the number of all cells.
        noisy: noisy counts.
        expected: their expected values.
        noise: variance of their noise.
        variance: total variance of each cell under each component, shape (cells, components).
        likelihood: likelihood of each cell under each component, same shape.
        first: weights of the components at first, shape (components,).
        prior: added to the number of cells of each component, same shape.
        steps: number of steps.
        found: filled, shape (cells,).
    """
    for table in range(len(starts) - 1):
        begin, end = starts[table], starts[table + 1]
        own, weights = likelihood[begin:end], first.copy()
        maximise(own, weights, prior, steps)
        _means(
            noisy[begin:end],
            expected[begin:end],
            noise[begin:end],
            LIFTS,
            WIDTHS,
            variance[begin:end],
            own,
            weights,
            found[begin:end],
        )


@inner_kernel
def _means(noisy, expected, noise, lifts, widths, variance, likelihood, weights, found):
    """Set the mean of each cell over the components, by their likelihood times weight; see `_scores`."""
    responsible = np.empty(len(lifts))
    for c in range(len(noisy)):
        for i in range(len(lifts)):
            responsible[i] = likelihood[c, i] * weights[i]
        total = added_up(responsible)
        for i in range(len(lifts)):
            centre = expected[c] * lifts[i]
            own = centre * widths[i]
            mean = (noisy[c] * (own * own) + centre * noise[c]) / variance[c, i]
            responsible[i] = responsible[i] / total * mean
        found[c] = max(added_up(responsible), 0.0)


@kernel
def maximise(likelihood, weights, prior, steps):
    """Expectation maximisation of the weights of a mixture's components.

    Sums have a fixed order on every machine: a cell's likelihood is added in two halves, of even and of odd
    components, and the weights in NumPy's order.

    Args:
        likelihood: likelihood of each cell under each component, shape (cells, components).
        weights: weights of the components, shape (components,); changed.
        prior: added to the number of cells of each component, same shape.
        steps: number of steps.
    """
    cells, components = likelihood.shape
    # Cells are contiguous in one copy and components in the other, so that each loop is over several at a time.
    by_component = likelihood.T.copy()
    order = _order_of_sums(components)
    counts, even, odd = np.empty(components), np.empty(cells), np.empty(cells)
    for _ in range(steps):
        even[:] = 0.0
        odd[:] = 0.0
        for i in order:
            own, weight, half = by_component[i], weights[i], odd if i % 2 else even
            for c in range(cells):
                half[c] += own[c] * weight
        counts[:] = 0.0
        for c in range(cells):
            scale = 1.0 / (even[c] + odd[c])
            for i in range(components):
                counts[i] += likelihood[c, i] * scale
        for i in range(components):
            weights[i] = weights[i] * counts[i] + prior[i]
        total = added_up(weights)
        for i in range(components):
            weights[i] /= total


@inner_kernel
def _order_of_sums(components):
    """The order in which components are added: within each block of eight by pairs, the last pair first."""
    order = np.arange(components)
    for block in range(0, components - components % 8, 8):
        for pair in range(0, 8, 2):
            order[block + pair] = block + 6 - pair
            order[block + pair + 1] = block + 7 - pair
    return order


@inner_kernel
def added_up(values):
    """The sum of at most 240 values in NumPy's order: in eight parts, or in halves of that."""
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
