"""The tree of pairs, chosen one at a time by the exponential mechanism.

A pair's score is the distance of its counts from those expected under independence. The expected counts are functions
of released integers, rounded to integers, so that the score is an integer and one record changes it by at most 1.
Chosen pairs always form a forest, and finally a tree (Kruskal).

Source: McKenna, Miklau, Sheldon 2021, algorithm 2.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
Cells = NDArray[np.float64]
Pair = tuple[int, int]


def expected_counts(first: Cells, second: Cells, total: float) -> Counts:
    """Counts of a pair of independent attributes, rounded to integers.

    Args:
        first: expected counts of one attribute, which sum to the total.
        second: expected counts of the other.
        total: number of records, above 0.
    """
    return np.rint(np.multiply.outer(first, second) / total).astype(np.int64)


def dependence(counts: Counts, expected: Counts) -> int:
    """L1 distance of a table from its expected counts; one record changes it by at most 1.

    Args:
        counts: the counts (confidential).
        expected: integers that depend on the records only through releases.
    """
    return int(np.abs(counts - expected).sum())


def candidates(counted: Sequence[int], chosen: Iterable[Pair]) -> list[Pair]:
    """Pairs that join two components of the forest of chosen pairs; public."""
    part = {i: i for i in counted}
    for a, b in chosen:
        before, after = part[b], part[a]
        part = {i: after if own == before else own for i, own in part.items()}
    return [(a, b) for a, b in combinations(counted, 2) if part[a] != part[b]]


def choose_tree(counted: Sequence[int], choose: Callable[[Sequence[Pair]], int]) -> tuple[Pair, ...]:
    """Choose a spanning tree, one pair at a time.

    Args:
        counted: the attributes with several values.
        choose: chooses the number of one of several pairs.
    """
    chosen: list[Pair] = []
    while len(chosen) < len(counted) - 1:
        those = candidates(counted, chosen)
        chosen.append(those[choose(those)])
    return tuple(chosen)
