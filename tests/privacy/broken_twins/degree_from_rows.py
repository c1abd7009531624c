"""The number of parents in a network is chosen from the exact number of confidential records, and published.

The fault of DataSynthesizer if no degree is stated; it also uses an epsilon of .1 there, whatever was requested.
"""

from tests.noisy_answers import Records


def release(records: Records, sizes: tuple[int, ...], epsilon: float, _secret: bytes, *, least: float = 4) -> int:
    """Return the largest degree at which n epsilon / ((d - k) 2^(k + 3)) is at least 4."""
    attributes = len(sizes)
    useful = (len(records) * epsilon / ((attributes - k) * 2 ** (k + 3)) >= least for k in range(1, attributes))
    return sum(useful)
