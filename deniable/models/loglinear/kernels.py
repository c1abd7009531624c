"""Sampling and density of a log-linear network, in integers: compiled code and its arrays.

An attribute's conditional distribution is a product of small tables of earlier attributes. The tables' logarithms are
multiples of 2^-12 bit. The resulting weights, and shares of 2^32, are computed in integers only, so that sampler and
density agree exactly on every machine. Floating point is used where its error cannot change a value (`slack_of`). Which
distributions are precomputed affects only speed. Defining networks (net) and testing records for release do not belong
here.
"""

# numba infers the types of kernels
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, disallow-untyped-decorators=False

from collections.abc import Sequence
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from deniable.kernels import inner_kernel, kernel
from deniable.models.implementations import implements
from deniable.models.loglinear.factors import STEPS, WITHIN, Logs
from deniable.models.loglinear.stratified_sampling import TOGETHER, find_places, join_halves, spread
from deniable.models.loglinear.vectors import (
    HALF,
    LANES,
    PAIR,
    SCRAMBLED,
    add_rows,
    add_rows_of_four,
    add_rows_of_two,
    count_below,
    count_nearly_within,
    count_within,
    difference,
    eight,
    if_at_most,
    if_not_above,
    larger,
    load,
    looked_up,
    minus,
    multiply_rows,
    multiply_rows_of_four,
    multiply_rows_of_two,
    plus,
    product,
    share,
    shifted,
    store,
    tickets,
    which_near,
)
from deniable.models.sequential_kernels import draw_column, draw_next, factor_of, shares_of

_STEP_BITS = 12
_STEP_MASK = STEPS - 1
_SIGN = np.uint32(1 << 31)
_AT_A_TIME = 256
"""Number of records filled per batch."""
_FEW = 4 * LANES
"""Values of a bucket that are compared in their order; more are bisected first."""
_MOST_NEARLY = 64
"""Largest number of buckets that are drawn nearly; the error grows with its square."""
_MOST_BITS = 90
"""Bound on the binary logarithm of products in floating point, which thus neither overflow nor underflow."""
_ROUNDING = 2.0**-24


class LoglinearArrays(NamedTuple):
    """A network as flat arrays for compiled code. Attributes are in the network's order, at positions 0..m-1.

    Attributes:
        size: buckets of the attribute at each position, shape (m,).
        shift: number of bits by which its weights are shifted right, so that they sum to at most 2^30, shape (m,).
        group_start: start of each position's groups of factors, shape (m + 1,).
        table_start: start of each group's table in `logs`, shape (groups,).
        parent_start: start of each group's parents in `parent` and `stride`, shape (groups + 1,).
        parent: positions of the parents.
        stride: stride of a parent's bucket in the table.
        logs: the groups' tables; rows are padded with their first entry, so that their largest remains.
        ready: start of a position's rows in `ends` if precomputed; otherwise -1.
        ends: last word of each bucket's share of 2^32, for each configuration; one number is before the first row, and
            rows are padded, with 2^32 - 1.
        factors: 2 to the power of each entry of `logs`, in floating point; 0 in padding and where it is not used.
        slack: bound on the error of a draw from `factors`, see `slack_of`; 0 if a position is drawn from `logs` only.
        leading: 2^30 times 2^(-k / 4096).
        value_start: start of each position's values in `bucket`, shape (m,).
        bucket: bucket of each value.
        within_start: start of each position's values in `low` and `high`, for the guide's first bucket, shape (m,).
        guide: position of the guide; the first position if there is none.
        guide_stride: stride of the guide's bucket in `low` and `high`; 0 if there is none.
        low: sum of the weights of the bucket's values before each value, out of 2^30.
        high: the same, including the value's own weight.
        upto: the same as `high`, row by row in the order of `member`.
        part: the same as parts of 1, in floating point.
        bucket_start: start of each position's buckets in `member_start`, shape (m,).
        member_start: start of each bucket's values in `member` and, for each position, the end of the last bucket's.
        member: the values, bucket by bucket.
    """

    size: NDArray[np.int64]
    shift: NDArray[np.int64]
    group_start: NDArray[np.int64]
    table_start: NDArray[np.int64]
    parent_start: NDArray[np.int64]
    parent: NDArray[np.int64]
    stride: NDArray[np.int64]
    logs: Logs
    ready: NDArray[np.int64]
    ends: NDArray[np.uint32]
    factors: NDArray[np.float32]
    slack: NDArray[np.float32]
    leading: NDArray[np.int32]
    value_start: NDArray[np.int64]
    bucket: NDArray[np.int32]
    within_start: NDArray[np.int64]
    guide: NDArray[np.int64]
    guide_stride: NDArray[np.int64]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    upto: NDArray[np.int32]
    part: NDArray[np.float32]
    bucket_start: NDArray[np.int64]
    member_start: NDArray[np.int64]
    member: NDArray[np.int32]


