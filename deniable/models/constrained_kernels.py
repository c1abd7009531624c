"""Sampling and density of a network whose records satisfy rules, in integers: compiled code and its arrays.

A value is drawn from the network's distribution, restricted to the values with which the record can be completed. If
those have S of the 2^32 words, a word w selects one of them by floor(w S / 2^32), so that no draw is rejected, and the
share of a value is again a multiple of 2^-32, computed identically by sampler and density. A value with which the
record cannot be completed has share exactly 0. If the network gives all permitted values share 0, they are equally
probable. Determining permitted values (foundation.rule_components) and defining networks (constrained_net) do not
belong here.
"""

# numba infers the types of kernels
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, disallow-untyped-decorators=False

from typing import Any, NamedTuple

import numba
import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from deniable.models.loglinear.stratified_sampling import TOGETHER, spread
from deniable.models.sequential_kernels import draw_column, draw_next, factor_of, shares_of

_UNIT = 1 << 32
_AT_A_TIME = 256


class ConstrainedArrays(NamedTuple):
    """A network and its rules, for compiled code; positions in its order, computed attributes last.

    Attributes:
        base: the arrays of the network of the modelled attributes.
        modelled: their number.
        cardinality: number of values at each position, shape (m,).
        class_start: start of each position's values in `class_of`, shape (m,).
        class_of: class of each value.
        class_count: number of classes at each position, shape (m,).
        group_start: start of each position's relations, shape (m + 1,).
        parent_start: start of each relation's earlier attributes in `parent` and `stride`, shape (relations + 1,).
        parent: positions of the earlier attributes.
        stride: stride of an earlier attribute's class in the number of a relation's row.
        row_start: start of each relation's rows in `allowed`, shape (relations,).
        allowed: for each row, whether each class of the last attribute is permitted.
        free_start: start of each relation's rows in `free`, shape (relations,).
        free: whether a row permits all classes.
    """

    base: Any
    modelled: int
    cardinality: NDArray[np.int64]
    class_start: NDArray[np.int64]
    class_of: NDArray[np.int32]
    class_count: NDArray[np.int64]
    group_start: NDArray[np.int64]
    parent_start: NDArray[np.int64]
    parent: NDArray[np.int64]
    stride: NDArray[np.int64]
    row_start: NDArray[np.int64]
    allowed: NDArray[np.uint8]
    free_start: NDArray[np.int64]
    free: NDArray[np.uint8]


class ColumnBlock(NamedTuple):
    """Records, one per column; the fields are as in `mechanism_one_kernels.BlockArrays`."""

    copied: NDArray[np.int64]
    at: NDArray[np.int64]
    records: NDArray[np.uint16]
    factors: NDArray[np.float64]


@numba.njit(nogil=True, cache=True)
def _permit(net, position, record, permitted):
    """Fill in which classes of a position are permitted given earlier values; return whether all are."""
    count = net.class_count[position]
    everything = True
    for group in range(net.group_start[position], net.group_start[position + 1]):
        row = np.int64(0)
        for p in range(net.parent_start[group], net.parent_start[group + 1]):
            parent = net.parent[p]
            row += net.stride[p] * net.class_of[net.class_start[parent] + record[parent]]
        if not net.free[net.free_start[group] + row]:
            first = net.row_start[group] + row * count
            if everything:
                permitted[:count] = net.allowed[first : first + count]
                everything = False
            else:
                for own in range(count):
                    permitted[own] &= net.allowed[first + own]
    if everything:
        permitted[:count] = 1
    return everything


@numba.njit(nogil=True, cache=True)
def _share_among(net, position, record, permitted, shares):
    """Fill in the network's shares of the permitted values, 0 for the others; return their sum."""
    size = net.cardinality[position]
    if position < net.modelled:
        shares_of(net.base, position, record, shares)
    else:
        shares[:size] = 1
    classes = net.class_of[net.class_start[position] : net.class_start[position] + size]
    total = np.int64(0)
    for value in range(size):
        shares[value] *= np.int64(permitted[classes[value]])
        total += shares[value]
    if total == 0:
        for value in range(size):
            shares[value] = np.int64(permitted[classes[value]])
            total += shares[value]
    return total


