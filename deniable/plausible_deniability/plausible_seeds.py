"""The exact number of seeds that could have produced a record, from counts of shared prefixes or by a full scan.

A seed's copied attributes are the first in the order, so a candidate's probability given a seed depends on the seed
only through the length of their common prefix. Drawing and testing candidates does not belong here.

Let h_L(y) be the number of seeds that agree with y on its first L attributes, w the public weights of the numbers of
re-sampled attributes, and R_L(y) the product of y's conditional probabilities from position L on (parents come
earlier, copied or re-sampled, so R does not depend on the seed). Then p_d(y) = A_l(y) = sum over levels L <= l of w_L
R_L(y), where l is the length of the longest prefix on which d and y agree. A is non-decreasing in l, hence the seeds
whose probability falls in bucket i are those with l in an interval [a, b], and there are h_a(y) - h_b'(y) of them,
where b' is the next level after b. With a single level all plausible seeds have the same probability and their number
is h_L(y) for any gamma.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Codes
from deniable.foundation.errors import InvalidInput
from deniable.kernels import inner_kernel, kernel
from deniable.models.sequential_kernels import factor_of
from deniable.plausible_deniability.seed_prefixes import CODE_BITS, EMPTY, SeedPrefixes, hashed, slot_of

Scratch = tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]

_NODE = np.uint64(0xFFFFFFFF)
_COUNT_BITS = np.uint64(32)
_STEP = 2.0**-500
_UNSTEP = 2.0**500


class IndexArrays(NamedTuple):
    """A seed index as flat arrays for compiled code.

    A node is a prefix of some seed; the root, node 0, is the empty prefix. Nodes are numbered over all depths.

    Attributes:
        seeds: the seeds' codes, positions in topological order, shape (n, m).
        prefixes: of each seed the node of its prefix at each level, and then the longest prefix's values, two in each
            number, the first in its lower half; side by side, so that an attempt waits for memory once. Shape (n,
            levels + half of the longest prefix).
        node_count: number of seeds that share each node's prefix, shape (nodes,).
        levels: lengths of prefixes that may be copied, ascending, shape (levels,).
        weights: share of candidates that copy a prefix of each length, shape (levels,).
        slot_start: start of each depth's hash table in `slots`, from the first level on, shape (depths + 1,).
        slots: side by side, so that a look-up waits for memory once: node << 16 | code for each edge one attribute
            deeper, or all ones; and count << 32 | the node that it leads to. Shape (slots, 2).
    """

    seeds: Codes
    prefixes: NDArray[np.int32]
    node_count: NDArray[np.int32]
    levels: NDArray[np.int64]
    weights: NDArray[np.float64]
    slot_start: NDArray[np.int64]
    slots: NDArray[np.uint64]


class ClassArrays(NamedTuple):
    """The bounds gamma^-i of the probability classes, in steps and fractions; see `_renormalise`."""

    steps: NDArray[np.int64]
    fractions: NDArray[np.float64]
    classes_a_bit: float


# ---- probabilities too small for a float
#
# A value is fraction * 2^(-500 steps) with a fraction in (2^-500, 1]. The pair is unique, so comparing pairs compares
# values, and the same sequence of multiplications gives the same pair on every machine. Zero is (0, 0.0).


@numba.njit(nogil=True, cache=True, inline="always")
def _renormalise(steps, fraction):
    """Bring a product of two fractions back to (2^-500, 1]."""
    if 0.0 < fraction <= _STEP:
        return steps + 1, fraction * _UNSTEP
    return steps, fraction


@numba.njit(nogil=True, cache=True, inline="always")
def _add(steps, fraction, other_steps, other_fraction):
    """Add two values; a value two steps smaller does not affect the other's last digit."""
    if other_fraction == 0.0:
        return steps, fraction
    if fraction == 0.0 or steps > other_steps + 1:
        return other_steps, other_fraction
    if other_steps > steps + 1:
        return steps, fraction
    if steps > other_steps:
        steps, total = other_steps, other_fraction + fraction * _STEP
    elif other_steps > steps:
        total = fraction + other_fraction * _STEP
    else:
        total = fraction + other_fraction
    if total > 1.0 and steps > 0:
        return steps - 1, total * _STEP
    return steps, total


