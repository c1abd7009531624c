"""The distribution of blocks from urns, in exact fractions and by another method than the kernels, for comparison."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from math import comb, prod

from deniable.foundation.domain import Attribute, Domain
from deniable.privacy.urn_costs import UNIT

Record = tuple[int, ...]
Table = tuple[int, ...]
Law = dict[Table, Fraction]
Keys = Sequence[Sequence[int]]
Prior = Callable[[int, list[int]], Fraction | None]
"""The prior weight of a value, in records, given the attribute and the counts of the row; None if it is even."""


@cache
def tables(total: int, cells: int) -> tuple[Table, ...]:
    """Return all counts of a total in so many cells."""
    if cells == 1:
        return ((total,),)
    return tuple((first, *rest) for first in range(total + 1) for rest in tables(total - first, cells - 1))


@cache
def urn_law(counts: Table, prior: int, draws: int) -> Law:
    """Return the exact law of the numbers drawn from a Polya urn, Dirichlet-multinomial."""
    weights = [UNIT * count + prior for count in counts]
    whole = prod((sum(weights) + UNIT * u for u in range(draws)), start=1)
    law = {}
    for drawn in tables(draws, len(counts)):
        ways, left = 1, draws
        for number in drawn:
            ways, left = ways * comb(left, number), left - number
        rising = prod(
            (weight + UNIT * u for weight, number in zip(weights, drawn, strict=True) for u in range(number)), start=1
        )
        law[drawn] = Fraction(ways * rising, whole)
    return law


def plain_domain(*sizes: int) -> Domain:
    """Return a domain of attributes whose buckets are their values."""
    return Domain(
        tuple(Attribute(f"a{i}", tuple(range(size)), "nominal", tuple(range(size))) for i, size in enumerate(sizes))
    )


def all_records(domain: Domain) -> list[Record]:
    """Return every record of a domain."""
    return list(product(*(range(size) for size in domain.cardinalities)))


def row_counts(rows: Sequence[Record], domain: Domain, keys: Keys, attribute: int, now: Sequence[int]) -> list[int]:
    """Return an attribute's counts among the rows that agree with a record in the buckets of the attribute's key."""
    counts = [0] * domain.cardinalities[attribute]
    for row in rows:
        if key_values(domain, keys[attribute], row) == key_values(domain, keys[attribute], now):
            counts[row[attribute]] += 1
    return counts


def key_values(domain: Domain, key: Sequence[int], record: Sequence[int]) -> Record:
    """Return a record's buckets of the attributes in a key."""
    return tuple(int(domain.attributes[other].buckets[record[other]]) for other in key)


def block_probability(
    rows: Sequence[Record],
    domain: Domain,
    keys: Keys,
    prior: Prior,
    seed: Record,
    block: Sequence[Record],
    *,
    most: int = 1,
    adds: int = 1,
) -> Fraction:
    """Return the probability of a block of records, given its seed.

    Args:
        rows: the confidential records.
        domain: their domain.
        keys: the other attributes by which each is counted.
        prior: the prior weights.
        seed: the record at which the block begins.
        block: its records.
        most: number of draws from a row, after which the distribution is uniform.
        adds: increase in the count of the drawn value: 1 for a Polya urn, 0 for draws that are charged separately.
    """
    now, found = list(seed), Fraction(1)
    served: dict[tuple[int, Record], list[int]] = {}
    for record in block:
        for i, size in enumerate(domain.cardinalities):
            if size == 1:
                continue
            before = served.setdefault((i, key_values(domain, keys[i], now)), [])
            counts = row_counts(rows, domain, keys, i, now)
            mass = prior(i, counts)
            if len(before) >= most or mass is None or mass * size + sum(counts) == 0:
                found *= Fraction(1, size)
            else:
                weight = counts[record[i]] + mass + adds * before.count(record[i])
                found *= weight / (sum(counts) + size * mass + adds * len(before))
            before.append(record[i])
            now[i] = record[i]
    return found