def slack_of(size: int, largest: int, logs: Sequence[Logs]) -> float:
    """Bound on the distance between a boundary of two values' shares of [0, 1) and its approximation; 0 for none.

    A draw from products of `factors` is accepted if no boundary is nearer than this to the word's place in [0, 1);
    otherwise it is made from `logs`. So every word gives the value that the integers give. Let n be the number of
    buckets, g that of groups, e = 2^-24 the largest relative error of one operation, W_x the exact power of 2 of which
    bucket x's integer weight w_x is made, R_x and R their running and whole sums, and s_x and t those of w.

    - w_x = max(floor(rounded power), 1) is within 3/2 of W_x, so that s_x is within 3n/2 of R_x, t of R, and s_x / t
      within 3n/t of R_x / R. The largest weight is 2^30 over a power of 2 below 2n, so t >= 2^29 / n: 6 n^2 / 2^30.
    - A product of factors has an error of (2g - 1) e, a running sum of such one of (2g + n) e, and its quotient by the
      total twice that. Products stay between 2^-90 and 2^90, and 2^-32 of them are
      normal numbers, so there is no other error.
    - A word has an error of e, and so has each of the operations that compare: its product with the total, differences
      from running sums, products with the parts within a bucket, which are rounded; less than 8 e in all.
    - The integers round a boundary within a bucket by less than one word, 2^-32 = e / 256.

    The slack has twice as many e for the comparison, which also makes up for products of errors.

    Args:
        size: number of buckets.
        largest: largest number of values of a bucket.
        logs: the groups' tables.
    """
    bits = sum(int(np.abs(table).max()) for table in logs) / STEPS
    if size > _MOST_NEARLY or largest > _FEW or bits > _MOST_BITS:
        return 0.0
    return (4 * len(logs) + 2 * size + 16) * _ROUNDING + 6 * size**2 / WITHIN


@numba.njit(nogil=True, cache=True, inline="always")
def _running_sums(net, position, buckets, sums):
    """Fill in the running sums of an attribute's weights given earlier buckets; the total is at most 2^30."""
    size = net.size[position]
    first = net.group_start[position]
    last = net.group_start[position + 1]
    best = np.int32(-2147483648)
    for group in range(first, last):
        row = net.table_start[group]
        for p in range(net.parent_start[group], net.parent_start[group + 1]):
            row += net.stride[p] * buckets[net.parent[p]]
        if group == first:
            for x in range(size):
                sums[x] = net.logs[row + x]
        else:
            for x in range(size):
                sums[x] += net.logs[row + x]
    for x in range(size):
        best = max(best, sums[x])
    shift = net.shift[position]
    total = 0
    for x in range(size):
        below = best - sums[x]
        bits = min(below >> _STEP_BITS, 31)
        total += max(net.leading[below & _STEP_MASK] >> (bits + shift), 1)
        sums[x] = total


