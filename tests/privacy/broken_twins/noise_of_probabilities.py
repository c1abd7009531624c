"""The noise for probabilities, added to counts: too small by a factor equal to the number of records.

The fault of early versions of DataSynthesizer. A record changes a probability by 1/n, and a count by 1.
"""

from tests.noisy_answers import Answer, Records, counted, generator, noisy


def release(records: Records, sizes: tuple[int, ...], epsilon: float, secret: bytes) -> list[Answer]:
    """Return a noisy histogram of each attribute."""
    rng, scale = generator(secret), 2 * len(sizes) / (epsilon * len(records))
    return [Answer((i,), scale, noisy(counted(records, sizes, (i,)), scale, rng)) for i in range(len(sizes))]
