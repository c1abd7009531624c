"""The perturbed Gibbs sampler with seeds drawn from the confidential records: a seed unique to one person shows.

The fault of a sampler that begins at a record of the table, and charges only the cost of its urns.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction

from tests.urn_law import Record, block_probability, plain_domain

DOMAIN, KEYS = plain_domain(2, 2, 2, 2, 2, 2), ((3,), (4,), (5,), (), (), ())
RECORDS: list[Record] = [(1, 0, 0, 1, 0, 0), (0, 1, 0, 0, 1, 0), (0, 0, 1, 0, 0, 1)] * 200
TARGET: Record = (1, 1, 1, 1, 1, 1)
"""Its seed nearly always gives 1, 1, 1 as the first three values; from any other seed two of the three are rare."""


def law(rows: Sequence[Record], prior: Fraction, outputs: Iterable[Record]) -> list[Fraction]:
    """Return the probability of each output as the first record drawn, over all seeds."""
    seeds = Counter(rows)

    def given(seed: Record, output: Record) -> Fraction:
        return block_probability(rows, DOMAIN, KEYS, lambda _, __: prior, seed, [output])

    return [
        sum((Fraction(count, len(rows)) * given(seed, out) for seed, count in seeds.items()), Fraction(0))
        for out in outputs
    ]
