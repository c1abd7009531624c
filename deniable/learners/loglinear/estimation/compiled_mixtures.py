"""The weights of a mixture as in `empirical_bayes`, in compiled code: the same digits, several times faster.

Verification needs no compiled code and uses the plain form, so denoising does not import this.
"""

# numba infers the types of kernels
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, disallow-untyped-decorators=False

import numpy as np

from deniable.kernels import inner_kernel, kernel


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


@inner_kernel
def _added_up(values):
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
