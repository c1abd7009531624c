"""Noise from a generator whose seed is 0 unless someone states another: anyone can draw the same noise and subtract it.

The fault of DataSynthesizer's describers, and of a command of dpsynth: what is not stated is public.
"""

import numpy as np

from tests.noisy_answers import Answer, Records, counted, noisy


def release(records: Records, sizes: tuple[int, ...], epsilon: float, _secret: bytes, *, seed: int = 0) -> list[Answer]:
    """A noisy histogram of each attribute; the secret is there, and no one passes it on."""
    rng, scale = np.random.default_rng(seed), len(sizes) / epsilon
    return [Answer((i,), scale, noisy(counted(records, sizes, (i,)), scale, rng)) for i in range(len(sizes))]
