"""Stratified sampling: among records with equal parents, an attribute's values occur in nearly their expected shares.

For each attribute the records are arranged in a row, those with equal parents adjacent and in random order. In each
pair of neighbours in the row, one gets the lower half of the unit interval and the other the upper half; in each group
of four, each gets a different quarter, and so on, at random: Owen's scrambling of van der Corput's sequence. Each
record on its own has exactly the network's distribution given its earlier values: its place in the row depends only on
the lower halves of the words, and the upper halves, which scramble, are independent of those. Strata may therefore
ignore some of the variables that a distribution depends on, such as guides or weak parents: a record's word is uniform
given all earlier values. Jointly, the records vary less than independent ones, so this applies only to records drawn
from a public network alone, not to candidates. Networks and the selection of values do not belong here.

Source: Owen 1995, Randomly permuted (t, m, s)-nets and (t, s)-sequences.
"""

# numba infers the types of kernels
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, disallow-untyped-decorators=False

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.kernels import inner_kernel
from deniable.models.loglinear.factors import LogTable
from deniable.models.loglinear.vectors import SCRAMBLED, scramble
from deniable.models.sequential_model import starts

TOGETHER = 1 << 16
"""Largest number of records in a row: the number of values of a scrambled half of a word."""
PLACES = 1 << 16
"""Number of coarse places in a row, divided among strata; within a stratum, records are placed at random."""


class Strata(NamedTuple):
    """The stratum of a record at each position; a stratum is a run of coarse places in a row.

    Attributes:
        room: coarse places of each stratum, shape (m,); records are independent if this is empty.
        parent_start: start of each position's parents in `parent` and `stride`, shape (m + 1,).
        parent: positions that define the strata.
        stride: stride of a parent's bucket in coarse places.
    """

    room: NDArray[np.int64]
    parent_start: NDArray[np.int64]
    parent: NDArray[np.int64]
    stride: NDArray[np.int64]


def no_strata() -> Strata:
    """No strata: records are drawn independently."""
    none = np.zeros(0, np.int64)
    return Strata(none, none, none, none)


def strata(
    factors: Sequence[Sequence[LogTable]], sizes: Sequence[int], order: Sequence[int], place: dict[int, int]
) -> Strata:
    """Strata by as many parents as the places allow, most important first, so that neighbours differ least.

    Args:
        factors: the factors of each attribute, by column number.
        sizes: buckets of each attribute.
        order: the attributes in the network's order.
        place: position of each attribute.
    """
    parents: list[list[int]] = []
    strides: list[int] = []
    rooms: list[int] = []
    for attribute in order:
        strength: dict[int, int] = {}
        for factor in factors[attribute]:
            weight = int(np.abs(factor.logs).sum()) // factor.logs.size
            for parent in factor.parents:
                strength[parent] = strength.get(parent, 0) + weight
        own, cells = [], 1
        for parent in sorted(strength, key=lambda parent: (-strength[parent], parent)):
            if cells * sizes[parent] <= PLACES:
                own.append(parent)
                cells *= sizes[parent]
        rooms.append(PLACES // cells)
        for parent in own:
            cells //= sizes[parent]
            strides.append(rooms[-1] * cells)
        parents.append([place[parent] for parent in own])
    return Strata(
        room=np.asarray(rooms, np.int64),
        parent_start=starts([len(own) for own in parents], closed=True),
        parent=np.asarray([parent for own in parents for parent in own], np.int64),
        stride=np.asarray(strides, np.int64),
    )


@inner_kernel
def find_places(first, room, words, place):
    """Fill in the coarse place of each record: in its stratum, by the lower half of its word.

    Args:
        first: start of each record's stratum.
        room: coarse places of a stratum.
        words: a word for each record.
        place: filled with the places, as narrow as they allow.
    """
    wide = np.uint64(room)
    for r in range(len(words)):
        within = (np.uint64(words[r] & np.uint32(0xFFFF)) * wide) >> np.uint64(16)
        place[r] = first[r] + np.int32(within)


@inner_kernel
def join_halves(upper, rank, words, moved):
    """Fill in the words to be used: the scrambled half at each record's rank, above the lower half of its word."""
    for r in range(len(words)):
        moved[r] = np.uint32(upper[np.uint32(rank[r])]) << np.uint32(16) | words[r] & np.uint32(0xFFFF)


@inner_kernel
def spread(place, words, rank, upper):
    """Scramble the upper halves of the words of some records along their row; see `join_halves`.

    Args:
        place: the records' coarse places, see `find_places`.
        words: a word for each record, at most `TOGETHER`.
        rank: filled with the records' ranks in the row.
        upper: filled with the scrambled halves, in the order of the ranks; with room for a multiple of `SCRAMBLED`.
    """
    some = len(words)
    # A place in the row is below 2^16, so sums are needed only modulo 2^16.
    ends = np.zeros(PLACES, np.uint16)
    # A record's rank is the number of those in earlier places and, in its own, of those before it.
    for r in range(some):
        own = np.uint32(place[r])
        rank[r] = ends[own]
        ends[own] += np.uint16(1)
    running = np.uint16(0)
    for at in range(PLACES):
        held = ends[at]
        ends[at] = running
        running += held
    for r in range(some):
        own = ends[np.uint32(place[r])] + rank[r]
        rank[r] = own
    for r in range(some):
        upper[np.uint32(rank[r])] = words[r] >> np.uint32(16)
    # For each pair, each four, and so on, the first record's bits determine which half comes first.
    flips = np.int64(0)
    for k in range(0, some, SCRAMBLED):
        begun = (k & -k) - 1
        flips = (flips & ~begun) | (np.int64(upper[k]) & begun)
        scramble(upper, k, flips)


@inner_kernel
def spread_words(first, room, words, moved):
    """Scramble the upper halves of the words of some records along their row, all in one call.

    Args:
        first: start of each record's stratum, in coarse places.
        room: coarse places of a stratum.
        words: a word for each record, at most `TOGETHER`.
        moved: filled with the words to be used.
    """
    some = len(words)
    place, rank = np.empty(some, np.uint16), np.empty(some, np.uint16)
    upper = np.zeros(some + SCRAMBLED, np.uint16)
    find_places(first, room, words, place)
    spread(place, words, rank, upper)
    join_halves(upper, rank, words, moved)
