"""Raking: of more records than are wanted, those are chosen whose two-way tables come nearest to given ones.

Records are weighted until their weighted two-way tables agree with the goals, and then chosen by systematic sampling in
proportion to their weights. Then a chosen record and one that was left out change places where the tables come nearer
to the goals. Goals are a model's tables, or those of records drawn from it. Records are chosen whole, never changed.
All of it is post-processing of public records and a public model. Floats are added and multiplied one after the other,
in the same order on every machine.

Source: Deming, Stephan 1940 (iterative proportional fitting); Madow 1949 (systematic sampling); Williamson, Birkin,
Rees 1998 (combinatorial optimisation of a sample's tables by exchanges).
"""

# numba infers the types of kernels
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, disallow-untyped-decorators=False

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Codes, Domain
from deniable.foundation.errors import InvalidInput
from deniable.kernels import kernel

Reals = NDArray[np.float64]

POOL_PER_RECORD: Final = Fraction(13, 10)
"""Number of records from which each one that is wanted is chosen."""
ROUNDS = 6
_UNIT = 2.0**-32
_GROUPS = 24
"""Attributes of more values are grouped into runs of about equal frequency."""
# A weight changes by at most this factor for one table.
_LARGEST_CHANGE = 4.0
_ADDED = 20.0
"""This number is added to a cell's weight and to its goal: a few records more or less in a rare cell are chance."""
_TRIED = 4
"""Number of trials for each record that is wanted: one that was left out, in the place of one that was chosen."""
_OFTEN = 3.0
"""A cell's squared distance from its goal has weight 1 / (goal + this number) when records change places."""


@dataclass(frozen=True, eq=False)
class Goals:
    """The two-way tables that records should have.

    Attributes:
        codes: codes or numbers of buckets or groups of each attribute, for each record in the pool, shape (m, pool).
        pairs: the two attributes of each table, as rows of `codes`.
        shares: the tables, at least 0, each up to a factor; shape (values of the first, values of the second).
    """

    codes: Codes
    pairs: Sequence[tuple[int, int]]
    shares: Sequence[Reals]

    def counts(self, wanted: int) -> list[Reals]:
        """The tables of a number of records, each flat."""
        return [shares.ravel() * (wanted / shares.sum()) for shares in self.shares]


def no_goals() -> Goals:
    """No table at all."""
    return Goals(np.zeros((0, 0), np.uint16), (), ())


def words_of_raking(wanted: int) -> int:
    """Number of words that `raked` takes for a number of records."""
    return 1 + 2 * _TRIED * wanted


def raked(
    records: Codes, goals: Goals, wanted: int, *, order: NDArray[np.int64], words: NDArray[np.uint32]
) -> NDArray[np.int64]:
    """Choose records whose two-way tables are near the goals.

    Args:
        records: the records to choose from, shape (pool, m), at least `wanted`.
        goals: the tables that they should have, at least one.
        wanted: number of records to choose.
        order: the attributes by which records are sorted for systematic sampling, as column numbers, shape (m,).
        words: fresh uniform words, `words_of_raking` of them: where systematic sampling starts, and the records tried.

    Returns:
        Numbers of the chosen records, ascending, shape (wanted,).

    Raises:
        InvalidInput: there are fewer records than are wanted.
    """
    if len(records) < wanted:
        raise InvalidInput(f"raking must choose from at least the {wanted} records wanted, got {len(records)}.")
    weights = raking_weights(goals, len(records), wanted)
    # Neighbours in lexicographic order are alike, so that every kind of record gets its share.
    places = np.lexsort(records[:, order[::-1]].T)
    ends = np.cumsum(weights[places])
    ends *= wanted / ends[-1]
    # Weights are at most 1, so no record is chosen twice, but for rounding at the ends.
    counts = np.minimum(np.floor(ends - int(words[0]) * _UNIT).astype(np.int64) + 1, wanted)
    chosen = places[np.diff(counts, prepend=0) > 0]
    if len(chosen) < wanted:
        rest = np.setdiff1d(places, chosen)
        chosen = np.concatenate([chosen, rest[: wanted - len(chosen)]])
    chosen = chosen[:wanted]
    return np.sort(_exchanged(goals, chosen, np.setdiff1d(places, chosen), words[1:]))


def _exchanged(
    goals: Goals, chosen: NDArray[np.int64], left: NDArray[np.int64], words: NDArray[np.uint32]
) -> NDArray[np.int64]:
    """The chosen records after changing places with those left out where tables come nearer to the goals."""
    chosen = chosen.copy()
    if not len(left) or not goals.pairs:
        return chosen
    first, second = np.asarray(goals.pairs, np.int64).T
    width = np.asarray([shares.shape[1] for shares in goals.shares], np.int64)
    begun = np.cumsum([0, *(shares.size for shares in goals.shares)]).astype(np.int64)
    counts = np.concatenate(goals.counts(len(chosen)))
    tables = np.stack([first, second, begun[:-1], width], axis=1)
    # A cell's weight and gap are read together, and so are a record's codes.
    cells = np.stack([1.0 / (counts + _OFTEN), -counts], axis=1)
    _change_places(np.ascontiguousarray(goals.codes.T), tables, cells, chosen, left.copy(), words)
    return chosen