@numba.njit(nogil=True, cache=True, inline="always")
def _class_near(i, steps, fraction, class_steps, class_fractions):
    """The class of p > 0, searched from class i."""
    last = len(class_steps) - 2
    i = min(max(i, 0), last)
    while i < last and (
        class_steps[i + 1] < steps or (class_steps[i + 1] == steps and class_fractions[i + 1] >= fraction)
    ):
        i += 1
    while i > 0 and (class_steps[i] > steps or (class_steps[i] == steps and class_fractions[i] < fraction)):
        i -= 1
    return i


@numba.njit(nogil=True, cache=True, inline="always")
def probability_class(steps, fraction, classes):
    """The i >= 0 with gamma^(-i-1) < p <= gamma^-i; -1 for p = 0. The exponent only gives the start of the search."""
    i = -1
    if fraction > 0.0:
        part, power = math.frexp(fraction)
        # 2 part - 2 differs from the binary logarithm by less than a tenth.
        near = int((500 * steps - power + 2 - 2 * part) * classes.classes_a_bit)
        i = _class_near(near, steps, fraction, classes.steps, classes.fractions)
    return i


def probability_classes(gamma: Fraction, attributes: int) -> ClassArrays:
    """The bounds gamma^-i, down to the smallest positive probability of a record, 2^(-32 m).

    Args:
        gamma: ratio of a class's bounds, above 1.
        attributes: number of attributes, m.
    """
    steps, fractions, ratio = [0], [1.0], float(gamma)
    while steps[-1] * 500 - math.log2(fractions[-1]) <= 32 * attributes + 64:
        step, fraction = steps[-1], fractions[-1] / ratio
        if fraction <= _STEP:
            step, fraction = step + 1, fraction * _UNSTEP
        steps.append(step)
        fractions.append(fraction)
    return ClassArrays(np.asarray(steps, np.int64), np.asarray(fractions), float(1 / np.log2(ratio)))


# ---- the index


def levels_of(omega: dict[int, int], m: int) -> list[int]:
    """Ascending lengths of the prefixes that candidates with m attributes may copy.

    Raises:
        InvalidInput: a number of re-sampled attributes is not in 0..m, or has no positive weight.
    """
    if not omega or not all(0 <= number <= m and weight > 0 for number, weight in omega.items()):
        msg = f"omega must be numbers from 0 to {m} with positive weights, got {omega}."
        raise InvalidInput(msg)
    return sorted(m - number for number in omega)


