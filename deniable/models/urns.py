"""Exact draws from urns of integer weights, without floating-point arithmetic between counts and draws.

A value is drawn from a row of counts n_j with weights b n_j + a, by a uniform integer below their sum S: an integer
below the prior mass C a selects a value uniformly, and any other selects one of the counted records. In a Polya urn a
third range selects one of the earlier draws from the same row. The cost of draws (privacy.urn_costs) and the choice of
counts do not belong here.

`draw_blocks` is the perturbed Gibbs sampler of Park, Ghosh, Shankar 2013, with resetting blocks and, instead of a reset
after one draw, Polya urns that serve several; `draw_polya` draws from a single row.
"""

# numba infers the types of kernels
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, disallow-untyped-decorators=False

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Codes
from deniable.foundation.keys import WordStream
from deniable.foundation.noise import uniform_below
from deniable.kernels import kernel
from deniable.privacy.urn_costs import UNIT, require_mass

Integers = NDArray[np.int64]

EVEN = -1
"""Prior of a row from which all values are drawn uniformly, whatever its counts."""

_BLOCKS_AT_ONCE = 1 << 12


class Urns(NamedTuple):
    """Rows of counts for each attribute, given a key: the buckets of other attributes.

    Attributes:
        cardinality: number of values of each attribute, shape (m,).
        key_start: start of each attribute's key in `key` and `stride`, shape (m + 1,).
        key: the attributes of the keys.
        stride: stride of each key attribute's bucket in the row number.
        bucket_start: start of each attribute's buckets in `bucket`, shape (m,).
        bucket: bucket of each value.
        row_start: start of each attribute's rows in `prior`, shape (m,).
        prior: weight a of each value of a row, in units of 1 / b records, or EVEN.
        table_start: start of each attribute's table in `cumulative`, shape (m,).
        cumulative: running sums of the counts of each row.
        seed_start: start of each attribute's seed weights in `seed`, shape (m + 1,).
        seed: running sums of the public weights with which seeds are drawn.
        pool: public seeds, one of which is drawn uniformly for each block, shape (seeds, m); if empty, seeds are drawn
            by the weights.
    """

    cardinality: Integers
    key_start: Integers
    key: Integers
    stride: Integers
    bucket_start: Integers
    bucket: Integers
    row_start: Integers
    prior: Integers
    table_start: Integers
    cumulative: Integers
    seed_start: Integers
    seed: Integers
    pool: Codes


