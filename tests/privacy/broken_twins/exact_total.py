"""A model of noisy marginals whose total is the exact number of records: two releases differ by exactly one person.

The fault of Private-PGM if the number of records is given as known, and of every count that is "held invariant".
"""

from tests.noisy_answers import Records, counted, generator, noisy


def release(records: Records, sizes: tuple[int, ...], epsilon: float, secret: bytes) -> float:
    """Return the total of the model of the first attribute: its noisy counts, scaled to the number of records."""
    counts = noisy(counted(records, sizes, (0,)), 1 / epsilon, generator(secret)).clip(1)
    return float((counts * (len(records) / counts.sum())).sum())