@dataclass(frozen=True, eq=False)
class SeedIndex:
    """Counts of the seeds' shared prefixes, for a model's order and a set of numbers of re-sampled attributes.

    Attributes:
        arrays: the index as flat arrays.
    """

    arrays: IndexArrays

    @classmethod
    def build(cls, seeds: Codes, omega: dict[int, int]) -> "SeedIndex":
        """Count shared prefixes.

        Args:
            seeds: the seeds' codes, positions in topological order, shape (n, m).
            omega: numbers of re-sampled attributes, 0..m, and their positive integer weights.

        Raises:
            InvalidInput: there are no seeds, or a number of re-sampled attributes is not in 0..m.

        Time O(n m), memory O(n levels + prefixes).
        """
        return cls.of(SeedPrefixes.of(seeds, levels_of(omega, seeds.shape[1])), omega)

    @classmethod
    def of(cls, counted: SeedPrefixes, omega: dict[int, int]) -> "SeedIndex":
        """The index of seeds with prefixes counted up to the last of `levels_of(omega, m)`.

        Raises:
            InvalidInput: there are no seeds, or a number of re-sampled attributes is not in 0..m.
        """
        n, m = counted.seeds.shape
        if n == 0:
            msg = "seeds must hold at least one record, got none; give the part `seeds` a larger share."
            raise InvalidInput(msg)
        levels = levels_of(omega, m)
        # Nodes of all lengths are numbered consecutively; the root is the only one of length 0.
        lengths = [1, *map(len, counted.edges)]
        first = np.cumsum([0, *lengths]).tolist()
        tables = [
            hashed(counted.edges[depth] + np.uint64(first[depth] << CODE_BITS), first[depth + 1])
            for depth in range(levels[0], levels[-1])
        ]
        total = sum(omega.values())
        node_count = np.concatenate([np.asarray([n], np.int32), *counted.counts])
        return cls(
            IndexArrays(
                seeds=counted.seeds,
                prefixes=_prefixes(
                    counted.nodes + np.asarray([first[level] for level in levels], np.int32), counted.seeds, levels[-1]
                ),
                node_count=node_count,
                levels=np.asarray(levels, np.int64),
                weights=np.asarray([omega[m - level] / total for level in levels]),
                slot_start=np.cumsum([0, *(len(keys) for keys, _ in tables)]).astype(np.int64),
                slots=np.concatenate(
                    [np.zeros((0, 2), np.uint64), *(_slots(keys, children, node_count) for keys, children in tables)]
                ),
            )
        )

    @property
    def stored(self) -> tuple[NDArray[Any], ...]:
        """The arrays as they are stored, with keys and nodes apart; the digest of their bytes determines draws."""
        seeds, prefixes, node_count, levels, weights, slot_start, slots = self.arrays
        nodes, keys, children = prefixes[:, : len(levels)].copy(), slots[:, 0].copy(), slots[:, 1] & _NODE
        return seeds, nodes, node_count, levels, weights, slot_start, keys, children.astype(np.int32)

    @classmethod
    def restored(cls, stored: Sequence[NDArray[Any]]) -> "SeedIndex":
        """The index of its stored arrays."""
        seeds, nodes, node_count, levels, weights, slot_start, keys, children = stored
        prefixes, slots = _prefixes(nodes, seeds, int(levels[-1])), _slots(keys, children, node_count)
        return cls(IndexArrays(seeds, prefixes, node_count, levels, weights, slot_start, slots))

    def scratch(self) -> Scratch:
        """Working memory of `count_plausible`; not to be shared by threads."""
        levels = len(self.arrays.levels)
        return np.empty(levels, np.int64), np.empty(levels), np.empty(levels, np.int64)


def _prefixes(nodes: NDArray[np.int32], seeds: Codes, copied: int) -> NDArray[np.int32]:
    """The nodes of each seed, and beside them its first values, two in each number."""
    values = np.zeros((len(seeds), copied + copied % 2), np.uint32)
    values[:, :copied] = seeds[:, :copied]
    return np.concatenate([nodes, (values[:, ::2] | values[:, 1::2] << CODE_BITS).view(np.int32)], axis=1)


def _slots(keys: NDArray[np.uint64], children: NDArray[np.int32], node_count: NDArray[np.int32]) -> NDArray[np.uint64]:
    """A hash table's keys, and beside each the node that it leads to and the node's number of seeds."""
    found = node_count[children].astype(np.uint64) << _COUNT_BITS | children.astype(np.uint64)
    return np.stack([keys, found], axis=1)


# The parts of `count_plausible` have a single return each: otherwise numba counts references to every array at every
# candidate.


@inner_kernel
def _shared_level(index, candidate, seed):
    """The last level up to which a seed agrees with its candidate; re-sampling may reproduce the seed's values."""
    levels = index.levels
    agree = levels[0]
    while agree < levels[-1] and index.seeds[seed, agree] == candidate[agree]:
        agree += 1
    level = 0
    while level + 1 < len(levels) and levels[level + 1] <= agree:
        level += 1
    return level


@numba.njit(nogil=True, cache=True, inline="always")
def _classify(steps, fractions, classes, found):
    """The class of A_L at each level L, from w_L R_L at each level: A is summed from the first level up."""
    step = 0
    fraction = 0.0
    for level in range(len(found)):
        step, fraction = _add(step, fraction, steps[level], fractions[level])
        found[level] = probability_class(step, fraction, classes)


@numba.njit(nogil=True, cache=True, inline="always")
def _classify_levels(net, index, classes, candidate, steps, fractions, found):
    """The class of A_L at each level L: R_L is computed from the last position down, then A from the first level up."""
    levels = index.levels
    step = 0
    fraction = 1.0
    position = len(candidate)
    for level in range(len(levels) - 1, -1, -1):
        while position > levels[level]:
            position -= 1
            step, fraction = _renormalise(step, fraction * factor_of(net, position, candidate))
        steps[level], fractions[level] = _renormalise(step, fraction * index.weights[level])
    _classify(steps, fractions, classes, found)