def raking_weights(goals: Goals, pool: int, wanted: int) -> Reals:
    """Weights at most 1 with which the records' two-way tables come near the goals; they sum to about `wanted`.

    Args:
        goals: the tables.
        pool: number of records.
        wanted: the sum of the weights, at most the size of the pool.
    """
    weights = np.full(pool, wanted / pool)
    expected = goals.counts(wanted)
    for _ in range(ROUNDS):
        for (first, second), shares, counts in zip(goals.pairs, goals.shares, expected, strict=True):
            _rake(goals.codes[first], goals.codes[second], shares.shape[1], counts, weights)
        _bring_to(weights, wanted)
    return weights


def goals_of_records(records: Codes, towards: Codes, domain: Domain) -> Goals:
    """The two-way tables of other records.

    Args:
        records: the pool, shape (pool, m).
        towards: the records whose tables are the goals, shape (many, m).
        domain: the table's domain.
    """
    grouped, target = _grouped(records, towards, domain)
    sizes = np.maximum(grouped.max(axis=0, initial=0), target.max(axis=0, initial=0)).astype(np.int64) + 1
    pairs, shares = list(combinations(range(records.shape[1]), 2)), []
    for i, j in pairs:
        cells = target[:, i].astype(np.int64) * sizes[j] + target[:, j]
        counts = np.bincount(cells, minlength=int(sizes[i] * sizes[j])).astype(np.float64)
        shares.append(counts.reshape(sizes[i], sizes[j]))
    return Goals(np.ascontiguousarray(grouped.T), pairs, shares)


def _grouped(records: Codes, towards: Codes, domain: Domain) -> tuple[Codes, Codes]:
    """Codes of both, with those of attributes of many values grouped by the target's frequencies."""
    both = [records.copy(), towards.copy()]
    for column, attribute in enumerate(domain.attributes):
        if attribute.cardinality <= _GROUPS:
            continue
        shares = np.cumsum(np.bincount(towards[:, column], minlength=attribute.cardinality)) / len(towards)
        group = np.minimum(np.floor(shares * _GROUPS), _GROUPS - 1).astype(np.uint16)
        for codes in both:
            codes[:, column] = group[codes[:, column]]
    return both[0], both[1]


@kernel
def _rake(first, second, width, goal, weights):
    """Scale the weights so that one table agrees with its goal, as far as a single step may."""
    have = np.zeros(len(goal))
    for i in range(len(weights)):
        have[first[i] * width + second[i]] += weights[i]
    for cell in range(len(goal)):
        ratio = (goal[cell] + _ADDED) / (have[cell] + _ADDED)
        have[cell] = min(max(ratio, 1.0 / _LARGEST_CHANGE), _LARGEST_CHANGE)
    for i in range(len(weights)):
        weights[i] *= have[first[i] * width + second[i]]


@kernel
def _bring_to(weights, wanted):
    """Scale weights to a sum, none above 1; in a few passes, because those at 1 cannot grow."""
    for _ in range(4):
        below = 0.0
        full = 0
        for i in range(len(weights)):
            if weights[i] >= 1.0:
                full += 1
            else:
                below += weights[i]
        factor = (wanted - full) / below if below > 0.0 and wanted > full else 1.0
        for i in range(len(weights)):
            weights[i] = min(1.0, weights[i] * factor) if weights[i] < 1.0 else 1.0


@kernel
def _change_places(codes, tables, cells, chosen, left, words):
    """Put a record that was left out in the place of a chosen one if the tables come nearer to their goals.

    Args:
        codes: codes of the pool's records, shape (pool, m).
        tables: for each table its two attributes, its first cell and its width, shape (n, 4).
        cells: the weight of each cell and, minus its goal, 0; changed.
        chosen: numbers of the chosen records; changed.
        left: those of the others; changed.
        words: two words for each trial. Places are random because neighbours are alike: in their order, one value of a
            bucket would be replaced before the next.
    """
    for r in range(len(chosen)):
        for t in range(len(tables)):
            own = codes[chosen[r]]
            cells[tables[t, 2] + own[tables[t, 0]] * tables[t, 3] + own[tables[t, 1]], 1] += 1.0
    touched = np.empty((len(tables), 2), np.int64)
    for k in range(0, len(words), 2):
        place = (np.int64(words[k]) * len(chosen)) >> 32
        other = (np.int64(words[k + 1]) * len(left)) >> 32
        out, into = codes[chosen[place]], codes[left[other]]
        change = 0.0
        for t in range(len(tables)):
            first, second, begun, width = tables[t, 0], tables[t, 1], tables[t, 2], tables[t, 3]
            a = begun + out[first] * width + out[second]
            b = begun + into[first] * width + into[second]
            touched[t, 0], touched[t, 1] = a, b
            if a != b:
                change += cells[a, 0] * (1.0 - 2.0 * cells[a, 1])
                change += cells[b, 0] * (1.0 + 2.0 * cells[b, 1])
        if change < 0.0:
            for t in range(len(tables)):
                cells[touched[t, 0], 1] -= 1.0
                cells[touched[t, 1], 1] += 1.0
            chosen[place], left[other] = left[other], chosen[place]
