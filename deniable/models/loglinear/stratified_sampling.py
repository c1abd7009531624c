"""Records spread evenly: among those alike in what an attribute depends on, its values come in the shares of its law.

For each attribute the records are put in a row, those alike in its parents beside each other and in an order by chance
among themselves. Of every two neighbours in the row one gets the lower half of the unit interval and one the upper, of
every four each another quarter, and so on, all by chance: Owen's scrambling of van der Corput's sequence. Each record
by itself has exactly the network's law, whatever came before in it: the place in the row rests on the lower halves of
the words, and the upper halves, which scramble, have nothing to do with those. So strata may leave out whatever a law
depends on besides, such as guides or weak parents: a record's word is uniform given all that came before in it. Only
together are records nearer to the law than independent ones, so this is for records that are drawn from a public
network and nothing else; it is no candidate's law. What a network is, and how a value is found, do not belong here.

Source: Owen 1995, Randomly permuted (t, m, s)-nets and (t, s)-sequences.
"""

# numba infers the types of kernels
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, disallow-untyped-decorators=False

from collections.abc import Sequence
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from deniable.models.loglinear.factors import LogTable
from deniable.models.sequential_model import starts

TOGETHER = 1 << 16
"""Records at most that are put in a row; as many as a scrambled half of a word has values."""
_PLACES = 1 << 16
"""Coarse places in a row, shared out among the strata, and within a stratum by chance."""


class Strata(NamedTuple):
    """Which stratum a record belongs to at each position, the strata being runs of coarse places in a row.

    Attributes:
        room: coarse places of each stratum, shape (m,); records are independent if this is empty.
        parent_start: where each position's parents begin in `parent` and `stride`, shape (m + 1,).
        parent: positions that strata are told apart by.
        stride: coarse places that a parent's bucket counts for.
    """

    room: NDArray[np.int64]
    parent_start: NDArray[np.int64]
    parent: NDArray[np.int64]
    stride: NDArray[np.int64]


def no_strata() -> Strata:
    """What records that are independent of each other are drawn with."""
    none = np.zeros(0, np.int64)
    return Strata(none, none, none, none)


def strata(
    factors: Sequence[Sequence[LogTable]], sizes: Sequence[int], order: Sequence[int], place: dict[int, int]
) -> Strata:
    """Strata by as many parents as there are places for, those first that matter most, so that neighbours differ least.

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
            if cells * sizes[parent] <= _PLACES:
                own.append(parent)
                cells *= sizes[parent]
        rooms.append(_PLACES // cells)
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


@numba.njit(nogil=True, cache=True)
def spread(first, room, words, moved):
    """Words of some records, their upper halves scrambled along the row of the records.

    Args:
        first: where each record's stratum begins, in coarse places; changed.
        room: coarse places of a stratum.
        words: a word for each record, at most `TOGETHER`.
        moved: filled with the words that are to be used.
    """
    some = len(words)
    ends = np.zeros(_PLACES + 1, np.int32)
    rank = np.empty(some, np.int32)
    upper = np.empty(some, np.uint16)
    for r in range(some):
        first[r] += (np.int64(words[r] & np.uint32(0xFFFF)) * room) >> 16
        ends[first[r] + 1] += 1
    for at in range(_PLACES):
        ends[at + 1] += ends[at]
    for r in range(some):
        rank[r] = ends[first[r]]
        ends[first[r]] += 1
        upper[rank[r]] = words[r] >> np.uint32(16)
    # Of each pair, each four, and so on, the first record's bits say which half comes first.
    flips = np.int32(0)
    for k in range(some):
        begun = np.int32(((k & -k) - 1) & 0xFFFF)
        flips = (flips & ~begun) | (np.int32(upper[k]) & begun)
        upper[k] = np.uint16(np.int32(k) ^ flips)
    for k in range(some):
        bits = np.uint32(upper[k])
        bits = (bits & np.uint32(0x5555)) << np.uint32(1) | (bits >> np.uint32(1)) & np.uint32(0x5555)
        bits = (bits & np.uint32(0x3333)) << np.uint32(2) | (bits >> np.uint32(2)) & np.uint32(0x3333)
        bits = (bits & np.uint32(0x0F0F)) << np.uint32(4) | (bits >> np.uint32(4)) & np.uint32(0x0F0F)
        upper[k] = np.uint16(bits << np.uint32(8) | bits >> np.uint32(8))
    for r in range(some):
        moved[r] = np.int64(upper[rank[r]]) << 16 | np.int64(words[r] & np.uint32(0xFFFF))
