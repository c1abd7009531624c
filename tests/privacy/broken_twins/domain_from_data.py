"""The values of an attribute are read from the confidential records: who alone has a value is in the table if it is.

The fault of DataSynthesizer, which reads categories, bounds, lengths and the share of missing values, and of many
others.
"""

from tests.noisy_answers import Records, counted, generator, noisy


def release(records: Records, sizes: tuple[int, ...], epsilon: float, secret: bytes) -> dict[int, int]:
    """The noisy counts of the values of the first attribute that occur."""
    counts = counted(records, sizes, (0,))
    there = counts.nonzero()[0]
    return dict(zip(there.tolist(), noisy(counts[there], 1 / epsilon, generator(secret)).tolist(), strict=True))
