"""The tables that follow from a public file: a maximum spanning tree of pairs by mutual information, and triples.

The rows of the file are public, and so are their exact counts. Mutual information is rounded before comparison, so
that all machines select the same tables.

Source: McKenna, Miklau, Sheldon 2021, section 4 (the winning solution); Chow and Liu 1968 for the tree.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import fsum, log, prod

from deniable.foundation.domain import Domain
from deniable.learners.mst.selection import Pair
from deniable.models.graphical.junction_tree import JunctionTree

_ROOT = 3
DIGITS = 6


@dataclass(frozen=True)
class Thresholds:
    """The thresholds for measuring pairs and triples.

    Attributes:
        pair: smallest mutual information of a pair, in nats.
        triple: smallest mutual information of both pairs of a triple, in nats.
        max_cells: largest total number of cells of the junction tree's cliques, by values.
    """

    pair: float
    triple: float
    max_cells: int


@dataclass(frozen=True)
class WeightedTable:
    """A table to be measured.

    Attributes:
        attributes: its attributes, in ascending order.
        weight: its weight; the variance of its noise is proportional to 1 / weight^2.
    """

    attributes: tuple[int, ...]
    weight: int


def mutual_information(counts: Sequence[Sequence[int]]) -> float:
    """Mutual information of two attributes, in nats, rounded to six digits; 0 if there are no rows.

    Args:
        counts: exact counts of a public table, one row for each value of the first attribute.
    """
    rows, columns = [sum(row) for row in counts], [sum(column) for column in zip(*counts, strict=True)]
    total = sum(rows)
    if not total:
        return 0.0
    # I = sum n_ab / n ln(n n_ab / (n_a n_b)); math.fsum adds without intermediate rounding errors.
    terms = (
        cell / total * log(total * cell / (rows[a] * columns[b]))
        for a, row in enumerate(counts)
        for b, cell in enumerate(row)
        if cell
    )
    return round(max(fsum(terms), 0.0), DIGITS)


def tables_of(domain: Domain, information: Mapping[Pair, float], thresholds: Thresholds) -> tuple[WeightedTable, ...]:
    """The tables to be measured.

    Args:
        domain: the public domain.
        information: the mutual information of each pair of attributes with several values.
        thresholds: the thresholds for measuring them.
    """
    sizes = domain.cardinalities
    tree = _spanning_forest(information, thresholds.pair)
    chosen: list[tuple[int, ...]] = []
    for pair in tree:
        if JunctionTree.of(sizes, [*chosen, pair]).cells <= thresholds.max_cells:
            chosen.append(pair)
    for triple in _triples(chosen, information, thresholds.triple):
        if JunctionTree.of(sizes, [*chosen, triple]).cells <= thresholds.max_cells:
            chosen.append(triple)
    return tuple(WeightedTable(own, weight_of(prod(sizes[i] for i in own))) for own in chosen)


def weight_of(cells: int) -> int:
    """The weight of a table: the third root of its number of cells, rounded, at least 1.

    With variance v_C of table C, the expected error is proportional to the sum of cells_C sqrt(v_C), and the cost to
    the sum of 1 / v_C. At a given cost, the error is minimised by v_C proportional to cells_C^(-2/3).
    """
    root: float = cells ** (1 / _ROOT)
    return max(1, round(root))


def _spanning_forest(information: Mapping[Pair, float], least: float) -> list[Pair]:
    """The maximum spanning forest of pairs above a threshold of information (Kruskal); ties go to the first pair."""
    part: dict[int, int] = {}
    chosen = []
    for pair in sorted(information, key=lambda pair: (-information[pair], pair)):
        one, other = (part.setdefault(i, i) for i in pair)
        if information[pair] >= least and one != other:
            chosen.append(pair)
            part = {i: one if own == other else own for i, own in part.items()}
    return chosen


def _triples(
    pairs: Iterable[tuple[int, ...]], information: Mapping[Pair, float], least: float
) -> list[tuple[int, ...]]:
    """Triples i, j, k of pairs (i, j) and (i, k), strongest first."""
    strong = [pair for pair in pairs if information[pair[0], pair[1]] >= least]
    found = {
        tuple(sorted({*one, *other})): information[one[0], one[1]] + information[other[0], other[1]]
        for one, other in combinations(strong, 2)
        if {*one} & {*other}
    }
    return sorted(found, key=lambda triple: (-round(found[triple], DIGITS), triple))
