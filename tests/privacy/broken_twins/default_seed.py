"""Noise from a generator whose seed is 0 by default: anyone can draw the same noise and subtract it.

The fault of DataSynthesizer's describers, and of a command of dpsynth: a default is public.
"""

import numpy as np

from tests.noisy_answers import Answer, Records, counted, noisy


def release(records: Records, sizes: tuple[int, ...], epsilon: float, _secret: bytes, *, seed: int = 0) -> list[Answer]:
    """Return a noisy histogram of each attribute; the secret is available, but is not used."""
    rng, scale = np.random.default_rng(seed), len(sizes) / epsilon
    return [Answer((i,), scale, noisy(counted(records, sizes, (i,)), scale, rng)) for i in range(len(sizes))]
