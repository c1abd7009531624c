"""Attempts of Mechanism 1* in blocks: compiled code.

`mechanism_one` defines an attempt, and can make attempts one by one; the same words give the same records. Here the
words of a block are parsed first, and what will be read of its seeds is requested from memory; then each stage is run
for the whole block: fetching seeds, drawing values attribute by attribute, counting seeds. Thus fetches from memory
overlap, and an attribute's tables stay in the processor's cache.
"""

# numba infers the types of kernels
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, disallow-untyped-decorators=False

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from deniable.foundation.noise import OUT_OF_WORDS, draw_noise, uniform_below
from deniable.kernels import fetch_ahead, inner_kernel, kernel
from deniable.models.sequential_kernels import ColumnBlock, draw_column
from deniable.plausible_deniability.plausible_seeds import count_plausible_of_block
from deniable.plausible_deniability.seed_prefixes import CODE_BITS

ATTEMPTS_A_BLOCK = 1024


class AttemptArrays(NamedTuple):
    """Mechanism 1*'s public parameters, for compiled code."""

    drop_numerator: int
    drop_denominator: int
    public_rows: int
    k: int
    randomized: bool
    given_omega: bool


class BlockArrays(NamedTuple):
    """A block of attempts with a seed, or of records whose first attributes are already known.

    Attributes:
        seed: number of the seed, shape (ATTEMPTS_A_BLOCK,).
        copied: number of copied attributes.
        at: index of the word of each attempt's value at position p, minus p.
        noise: noise on the threshold.
        shared: number of attributes, counted from the first that any attempt draws, on which candidate and seed agree.
        plausible: number of plausible seeds.
        records: the seeds' values, up to the last that any attempt copies, then overwritten by drawn values; positions
            in topological order, shape (m, ATTEMPTS_A_BLOCK).
        factors: probability of each value given the earlier ones, shape (m, ATTEMPTS_A_BLOCK).
    """

    seed: NDArray[np.int64]
    copied: NDArray[np.int64]
    at: NDArray[np.int64]
    noise: NDArray[np.int64]
    shared: NDArray[np.uint16]
    plausible: NDArray[np.int64]
    records: NDArray[np.uint16]
    factors: NDArray[np.float64]

    @classmethod
    def empty(cls, attributes: int) -> "BlockArrays":
        """Allocate a block; not to be shared by threads."""
        return cls(
            seed=np.zeros(ATTEMPTS_A_BLOCK, np.int64),
            copied=np.zeros(ATTEMPTS_A_BLOCK, np.int64),
            at=np.zeros(ATTEMPTS_A_BLOCK, np.int64),
            noise=np.zeros(ATTEMPTS_A_BLOCK, np.int64),
            shared=np.zeros(ATTEMPTS_A_BLOCK, np.uint16),
            plausible=np.zeros(ATTEMPTS_A_BLOCK, np.int64),
            records=np.zeros((attributes, ATTEMPTS_A_BLOCK), np.uint16),
            factors=np.zeros((attributes, ATTEMPTS_A_BLOCK)),
        )


@numba.njit(nogil=True, cache=True, forceinline=True)
def draw_seed(attempt, size, words, position):
    """The number of an attempt's seed, -1 for none, and the next position, -1 if words run out."""
    seed = np.int64(-1)
    kept = True
    if attempt.drop_numerator > 0:
        ticket, position = uniform_below(words, position, attempt.drop_denominator)
        kept = ticket >= attempt.drop_numerator
    if kept and position >= 0:
        place, position = uniform_below(words, position, max(size, attempt.public_rows))
        if place < size:
            seed = place
    return seed, position


@inner_kernel
def _copied_by(levels, cumulative):
    """Number of attributes copied for each number below the sum of the weights; empty if the sum is large."""
    if cumulative[-1] > ATTEMPTS_A_BLOCK:
        return np.empty(0, np.int64)
    copied = np.empty(cumulative[-1], np.int64)
    first = 0
    for level in range(len(levels)):
        copied[first : cumulative[level]] = levels[level]
        first = cumulative[level]
    return copied


@inner_kernel
def _part_words(block, index, choice, attempt, thresholds, m, words, used, attempts):  # noqa: C901 - one kernel
    """Parse the words of at most a block of attempts, and request what will be read of their seeds from memory.

    Returns:
        Numbers of attempts, of those with a seed, and of words used, and the position after the last attempt or the
        reason for stopping.
    """
    levels, cumulative = choice.levels, choice.cumulative
    seeds, copies, ats, noises = block.seed, block.copied, block.at, block.noise
    prefixes = index.prefixes
    size, width = np.int64(prefixes.shape[0]), np.int64(prefixes.shape[1])
    several, copied_by = len(levels) > 1, _copied_by(levels, cumulative)
    made = 0
    live = 0
    position = used
    while made < attempts and made < ATTEMPTS_A_BLOCK and position >= 0:
        seed, position = draw_seed(attempt, size, words, used)
        if position >= 0 and seed >= 0:
            # It can lie in two lines of the cache.
            fetch_ahead(prefixes, seed * width)
            fetch_ahead(prefixes, seed * width + width - 1)
            copied = levels[0]
            if several:
                pick, position = uniform_below(words, position, cumulative[-1])
                # The next attempt's words start where this one's end, so this look-up is waited for.
                if len(copied_by) > 0:
                    copied = copied_by[np.uint64(pick)]
                else:
                    # No early exit: the branch would usually be mispredicted.
                    level = 0
                    for below in range(len(cumulative)):
                        level += pick >= cumulative[below]
                    copied = levels[np.uint64(level)]
            at = position - copied
            drawn = m - copied
            if position >= 0 and position + drawn > len(words):
                position = OUT_OF_WORDS
            noise = np.int64(0)
            if position >= 0:
                position += drawn
                if attempt.randomized:
                    noise, position = draw_noise(words, position, thresholds)
            if position >= 0:
                seeds[live] = seed
                copies[live] = copied
                ats[live] = at
                noises[live] = noise
                live += 1
        if position >= 0:
            used = position
            made += 1
    return made, live, used, position


