"""Denoising of one attribute with many values, of which few may hold most records.

The distribution of true counts is a mixture of zero (the spike) and counts on a geometric grid (the slab), estimated
from the noisy counts themselves by expectation maximisation. Unlike lifts over uniform counts (empirical_bayes), it
has no largest count and no scale: a priori, the slab is a power law with exponent 1. Only noisy values are used.
"""

from math import ceil, log

import numpy as np

from deniable.learners.loglinear.estimation.empirical_bayes import likelihoods
from deniable.measurements.noisy_tables import Cells

_RATIO = 1.25
"""Ratio of neighbouring counts on the grid."""
_WIDTH = 1 / 8
"""Standard deviation of each component, relative to its count: grid points alone would round the counts."""
_SPIKE = 1 / 4
"""Prior weight of zero, relative to that of the whole grid."""
_PRIOR_CELLS = 5.0
_STEPS = 100
_LEAST = 1e-3
_OF_EVEN, _OF_NOISE = 50.0, 20.0
"""The grid begins at this fraction of the uniform count, or of the noise deviation if that is smaller."""
_LARGEST_TILT = 8.0
_TILTED_TO = 3.0
"""Counts above this many noise deviations are tilted equally: they are certainly not zero."""
_HALVINGS = 30


def sparse_counts(noisy: Cells, deviation: float, total: float, *, laplace: bool) -> Cells:
    """Posterior mean of the true counts, which sum to a given total.

    The distribution is tilted exponentially until the means have that sum, which is known far better than single
    counts.

    Args:
        noisy: noisy counts, shape (values,).
        deviation: standard deviation of the noise.
        total: the sum of the true counts, above 0.
        laplace: whether the noise is Laplace rather than Gaussian.

    Returns:
        Counts of the same shape, at least 0.
    """
    least = max(min(total / len(noisy) / _OF_EVEN, deviation / _OF_NOISE), _LEAST)
    steps = max(ceil(log(total / least) / log(_RATIO)), 0) if total > least else 0
    grid = np.concatenate([[0.0], least * _RATIO ** np.arange(steps + 1)])
    own, noise = (grid * _WIDTH) ** 2, deviation**2
    variance = own + noise
    gap = noisy[:, None] - grid
    likelihood = likelihoods(gap, variance, laplace=laplace)
    prior = np.ones(len(grid))
    prior[0] = _SPIKE * len(grid)
    prior /= prior.sum()
    weights = prior
    for _ in range(_STEPS):
        # Not by `@`: the order of summation in BLAS depends on the processor and the number of threads.
        likely = np.einsum("vg,g->v", likelihood, weights)
        weights = weights * np.einsum("vg,v->g", likelihood, 1 / likely) + _PRIOR_CELLS * prior
        weights /= weights.sum()
    responsible = likelihood * weights
    means = responsible * ((noisy[:, None] * own + grid * noise) / variance)
    tilted = np.minimum(grid / deviation, _TILTED_TO)
    low, high = -_LARGEST_TILT, _LARGEST_TILT
    for _ in range(_HALVINGS):
        tilt = (low + high) / 2
        if _mean(responsible, means, np.exp(tilt * tilted)).sum() < total:
            low = tilt
        else:
            high = tilt
    counts = np.maximum(_mean(responsible, means, np.exp((low + high) / 2 * tilted)), 0.0)
    if counts.sum() <= 0:
        counts = np.ones(len(noisy))
    return np.asarray(counts * (total / counts.sum()))


def _mean(responsible: Cells, means: Cells, factors: Cells) -> Cells:
    """Means under the distribution with each component weighted by a factor."""
    return np.asarray(np.einsum("vg,g->v", means, factors) / np.einsum("vg,g->v", responsible, factors))