@numba.njit(nogil=True, cache=True, inline="always")
def _first_above(cumulative, start, size, target):
    """Index of the first of `size` running sums from `start` on that exceeds a target."""
    low = 0
    high = size - 1
    while low < high:
        middle = (low + high) >> 1
        if cumulative[start + middle] > target:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def _draw_blocks(words, urns, block, most, records):  # noqa: C901, PLR0912, PLR0915 - one kernel
    """Draw whole blocks until the words run out.

    Args:
        words: words of a stream, shape (n,).
        urns: the urns.
        block: number of records in a block; the last block of `records` may be shorter.
        most: number of draws from a row's urn in a block; later draws from the row are uniform.
        records: filled with records, shape (count, m).

    Returns:
        Numbers of records made and of words consumed.
    """
    count, m = records.shape
    rows = np.empty((block, m), np.int64)
    current = np.zeros(m, np.int64)
    done = 0
    used = np.int64(0)
    position = np.int64(0)
    while done < count and position >= 0:
        size = min(block, count - done)
        pooled = np.int64(0)
        if len(urns.pool) > 0:
            pooled, position = uniform_below(words, position, len(urns.pool))
        for i in range(m):
            if len(urns.pool) > 0:
                current[i] = urns.pool[pooled, i]
            elif urns.cardinality[i] == 1:
                current[i] = 0
            else:
                start = urns.seed_start[i]
                sizes = urns.seed_start[i + 1] - start
                target, position = uniform_below(words, position, urns.seed[start + sizes - 1])
                current[i] = _first_above(urns.seed, start, sizes, target)
        for step in range(size):
            for i in range(m):
                values = urns.cardinality[i]
                value = np.int64(0)
                row = np.int64(0)
                if values > 1:
                    for k in range(urns.key_start[i], urns.key_start[i + 1]):
                        other = urns.key[k]
                        row += urns.stride[k] * urns.bucket[urns.bucket_start[other] + current[other]]
                    seen = 0
                    for earlier in range(step):
                        if rows[earlier, i] == row:
                            seen += 1
                    prior = urns.prior[urns.row_start[i] + row]
                    if seen >= most or prior < 0:
                        value, position = uniform_below(words, position, values)
                    else:
                        start = urns.table_start[i] + row * values
                        even = prior * values
                        counted = UNIT * urns.cumulative[start + values - 1]
                        mass = even + counted + UNIT * seen
                        if mass == 0:
                            value, position = uniform_below(words, position, values)
                        else:
                            target, position = uniform_below(words, position, mass)
                            if target < even:
                                value = target // prior
                            elif target < even + counted:
                                value = _first_above(urns.cumulative, start, values, (target - even) // UNIT)
                            else:
                                left = (target - even - counted) // UNIT
                                for earlier in range(step):
                                    if rows[earlier, i] == row:
                                        if left == 0:
                                            value = np.int64(records[done + earlier, i])
                                        left -= 1
                current[i] = value
                rows[step, i] = row
                records[done + step, i] = value
        if position >= 0:
            done += size
            used = position
    return done, used


def draw_blocks(stream: WordStream, urns: Urns, records: int, *, block: int = 1, most: int = 1) -> Codes:
    """Draw records by the perturbed Gibbs sampler, block by block.

    Each block starts from its own seed, drawn from the public pool or by the public weights. A record is one pass over
    the attributes in order, each drawn from the row that its key selects; the next record of the block starts from it.

    Args:
        stream: the words.
        urns: the urns; the weights of a row sum to at most LARGEST_MASS.
        records: number of records.
        block: number of records in a block.
        most: number of draws from a row's Polya urn in a block; later draws from the row are uniform.

    Returns:
        Codes, shape (records, m).

    Source: Park, Ghosh, Shankar 2013, algorithms 1 (block = 1) and 2 (most = 1).
    """
    m = len(urns.cardinality)
    made = np.empty((records, m), np.uint16)
    done, spare = 0, 64
    while done < records:
        blocks = min(-(-(records - done) // block), max(_BLOCKS_AT_ONCE // block, 1))
        part = made[done : done + blocks * block]
        # Usually two words per draw suffice; the number needed is unbounded.
        words = stream.peek(2 * m * (blocks + len(part)) + spare)
        finished, used = _draw_blocks(words, urns, block, most, part)
        stream.skip(int(used))
        done += int(finished)
        spare = 64 if finished else 2 * spare
    return made


@kernel
def _draw_polya(words, cumulative, prior, values, draws, first):
    """Continue draws from a Polya urn at number `first`; see `draw_polya`. Return draws made, words used."""
    even = prior * values
    counted = UNIT * (cumulative[len(cumulative) - 1] if len(cumulative) else 0)
    done = first
    used = 0
    position = np.int64(0)
    while done < len(draws) and position >= 0:
        target, position = uniform_below(words, position, even + counted + UNIT * done)
        if position >= 0:
            if target < even:
                draws[done] = target // prior
            elif target < even + counted:
                draws[done] = _first_above(cumulative, 0, len(cumulative), (target - even) // UNIT)
            else:
                draws[done] = draws[(target - even - counted) // UNIT]
            done += 1
            used = position
    return done, used


def draw_polya(stream: WordStream, counts: Integers, prior: int, draws: int, *, values: int = 0) -> Integers:
    """Draw from one Polya urn: the draws are jointly Dirichlet-multinomial with parameters n_j + a / b.

    Time and words are proportional to the number of draws, and memory to that of counts: values beyond the given
    counts have count 0.

    Args:
        stream: the words.
        counts: numbers of records n_j of the first values, shape (k,).
        prior: weight a of each value, in units of 1 / b records, at least 1.
        draws: number of draws.
        values: number of values, at least k; k by default.

    Returns:
        The values drawn, shape (draws,).

    Raises:
        InvalidInput: the weights might not fit into 64 bits.
    """
    require_mass(prior, values or len(counts), draws)
    made = np.empty(draws, np.int64)
    cumulative = np.cumsum(counts, dtype=np.int64)
    done, spare = 0, 64
    while done < draws:
        words = stream.peek(2 * (draws - done) + spare)
        before = done
        done, used = _draw_polya(words, cumulative, prior, values or len(counts), made, before)
        stream.skip(int(used))
        spare = 64 if done > before else 2 * spare
    return made


@kernel
def _draw_weighted(words, cumulative, prior, draws, first):
    """Draw once for each row from row number `first` on; return the total number of draws, and the words used."""
    values = cumulative.shape[1]
    done = first
    used = 0
    position = np.int64(0)
    while done < len(draws) and position >= 0:
        even = prior * values
        target, position = uniform_below(words, position, even + cumulative[done, values - 1])
        if position >= 0:
            if target < even:
                draws[done] = target // prior
            else:
                draws[done] = _first_above(cumulative[done], 0, values, target - even)
            done += 1
            used = position
    return done, used


def draw_weighted(stream: WordStream, weights: Integers, prior: int) -> Integers:
    """Draw one value for each row of integer weights plus a prior weight.

    Args:
        stream: the words.
        weights: shape (rows, values), at least 0.
        prior: weight added to each value, at least 0; the weights of a row sum to between 1 and LARGEST_MASS.

    Returns:
        The values drawn, shape (rows,).
    """
    rows = len(weights)
    made = np.empty(rows, np.int64)
    cumulative = np.cumsum(weights, axis=1, dtype=np.int64)
    done, spare = 0, 64
    while done < rows:
        words = stream.peek(2 * (rows - done) + spare)
        before = done
        done, used = _draw_weighted(words, cumulative, prior, made, before)
        stream.skip(int(used))
        spare = 64 if done > before else 2 * spare
    return made
