"""Unlike tables, and tables that differ by one record."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from deniable.foundation.domain import Codes, Domain

FULL = "correlated"
"""The table from which a first run is made."""
SPARSE = "sparse"
"""The table whose neighbours are all looked at."""
_ROWS = 1_500


def unlike_tables(domain: Domain) -> dict[str, Codes]:
    """Tables of a domain, by what is special about them."""
    sizes, m = domain.cardinalities, len(domain)
    draw = np.random.default_rng(list(b"unlike tables"))

    def anything(rows: int) -> Any:
        return draw.integers(sizes, size=(rows, m)).astype(np.uint16)

    hidden = draw.integers(1 << 16, size=(_ROWS, 1))
    correlated = np.where(draw.random((_ROWS, m)) < 0.7, hidden % np.asarray(sizes), anything(_ROWS)).astype(np.uint16)
    ahead = anything(_ROWS)
    one, two = sorted(range(m), key=lambda i: -sizes[i])[:2] if m > 1 else (0, 0)
    ahead[:, two] = ahead[:, one] % sizes[two]
    people = anything(40)
    return {
        FULL: correlated,
        "one pair of attributes that depends": ahead,
        "no record": anything(0),
        "one record": anything(1),
        "one value only": np.zeros((300, m), np.uint16),
        SPARSE: sparse_table(domain, anything),
        "several records of a person": people[np.repeat(np.arange(40), draw.integers(1, 9, 40))],
        "big counts": np.concatenate([np.repeat(anything(3), 7_000, axis=0), anything(30)]),
    }


def sparse_table(domain: Domain, anything: Any) -> Codes:
    """Few records; for each pair of attributes one in front without which this pair alone has one empty cell more.

    No other records have the last values of both attributes. Pairs with the fewest cells come first.
    """
    last = np.asarray(domain.cardinalities) - 1
    alone = [np.where(np.isin(np.arange(len(last)), pair), last, 0) for pair in pairs_of(domain)]
    rows = anything(60)
    several = (rows == last) & (last > 0)
    rows[several & (several.cumsum(axis=1) > 1)] = 0
    return np.concatenate([np.asarray(alone, np.uint16).reshape(-1, len(last)), rows])


def pairs_of(domain: Domain) -> list[tuple[int, int]]:
    """Pairs of attributes with several values, those with the fewest cells first."""
    sizes = domain.cardinalities
    pairs = [pair for pair in combinations(range(len(domain)), 2) if min(sizes[i] for i in pair) > 1]
    return sorted(pairs, key=lambda pair: sizes[pair[0]] * sizes[pair[1]])


def neighbours(domain: Domain, tables: Mapping[str, Codes], most: int) -> Sequence[tuple[str, Codes]]:
    """Tables with one record less, or one more, by the name of the table that they differ from.

    Args:
        domain: the attributes.
        tables: the tables.
        most: of how many pairs of attributes one alone has an empty cell more.
    """
    draw = np.random.default_rng(list(b"neighbours of tables"))
    sparse = tables[SPARSE]
    found = [(SPARSE, np.delete(sparse, place, axis=0)) for place in range(min(most, len(pairs_of(domain)) or 1))]
    last = np.asarray(domain.cardinalities, np.int64)[None] - 1
    found += [("one value only", np.concatenate([tables["one value only"], last.astype(np.uint16)]))]
    for name in (FULL, "big counts"):
        found += [(name, np.delete(tables[name], int(draw.integers(len(tables[name]))), axis=0))]
    if "no record" in tables:
        found += [("no record", tables["one record"])]
    return found


def tables_of_the_same_values(domain: Domain) -> dict[str, Codes]:
    """Tables in which the same records occur, but not as often."""
    draw = np.random.default_rng(list(b"tables of the same values"))
    some = np.unique(draw.integers(domain.cardinalities, size=(8, len(domain))).astype(np.uint16), axis=0)
    often = {
        FULL: draw.integers(20, 40, len(some)),
        "all once": np.ones(len(some), np.int64),
        SPARSE: draw.integers(2, 4, len(some)),
        "one value only": np.where(np.arange(len(some)) == 0, 300, 1),
        "several records of a person": draw.integers(1, 9, len(some)),
        "big counts": np.where(np.arange(len(some)) < 3, 7_000, 1),
        "other counts": draw.integers(1, 60, len(some)),
    }
    return {name: np.repeat(some, times, axis=0) for name, times in often.items()}
