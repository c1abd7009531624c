"""Vectors of eight numbers hold what arrays of eight hold, up to the largest numbers that kernels have."""

from typing import Any

import numba
import numpy as np
import pytest

from deniable.models.loglinear import vectors
from deniable.models.loglinear.vectors import LANES

RNG = np.random.default_rng(11)
ENDS = [0, 1, (1 << 30) - 1, 1 << 30, (1 << 31) - 1, 1 << 31, (1 << 32) - 2, (1 << 32) - 1]
UNSIGNED = np.concatenate([np.asarray(ENDS, np.uint32), RNG.integers(0, 1 << 32, 120, np.uint32)])
SIGNED = UNSIGNED.view(np.int32)


@numba.njit
def _sums(lanes: int, tables: Any, entry: int, starts: Any, record: int, groups: int, room: Any, best: Any) -> None:
    stride = np.int64(starts.shape[1])
    flat = starts.reshape(-1)
    if lanes == 2:
        vectors.store(best, 0, vectors.add_rows_of_two(tables, entry, flat, record, stride, groups, room, 16))
    elif lanes == 4:
        vectors.store(best, 0, vectors.add_rows_of_four(tables, entry, flat, record, stride, groups, room, 16))
    else:
        vectors.store(best, 0, vectors.add_rows(tables, entry, flat, record, stride, groups, room, 16))


@pytest.mark.parametrize("groups", [1, 2, 5])
@pytest.mark.parametrize("lanes", [2, 4, 8])
def test_rows_that_lie_anywhere_are_added_entry_by_entry(lanes: int, groups: int) -> None:
    tables = RNG.integers(-(1 << 24), 1 << 24, 4000).astype(np.int32)
    starts = RNG.integers(0, 3900, (groups + 1, 3 * LANES)).astype(np.int32)
    room, best = np.full(100, 7, np.int32), np.zeros(LANES, np.int32)
    _sums(lanes, tables, 8, starts, 16, groups, room, best)
    rows = tables[8 + starts[:groups, 16:24, None] + np.arange(lanes)].sum(axis=0)
    assert np.array_equal(room[16 : 16 + lanes * LANES].reshape(lanes, LANES), rows.T)
    assert np.array_equal(best, rows.max(axis=1))
    assert (room[:16] == 7).all()
    assert (room[16 + lanes * LANES :] == 7).all()


@numba.njit
def _products(lanes: int, tables: Any, starts: Any, groups: int, room: Any, totals: Any) -> None:
    stride, flat, none = np.int64(starts.shape[1]), starts.reshape(-1), vectors.eight(np.float32(1.0))
    if lanes == 2:
        vectors.store(totals, 0, vectors.multiply_rows_of_two(tables, 8, flat, 16, stride, groups, room, 16, none))
    elif lanes == 4:
        vectors.store(totals, 0, vectors.multiply_rows_of_four(tables, 8, flat, 16, stride, groups, room, 16, none))
    else:
        vectors.store(totals, 0, vectors.multiply_rows(tables, 8, flat, 16, stride, groups, room, 16, none))


@pytest.mark.parametrize("groups", [1, 2, 5])
@pytest.mark.parametrize("lanes", [2, 4, 8])
def test_products_of_rows_are_summed_on(lanes: int, groups: int) -> None:
    # Products and sums of these are exact.
    tables = RNG.integers(1, 8, 4000).astype(np.float32)
    starts = RNG.integers(0, 3900, (groups + 1, 3 * LANES)).astype(np.int32)
    room, totals = np.full(100, 7, np.float32), np.zeros(LANES, np.float32)
    _products(lanes, tables, starts, groups, room, totals)
    rows = tables[8 + starts[:groups, 16:24, None] + np.arange(lanes)].prod(axis=0)
    assert np.array_equal(room[16 : 16 + lanes * LANES].reshape(lanes, LANES), 1 + rows.cumsum(axis=1).T)
    assert np.array_equal(totals, 1 + rows.sum(axis=1))
    assert (room[:16] == 7).all()
    assert (room[16 + lanes * LANES :] == 7).all()


@numba.njit
def _nearly_within(numbers: Any, width: float, limit: float, slack: float) -> int:
    return vectors.count_nearly_within(numbers, 0, np.float32(width), np.float32(limit), np.float32(slack))


def test_a_limit_near_to_a_share_is_doubtful() -> None:
    numbers = np.asarray([0.125, 0.25, 0.25, 0.5, 1, 0.375, 0.5, 1], np.float32)
    assert _nearly_within(numbers, 8, 0.5, 0.25) == 0
    assert _nearly_within(numbers, 8, 1.5, 0.25) == 1
    assert _nearly_within(numbers, 8, 1.25, 0.25) == -1
    assert _nearly_within(numbers, 8, 1.75, 0.25) == -1
    assert _nearly_within(numbers, 8, 9, 0.25) == LANES
    # What is beyond the first is not looked at, nor is anything if the slack is negative.
    assert _nearly_within(numbers, 8, 3.1, 0.25) == 3
    assert _nearly_within(numbers, 8, 1, -1) == 1


