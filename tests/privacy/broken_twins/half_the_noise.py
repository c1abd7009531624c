"""Half the noise: a sensitivity of histograms that is half of theirs.

The fault of early versions of DataSynthesizer, and the least that an audit should be able to find.
"""

from tests.noisy_answers import Answer, Records, counted, generator, noisy


def release(records: Records, sizes: tuple[int, ...], epsilon: float, secret: bytes) -> list[Answer]:
    """A noisy histogram of each attribute."""
    rng, scale = generator(secret), len(sizes) / (2 * epsilon)
    return [Answer((i,), scale, noisy(counted(records, sizes, (i,)), scale, rng)) for i in range(len(sizes))]