@kernel
def _fetch(block, index, copied, live):
    """Copy the first values of each seed, up to the last that any attempt copies; some are overwritten later."""
    records, prefixes, seeds = block.records, index.prefixes, block.seed
    first = len(index.levels)
    for p in range(copied):
        values, column, upper = records[p], np.uint64(first + p // 2), p % 2 > 0
        for i in range(live):
            pair = np.uint32(prefixes[np.uint64(seeds[i]), column])
            values[i] = pair >> np.uint32(CODE_BITS) if upper else pair & np.uint32(0xFFFF)


@inner_kernel
def _compare(values, before, agrees, shared):
    """Count one more attribute for candidates that agree with their seeds up to and including it."""
    for i in range(ATTEMPTS_A_BLOCK):
        agrees[i] &= values[i] == before[i]
        shared[i] += agrees[i]


@inner_kernel
def _keep(block, attempt, live, positions, released, passed):
    """Append candidates that pass the privacy test to the released records, and return the new number of these.

    Columns are as in the domain. The test is that of `privacy_tests`.
    """
    plausible, noise, records = block.plausible, block.noise, block.records
    for i in range(live):
        if plausible[i] >= attempt.k + noise[i]:
            # A record of its own would count references to the array.
            for column in range(len(positions)):
                released[np.uint64(passed), np.uint64(column)] = records[positions[column], np.uint64(i)]
            passed += 1
    return passed


@inner_kernel
def _attempt_block(net, index, classes, choice, attempt, thresholds, words, used, attempts, m, block):
    """Make at most a block of attempts, up to the numbers of plausible seeds; see `_part_words` for what it returns."""
    levels = choice.levels
    scored = len(levels) > 1 and not attempt.given_omega
    columns = ColumnBlock(block.copied, block.at, block.records, block.factors)
    agrees, before = np.empty(ATTEMPTS_A_BLOCK, np.uint16), np.empty(ATTEMPTS_A_BLOCK, np.uint16)
    made, live, used, position = _part_words(block, index, choice, attempt, thresholds, m, words, used, attempts)
    _fetch(block, index, levels[-1], live)
    agrees[:] = 1
    block.shared[:] = 0
    for p in range(levels[0], levels[-1]):
        before[:] = block.records[p]
        draw_column(net, p, columns, words, live, scored)
        _compare(block.records[p], before, agrees, block.shared)
    for p in range(levels[-1], m):
        draw_column(net, p, columns, words, live, scored)
    count_plausible_of_block(index, classes, block, live, attempt.given_omega)
    return made, live, used, position


@kernel
def run_block(net, index, classes, choice, attempt, thresholds, words, attempts, m, block):
    """Make at most a block of attempts, before the privacy test; arguments as for `run`.

    Returns:
        Numbers of attempts made, of those with a seed, and of words used, and the position after the last attempt or
        the reason for stopping. `block` has the candidates and their numbers of plausible seeds.
    """
    return _attempt_block(net, index, classes, choice, attempt, thresholds, words, np.int64(0), attempts, m, block)


@kernel
def keep_block(block, attempt, live, positions, released):
    """Append the candidates of a block that pass the test to the released records; return their number."""
    return _keep(block, attempt, live, positions, released, np.int64(0))


@kernel
def run(net, index, classes, choice, attempt, thresholds, words, attempts, positions, released, block):
    """Make attempts until all are done, the words run out, or noise meets a tie.

    Args:
        net: the network's arrays.
        index: the seed index's arrays.
        classes: the probability classes' arrays.
        choice: the distribution of the number of copied attributes.
        attempt: the mechanism's public parameters.
        thresholds: the distribution of the noise.
        words: words of a stream.
        attempts: number of attempts.
        positions: position of each column of the domain in the network's order, shape (m,).
        released: array for the records of all attempts, columns as in the domain, shape (attempts, m).
        block: working memory.

    Returns:
        Numbers of attempts made, of words used and of records released, and the position after the last attempt or the
        reason for stopping.
    """
    m = released.shape[1]
    made = 0
    used = np.int64(0)
    passed = np.int64(0)
    position = np.int64(0)
    while made < attempts and position >= 0:
        more, live, used, position = _attempt_block(
            net, index, classes, choice, attempt, thresholds, words, used, attempts - made, m, block
        )
        made += more
        passed = _keep(block, attempt, live, positions, released, passed)
    return made, used, passed, position
