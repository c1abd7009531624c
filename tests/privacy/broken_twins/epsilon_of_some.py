"""Epsilon is divided among the network's attributes, and those outside the network get the same share in addition.

The fault of DataSynthesizer with keys and free text, which it excludes from the network but still describes.
"""

from tests.noisy_answers import Answer, Records, counted, generator, noisy


def release(records: Records, sizes: tuple[int, ...], epsilon: float, secret: bytes) -> list[Answer]:
    """Return a noisy histogram of each attribute, the last of which is outside the network."""
    rng, inside = generator(secret), len(sizes) - 1
    scale = inside / epsilon
    return [Answer((i,), scale, noisy(counted(records, sizes, (i,)), scale, rng)) for i in range(len(sizes))]
