"""Prefixes shared by seeds, counted by partition and merged; the result does not depend on the partitions.

The prefixes of each length are numbered in the order of their first appearance among the seeds. Within a partition
they are numbered separately; partitions are merged in the order of the seeds, length by length, using the new numbers
of the prefixes that are one shorter. The use of the counts does not belong here (plausible_seeds).
"""

# numba infers the types of kernels
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, disallow-untyped-decorators=False

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Codes
from deniable.foundation.tables import Counts
from deniable.kernels import kernel

EMPTY = np.uint64(2**64 - 1)
"""Marks a free slot of a hash table."""
CODE_BITS = 16
_BITS = np.uint64(CODE_BITS)
_CODE = np.uint64((1 << CODE_BITS) - 1)


@numba.njit(nogil=True, cache=True, inline="always")
def slot_of(key, mask):
    """The first slot to probe for a key: its bits, well mixed."""
    mixed = key * np.uint64(0x9E3779B97F4A7C15)
    return np.int64((mixed ^ (mixed >> np.uint64(29))) & np.uint64(mask))


@kernel
def _deepen(parents, codes, keys, children, edges, count):
    """Split each seed's prefix by one more attribute.

    Args:
        parents: number of each seed's prefix, replaced by that of the longer one.
        codes: the attribute's codes.
        keys: an empty hash table.
        children: its values.
        edges: filled, for each longer prefix, with the shorter one's number << 16 | code.
        count: filled with the number of seeds with each longer prefix.

    Returns:
        Number of longer prefixes.
    """
    mask = len(keys) - 1
    made = 0
    for seed in range(len(parents)):
        key = (np.uint64(parents[seed]) << np.uint64(CODE_BITS)) | np.uint64(codes[seed])
        slot = slot_of(key, mask)
        while keys[slot] != EMPTY and keys[slot] != key:
            slot = (slot + 1) & mask
        if keys[slot] == EMPTY:
            keys[slot] = key
            children[slot] = made
            edges[made] = key
            count[made] = 0
            made += 1
        parents[seed] = children[slot]
        count[children[slot]] += 1
    return made


@kernel
def _insert(edges, first, keys, children):
    mask = len(keys) - 1
    for number in range(len(edges)):
        slot = slot_of(edges[number], mask)
        while keys[slot] != EMPTY:
            slot = (slot + 1) & mask
        keys[slot] = edges[number]
        children[slot] = first + number


def hashed(edges: NDArray[np.uint64], first: int) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    """A hash table from distinct edges to their numbers.

    Args:
        edges: the edges.
        first: number of the first edge; the others follow consecutively.

    Returns:
        Keys, including free slots, and the corresponding numbers.
    """
    keys = np.full(_table_size(len(edges)), EMPTY)
    children = np.zeros(len(keys), np.int32)
    _insert(edges, first, keys, children)
    return keys, children


def _table_size(entries: int) -> int:
    """Number of slots of a hash table that is at most half full."""
    return 1 << (2 * max(entries, 1) - 1).bit_length()


@dataclass(frozen=True, eq=False)
class SeedPrefixes:
    """The prefixes of some seeds, up to a length.

    Attributes:
        seeds: the seeds' codes, positions in topological order, shape (n, m).
        nodes: number of each seed's prefix at each level, among those of its length, shape (n, levels).
        edges: for each length from 1 on, number << 16 | code: the shorter prefix and the value that follows it.
        counts: for each length from 1 on, number of seeds with each prefix.
    """

    seeds: Codes
    nodes: NDArray[np.int32]
    edges: tuple[NDArray[np.uint64], ...]
    counts: tuple[NDArray[np.int32], ...]

    @classmethod
    def of(cls, seeds: Codes, levels: Sequence[int]) -> "SeedPrefixes":
        """Number the prefixes of seeds, shape (n, m), up to the last of some levels, ascending. Time O(n m)."""
        n = len(seeds)
        number, nodes = np.zeros(n, np.int32), np.zeros((n, len(levels)), np.int32)
        edges, counts = [], []
        for depth in range(levels[-1] + 1):
            if depth in levels:
                nodes[:, levels.index(depth)] = number
            if depth < levels[-1]:
                keys = np.full(_table_size(n), EMPTY)
                edge, count = np.zeros(n, np.uint64), np.zeros(n, np.int32)
                made = _deepen(number, seeds[:, depth], keys, np.zeros(len(keys), np.int32), edge, count)
                edges.append(edge[:made].copy())
                counts.append(count[:made].copy())
        return cls(np.ascontiguousarray(seeds), nodes, tuple(edges), tuple(counts))

    @classmethod
    def joined(cls, shares: Sequence["SeedPrefixes"], levels: Sequence[int]) -> "SeedPrefixes":
        """The prefixes of all seeds, from those of at least one partition, in the order of the seeds."""
        if len(shares) == 1:
            return shares[0]
        nodes = [np.zeros_like(share.nodes) for share in shares]
        became = [np.zeros(1, np.int64) for _ in shares]
        edges, counts = [], []
        for depth in range(levels[-1] + 1):
            if depth in levels:
                level = levels.index(depth)
                for own, numbers, share in zip(nodes, became, shares, strict=True):
                    own[:, level] = numbers[share.nodes[:, level]]
            if depth < levels[-1]:
                moved = [_moved(share.edges[depth], those) for share, those in zip(shares, became, strict=True)]
                edge, became = _joined(moved)
                count = np.zeros(len(edge), np.int32)
                for share, numbers in zip(shares, became, strict=True):
                    count[numbers] += share.counts[depth]
                edges.append(edge)
                counts.append(count)
        seeds = np.concatenate([share.seeds for share in shares])
        return cls(seeds, np.concatenate(nodes), tuple(edges), tuple(counts))


