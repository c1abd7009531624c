"""Raking: of more records than are wanted, those are chosen whose two-way tables come nearest to the model's.

Records are weighted until their weighted two-way tables agree with those of records drawn from the model, and then
chosen by systematic sampling in proportion to their weights. Records are chosen whole, never changed. All of it is
post-processing of public records and a public model. Floats are added and multiplied one after the other, in the same
order on every machine.

Source: Deming, Stephan 1940 (iterative proportional fitting); Madow 1949 (systematic sampling).
"""

# numba infers the types of kernels
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, disallow-untyped-decorators=False

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Codes, Domain
from deniable.foundation.errors import InvalidInput
from deniable.kernels import kernel

Reals = NDArray[np.float64]

ROUNDS = 6
_GROUPS = 24
"""Attributes of more values are grouped into runs of about equal frequency."""
# A weight changes by at most this factor for one table.
_LARGEST_CHANGE = 4.0


def raked(records: Codes, towards: Codes, wanted: int, *, domain: Domain, start: float) -> NDArray[np.int64]:
    """Choose records whose two-way tables are near those of other records.

    Args:
        records: the records to choose from, shape (pool, m), at least `wanted`.
        towards: records whose two-way tables are the target, shape (many, m).
        wanted: number of records to choose.
        domain: the table's domain.
        start: where systematic sampling starts, uniform on [0, 1).

    Returns:
        Numbers of the chosen records, ascending, shape (wanted,).

    Raises:
        InvalidInput: there are fewer records than are wanted.
    """
    if len(records) < wanted:
        raise InvalidInput(f"raking must choose from at least the {wanted} records wanted, got {len(records)}.")
    weights = raking_weights(records, towards, wanted, domain=domain)
    # Neighbours in lexicographic order are alike, so that every kind of record gets its share.
    order = np.lexsort(records.T[::-1])
    ends = np.cumsum(weights[order])
    ends *= wanted / ends[-1]
    # Weights are at most 1, so no record is chosen twice, but for rounding at the ends.
    places = np.minimum(np.floor(ends - start).astype(np.int64) + 1, wanted)
    chosen = order[np.diff(places, prepend=0) > 0]
    if len(chosen) < wanted:
        rest = np.setdiff1d(order, chosen)
        chosen = np.concatenate([chosen, rest[: wanted - len(chosen)]])
    return np.sort(chosen[:wanted])


def raking_weights(records: Codes, towards: Codes, wanted: int, *, domain: Domain) -> Reals:
    """Weights at most 1 with which the records' two-way tables come near those of others; they sum to about `wanted`.

    Args:
        records: shape (pool, m).
        towards: shape (many, m).
        wanted: the sum of the weights, at most the size of the pool.
        domain: the table's domain.
    """
    grouped, target = _grouped(records, towards, domain)
    weights = np.full(len(records), wanted / len(records))
    pairs = list(combinations(range(records.shape[1]), 2))
    sizes = grouped.max(axis=0, initial=0).astype(np.int64) + 1
    sizes = np.maximum(sizes, target.max(axis=0, initial=0).astype(np.int64) + 1)
    goals = [_table(target, pair, sizes) * (wanted / len(target)) for pair in pairs]
    columns = np.ascontiguousarray(grouped.T)
    for _ in range(ROUNDS):
        for pair, goal in zip(pairs, goals, strict=True):
            _rake(columns[pair[0]], columns[pair[1]], int(sizes[pair[1]]), goal, weights)
        _bring_to(weights, wanted)
    return weights


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


def _table(codes: Codes, pair: tuple[int, int], sizes: NDArray[np.int64]) -> Reals:
    """Counts of two attributes together, as floats, flat."""
    cells = codes[:, pair[0]].astype(np.int64) * sizes[pair[1]] + codes[:, pair[1]]
    return np.bincount(cells, minlength=int(sizes[pair[0]] * sizes[pair[1]])).astype(np.float64)


@kernel
def _rake(first, second, width, goal, weights):
    """Scale the weights so that one table agrees with its goal, as far as a single step may."""
    have = np.zeros(len(goal))
    for i in range(len(weights)):
        have[first[i] * width + second[i]] += weights[i]
    for cell in range(len(goal)):
        ratio = 1.0
        if have[cell] > 0.0:
            ratio = goal[cell] / have[cell]
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