@inner_kernel
def _interval(found, own):
    """The first of the adjacent levels in the same class as a given level, and the first level after them."""
    first = own
    while first > 0 and found[first - 1] == found[own]:
        first -= 1
    beyond = own + 1
    while beyond < len(found) and found[beyond] == found[own]:
        beyond += 1
    return first, beyond


@numba.njit(nogil=True, cache=True, inline="always")
def _child(slot_start, slots, depth, node, code):
    """The child of a node for a code, -1 for none; depth counts from the first level on."""
    start = slot_start[depth]
    mask = slot_start[depth + 1] - start - 1
    key = (np.uint64(node) << np.uint64(CODE_BITS)) | np.uint64(code)
    slot = slot_of(key, mask)
    while slots[start + slot, 0] != EMPTY and slots[start + slot, 0] != key:
        slot = (slot + 1) & mask
    return np.int32(slots[start + slot, 1] & _NODE) if slots[start + slot, 0] == key else np.int32(-1)


@inner_kernel
def _count_sharing(index, candidate, seed, level, deeper):
    """Number of seeds that agree with the candidate up to a deeper level, searching down from a seed's node."""
    node = index.prefixes[seed, level]
    position = index.levels[level]
    while node >= 0 and position < index.levels[deeper]:
        depth = position - index.levels[0]
        node = _child(index.slot_start, index.slots, depth, node, candidate[position])
        position += 1
    return index.node_count[node] if node >= 0 else np.int32(0)


@kernel
def count_plausible(net, index, classes, candidate, seed, scratch):
    """Exact number of seeds that give the candidate a probability in the same class as its own seed does; O(m).

    Args:
        net: the network's arrays.
        index: the seed index's arrays.
        classes: the probability classes' arrays; not read if there is one level.
        candidate: positions in topological order, shape (m,).
        seed: number of the candidate's seed; they agree at least on the first levels[0] positions.
        scratch: from `SeedIndex.scratch`, one for each thread.
    """
    steps, fractions, found = scratch
    last = len(index.levels) - 1
    first = own = last
    beyond = last + 1
    if last > 0:
        own = _shared_level(index, candidate, seed)
        _classify_levels(net, index, classes, candidate, steps, fractions, found)
        first, beyond = _interval(found, own)
    plausible = index.node_count[index.prefixes[seed, first]]
    if beyond <= last:
        plausible -= _count_sharing(index, candidate, seed, own, beyond)
    return plausible


@inner_kernel
def _shared_levels(levels, shared, live, own):
    """Fill in the last level up to which each candidate agrees with its seed; see `_shared_level`."""
    first = levels[0]
    level_of = np.zeros(levels[-1] - first + 1, np.int64)
    for level in range(1, len(levels)):
        for agree in range(levels[level] - first, len(level_of)):
            level_of[agree] += 1
    for i in range(live):
        own[i] = level_of[np.uint64(shared[i])]


@inner_kernel
def _score_levels(levels, weights, factors, live, scores):
    """Fill in A_L at each level L for each candidate of a block, without steps; False if one needs steps."""
    last = len(levels) - 1
    product = np.ones(live)
    position = len(factors)
    small = 0
    for level in range(last, -1, -1):
        while position > levels[level]:
            position -= 1
            factor = factors[position]
            for i in range(live):
                product[i] *= factor[i]
        weight, of_level = weights[level], scores[level]
        for i in range(live):
            score = product[i] * weight
            of_level[i] = score
            small += score <= _STEP
    for level in range(1, last + 1):
        before, of_level = scores[level - 1], scores[level]
        for i in range(live):
            of_level[i] += before[i]
    return small == 0


@inner_kernel
def _bounds(scores, own, live, classes, lower, upper):
    """Fill in the bounds of the class that contains each candidate's own score."""
    steps, fractions, classes_a_bit = classes.steps, classes.fractions, classes.classes_a_bit
    last = len(steps) - 2
    score = np.empty(live)
    for i in range(live):
        score[i] = scores[own[i], i]
    bits = score.view(np.int64)
    for i in range(live):
        # The bits of a number in (0, 1], interpreted as an integer, approximate its binary logarithm to within a tenth.
        found = int((1023 - bits[i] * 2.0**-52) * classes_a_bit)
        found = _class_near(found, 0, score[i], steps, fractions)
        above, below, many = fractions[found], fractions[found + 1], steps[found + 1]
        upper[i] = above if found > 0 else np.inf
        # A bound with steps is smaller than any score without.
        lower[i] = below if found < last and many == 0 else 0.0


