"""Epsilon is divided among the attributes of the network, and those outside it are given the same share on top.

The fault of DataSynthesizer with keys and free text, which it keeps out of the network and describes nevertheless.
"""

from tests.noisy_answers import Answer, Records, counted, generator, noisy


def release(records: Records, sizes: tuple[int, ...], epsilon: float, secret: bytes) -> list[Answer]:
    """A noisy histogram of each attribute, the last of which is outside the network."""
    rng, inside = generator(secret), len(sizes) - 1
    scale = inside / epsilon
    return [Answer((i,), scale, noisy(counted(records, sizes, (i,)), scale, rng)) for i in range(len(sizes))]
