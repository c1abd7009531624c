"""Finds patterns that all real records satisfy, from counts of pairs of attributes and, for sums, from records.

A pattern must be more than chance: if its attributes were independent, at least `EXPECTED` real records would be
expected to break it. By the Poisson law none does with a probability of exp(-30), 1e-13, so that no pattern is found
by chance among millions of combinations. Attributes depend on each other, though: what never occurs among these
records may occur among others, and only a public document can say that it cannot.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations, groupby
from operator import itemgetter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from deniable.evaluation.logic.patterns import Pattern
from deniable.foundation.domain import Attribute, Codes, Domain

Table = NDArray[np.int64]
Flags = NDArray[np.bool_]

EXPECTED: Final = 30.0
"""The smallest number of real records that independent attributes would let break a pattern."""
MOST_NUMBERS: Final = 40
"""Sums are sought among at most so many numbers, the first ones."""
MOST_CELLS: Final = 1 << 18
"""Pairs of attributes with more cells are not searched."""

_FEWEST_EACH: Final = 5
_MOST_VALUES: Final = 60
_TRIED: Final = 64
_RECTANGLES: Final = 3


def patterns_of_pair(domain: Domain, pair: tuple[int, int], real: Table) -> list[Pattern]:
    """The patterns of two attributes.

    A dependency, an order or a skip pattern says more than the combinations that it makes impossible, which are then
    left out.

    Args:
        domain: the table's.
        pair: the column numbers of the attributes.
        real: counts of real records, shape (values, values).

    Returns:
        The patterns, none of which a real record breaks.
    """
    rows = int(real.sum())
    margins = real.sum(axis=1), real.sum(axis=0)
    if rows == 0 or real.size > MOST_CELLS or min((margin > 0).sum() for margin in margins) < 2:
        return []
    expected = np.outer(*margins) / rows
    empty = real == 0
    if float(expected[empty].sum()) < EXPECTED:
        return []
    attributes = domain.attributes[pair[0]], domain.attributes[pair[1]]
    found = [*_dependencies(pair, real, expected), *_orders(pair, attributes, real, expected)]
    found = found or list(_skips(pair, real, expected))
    return found or list(_impossible(pair, attributes, real, expected))


def _dependencies(pair: tuple[int, int], real: Table, expected: NDArray[np.float64]) -> Iterator[Pattern]:
    """Attributes each of whose values follows from the other's."""
    for columns, counts, own in ((pair, real, expected), (pair[::-1], real.T, expected.T)):
        # The second determines the first: a single value in each column.
        there = counts.sum(axis=0)
        used = there > 0
        if ((counts > 0).sum(axis=0)[used] != 1).any() or there.sum() < _FEWEST_EACH * used.sum():
            continue
        allowed = (counts > 0) | ~used
        shares = counts.sum(axis=1) / counts.sum()
        # The first record with a value shows nothing.
        broken = float((np.maximum(there - 1, 0) * (1 - (shares[:, None] * allowed).sum(axis=0))).sum())
        if broken >= EXPECTED:
            yield Pattern("dependency", columns, allowed, float(own[~allowed].sum()))
            return


def _orders(
    pair: tuple[int, int], attributes: tuple[Attribute, Attribute], real: Table, expected: NDArray[np.float64]
) -> Iterator[Pattern]:
    """Numbers, or ordered attributes with the same values, of which one is never more than the other."""
    one, other = attributes
    if not one.is_ordered or (one.kind == "numeric") != (other.kind == "numeric"):
        return
    if one.kind != "numeric" and one.values != other.values:
        return
    places = [_places(each) for each in attributes]
    known = np.isfinite(places[0])[:, None] & np.isfinite(places[1])
    with np.errstate(invalid="ignore"):
        at_most = ~known | (places[0][:, None] <= places[1])
        at_least = ~known | (places[0][:, None] >= places[1])
    for columns, allowed, counts, own in (
        (pair, at_most, real, expected),
        (pair[::-1], at_least.T, real.T, expected.T),
    ):
        broken = float(own[~allowed].sum())
        # Numbers of different sizes are in order without a rule: some must be nearly equal, in each of three places.
        if counts[~allowed].sum() == 0 and broken >= EXPECTED and _meet(counts, places, columns == pair):
            yield Pattern("order", columns, allowed, broken)
            return


def _meet(counts: Table, places: Sequence[NDArray[np.float64]], is_same: bool) -> bool:  # noqa: FBT001 - private
    """Whether real records reach the line where both numbers are equal, at several numbers."""
    first, second = places if is_same else places[::-1]
    equal = first[:, None] == second
    return int(((counts > 0) & equal).any(axis=1).sum()) >= min(3, int(equal.any(axis=1).sum()))


def _places(attribute: Attribute) -> NDArray[np.float64]:
    if attribute.kind != "numeric":
        return np.arange(attribute.cardinality, dtype=float)
    return np.array(
        [
            float(value) if isinstance(value, int | float) and value != attribute.missing else np.nan
            for value in attribute.values
        ]
    )