@kernel
def _intervals(index, classes, factors, own, live, first, beyond):
    """Find the levels whose seeds are plausible for each candidate of a block, as in `count_plausible`.

    A is non-decreasing in the level, so it suffices to count the levels at or below the class's lower bound and those
    above its upper bound.

    Args:
        index: the seed index's arrays.
        classes: the probability classes' arrays.
        factors: probability of each value given the earlier ones, shape (m, at least live).
        own: index of the level that each candidate shares with its seed.
        live: number of attempts.
        first: filled with the index of the first level.
        beyond: filled with the index of the first level after these.

    Returns:
        True; False if a probability is too small for a float.
    """
    levels = len(index.levels)
    scores = np.empty((levels, live))
    done = _score_levels(index.levels, index.weights, factors, live, scores)
    if done:
        lower = np.empty(live)
        upper = np.empty(live)
        _bounds(scores, own, live, classes, lower, upper)
        first[:] = 0
        beyond[:] = levels
        for level in range(levels):
            of_level = scores[level]
            for i in range(live):
                first[i] += of_level[i] <= lower[i]
                beyond[i] -= of_level[i] > upper[i]
    return done


@inner_kernel
def _intervals_with_steps(index, classes, factors, own, live, first, beyond):
    """The same for probabilities of any magnitude, candidate by candidate."""
    levels, weights = index.levels, index.weights
    last = len(levels) - 1
    steps = np.empty(last + 1, np.int64)
    fractions = np.empty(last + 1)
    found = np.empty(last + 1, np.int64)
    for i in range(live):
        step = 0
        fraction = 1.0
        position = len(factors)
        for level in range(last, -1, -1):
            while position > levels[level]:
                position -= 1
                step, fraction = _renormalise(step, fraction * factors[position, i])
            steps[level], fractions[level] = _renormalise(step, fraction * weights[level])
        _classify(steps, fractions, classes, found)
        first[i], beyond[i] = _interval(found, own[i])


@inner_kernel
def _subtract_beyond(index, block, own, beyond, live):
    """Subtract the seeds that agree with each candidate up to its first level that is not plausible any more.

    Candidates go one attribute deeper together, so that their look-ups in memory are under way at the same time.
    """
    nodes, levels, slot_start, slots = index.prefixes, index.levels, index.slot_start, index.slots
    plausible, seeds, records = block.plausible, block.seed, block.records
    one, first, last = np.uint64(1), levels[0], len(levels) - 1
    zero = np.uint64(0)
    walking, node, own_slot = np.empty(live, np.int64), np.zeros(live, np.int32), np.empty(live, np.uint64)
    position, end = np.empty(live, np.int64), np.empty(live, np.int64)
    key, found, child = np.empty(live, np.uint64), np.empty(live, np.uint64), np.empty(live, np.uint64)
    some = 0
    for i in range(live):
        walking[some] = i
        position[some] = levels[np.uint64(own[i])]
        end[some] = levels[np.uint64(min(beyond[i], last))]
        node[some] = nodes[np.uint64(seeds[i]), np.uint64(own[i])]
        some += beyond[i] <= last
    while some > 0:
        for w in range(some):
            at = np.uint64(position[w])
            start = slot_start[at - np.uint64(first)]
            mask = slot_start[at - np.uint64(first) + one] - start - 1
            key[w] = np.uint64(node[w]) << np.uint64(CODE_BITS) | np.uint64(records[at, np.uint64(walking[w])])
            own_slot[w] = np.uint64(start + slot_of(key[w], mask))
            found[w] = slots[own_slot[w], zero]
            child[w] = slots[own_slot[w], one]
        left = 0
        for w in range(some):
            i, own_key, reached, there = walking[w], key[w], child[w], True
            if found[w] != own_key:
                at = np.uint64(position[w] - first)
                start = slot_start[at]
                mask = slot_start[at + one] - start - 1
                slot = np.int64(own_slot[w]) - start
                while slots[start + slot, 0] != EMPTY and slots[start + slot, 0] != own_key:
                    slot = (slot + 1) & mask
                reached, there = slots[start + slot, 1], slots[start + slot, 0] == own_key
            deeper = position[w] + 1
            if there and deeper == end[w]:
                plausible[i] -= np.int64(reached >> _COUNT_BITS)
            walking[left], node[left], position[left], end[left] = i, np.int32(reached & _NODE), deeper, end[w]
            left += there and deeper < end[w]
        some = left


