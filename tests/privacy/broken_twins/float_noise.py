"""Floating-point Laplace noise added to counts: the last bits of the sum reveal the count.

The fault of DataSynthesizer and of most early programs. The noise is the logarithm of one of 2^53 numbers; most floats
are not such logarithms, and the possible sums differ from count to count (Mironov 2012).
"""

import numpy as np

from tests.noisy_answers import Answer, Records, counted, generator


def release(records: Records, sizes: tuple[int, ...], epsilon: float, secret: bytes) -> list[Answer]:
    """Return a noisy histogram of each attribute."""
    rng, scale, answers = generator(secret), len(sizes) / epsilon, []
    for i, size in enumerate(sizes):
        uniform, sign = 1 - rng.random(size), rng.choice((-1.0, 1.0), size)
        answers.append(Answer((i,), scale, counted(records, sizes, (i,)) + sign * (-scale * np.log(uniform))))
    return answers
