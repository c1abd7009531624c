"""Records spread evenly: among those alike in what an attribute depends on, its values come in the shares of its law.

Of 16 records that fall one after the other into one stratum, each gets another sixteenth of the unit interval, in an
order by chance. Each record by itself has exactly the network's law: the sixteenth is uniform and has nothing to do
with what came before in the record. Given the others of its block it has not, for theirs are taken: together they are
nearer to the law than independent ones. So this is for records that are drawn from a public network and nothing else;
it is no candidate's law. What a network is, and how a value is found, do not belong here.
"""

# numba infers the types of kernels
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, disallow-untyped-decorators=False

from collections.abc import Sequence
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from deniable.loglinear.factors import LogTable
from deniable.ordered_network import starts

BLOCK = 16
"""Records among which the sixteenths are shared out."""
_MOST_STRATA = 1 << 13
_LOW_BITS = (1 << 28) - 1


def _products() -> NDArray[np.int64]:
    """Products in the field of 16 elements, polynomials modulo x^4 + x + 1."""
    products = np.zeros((BLOCK, BLOCK), np.int64)
    for a in range(BLOCK):
        for b in range(BLOCK):
            shifted = a
            for bit in range(4):
                products[a, b] ^= shifted * (b >> bit & 1)
                shifted = (shifted << 1) ^ (0b10011 * (shifted >> 3))
    return products


_PRODUCTS = _products().ravel()


class Strata(NamedTuple):
    """Which stratum a record belongs to at each position, and how far its block is.

    Attributes:
        start: where each position's strata begin in `state`, shape (m,); no position has any if this is empty.
        parent_start: where each position's parents begin in `parent` and `stride`, shape (m + 1,).
        parent: positions that strata are told apart by.
        stride: what a parent's bucket counts for.
        state: of each stratum, how many records of its block it has had, what the block's sixteenths are added to
            without carry, and what they are multiplied by, 4 bits each.
    """

    start: NDArray[np.int64]
    parent_start: NDArray[np.int64]
    parent: NDArray[np.int64]
    stride: NDArray[np.int64]
    state: NDArray[np.uint16]


def no_strata() -> Strata:
    """What records that are independent of each other are drawn with."""
    none = np.zeros(0, np.int64)
    return Strata(none, none, none, none, np.zeros(0, np.uint16))


def strata(
    factors: Sequence[Sequence[LogTable]], sizes: Sequence[int], order: Sequence[int], place: dict[int, int], rows: int
) -> Strata:
    """Strata by as many parents as leave a block of records for each, those first that matter most.

    Args:
        factors: the factors of each attribute, by column number.
        sizes: buckets of each attribute.
        order: the attributes in the network's order.
        place: position of each attribute.
        rows: records that are drawn together.
    """
    most = min(_MOST_STRATA, rows // BLOCK)
    parents: list[list[int]] = []
    strides: list[list[int]] = []
    cells: list[int] = []
    for attribute in order:
        strength: dict[int, int] = {}
        for factor in factors[attribute]:
            weight = int(np.abs(factor.logs).sum()) // factor.logs.size
            for parent in factor.parents:
                strength[parent] = strength.get(parent, 0) + weight
        own, strides_of_own, size = [], [], 1
        for parent in sorted(strength, key=lambda parent: (-strength[parent], parent)):
            if size * sizes[parent] <= most:
                own.append(place[parent])
                strides_of_own.append(size)
                size *= sizes[parent]
        parents.append(own)
        strides.append(strides_of_own)
        cells.append(size)
    return Strata(
        start=starts(cells),
        parent_start=starts([len(own) for own in parents], closed=True),
        parent=np.asarray([parent for own in parents for parent in own], np.int64),
        stride=np.asarray([stride for own in strides for stride in own], np.int64),
        state=np.zeros(sum(cells), np.uint16),
    )


@numba.njit(nogil=True, cache=True, inline="always")
def spread(state, stratum, word):
    """The word of a record, moved to the sixteenth whose turn it is; the first of a block says in which order."""
    known = np.int64(state[stratum])
    turn = known & 15
    if turn == 0:
        known = ((word & 255) % 15 + 1) << 8 | (word >> 28) << 4
    else:
        word = (_PRODUCTS[(known >> 8) << 4 | turn] ^ (known >> 4 & 15)) << 28 | (word & _LOW_BITS)
    state[stratum] = (known & ~15) | ((turn + 1) & 15)
    return word