@inner_kernel
def _levels_copied(levels, copied, live, first):
    """Fill in the level of each candidate's copied prefix."""
    level_of = np.zeros(levels[-1] + 1, np.int64)
    for level in range(len(levels)):
        level_of[levels[level]] = level
    for i in range(live):
        first[i] = level_of[copied[i]]


@inner_kernel
def count_plausible_of_block(index, classes, block, live, given_omega):
    """Fill in the numbers of plausible seeds of a block of candidates: `count_plausible` for each.

    Given omega, they are the seeds that share the prefix that was copied, of the length that was drawn.

    Args:
        index: the seed index's arrays.
        classes: the probability classes' arrays; not read if there is one level.
        block: the attempts, see `mechanism_one_kernels.BlockArrays`; factors are not read if there is one level.
        live: number of attempts.
        given_omega: whether a seed is plausible given the number of attributes that was drawn.
    """
    nodes, node_count, levels = index.prefixes, index.node_count, index.levels
    plausible, seeds = block.plausible, block.seed
    last = len(levels) - 1
    own = np.zeros(live, np.int64)
    first = np.zeros(live, np.int64)
    beyond = np.ones(live, np.int64)
    if given_omega:
        _levels_copied(levels, block.copied, live, first)
    elif last > 0:
        _shared_levels(levels, block.shared, live, own)
        if not _intervals(index, classes, block.factors, own, live, first, beyond):
            _intervals_with_steps(index, classes, block.factors, own, live, first, beyond)
    for i in range(live):
        plausible[i] = nodes[np.uint64(seeds[i]), np.uint64(first[i])]
    for i in range(live):
        plausible[i] = node_count[np.uint64(plausible[i])]
    if last > 0 and not given_omega:
        _subtract_beyond(index, block, own, beyond, live)


# ---- the scan


@kernel
def _classes_of(probabilities, classes, found):
    """The class of each of several probabilities."""
    for i in range(len(probabilities)):
        fraction = probabilities[i]
        steps = 0
        while 0.0 < fraction <= _STEP:
            fraction *= _UNSTEP
            steps += 1
        found[i] = probability_class(steps, fraction, classes)


def count_plausible_by_scan(
    probabilities: Callable[[Codes], NDArray[np.float64]],
    seeds: Codes,
    seed: int,
    classes: ClassArrays,
    *,
    among: Codes | None = None,
    max_plausible: int | None = None,
    block_rows: int = 65_536,
) -> int:
    """Number of seeds in the same probability class as a candidate's own seed, by scoring seeds one by one.

    Used for models whose probability depends on the whole seed, to check `count_plausible`, and to count in a sample
    of the seeds. A limit does not end the count early: the running time must not depend on the number of plausible
    seeds.

    Args:
        probabilities: the probability of the candidate given each of some seeds, shape (rows,).
        seeds: all seeds, shape (n, m).
        seed: number of the candidate's seed.
        classes: the probability classes.
        among: the seeds to score, shape (rows, m); all by default. The selection must be independent of the data, and
            across seeds (sampled_tests).
        max_plausible: the largest number to count.
        block_rows: seeds scored at a time.

    Returns:
        The number found, at most `max_plausible`.
    """
    own = np.empty(1, np.int64)
    _classes_of(probabilities(seeds[seed : seed + 1]), classes, own)
    scored = seeds if among is None else among
    plausible = 0
    for start in range(0, len(scored), block_rows):
        block = scored[start : start + block_rows]
        found = np.empty(len(block), np.int64)
        _classes_of(probabilities(block), classes, found)
        plausible += int(np.count_nonzero(found == own[0]))
    # A probability too small for a float has no class: no seed is plausible. All have been scored by then.
    if own[0] < 0:
        return 0
    return plausible if max_plausible is None else min(plausible, max_plausible)