@numba.njit(nogil=True, cache=True, inline="always")
def _bound(part, total):
    """The smallest number below 2^32 whose image in [0, total) is at least `part`."""
    # Nothing is negative; with signed integers the compiled code would handle signs.
    wanted = np.uint64((np.int64(part) << 32) + total - 1)
    return np.int64(wanted // np.uint64(total))


@numba.njit(nogil=True, cache=True, inline="always")
def _member(upto, start, member, last, width, place):
    """Index in `member` of the value at a place in its bucket's share: the first whose running sum exceeds it.

    Running sums are non-decreasing from member to member, so the search is binary.
    """
    while member < last:
        middle = (member + last) >> 1
        if (upto[start + middle] * width) >> 30 <= place:
            member = middle + 1
        else:
            last = middle
    return member


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _shares_of_words(befores, afters, totals, some, leasts, ends):
    """First and last word of the shares between two running sums: `_bound` of each, vectorised over records.

    Floating-point quotients differ from these words by about a half, so that either neighbour is within 1, and the
    integer remainder corrects it. Less 2^31, processors turn them into 32-bit integers at once.
    """
    for r in range(some):
        total, before, after = np.int64(totals[r]), np.int64(befores[r]) << 32, np.int64(afters[r]) << 32
        part = 4294967296.0 / np.float64(totals[r])
        whole = np.uint32(np.int32(np.float64(befores[r]) * part - 2147483647.5)) ^ _SIGN
        rest = before + total - 1 - np.int64(np.uint64(whole) * np.uint64(totals[r]))
        leasts[r] = whole + np.uint32(rest >= total) - np.uint32(rest < 0)
        whole = np.uint32(np.int32(np.float64(afters[r]) * part - 2147483648.5)) ^ _SIGN
        rest = after - 1 - np.int64(np.uint64(whole) * np.uint64(totals[r]))
        ends[r] = whole + np.uint32(rest >= total) - np.uint32(rest < 0)


@inner_kernel
def _members(upto, members, firsts, largest, starts, leasts, lasts, words, own, values):
    """The value of each record within its bucket, as in `_member`: eight values are compared at a time.

    Args:
        upto: running sums of the weights.
        members: the values, bucket by bucket.
        firsts: start of each bucket's values, and end of the last one's.
        largest: largest number of values of a bucket.
        starts: start of the weights that each record's guide selects, less the index of the position's first value.
        leasts: first word of each record's share of 2^32.
        lasts: its last word.
        words: the records' words.
        own: the records' buckets.
        values: filled with the values.
    """
    for r in range(len(own)):
        bucket = np.uint64(own[r])
        member = firsts[bucket]
        width, place = lasts[r] - leasts[r], words[r] - leasts[r]
        if largest > _FEW:
            left, reach = firsts[bucket + np.uint64(1)] - member, largest
            while reach > _FEW:
                half = left >> 1
                middle = np.uint64(starts[r] + member + max(half, 1) - 1)
                member += half if (upto[middle] * (np.int64(width) + 1)) >> 30 <= place else 0
                left -= half
                reach -= reach >> 1
        before = count_within(upto, starts[r] + member, width, place)
        member += before
        while before == LANES:
            before = count_within(upto, starts[r] + member, width, place)
            member += before
        values[r] = members[np.uint64(member)]


@inner_kernel
def _rows(parent, stride, first, last, begin, buckets, done, rows):
    """Start of each record's row of a table: one pass per parent, vectorised over records."""
    rows[:] = np.int32(begin)
    for p in range(first, last):
        own, by = buckets[parent[p]][done : done + len(rows)], np.int32(stride[p])
        for r in range(len(rows)):
            rows[r] += by * np.int32(own[r])


@inner_kernel
def _draw_some(logs, leading, shorter, n, at, groups, some, words, sums, kept, drawn, totals, befores, afters):
    """`_running_sums` and a draw, for eight records at a time.

    All arrays of records have room for a multiple of eight.

    Args:
        logs: the groups' tables.
        leading: 2^30 times 2^(-k / 4096).
        shorter: number of bits by which weights are shorter.
        n: number of buckets.
        at: start of each record's row in each group's table, shape (groups or more, records).
        groups: number of groups.
        some: number of records.
        words: the records' words.
        sums: filled with the running sums, bucket by bucket for eight records at a time.
        kept: distance of the sums of eight records from those of the next; 0 if they need not be kept.
        drawn: filled with the buckets.
        totals: filled with the sums of all weights.
        befores: filled with the running sums before the buckets, unless it is empty.
        afters: likewise with those after them.
    """
    for g in range(groups):
        at[g, some:] = 0
    starts, stride, place = at.reshape(-1), np.int64(at.shape[1]), np.int64(0)
    none, one, shorter = eight(np.int32(0)), eight(np.int32(1)), np.int32(shorter)
    bounded = len(befores) > 0
    for r in range(0, some, LANES):
        # In a function of its own, this would count references to the arrays for every eight records.
        if n <= PAIR:
            best = add_rows_of_two(logs, 0, starts, r, stride, groups, sums, place)
        elif n <= HALF:
            best = add_rows_of_four(logs, 0, starts, r, stride, groups, sums, place)
        else:
            best = add_rows(logs, 0, starts, r, stride, groups, sums, place)
            for i in range(LANES, n, LANES):
                best = larger(best, add_rows(logs, i, starts, r, stride, groups, sums, place + i * LANES))
        total = none
        for i in range(place, place + n * LANES, LANES):
            below = minus(best, load(sums, i))
            total = plus(total, larger(shifted(looked_up(leading, below, _STEP_MASK), below, _STEP_BITS, shorter), one))
            store(sums, i, total)
        ticket = share(load(words, r), total)
        x, before, after = none, none, total
        if bounded:
            for i in range(place + (n - 2) * LANES, place - 1, -LANES):
                own = load(sums, i)
                x = if_at_most(own, ticket, plus(x, one), x)
                before = larger(before, if_at_most(own, ticket, own, none))
                after = if_at_most(own, ticket, after, own)
            store(befores, r, before)
            store(afters, r, after)
        else:
            for i in range(place, place + (n - 1) * LANES, LANES):
                x = if_at_most(load(sums, i), ticket, plus(x, one), x)
        store(drawn, r, x)
        store(totals, r, total)
        place += kept


@inner_kernel
def _draw_some_nearly(  # noqa: C901, PLR0912 - one kernel
    factors, slack, n, at, groups, some, words, sums, drawn, places, widths, slacks, doubtful
):
    """`_draw_some` from products of factors, in floating point; see `slack_of`.

    Args:
        factors: the groups' tables of factors.
        slack: bound on the error.
        n: number of buckets.
        at: start of each record's row in each group's table, shape (groups or more, records).
        groups: number of groups.
        some: number of records.
        words: the records' words.
        sums: room for the running sums of eight records.
        drawn: filled with the buckets.
        places: filled with the place of each record's word in its bucket's share, unless it is empty.
        widths: likewise with the widths of these shares.
        slacks: likewise with the slacks in the same unit; doubtful records have none.
        doubtful: filled with the numbers of the records whose word is too near to a boundary.

    Returns:
        Number of doubtful records.
    """
    for g in range(groups):
        at[g, some:] = 0
    starts, stride, zero = at.reshape(-1), np.int64(at.shape[1]), np.int64(0)
    nothing, none, one, part = eight(np.float32(0.0)), eight(np.int32(0)), eight(np.int32(1)), eight(slack)
    bounded, count = len(places) > 0, 0
    for r in range(0, some, LANES):
        if n <= PAIR:
            total = multiply_rows_of_two(factors, zero, starts, r, stride, groups, sums, zero, nothing)
        elif n <= HALF:
            total = multiply_rows_of_four(factors, zero, starts, r, stride, groups, sums, zero, nothing)
        else:
            total = nothing
            for i in range(0, n, LANES):
                total = multiply_rows(factors, i, starts, r, stride, groups, sums, i * LANES, total)
        ticket, near = tickets(load(words, r), total), product(total, part)
        x, before, after = none, nothing, total
        for i in range((n - 2) * LANES, -1, -LANES):
            own = load(sums, i)
            x = if_not_above(own, ticket, plus(x, one), x)
            after = if_not_above(own, ticket, after, own)
        for i in range(0, (n - 1) * LANES, LANES):
            own = load(sums, i)
            before = if_not_above(own, ticket, own, before)
        store(drawn, r, x)
        if bounded:
            store(places, r, difference(ticket, before))
            store(widths, r, difference(after, before))
            store(slacks, r, near)
        lanes = which_near(ticket, before, after, near)
        if lanes != 0:
            for lane in range(min(LANES, some - r)):
                if (lanes >> lane) & 1:
                    doubtful[count] = r + lane
                    count += 1
                    if bounded:
                        places[r + lane], widths[r + lane], slacks[r + lane] = 0.0, 1.0, -1.0
    return count


@inner_kernel
def _members_nearly(part, members, firsts, starts, places, widths, slacks, own, values, doubtful, count):
    """`_members` in floating point, see `slack_of`; the number of doubtful records, to which it adds.

    Args:
        part: running sums of the weights, as parts of 1.
        members: the values, bucket by bucket.
        firsts: start of each bucket's values, and end of the last one's.
        starts: start of the weights that each record's guide selects, less the index of the position's first value.
        places: place of each record's word in its bucket's share.
        widths: the widths of the shares.
        slacks: bounds on the errors, in the same unit; negative for records that are doubtful already.
        own: the records' buckets.
        values: filled with the values.
        doubtful: the doubtful records; filled with further ones.
        count: number of those before.
    """
    for r in range(len(own)):
        member = firsts[np.uint64(own[r])]
        before = count_nearly_within(part, starts[r] + member, widths[r], places[r], slacks[r])
        while before == LANES:
            member += LANES
            before = count_nearly_within(part, starts[r] + member, widths[r], places[r], slacks[r])
        if before < 0:
            doubtful[count] = r
            count += 1
        values[r] = members[np.uint64(member + max(before, 0))]
    return count


@inner_kernel
def _draw_some_ready(ends, n, rows, words, drawn):
    """The same with precomputed shares, given the start of each record's."""
    some = len(drawn)
    if n > HALF:
        for r in range(some):
            below = 0
            for i in range(0, n, LANES):
                below += count_below(ends, rows[r] + i, words[r])
            drawn[r] = below
    else:
        drawn[:] = 0
        for i in range(n - 1):
            for r in range(some):
                drawn[r] += ends[np.uint64(rows[r] + i)] < words[r]


@inner_kernel
def _draw_again(net, position, doubtful, words, buckets, values):
    """Draw doubtful records at a position in integers, one by one.

    Args:
        net: the network's arrays.
        position: the position.
        doubtful: the records' numbers.
        words: the word of each.
        buckets: the buckets of all records at each position; those of the doubtful ones are filled in.
        values: the values of all records at the position, likewise.
    """
    parents = net.parent[net.parent_start[net.group_start[position]] : net.parent_start[net.group_start[position + 1]]]
    known, sums = np.zeros(position + 1, np.int64), np.empty(net.size[position], np.int32)
    guide, by = net.guide[position], net.guide_stride[position]
    first = net.bucket_start[position]
    for k in range(len(doubtful)):
        r = doubtful[k]
        for parent in parents:
            known[parent] = buckets[parent, r]
        _running_sums(net, position, known, sums)
        total = sums[-1]
        ticket = (np.int64(words[k]) * total) >> 32
        x = 0
        while sums[x] <= ticket:
            x += 1
        least = _bound(sums[x - 1] if x > 0 else np.int32(0), total)
        width, place = _bound(sums[x], total) - least, np.int64(words[k]) - least
        weights = net.within_start[position] - net.member_start[first] + by * buckets[guide, r]
        member, last = net.member_start[first + x], net.member_start[first + x + 1] - 1
        buckets[position, r] = x
        values[r] = net.member[_member(net.upto, weights, member, last, width, place)]


@kernel
def sample(net, strata, words, columns, given, records):  # noqa: C901, PLR0912, PLR0915 - one kernel
    """Fill records from one word per value that is drawn, as `_column` does; stratified if there are strata.

    Words come record by record, positions in order; with strata, position by position. `columns` is the column of each
    position, and `given` has the values at the first positions, shape (records, copied), which are not drawn. Records
    are filled in batches, attribute by attribute, so that a position's arrays stay in the cache for the whole batch.
    The arrays are unpacked from the tuple once; otherwise numba counts references to all of them for every value.
    """
    size, shift, group_start, table_start = net.size, net.shift, net.group_start, net.table_start
    parent_start, parent, stride, logs = net.parent_start, net.parent, net.stride, net.logs
    ready, ends, leading, factors, slack = net.ready, net.ends, net.leading, net.factors, net.slack
    within_start, guide, guide_stride, upto, part = net.within_start, net.guide, net.guide_stride, net.upto, net.part
    bucket_start, member_start, members = net.bucket_start, net.member_start, net.member
    room, parents_of, stratum_parent, stratum_stride = strata.room, strata.parent_start, strata.parent, strata.stride
    evenly = len(room) > 0
    whole, m = records.shape
    copied = given.shape[1]
    together = max(min(whole, TOGETHER), 1) if evenly else _AT_A_TIME
    # A literal zero would be a type of its own, for which the parts are compiled too.
    groups, most, zero = np.int64(1), np.int64(0), np.int64(0)
    for position in range(m):
        groups = max(groups, group_start[position + 1] - group_start[position])
        most = max(most, size[position])
    # As narrow as the values allow: a batch's arrays are larger than a cache.
    buckets, kept = np.zeros((m, together), np.uint16), np.zeros((m, together), np.uint16)
    strata_of, ours = np.zeros(_AT_A_TIME, np.int32), words[:0]
    place, rank = np.zeros(together, np.uint16), np.zeros(together, np.uint16)
    upper = np.zeros(together + SCRAMBLED, np.uint16)
    own = np.zeros(_AT_A_TIME, np.int32)
    at = np.zeros((groups, _AT_A_TIME), np.int32)
    sums = np.zeros((most + LANES) * LANES, np.int32)
    of_record = np.zeros(_AT_A_TIME, np.uint32)
    leasts, lasts, starts = of_record.copy(), of_record.copy(), np.zeros(_AT_A_TIME, np.int64)
    totals, befores, afters, none = own.copy(), own.copy(), own.copy(), own[:0]
    running = np.zeros(len(sums), np.float32)
    places = np.zeros(_AT_A_TIME, np.float32)
    widths, slacks, nowhere = places.copy(), places.copy(), places[:0]
    doubtful, their_words = np.zeros(together, np.int64), np.zeros(together, np.uint32)
    largest = np.zeros(m, np.int64)
    for position in range(m):
        for bucket in range(bucket_start[position], bucket_start[position] + size[position]):
            largest[position] = max(largest[position], member_start[bucket + 1] - member_start[bucket])
    for begun in range(0, whole, together):
        in_all = min(whole - begun, together)
        for position in range(copied):
            bucket_of = net.bucket[net.value_start[position] :]
            for r in range(in_all):
                kept[position, r] = given[begun + r, position]
                buckets[position, r] = bucket_of[given[begun + r, position]]
        for position in range(copied, m):
            n = size[position]
            group = group_start[position]
            others = group_start[position + 1] - group
            made = ready[position] >= 0
            firsts = member_start[bucket_start[position] : bucket_start[position] + n + 1]
            weights, by = within_start[position] - firsts[0], guide_stride[position]
            several, nearly, count = largest[position] > 1, not made and slack[position] > 0, 0
            if evenly:
                first_word = (position - copied) * whole + begun
                ours = words[first_word : first_word + in_all]
                for done in range(0, in_all, _AT_A_TIME):
                    some = min(in_all - done, _AT_A_TIME)
                    first = strata_of[:some]
                    begin, end = parents_of[position], parents_of[position + 1]
                    _rows(stratum_parent, stratum_stride, begin, end, zero, buckets, done, first)
                    find_places(first, room[position], ours[done : done + some], place[done : done + some])
                spread(place[:in_all], ours, rank[:in_all], upper)
            unsure = 0
            for done in range(0, in_all, _AT_A_TIME):
                some = min(in_all - done, _AT_A_TIME)
                for g in range(others):
                    begin = ready[position] if made else table_start[group + g]
                    _rows(
                        parent,
                        stride,
                        parent_start[group + g],
                        parent_start[group + g + 1],
                        begin,
                        buckets,
                        done,
                        at[g, :some],
                    )
                if evenly:
                    join_halves(upper, rank[done : done + some], ours[done : done + some], of_record)
                else:
                    for r in range(some):
                        of_record[r] = words[(begun + r) * (m - copied) + position - copied]
                if made:
                    _draw_some_ready(ends, n, at[0], of_record, own[:some])
                    if several:
                        for r in range(some):
                            row = np.uint64(at[0, r] + own[r])
                            lasts[r] = ends[row]
                            leasts[r] = ends[row - np.uint64(1)] + np.uint32(1)
                elif nearly:
                    unsure = _draw_some_nearly(
                        factors,
                        slack[position],
                        n,
                        at,
                        others,
                        some,
                        of_record,
                        running,
                        own,
                        places if several else nowhere,
                        widths if several else nowhere,
                        slacks if several else nowhere,
                        doubtful[count:],
                    )
                else:
                    _draw_some(
                        logs,
                        leading,
                        shift[position],
                        n,
                        at,
                        others,
                        some,
                        of_record,
                        sums,
                        zero,
                        own,
                        totals,
                        befores if several else none,
                        afters if several else none,
                    )
                    if several:
                        _shares_of_words(befores, afters, totals, some, leasts, lasts)
                drawn, found = buckets[position, done : done + some], kept[position, done : done + some]
                for r in range(some):
                    drawn[r] = own[r]
                if several:
                    guiding = buckets[guide[position]][done : done + some]
                    for r in range(some):
                        starts[r] = weights + by * guiding[r]
                if several and nearly:
                    unsure = _members_nearly(
                        part,
                        members,
                        firsts,
                        starts,
                        places,
                        widths,
                        slacks,
                        own[:some],
                        found,
                        doubtful[count:],
                        unsure,
                    )
                elif several:
                    _members(
                        upto,
                        members,
                        firsts,
                        largest[position],
                        starts,
                        leasts,
                        lasts,
                        of_record,
                        own[:some],
                        found,
                    )
                else:
                    for r in range(some):
                        found[r] = members[np.uint64(firsts[0] + own[r])]
                if nearly:
                    for k in range(count, count + unsure):
                        their_words[k] = of_record[doubtful[k]]
                        doubtful[k] += done
                    count += unsure
            if count > 0:
                _draw_again(net, position, doubtful[:count], their_words, buckets, kept[position])
        # Records are written while they are in the fastest cache, not once for each position.
        for done in range(0, in_all, _AT_A_TIME):
            those = records[begun + done : begun + min(done + _AT_A_TIME, in_all)]
            for position in range(m):
                column, found = columns[position], kept[position, done : done + len(those)]
                for r in range(len(those)):
                    those[r, column] = found[r]


@inner_kernel
def _column(net, position, records, at, words, factors):  # noqa: C901, PLR0912, PLR0915 - one kernel
    """Draw the values of records at a position, and compute their probabilities.

    The arrays are unpacked from the tuple once, and loops are vectorised over records: see `sample`.

    Args:
        net: the network's arrays.
        position: the position; earlier values are known.
        records: the records, one per column, shape (m, at least n).
        at: index of the word from which each record's value is drawn; -1 if it already has its value.
        words: the words.
        factors: filled with the values' probabilities, shape (n,), unless it is empty.
    """
    parent, stride, ends, members = net.parent, net.stride, net.ends, net.member
    parent_start, value_start, member_start = net.parent_start, net.value_start, net.member_start
    low, high, upto = net.low, net.high, net.upto
    size, ready = net.size[position], net.ready[position]
    group, last_group = net.group_start[position], net.group_start[position + 1]
    own_buckets = net.bucket_start[position]
    own_places = member_start[own_buckets]
    some = len(at)
    whole = (some + LANES - 1) // LANES * LANES
    values, bucket = records[position], net.bucket[value_start[position] :]
    buckets = np.empty((position + 1, some), np.uint16)
    for p in range(parent_start[group], parent_start[last_group]):
        known, bucket_of, of_parent = records[parent[p]], net.bucket[value_start[parent[p]] :], buckets[parent[p]]
        for r in range(some):
            of_parent[r] = bucket_of[np.uint64(known[r])]
    rows = np.empty((last_group - group, whole), np.int32)
    for g in range(len(rows)):
        begin, own = ready if ready >= 0 else net.table_start[group + g], group + g
        _rows(parent, stride, parent_start[own], parent_start[own + 1], begin, buckets, np.int64(0), rows[g, :some])
    weights = np.full(some, net.within_start[position])
    if net.guide_stride[position] > 0:
        guide, by = net.guide[position], net.guide_stride[position]
        known, bucket_of = records[guide], net.bucket[value_start[guide] :]
        for r in range(some):
            weights[r] += by * bucket_of[np.uint64(known[r])]

    word, drawn, totals = np.zeros(whole, np.uint32), np.empty(whole, np.int32), np.empty(whole, np.int32)
    if len(words) > 0:
        for r in range(some):
            word[r] = words[np.uint64(max(at[r], 0))]
    kept = (size + LANES) * LANES
    sums = np.empty(0 if ready >= 0 else kept * (whole // LANES), np.int32)
    if ready >= 0:
        _draw_some_ready(ends, size, rows[0], word, drawn[:some])
    else:
        _draw_some(
            net.logs,
            net.leading,
            net.shift[position],
            size,
            rows,
            len(rows),
            some,
            word,
            sums,
            kept,
            drawn,
            totals,
            totals[:0],
            totals[:0],
        )
    scored = len(factors) > 0
    for r in range(some):
        x = drawn[r] if at[r] >= 0 else bucket[np.uint64(values[r])]
        member = member_start[own_buckets + x]
        end = member_start[own_buckets + x + 1] - 1
        least = np.int64(0)
        width = np.int64(0)
        if scored or member < end:
            if ready >= 0:
                row = np.uint64(rows[0, r] + x)
                least = np.int64(np.uint32(ends[row - np.uint64(1)] + np.uint32(1)))
                width = np.int64(ends[row]) - least + 1
            else:
                place = r // LANES * kept + x * LANES + r % LANES
                least = _bound(sums[place - LANES] if x > 0 else np.int32(0), totals[r])
                width = _bound(sums[place], totals[r]) - least
        if at[r] >= 0:
            place = np.int64(word[r]) - least
            values[r] = members[_member(upto, weights[r] - own_places, member, end, width, place)]
        if scored:
            value = weights[r] + values[r]
            factors[r] = (((high[value] * width) >> 30) - ((low[value] * width) >> 30)) / 4294967296.0


@implements(draw_next, LoglinearArrays)
@inner_kernel
def _draw_alone(net, position, record, word):
    own = record.copy().reshape(-1, 1)
    _column(net, position, own, np.zeros(1, np.int64), np.full(1, word, np.uint32), np.empty(0))
    return np.int64(own[position, 0])


@implements(factor_of, LoglinearArrays)
@inner_kernel
def _factor_alone(net, position, record):
    factors = np.empty(1)
    _column(net, position, record.copy().reshape(-1, 1), np.full(1, -1), np.empty(0, np.uint32), factors)
    return factors[0]


@implements(shares_of, LoglinearArrays)
@inner_kernel
def _shares(net, position, record, shares):
    size = net.size[position]
    buckets = np.empty(position + 1, np.int64)
    for p in range(net.parent_start[net.group_start[position]], net.parent_start[net.group_start[position + 1]]):
        parent = net.parent[p]
        buckets[parent] = net.bucket[net.value_start[parent] + record[parent]]
    sums = np.empty(size, np.int32)
    _running_sums(net, position, buckets, sums)
    weights = net.within_start[position]
    if net.guide_stride[position] > 0:
        guide = net.guide[position]
        weights += net.guide_stride[position] * net.bucket[net.value_start[guide] + record[guide]]
    total = sums[size - 1]
    least = np.int64(0)
    for x in range(size):
        end = _bound(sums[x], total)
        first = net.bucket_start[position] + x
        for place in range(net.member_start[first], net.member_start[first + 1]):
            value = net.member[place]
            high, low = net.high[weights + value], net.low[weights + value]
            shares[value] = ((high * (end - least)) >> 30) - ((low * (end - least)) >> 30)
        least = end


@implements(draw_column, LoglinearArrays)
@inner_kernel
def _draw_column(net, position, block, words, live, scored):
    """See `draw_column`."""
    copied, first, at = block.copied, block.at, np.empty(live, np.int64)
    for i in range(live):
        at[i] = first[i] + position if position >= copied[i] else -1
    _column(net, position, block.records, at, words, block.factors[position, : live if scored else 0])


@kernel
def all_ends(net, position, table):
    """The last word of each bucket's share, for every configuration of a position with one group, in padded rows."""
    size, width = net.size[position], table.shape[1]
    group = net.group_start[position]
    first = net.parent_start[group]
    last = net.parent_start[group + 1]
    buckets, sums = np.zeros(len(net.size), np.int64), np.empty(size, np.int32)
    for row in range(len(table)):
        rest = row * width
        for p in range(first, last):
            buckets[net.parent[p]] = rest // net.stride[p]
            rest %= net.stride[p]
        _running_sums(net, position, buckets, sums)
        table[row, :] = 0xFFFFFFFF
        for x in range(size):
            table[row, x] = _bound(sums[x], sums[size - 1]) - 1
