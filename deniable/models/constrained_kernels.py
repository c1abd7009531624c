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
from numpy.typing import NDArray

from deniable.kernels import inner_kernel, kernel
from deniable.models.implementations import implements
from deniable.models.loglinear.stratified_sampling import TOGETHER, spread_words
from deniable.models.sequential_kernels import ColumnBlock, draw_column, draw_next, factor_of, shares_of

_UNIT = 1 << 32
_AT_A_TIME = 256
_BLOCK_BITS = np.uint64(8)
_BLOCK_MASK = np.uint64(_AT_A_TIME - 1)


class RuleArrays(NamedTuple):
    """Rules for compiled code; positions in a network's order, computed attributes last.

    Attributes:
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


class ConstrainedArrays(NamedTuple):
    """A network and its rules, for compiled code.

    Attributes:
        base: the arrays of the network of the modelled attributes.
        modelled: their number.
        rules: the rules.
    """

    base: Any
    modelled: int
    rules: RuleArrays


# Kernels of the rules alone are compiled once for all networks, and for columns of records: `record[::1]` is a record
# of the same type.


@inner_kernel
def _permit(rules, position, record, permitted):
    """Fill in which classes of a position are permitted given earlier values; return whether all are."""
    count = rules.class_count[position]
    everything = True
    for group in range(rules.group_start[position], rules.group_start[position + 1]):
        row = np.int64(0)
        for p in range(rules.parent_start[group], rules.parent_start[group + 1]):
            parent = rules.parent[p]
            row += rules.stride[p] * rules.class_of[rules.class_start[parent] + record[parent]]
        if not rules.free[rules.free_start[group] + row]:
            first = rules.row_start[group] + row * count
            if everything:
                for own in range(count):
                    permitted[own] = rules.allowed[first + own]
                everything = False
            else:
                for own in range(count):
                    permitted[own] &= rules.allowed[first + own]
    if everything:
        permitted[:count] = 1
    return everything


@inner_kernel
def _restrict(rules, position, permitted, shares):
    """Set the shares of values that are not permitted to 0; return the sum of the others."""
    size, start = rules.cardinality[position], rules.class_start[position]
    total = np.int64(0)
    for value in range(size):
        shares[value] *= np.int64(permitted[rules.class_of[start + value]])
        total += shares[value]
    if total == 0:
        for value in range(size):
            shares[value] = np.int64(permitted[rules.class_of[start + value]])
            total += shares[value]
    return total


@numba.njit(nogil=True, cache=True, inline="always")
def _share_among(net, rules, position, record, permitted, shares):
    """Fill in the network's shares of the permitted values, 0 for the others; return their sum."""
    if position < net.modelled:
        shares_of(net.base, position, record, shares)
    else:
        shares[: rules.cardinality[position]] = 1
    return _restrict(rules, position, permitted, shares)