def _moved(edges: NDArray[np.uint64], numbers: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Edges of a partition, with the global numbers of their shorter prefixes."""
    return (numbers[(edges >> _BITS).astype(np.int64)].astype(np.uint64) << _BITS) | (edges & _CODE)


def _joined(shares: Sequence[NDArray[np.uint64]]) -> tuple[NDArray[np.uint64], list[NDArray[np.int64]]]:
    """All distinct edges, in the order of their first appearance, and the new numbers of each partition's edges."""
    together = np.concatenate(shares)
    _, first, which = np.unique(together, return_index=True, return_inverse=True)
    by_appearance = np.argsort(first)
    number = np.empty(len(first), np.int64)
    number[by_appearance] = np.arange(len(first))
    ends = np.cumsum([0, *map(len, shares)])
    return together[first[by_appearance]], [number[which[start:end]] for start, end in pairwise(ends)]


class SeedTally:
    """The prefixes of seeds, chunk by chunk; see `deniable.foundation.tables.Tally`.

    Args:
        order: column number of the attribute at each position.
        levels: ascending lengths of the prefixes to distinguish.
    """

    def __init__(self, order: Sequence[int], levels: Sequence[int]) -> None:
        self._order, self._levels = list(order), tuple(levels)
        self._chunks: list[Codes] = []
        self._shares: list[SeedPrefixes] = []

    def add(self, codes: Codes) -> None:
        """Add seeds, value codes of shape (rows, m), columns as in the domain."""
        self._chunks.append(np.ascontiguousarray(codes[:, self._order]))

    def merge(self, other: "SeedTally") -> None:
        """Add the prefixes of the seeds that follow."""
        self._shares += other.counted()

    @property
    def prefixes(self) -> SeedPrefixes:
        """The prefixes of all seeds so far."""
        self._shares = [SeedPrefixes.joined(self.counted(), self._levels)]
        return self._shares[0]

    @property
    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """The counts, as named arrays to be stored."""
        made = self.prefixes
        lengths = {f"edges-{depth}": edges for depth, edges in enumerate(made.edges)}
        counts = {f"counts-{depth}": count for depth, count in enumerate(made.counts)}
        return {"seeds": made.seeds, "nodes": made.nodes, **lengths, **counts}

    def restore(self, arrays: Mapping[str, Counts]) -> None:
        """Restore the counts from the stored arrays."""
        depths = range(self._levels[-1])
        self._chunks, self._shares = (
            [],
            [
                SeedPrefixes(
                    arrays["seeds"].astype(np.uint16, copy=False),
                    arrays["nodes"].astype(np.int32, copy=False),
                    tuple(arrays[f"edges-{depth}"].astype(np.uint64, copy=False) for depth in depths),
                    tuple(arrays[f"counts-{depth}"].astype(np.int32, copy=False) for depth in depths),
                )
            ],
        )

    def counted(self) -> list[SeedPrefixes]:
        """The partitions so far, including added chunks."""
        if self._chunks or not self._shares:
            chunks, self._chunks = self._chunks or [np.zeros((0, len(self._order)), np.uint16)], []
            self._shares.append(SeedPrefixes.of(np.concatenate(chunks), self._levels))
        return self._shares
