"""The values of an attribute are read from the confidential records: a value of only one person reveals that person.

The fault of DataSynthesizer, which reads categories, bounds, lengths and the share of missing values from the data, and
of many other programs.
"""

from tests.noisy_answers import Records, counted, generator, noisy


def release(records: Records, sizes: tuple[int, ...], epsilon: float, secret: bytes) -> dict[int, int]:
    """Return noisy counts of the first attribute's values that occur."""
    counts = counted(records, sizes, (0,))
    there = counts.nonzero()[0]
    return dict(zip(there.tolist(), noisy(counts[there], 1 / epsilon, generator(secret)).tolist(), strict=True))
