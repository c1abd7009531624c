"""Matching: records exchange values until tables of their pairs are near the tables that the network was made of.

Records that are drawn from a network vary about it, and the network is near its tables but does not meet all of them.
For one attribute after the other, random pairs of records exchange their values where the tables come nearer to their
targets. Each attribute keeps its values, so single attributes stay exactly as they were drawn. Targets are denoised
tables, never noisy ones, and only some sweeps are made: what is left of the noise is not learnt by heart. Records are
then no longer independent given the network, so this is for records that are drawn from a public network alone, and not
for candidates. Everything is in integers, and every record of a row of `TOGETHER` has the same part in it.
"""

# numba infers the types of kernels
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, disallow-untyped-decorators=False

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Codes
from deniable.models.loglinear.flat_tables import Attributes
from deniable.models.loglinear.stratified_sampling import TOGETHER

WHOLE = 1 << 24
"""What the cells of a target table sum to, up to rounding."""
SWEEPS = 4
_UNIT = 16
"""Expected counts are multiples of a sixteenth of a record."""
_OFTEN = 3
"""A cell's squared distance weighs one over its expected count and this number."""
_WEIGHT = 1 << 24


@dataclass(frozen=True, eq=False)
class PairTable:
    """The shares of the records that two attributes' buckets should have together.

    Attributes:
        attributes: the two, by column number, ascending.
        shares: shape (buckets of the first, buckets of the second), at least 0; they sum to about `WHOLE`.
    """

    attributes: Attributes
    shares: NDArray[np.int64]


def words_of_matching(tables: Sequence[PairTable], fixed: Collection[int], records: int) -> int:
    """Number of words that `matched` takes for some records; see there."""
    rows = [min(TOGETHER, records - begun) for begun in range(0, records, TOGETHER)]
    return SWEEPS * len(_free(tables, fixed)) * sum(row // 2 for row in rows)


def matched(
    codes: Codes,
    tables: Sequence[PairTable],
    buckets: Sequence[Codes],
    fixed: Collection[int],
    words: NDArray[np.uint32],
) -> Codes:
    """The records after their exchanges.

    Args:
        codes: the records, columns as in the domain, shape (records, m).
        tables: the tables of pairs.
        buckets: bucket of each value of each attribute.
        fixed: attributes that keep their records: those that agree with another one value by value.
        words: fresh uniform words, `words_of_matching` of them.
    """
    free = _free(tables, fixed)
    codes = codes.copy()
    if not free:
        return codes
    first, second = np.asarray([table.attributes for table in tables], np.int64).T
    width = np.asarray([table.shares.shape[1] for table in tables], np.int64)
    start = np.cumsum([0, *(table.shares.size for table in tables)]).astype(np.int64)
    shares = np.concatenate([table.shares.ravel() for table in tables])
    taken = 0
    for begun in range(0, len(codes), TOGETHER):
        row = codes[begun : begun + TOGETHER]
        own = np.stack([bucket[column] for bucket, column in zip(buckets, row.T, strict=True)]).astype(np.int32)
        expected = shares * (len(row) * _UNIT) // WHOLE
        weight = _WEIGHT // (expected + _OFTEN * _UNIT)
        gap = _UNIT * _counts(own, first, second, width, start) - expected
        values = np.ascontiguousarray(row.T)
        for _ in range(SWEEPS):
            for attribute in free:
                some = words[taken : taken + len(row) // 2]
                taken += len(some)
                _exchange(attribute, values, own, _tables_of(attribute, first, second), width, start, weight, gap, some)
        row[:] = values.T
    return codes


def _free(tables: Sequence[PairTable], fixed: Collection[int]) -> list[int]:
    """The attributes whose values may be exchanged."""
    return sorted({attribute for table in tables for attribute in table.attributes} - set(fixed))


def _tables_of(attribute: int, first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    """The tables of an attribute: number, the other attribute, and whether the attribute is the first; shape (n, 3)."""
    numbers = np.flatnonzero((first == attribute) | (second == attribute))
    leads = first[numbers] == attribute
    return np.stack([numbers, np.where(leads, second[numbers], first[numbers]), leads], axis=1)


@numba.njit(nogil=True, cache=True)
def _counts(own, first, second, width, start):
    """Counts of all tables."""
    counts = np.zeros(start[-1], np.int64)
    for t in range(len(first)):
        for r in range(own.shape[1]):
            counts[start[t] + own[first[t], r] * width[t] + own[second[t], r]] += 1
    return counts


@numba.njit(nogil=True, cache=True)
def _exchange(attribute, values, own, tables, width, start, weight, gap, words):
    """Exchange an attribute's values between random pairs of records where its tables come nearer.

    Args:
        attribute: the attribute.
        values: all values, shape (m, records); changed.
        own: their buckets, shape (m, records); changed.
        tables: the attribute's tables, see `_tables_of`.
        width: buckets of the second attribute of each table.
        start: where each table begins in `weight` and `gap`.
        weight: weights of the cells.
        gap: counts minus expected counts, in units; changed.
        words: a word for each pair of records: the upper half for one, the lower half for the other.
    """
    records, bucket, value = own.shape[1], own[attribute], values[attribute]
    cells = np.empty((len(tables), 4), np.int64)
    for k in range(len(words)):
        a = (np.int64(words[k] >> np.uint32(16)) * records) >> 16
        b = (np.int64(words[k] & np.uint32(0xFFFF)) * records) >> 16
        x, y = bucket[a], bucket[b]
        if x == y:
            continue
        change = np.int64(0)
        touched = 0
        for t in range(len(tables)):
            number, other = tables[t, 0], tables[t, 1]
            p, q = own[other, a], own[other, b]
            if p == q:
                continue
            begin, wide = start[number], width[number]
            if tables[t, 2] == 1:
                from_a, to_a = begin + x * wide + p, begin + y * wide + p
                from_b, to_b = begin + y * wide + q, begin + x * wide + q
            else:
                from_a, to_a = begin + p * wide + x, begin + p * wide + y
                from_b, to_b = begin + q * wide + y, begin + q * wide + x
            change += weight[from_a] * (_UNIT - 2 * gap[from_a]) + weight[from_b] * (_UNIT - 2 * gap[from_b])
            change += weight[to_a] * (_UNIT + 2 * gap[to_a]) + weight[to_b] * (_UNIT + 2 * gap[to_b])
            cells[touched, 0], cells[touched, 1] = from_a, from_b
            cells[touched, 2], cells[touched, 3] = to_a, to_b
            touched += 1
        if change < 0:
            for t in range(touched):
                gap[cells[t, 0]] -= _UNIT
                gap[cells[t, 1]] -= _UNIT
                gap[cells[t, 2]] += _UNIT
                gap[cells[t, 3]] += _UNIT
            bucket[a], bucket[b] = y, x
            value[a], value[b] = value[b], value[a]
