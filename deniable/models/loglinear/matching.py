"""Matching: records exchange values until their two-way tables are near the tables that the network was made of.

Records drawn from a network vary about it, and the network approximates its tables without matching all of them. For
each attribute in turn, random pairs of records exchange values if the tables come nearer to their targets. Exchanges
preserve one-way marginals exactly as drawn. Targets are denoised tables, never noisy ones, and only a few sweeps are
made, so that residual noise is not overfitted. The records are then no longer independent given the network, so this
applies only to records drawn from a public network alone, not to candidates. All arithmetic is in integers, and every
record in a run of `TOGETHER` is treated alike.
"""

# numba infers the types of kernels
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, disallow-untyped-decorators=False

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Codes
from deniable.kernels import kernel
from deniable.models.loglinear.flat_tables import Attributes
from deniable.models.loglinear.stratified_sampling import TOGETHER

Integers = NDArray[np.int64]

WHOLE = 1 << 24
"""Sum of the cells of a target table, up to rounding."""
SWEEPS = 4
_UNIT = 16
"""Number of units per record: expected counts are multiples of a sixteenth."""
_OFTEN = 3
"""A cell's squared distance has weight 1 / (expected count + this number)."""
_WEIGHT = 1 << 24


@dataclass(frozen=True, eq=False)
class PairTable:
    """The target joint distribution of two attributes' buckets.

    Attributes:
        attributes: the two column numbers, ascending.
        shares: shape (buckets of the first, buckets of the second), at least 0; they sum to about `WHOLE`.
    """

    attributes: Attributes
    shares: Integers


def words_of_matching(tables: Sequence[PairTable], fixed: Collection[int], records: int) -> int:
    """Number of words that `matched` takes for a number of records."""
    rows = [min(TOGETHER, records - begun) for begun in range(0, records, TOGETHER)]
    return SWEEPS * len(_free(tables, fixed)) * sum(row // 2 for row in rows)


def matched(
    codes: Codes,
    tables: Sequence[PairTable],
    buckets: Sequence[Codes],
    fixed: Collection[int],
    words: NDArray[np.uint32],
) -> Codes:
    """The records after the exchanges.

    Args:
        codes: the records, columns as in the domain, shape (records, m).
        tables: the tables of pairs.
        buckets: bucket of each value of each attribute.
        fixed: attributes that are not exchanged: those that agree with another one value by value.
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
    tables_of = {attribute: _tables_of(attribute, first, second, width, start) for attribute in free}
    taken = 0
    for begun in range(0, len(codes), TOGETHER):
        row = codes[begun : begun + TOGETHER]
        own = np.stack([bucket[column] for bucket, column in zip(buckets, row.T, strict=True)], axis=1, dtype=np.uint16)
        expected = shares * (len(row) * _UNIT) // WHOLE
        # Data read together are stored together: a record's buckets, and a cell's weight and gap.
        cells = np.empty((len(expected), 2), np.int32)
        cells[:, 0] = _WEIGHT // (expected + _OFTEN * _UNIT)
        cells[:, 1] = _UNIT * _counts(own, first, second, width, start) - expected
        for _ in range(SWEEPS):
            for attribute in free:
                some = words[taken : taken + len(row) // 2]
                taken += len(some)
                _exchange(attribute, row, own, tables_of[attribute], cells, some)
    return codes


def _free(tables: Sequence[PairTable], fixed: Collection[int]) -> list[int]:
    """The attributes whose values may be exchanged."""
    return sorted({attribute for table in tables for attribute in table.attributes} - set(fixed))


def _tables_of(attribute: int, first: Integers, second: Integers, width: Integers, start: Integers) -> Integers:
    """The tables of an attribute: the other attribute, the first cell, and the strides of both; shape (n, 4)."""
    numbers = np.flatnonzero((first == attribute) | (second == attribute))
    leads, wide = first[numbers] == attribute, width[numbers]
    others = np.where(leads, second[numbers], first[numbers])
    return np.stack([others, start[numbers], np.where(leads, wide, 1), np.where(leads, 1, wide)], axis=1)


@kernel
def _counts(own, first, second, width, start):
    """Counts of all tables."""
    counts = np.zeros(start[-1], np.int64)
    for r in range(len(own)):
        for t in range(len(first)):
            counts[start[t] + own[r, first[t]] * width[t] + own[r, second[t]]] += 1
    return counts


@kernel
def _exchange(attribute, values, own, tables, cells, words):
    """Exchange an attribute's values between random pairs of records if its tables come nearer to their targets.

    Args:
        attribute: the attribute.
        values: all values, shape (records, m); changed.
        own: their buckets, same shape; changed.
        tables: the attribute's tables, see `_tables_of`.
        cells: the weight of each cell, and its count minus the expected count, in units; changed.
        words: a word for each pair of records: the upper half for one, the lower half for the other.
    """
    records = len(own)
    touched = np.empty((len(tables), 4), np.int64)
    for k in range(len(words)):
        a = (np.int64(words[k] >> np.uint32(16)) * records) >> 16
        b = (np.int64(words[k] & np.uint32(0xFFFF)) * records) >> 16
        x, y = np.int64(own[a, attribute]), np.int64(own[b, attribute])
        if x == y:
            continue
        change = np.int64(0)
        some = 0
        for t in range(len(tables)):
            other, begin, by, by_other = tables[t, 0], tables[t, 1], tables[t, 2], tables[t, 3]
            p, q = np.int64(own[a, other]), np.int64(own[b, other])
            if p == q:
                continue
            from_a, to_a = begin + x * by + p * by_other, begin + y * by + p * by_other
            from_b, to_b = begin + y * by + q * by_other, begin + x * by + q * by_other
            change += np.int64(cells[from_a, 0]) * (_UNIT - 2 * np.int64(cells[from_a, 1]))
            change += np.int64(cells[from_b, 0]) * (_UNIT - 2 * np.int64(cells[from_b, 1]))
            change += np.int64(cells[to_a, 0]) * (_UNIT + 2 * np.int64(cells[to_a, 1]))
            change += np.int64(cells[to_b, 0]) * (_UNIT + 2 * np.int64(cells[to_b, 1]))
            touched[some, 0], touched[some, 1], touched[some, 2], touched[some, 3] = from_a, from_b, to_a, to_b
            some += 1
        if change < 0:
            for t in range(some):
                cells[touched[t, 0], 1] -= _UNIT
                cells[touched[t, 1], 1] -= _UNIT
                cells[touched[t, 2], 1] += _UNIT
                cells[touched[t, 3], 1] += _UNIT
            own[a, attribute], own[b, attribute] = y, x
            values[a, attribute], values[b, attribute] = values[b, attribute], values[a, attribute]