@numba.njit(nogil=True, cache=True, inline="always")
def _end(part, total):
    """The smallest word whose image in [0, total) is at least `part`; 2^32 if there is none."""
    if total == _UNIT or part == 0:
        return np.int64(part)
    wanted = (np.uint64(part) << np.uint64(32)) + np.uint64(total - 1)
    return np.int64(wanted // np.uint64(total))


@inner_kernel
def _picked(shares, size, total, word):
    """The value that a word selects."""
    ticket = np.int64((np.uint64(word) * np.uint64(total)) >> np.uint64(32))
    value = 0
    running = shares[0]
    while running <= ticket and value < size - 1:
        value += 1
        running += shares[value]
    return value


@inner_kernel
def _share_of_value(shares, total, value):
    """Probability of a value."""
    before = np.int64(0)
    for each in range(value):
        before += shares[each]
    if total == 0 or shares[value] == 0:
        return 0.0
    return (_end(before + shares[value], total) - _end(before, total)) / 4294967296.0


@implements(draw_next, ConstrainedArrays)
@inner_kernel
def _draw_alone(net, position, record, word):
    rules, own = net.rules, record[::1]
    permitted = np.empty(rules.class_count[position], np.uint8)
    if _permit(rules, position, own, permitted) and position < net.modelled:
        return np.int64(draw_next(net.base, position, record, word))
    shares = np.empty(rules.cardinality[position], np.int64)
    total = _share_among(net, rules, position, own, permitted, shares)
    return np.int64(_picked(shares, len(shares), total, word))


@implements(factor_of, ConstrainedArrays)
@inner_kernel
def _factor_alone(net, position, record):
    rules, own = net.rules, record[::1]
    permitted = np.empty(rules.class_count[position], np.uint8)
    if _permit(rules, position, own, permitted) and position < net.modelled:
        return factor_of(net.base, position, record)
    shares = np.empty(rules.cardinality[position], np.int64)
    total = _share_among(net, rules, position, own, permitted, shares)
    return _share_of_value(shares, total, np.int64(record[position]))


@implements(shares_of, ConstrainedArrays)
@inner_kernel
def _shares_alone(net, position, record, shares):
    rules, own = net.rules, record[::1]
    permitted = np.empty(rules.class_count[position], np.uint8)
    _permit(rules, position, own, permitted)
    total = _share_among(net, rules, position, own, permitted, shares)
    running = np.int64(0)
    before = np.int64(0)
    for value in range(rules.cardinality[position]):
        running += shares[value]
        after = _end(running, total) if total > 0 else np.int64(0)
        shares[value] = after - before
        before = after


@implements(draw_column, ConstrainedArrays)
@inner_kernel
def _draw_column(net, position, block, words, live, scored):
    """See `draw_column`: the network's own draw, and a restricted one if the rules do not permit all values."""
    rules, records, factors = net.rules, block.records, block.factors[position]
    values, copied, at = records[position], block.copied, block.at
    if position < net.modelled:
        draw_column(net.base, position, block, words, live, scored)
        if rules.group_start[position] == rules.group_start[position + 1]:
            return
    permitted = np.empty(rules.class_count[position], np.uint8)
    shares = np.empty(rules.cardinality[position], np.int64)
    for i in range(live):
        record = records[:, i]
        if _permit(rules, position, record, permitted) and position < net.modelled:
            continue
        total = _share_among(net, rules, position, record, permitted, shares)
        if position >= copied[i]:
            word = words[np.uint64(max(at[i] + position, 0))]
            values[i] = _picked(shares, len(shares), total, word)
        if scored:
            factors[i] = _share_of_value(shares, total, np.int64(values[i]))


@inner_kernel
def _scramble(strata, position, bucket_start, bucket, columns, words, drawn):
    """Fill in the words of a position of all records, spread within strata, as in the unconstrained network."""
    together = max(min(len(words), TOGETHER), 1)
    first = np.zeros(together, np.int32)
    for begun in range(0, len(words), together):
        some = min(len(words) - begun, together)
        first[:some] = 0
        for p in range(strata.parent_start[position], strata.parent_start[position + 1]):
            parent, stride = strata.parent[p], np.int32(strata.stride[p])
            start = bucket_start[parent]
            for r in range(some):
                block = np.uint64(begun + r) >> _BLOCK_BITS
                value = columns[block, parent, np.uint64(begun + r) & _BLOCK_MASK]
                first[r] += stride * bucket[start + value]
        spread_words(first[:some], strata.room[position], words[begun : begun + some], drawn[begun : begun + some])


@kernel
def sample(net, strata, bucket_start, bucket, words, records):
    """Fill records from one word per value; stratified as in the unconstrained network if there are strata.

    Args:
        net: the arrays.
        strata: the network's strata; empty for independent records.
        bucket_start: start of each modelled position's values in `bucket`.
        bucket: the bucket of each value.
        words: one per value, record by record, positions in order; with strata, position by position.
        records: filled.
    """
    whole, m = records.shape
    evenly = len(strata.room) > 0
    blocks = (whole + _AT_A_TIME - 1) // _AT_A_TIME
    columns = np.zeros((blocks, m, _AT_A_TIME), np.uint16)
    copied, at, factors = np.zeros(_AT_A_TIME, np.int64), np.zeros(_AT_A_TIME, np.int64), np.zeros((m, _AT_A_TIME))
    spread_words = np.zeros(whole if evenly else 0, np.uint32)
    drawn = spread_words if evenly else words
    for position in range(m):
        if evenly and position < net.modelled:
            own = words[position * whole : (position + 1) * whole]
            _scramble(strata, position, bucket_start, bucket, columns, own, spread_words)
        for number in range(blocks):
            begun = number * _AT_A_TIME
            live = min(_AT_A_TIME, whole - begun)
            for i in range(live):
                at[i] = begun + i - position if evenly else (begun + i) * m
            block = ColumnBlock(copied, at, columns[number], factors)
            draw_column(net, position, block, drawn, live, False)  # noqa: FBT003 - compiled code
    for r in range(whole):
        for position in range(m):
            records[r, position] = columns[r // _AT_A_TIME, position, r % _AT_A_TIME]
