"""Half the noise: half the true sensitivity of histograms.

The fault of early versions of DataSynthesizer, and the smallest fault that an audit should find.
"""

from tests.noisy_answers import Answer, Records, counted, generator, noisy


def release(records: Records, sizes: tuple[int, ...], epsilon: float, secret: bytes) -> list[Answer]:
    """Return a noisy histogram of each attribute."""
    rng, scale = generator(secret), len(sizes) / (2 * epsilon)
    return [Answer((i,), scale, noisy(counted(records, sizes, (i,)), scale, rng)) for i in range(len(sizes))]