def _skips(pair: tuple[int, int], real: Table, expected: NDArray[np.float64]) -> Iterator[Pattern]:
    """Values that occur exactly with some values of the other attribute; single values with each other once."""
    seen = set()
    for columns, counts, own in ((pair, real, expected), (pair[::-1], real.T, expected.T)):
        there = counts.sum(axis=0)
        used = there > 0
        for skipped in np.flatnonzero(counts.sum(axis=1)).tolist():
            when = used & (counts[skipped] == there)
            if not when.any() or not (used & ~when).any() or counts[skipped, ~when].any():
                continue
            allowed = np.ones(counts.shape, bool)
            allowed[:, when] = False
            allowed[skipped] = when | ~used
            allowed[:, ~used] = True
            broken = [float(own[skipped, ~when].sum()), float(own[:, when].sum() - own[skipped, when].sum())]
            both = frozenset(((columns[0], skipped), *((columns[1], code) for code in np.flatnonzero(when).tolist())))
            if min(broken) >= EXPECTED and both not in seen:
                seen.add(both)
                values = ((skipped,), tuple(np.flatnonzero(when).tolist()))
                yield Pattern("skip", columns, allowed, sum(broken), values)


def _impossible(
    pair: tuple[int, int], attributes: tuple[Attribute, Attribute], real: Table, expected: NDArray[np.float64]
) -> Iterator[Pattern]:
    """Combinations that never occur, those that would be expected most often first."""
    found: list[Pattern] = []
    for columns, (one, other), counts, own in (
        (pair, attributes, real, expected),
        (pair[::-1], attributes[::-1], real.T, expected.T),
    ):
        if found or other.cardinality > _MOST_VALUES:
            continue
        # For each value of the second attribute, the values of the first that never occur with it.
        runs = [(code, _never(one, counts[:, code], own[:, code])) for code in range(other.cardinality)]
        runs = sorted((run for run in runs if run[1]), key=itemgetter(1))
        for never, same in groupby(runs, key=itemgetter(1)):
            codes = tuple(code for code, _ in same)
            allowed = np.ones(counts.shape, bool)
            allowed[np.ix_(never, codes)] = False
            found.append(Pattern("impossible", columns, allowed, float(own[~allowed].sum()), (never, codes)))
    yield from sorted(found, key=lambda each: -each.expected)[:_RECTANGLES]


def _never(attribute: Attribute, counts: Table, expected: NDArray[np.float64]) -> tuple[int, ...]:
    """The values that never occur: of an ordered attribute those up to one, or from one on; of others, each."""
    if not counts.any():
        return ()
    if not attribute.is_ordered:
        return tuple(np.flatnonzero((counts == 0) & (expected >= EXPECTED)).tolist())
    there = np.flatnonzero(counts)
    ends = [np.arange(there[0]), np.arange(there[-1] + 1, len(counts))]
    best = max(ends, key=lambda end: float(expected[end].sum()))
    return tuple(best.tolist()) if float(expected[best].sum()) >= EXPECTED else ()


def sums(domain: Domain, tables: Sequence[Codes]) -> list[Pattern]:
    """Numbers that are the sum of two others in all real records.

    Args:
        domain: the table's.
        tables: real records, shapes (records, attributes), in random order.
    """
    columns = [
        column
        for column, each in enumerate(domain.attributes)
        if each.kind == "numeric" and each.cardinality > 2 and each.bins is None and each.missing is None
    ][:MOST_NUMBERS]
    rows = sum(map(len, tables))
    if len(columns) < 3 or rows < 2 * EXPECTED:
        return []
    places = {column: _places(domain.attributes[column]) for column in columns}

    def numbers(codes: Codes, column: int) -> NDArray[np.float64]:
        return places[column][codes[:, column]]

    first = tables[0][:_TRIED]
    tried = np.stack([numbers(first, column) for column in columns])
    found = []
    for a, b in combinations(range(len(columns)), 2):
        for c in np.flatnonzero((tried == tried[a] + tried[b]).all(axis=1)).tolist():
            three = (columns[a], columns[b], columns[c])
            if c in (a, b):
                continue
            known = [[numbers(table, column) for column in three] for table in tables]
            holds = all((one + other == total).all() for one, other, total in known)
            # If one of the terms were always 0, the others would be equal.
            used = min(sum(int((each[place] != 0).sum()) for each in known) for place in (0, 1))
            if holds and used >= EXPECTED:
                found.append(Pattern("sum", three, None, float(rows)))
    return found


def breaks(pattern: Pattern, domain: Domain, codes: Codes, counted: Table | None) -> int:
    """The number of records that break a pattern.

    Args:
        pattern: the pattern.
        domain: the table's.
        codes: the records, shape (records, attributes).
        counted: their counts in the table of the pattern's attributes, in the order of its columns; None for a sum.
    """
    if counted is not None and pattern.allowed is not None:
        return int(counted[~pattern.allowed].sum())
    one, other, total = (_places(domain.attributes[column])[codes[:, column]] for column in pattern.columns)
    return int((one + other != total).sum())
