"""Noise from an unkeyed hash of the configuration: the configuration is public, and so is the noise.

The fault of the tool of Bindschaedler, Shokri and Gunter. Its reason is sound: a table that is drawn twice must have
the same noise. But a second version of the data has the same noise too.
"""

import numpy as np

from tests.noisy_answers import Answer, Records, counted, noisy


def release(records: Records, sizes: tuple[int, ...], epsilon: float, _secret: bytes) -> list[Answer]:
    """Return a noisy histogram of each attribute, with noise from the FNV-1a hash of its name."""
    answers, scale = [], len(sizes) / epsilon
    for i in range(len(sizes)):
        seed = 0xCBF29CE484222325
        for byte in f"histogram of {i} of {sizes}, epsilon {epsilon}".encode():
            seed = (seed ^ byte) * 0x100000001B3 % 2**64
        answers.append(Answer((i,), scale, noisy(counted(records, sizes, (i,)), scale, np.random.default_rng(seed))))
    return answers
