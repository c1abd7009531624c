"""Seeds' prefixes that are counted in shares and joined give the index of all seeds, array by array."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.foundation.domain import Codes
from deniable.plausible_deniability.plausible_seeds import IndexArrays, SeedIndex, levels_of
from deniable.plausible_deniability.seed_prefixes import SeedTally

SIZES = (2, 5, 3, 2, 4)
ORDER = (3, 0, 4, 1, 2)
OMEGAS: dict[str, dict[int, int]] = {"one": {2: 1}, "several": {1: 1, 3: 2, 5: 1}, "all": {5: 1}, "none": {0: 1}}


def drawn(seed: int, rows: int) -> Codes:
    draw = np.random.default_rng(seed)
    return np.stack([draw.integers(0, size, rows) for size in SIZES], axis=1).astype(np.uint16)


def by_shares(codes: Codes, ends: list[int], omega: dict[int, int]) -> IndexArrays:
    """Count each share by itself, in two chunks, store what was counted, and join it."""
    levels = levels_of(omega, len(SIZES))
    whole = SeedTally(ORDER, levels)
    for start, end in pairwise(ends):
        share, stored = SeedTally(ORDER, levels), SeedTally(ORDER, levels)
        for chunk in np.array_split(codes[start:end], 2):
            share.add(chunk)
        stored.restore(dict(share.arrays))
        whole.merge(stored)
    return SeedIndex.of(whole.prefixes, omega).arrays


@pytest.mark.parametrize("omega", OMEGAS.values(), ids=OMEGAS)
@given(seed=st.integers(0, 99), cuts=st.lists(st.integers(1, 59), max_size=5))
def test_whatever_the_shares_the_index_is_the_same(omega: dict[int, int], seed: int, cuts: list[int]) -> None:
    codes = drawn(seed, 60)
    whole = SeedIndex.build(np.ascontiguousarray(codes[:, ORDER]), omega).arrays
    shared = by_shares(codes, [0, *sorted(set(cuts)), 60], omega)
    for name, expected, found in zip(IndexArrays._fields, whole, shared, strict=True):
        assert expected.dtype == found.dtype, name
        np.testing.assert_array_equal(expected, found, err_msg=name)


@pytest.mark.parametrize("omega", OMEGAS.values(), ids=OMEGAS)
def test_a_stored_index_is_read_back(omega: dict[int, int]) -> None:
    index = SeedIndex.build(np.ascontiguousarray(drawn(3, 60)[:, ORDER]), omega)
    assert [array.ndim for array in index.stored] == [2, 2, *[1] * 6]
    for expected, found in zip(index.arrays, SeedIndex.restored(index.stored).arrays, strict=True):
        assert expected.dtype == found.dtype
        np.testing.assert_array_equal(expected, found)


def test_shares_in_another_order_give_another_index() -> None:
    codes, omega = drawn(1, 60), OMEGAS["several"]
    turned = np.concatenate([codes[30:], codes[:30]])
    one, other = by_shares(codes, [0, 30, 60], omega), by_shares(turned, [0, 30, 60], omega)
    assert not np.array_equal(one.prefixes, other.prefixes)
    # The same prefixes are shared by as many seeds, whatever they are numbered.
    assert sorted(one.node_count.tolist()) == sorted(other.node_count.tolist())


def test_a_prefix_is_counted_as_often_as_seeds_have_it() -> None:
    codes, omega = drawn(2, 60), OMEGAS["several"]
    index = by_shares(codes, [0, 7, 31, 60], omega)
    for level, length in enumerate(index.levels.tolist()):
        prefixes = index.seeds[:, :length]
        expected = (prefixes[:, None] == prefixes[None]).all(axis=2).sum(axis=1)
        np.testing.assert_array_equal(index.node_count[index.prefixes[:, level]], expected)