@numba.njit(nogil=True, cache=True, inline="always")
def _end(part, total):
    """The smallest word whose image in [0, total) is at least `part`; 2^32 if there is none."""
    if total == _UNIT or part == 0:
        return np.int64(part)
    wanted = (np.uint64(part) << np.uint64(32)) + np.uint64(total - 1)
    return np.int64(wanted // np.uint64(total))


@numba.njit(nogil=True, cache=True)
def _picked(shares, size, total, word):
    """The value that a word selects."""
    ticket = np.int64((np.uint64(word) * np.uint64(total)) >> np.uint64(32))
    value = 0
    running = shares[0]
    while running <= ticket and value < size - 1:
        value += 1
        running += shares[value]
    return value


@numba.njit(nogil=True, cache=True)
def _share_of_value(shares, total, value):
    """Probability of a value."""
    before = np.int64(0)
    for each in range(value):
        before += shares[each]
    if total == 0 or shares[value] == 0:
        return 0.0
    return (_end(before + shares[value], total) - _end(before, total)) / 4294967296.0


@numba.njit(nogil=True, cache=True)
def _draw_alone(net, position, record, word):
    permitted = np.empty(net.class_count[position], np.uint8)
    if _permit(net, position, record, permitted) and position < net.modelled:
        return np.int64(draw_next(net.base, position, record, word))
    shares = np.empty(net.cardinality[position], np.int64)
    total = _share_among(net, position, record, permitted, shares)
    return np.int64(_picked(shares, len(shares), total, word))


@numba.njit(nogil=True, cache=True)
def _factor_alone(net, position, record):
    permitted = np.empty(net.class_count[position], np.uint8)
    if _permit(net, position, record, permitted) and position < net.modelled:
        return factor_of(net.base, position, record)
    shares = np.empty(net.cardinality[position], np.int64)
    total = _share_among(net, position, record, permitted, shares)
    return _share_of_value(shares, total, np.int64(record[position]))


@overload(draw_next)
def _draw_next(net, position, record, word):  # noqa: ARG001 - numba matches the names
    if getattr(net, "instance_class", None) is ConstrainedArrays:
        return lambda net, position, record, word: _draw_alone(net, position, record, word)  # noqa: PLW0108
    return None


@overload(factor_of)
def _factor_of(net, position, record):  # noqa: ARG001 - numba matches the names
    if getattr(net, "instance_class", None) is ConstrainedArrays:
        return lambda net, position, record: _factor_alone(net, position, record)  # noqa: PLW0108
    return None


@numba.njit(nogil=True, cache=True)
def _shares_alone(net, position, record, shares):
    permitted = np.empty(net.class_count[position], np.uint8)
    _permit(net, position, record, permitted)
    total = _share_among(net, position, record, permitted, shares)
    running = np.int64(0)
    before = np.int64(0)
    for value in range(net.cardinality[position]):
        running += shares[value]
        after = _end(running, total) if total > 0 else np.int64(0)
        shares[value] = after - before
        before = after


@overload(shares_of)
def _shares_of(net, position, record, shares):  # noqa: ARG001 - numba matches the names
    if getattr(net, "instance_class", None) is ConstrainedArrays:
        return lambda net, position, record, shares: _shares_alone(net, position, record, shares)  # noqa: PLW0108
    return None


@numba.njit(nogil=True, cache=True)
def _draw_column(net, position, block, words, live, scored):
    """See `draw_column`: the network's own draw, and a restricted one if the rules do not permit all values."""
    records, factors = block.records, block.factors[position]
    values = records[position]
    if position < net.modelled:
        draw_column(net.base, position, block, words, live, scored)
        if net.group_start[position] == net.group_start[position + 1]:
            return
    permitted = np.empty(net.class_count[position], np.uint8)
    shares = np.empty(net.cardinality[position], np.int64)
    for i in range(live):
        record = records[:, i]
        if _permit(net, position, record, permitted) and position < net.modelled:
            continue
        total = _share_among(net, position, record, permitted, shares)
        if position >= block.copied[i]:
            word = words[np.uint64(max(block.at[i] + position, 0))]
            values[i] = _picked(shares, len(shares), total, word)
        if scored:
            factors[i] = _share_of_value(shares, total, np.int64(values[i]))


@overload(draw_column)
def _of_column(net, position, block, words, live, scored):  # noqa: ARG001 - numba matches the names
    if getattr(net, "instance_class", None) is ConstrainedArrays:
        return lambda net, position, block, words, live, scored: _draw_column(  # noqa: PLW0108
            net, position, block, words, live, scored
        )
    return None


@numba.njit(nogil=True, cache=True)
def _filled(net, position, columns, words, at, block, scored):
    """Draw a position of all records, block by block, each from the word at its index in `at` plus the position."""
    for begun in range(0, columns.shape[1], _AT_A_TIME):
        live = min(_AT_A_TIME, columns.shape[1] - begun)
        some = ColumnBlock(block.copied, at[begun : begun + live], columns[:, begun : begun + live], block.factors)
        draw_column(net, position, some, words, live, scored)


@numba.njit(nogil=True, cache=True)
def sample(net, words, records):
    """Fill records from one word per value, record by record, positions in order."""
    rows, m = records.shape
    columns = np.zeros((m, rows), np.uint16)
    block = ColumnBlock(
        np.zeros(_AT_A_TIME, np.int64),
        np.zeros(_AT_A_TIME, np.int64),
        columns,
        np.zeros((m, _AT_A_TIME)),
    )
    at = np.arange(rows) * m
    for position in range(m):
        _filled(net, position, columns, words, at, block, False)  # noqa: FBT003 - compiled code
    for r in range(rows):
        for position in range(m):
            records[r, position] = columns[position, r]


@numba.njit(nogil=True, cache=True)
def sample_strata(net, strata, bucket_start, bucket, words, records):
    """Fill records from one word per value, position by position, stratified as in the unconstrained network.

    Args:
        net: the arrays.
        strata: the network's strata.
        bucket_start: start of each modelled position's values in `bucket`.
        bucket: the bucket of each value.
        words: one per value.
        records: filled.
    """
    whole, m = records.shape
    columns = np.zeros((m, whole), np.uint16)
    block = ColumnBlock(
        np.zeros(_AT_A_TIME, np.int64),
        np.zeros(_AT_A_TIME, np.int64),
        columns,
        np.zeros((m, _AT_A_TIME)),
    )
    together = max(min(whole, TOGETHER), 1)
    first, moved = np.zeros(together, np.int64), np.zeros(together, np.int64)
    own = np.zeros(whole, np.uint32)
    for position in range(m):
        if position < net.modelled:
            for begun in range(0, whole, together):
                some = min(whole - begun, together)
                first[:some] = 0
                for p in range(strata.parent_start[position], strata.parent_start[position + 1]):
                    parent = strata.parent[p]
                    for r in range(some):
                        value = columns[parent, begun + r]
                        first[r] += strata.stride[p] * bucket[bucket_start[parent] + value]
                at_word = position * whole + begun
                spread(first[:some], strata.room[position], words[at_word : at_word + some], moved)
                for r in range(some):
                    own[begun + r] = np.uint32(moved[r])
        at = np.arange(whole) - position
        _filled(net, position, columns, own, at, block, False)  # noqa: FBT003 - compiled code
    for r in range(whole):
        for position in range(m):
            records[r, position] = columns[position, r]