@numba.njit
def _scramble(halves: Any, place: int, flips: int) -> None:
    vectors.scramble(halves, place, flips)


def test_places_are_scrambled_by_the_bits_of_the_first_half_of_each_part() -> None:
    halves = RNG.integers(0, 1 << 16, 64).astype(np.uint16)
    found, flips = halves.copy(), int(RNG.integers(0, 1 << 16))
    _scramble(found, 32, flips)
    assert np.array_equal(np.delete(found, np.arange(32, 48)), np.delete(halves, np.arange(32, 48)))
    for place in range(32, 48):
        bits = place ^ (flips & ~7)
        for bit in (1, 2, 4):
            bits ^= int(halves[place & -2 * bit]) & bit
        assert found[place] == int(f"{bits:016b}"[::-1], 2)


@numba.njit
def _each(own: Any, other: Any, table: Any, found: Any) -> None:
    for i in range(0, len(own), LANES):
        first, second = vectors.load(own, i), vectors.load(other, i)
        vectors.store(found[0], i, vectors.plus(first, second))
        vectors.store(found[1], i, vectors.minus(first, second))
        vectors.store(found[2], i, vectors.larger(first, second))
        vectors.store(found[3], i, vectors.if_at_most(first, second, first, vectors.eight(np.int32(-5))))
        vectors.store(found[4], i, vectors.looked_up(table, first, 4095))
        vectors.store(found[5], i, vectors.shifted(first, second, 12, np.int32(3)))
        vectors.store(found[6], i, vectors.share(first, second))


def test_each_operation_is_that_of_whole_numbers() -> None:
    other = np.concatenate([SIGNED[::-1][:64], SIGNED[:64] >> 15])
    table, found = RNG.integers(-9, 9, 4096).astype(np.int32), np.zeros((7, len(SIGNED)), np.int32)
    _each(SIGNED, other, table, found)
    own, by = UNSIGNED.astype(np.uint64), other.view(np.uint32).astype(np.uint64)
    assert np.array_equal(found[0], SIGNED + other)
    assert np.array_equal(found[1], SIGNED - other)
    assert np.array_equal(found[2], np.maximum(SIGNED, other))
    assert np.array_equal(found[3], np.where(other >= SIGNED, SIGNED, -5))
    assert np.array_equal(found[4], table[SIGNED & 4095])
    assert np.array_equal(found[5].view(np.uint32), own >> np.minimum((by >> np.uint64(12)) + np.uint64(3), 31))
    assert np.array_equal(found[6].view(np.uint32), (own * by) >> np.uint64(32))


@numba.njit
def _counts(numbers: Any, words: Any, found: Any) -> None:
    for i in range(len(found)):
        for w in range(len(words)):
            found[i, w] = vectors.count_below(numbers, i, words[w])


def test_numbers_below_a_word_are_counted_without_signs() -> None:
    found = np.zeros((len(UNSIGNED) - LANES, len(UNSIGNED)), np.int64)
    _counts(UNSIGNED, UNSIGNED, found)
    windows = np.lib.stride_tricks.sliding_window_view(UNSIGNED, LANES)[: len(found)]
    assert np.array_equal(found, (windows[:, None, :] < UNSIGNED[None, :, None]).sum(axis=2))


@numba.njit
def _within(numbers: Any, widths: Any, limits: Any, found: Any) -> None:
    for i in range(len(widths)):
        found[i] = vectors.count_within(numbers, i, widths[i], limits[i])


def test_values_are_counted_up_to_the_first_whose_share_exceeds_a_limit() -> None:
    # Sums may fall at the end of a bucket, beyond which nothing counts.
    numbers = np.sort(RNG.integers(0, (1 << 30) + 1, (40, LANES)), axis=1).ravel().astype(np.int32)
    widths = np.resize(UNSIGNED, len(numbers) - LANES)
    limits = (RNG.random(len(widths)) * (widths + 1.0)).astype(np.uint32)
    limits[::3] = np.minimum(widths[::3], (numbers[: len(widths) : 3] * (widths[::3] + np.int64(1))) >> 30)
    found = np.zeros(len(widths), np.int64)
    _within(numbers, widths, limits, found)
    windows = np.lib.stride_tricks.sliding_window_view(numbers, LANES)[: len(widths)].astype(np.int64)
    beyond = (windows * (widths[:, None] + np.int64(1))) >> 30 > limits[:, None]
    assert np.array_equal(found, np.where(beyond.any(axis=1), beyond.argmax(axis=1), LANES))
    assert set(found.tolist()) == set(range(LANES + 1))


def test_rows_are_as_wide_as_the_vectors_that_read_them() -> None:
    assert [vectors.row_width(size) for size in (1, 2, 3, 4, 5, 8, 9, 24)] == [2, 2, 4, 4, 8, 8, 16, 24]
