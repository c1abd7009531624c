"""Raking: of more records than are wanted, those are chosen whose two-way tables come nearest to given ones.

Records are weighted until their weighted two-way tables agree with the goals, and then chosen by systematic sampling in
proportion to their weights. Goals are a model's tables, or those of records drawn from it. Records are chosen whole,
never changed. All of it is post-processing of public records and a public model. Floats are added and multiplied one
after the other, in the same order on every machine.

Source: Deming, Stephan 1940 (iterative proportional fitting); Madow 1949 (systematic sampling).
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
_GROUPS = 24
"""Attributes of more values are grouped into runs of about equal frequency."""
# A weight changes by at most this factor for one table.
_LARGEST_CHANGE = 4.0
_ADDED = 20.0
"""This number is added to a cell's weight and to its goal: a few records more or less in a rare cell are chance."""


@dataclass(frozen=True, eq=False)
class Goal:
    """The two-way table that records should have.

    Attributes:
        first: codes of one attribute, or numbers of its buckets or groups, of each record in the pool, shape (pool,).
        second: those of another attribute, shape (pool,).
        shares: the table, at least 0, up to a factor; shape (values of the first, values of the second).
    """

    first: Codes
    second: Codes
    shares: Reals


def raked(
    records: Codes, goals: Sequence[Goal], wanted: int, *, order: NDArray[np.int64], start: float
) -> NDArray[np.int64]:
    """Choose records whose two-way tables are near the goals.

    Args:
        records: the records to choose from, shape (pool, m), at least `wanted`.
        goals: the tables that they should have, at least one.
        wanted: number of records to choose.
        order: the attributes by which records are sorted for systematic sampling, as column numbers, shape (m,).
        start: where systematic sampling starts, uniform on [0, 1).

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
    counts = np.minimum(np.floor(ends - start).astype(np.int64) + 1, wanted)
    chosen = places[np.diff(counts, prepend=0) > 0]
    if len(chosen) < wanted:
        rest = np.setdiff1d(places, chosen)
        chosen = np.concatenate([chosen, rest[: wanted - len(chosen)]])
    return np.sort(chosen[:wanted])


def raking_weights(goals: Sequence[Goal], pool: int, wanted: int) -> Reals:
    """Weights at most 1 with which the records' two-way tables come near the goals; they sum to about `wanted`.

    Args:
        goals: the tables.
        pool: number of records.
        wanted: the sum of the weights, at most the size of the pool.
    """
    weights = np.full(pool, wanted / pool)
    expected = [goal.shares.ravel() * (wanted / goal.shares.sum()) for goal in goals]
    for _ in range(ROUNDS):
        for goal, counts in zip(goals, expected, strict=True):
            _rake(goal.first, goal.second, goal.shares.shape[1], counts, weights)
        _bring_to(weights, wanted)
    return weights


def goals_of_records(records: Codes, towards: Codes, domain: Domain) -> list[Goal]:
    """The two-way tables of other records.

    Args:
        records: the pool, shape (pool, m).
        towards: the records whose tables are the goals, shape (many, m).
        domain: the table's domain.
    """
    grouped, target = _grouped(records, towards, domain)
    sizes = np.maximum(grouped.max(axis=0, initial=0), target.max(axis=0, initial=0)).astype(np.int64) + 1
    columns = np.ascontiguousarray(grouped.T)
    goals = []
    for i, j in combinations(range(records.shape[1]), 2):
        cells = target[:, i].astype(np.int64) * sizes[j] + target[:, j]
        counts = np.bincount(cells, minlength=int(sizes[i] * sizes[j])).astype(np.float64)
        goals.append(Goal(columns[i], columns[j], counts.reshape(sizes[i], sizes[j])))
    return goals


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
