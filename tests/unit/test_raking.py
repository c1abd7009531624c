from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable.foundation.domain import Attribute, Codes, Domain
from deniable.foundation.errors import InvalidInput
from deniable.models.raking import Goals, _exchanged, goals_of_records, no_goals, raked, raking_weights, words_of_raking

SIZES = (3, 4, 40)
DOMAIN = Domain(
    tuple(
        Attribute(name, tuple(range(size)), "nominal", tuple(range(size)))
        for name, size in zip("abc", SIZES, strict=True)
    )
)


def people(name: str, rows: int, *, shift: float = 0.0) -> Codes:
    """Records whose attributes depend on each other."""
    draw = np.random.default_rng(list(name.encode()))
    hidden = draw.normal(size=rows) + shift
    columns = [
        np.clip(np.floor((hidden + draw.normal(size=rows) + 2) * size / 4), 0, size - 1).astype(np.uint16)
        for size in SIZES
    ]
    return np.stack(columns, axis=1)


def chosen_of(pool: Codes, towards: Codes, wanted: int, start: float) -> NDArray[np.int64]:
    """Numbers of the records that are chosen by raking to the tables of others."""
    goals = goals_of_records(pool, towards, DOMAIN)
    return raked(pool, goals, wanted, order=np.asarray([2, 0, 1]), words=words_of(wanted, start))


def words_of(wanted: int, start: float, *, unchanged: bool = False) -> NDArray[np.uint32]:
    """Where systematic sampling starts, and random trials; with `unchanged`, trials of one record left out alone."""
    words = np.random.default_rng(int(1000 * start)).integers(0, 2**32, words_of_raking(wanted), dtype=np.uint32)
    words[0] = int(start * 2**32)
    return words[:1] if unchanged else words


def distance(records: Codes, towards: Codes) -> float:
    """Mean total variation distance of the two-way tables of the first two attributes and of groups of the third."""
    found = []
    for i, j in combinations(range(3), 2):
        tables = [
            np.histogram2d(
                codes[:, i] // (10 if i == 2 else 1),
                codes[:, j] // (10 if j == 2 else 1),
                bins=(4, 4),
                range=((0, 4), (0, 4)),
            )[0]
            / len(codes)
            for codes in (records, towards)
        ]
        found.append(0.5 * float(np.abs(tables[0] - tables[1]).sum()))
    return float(np.mean(found))


def test_chosen_records_are_nearer_to_the_model_than_any_random_choice() -> None:
    pool, towards = people("pool", 2600), people("model", 60_000)
    chosen = pool[chosen_of(pool, towards, 2000, 0.4)]
    draw = np.random.default_rng(3)
    at_random = [distance(pool[draw.permutation(len(pool))[:2000]], towards) for _ in range(20)]
    assert distance(chosen, towards) < 0.5 * min(at_random)


def test_records_that_are_too_rare_in_the_pool_are_all_chosen() -> None:
    pool, towards = people("pool", 2600, shift=-0.3), people("model", 60_000)
    chosen = pool[chosen_of(pool, towards, 1500, 0.4)]
    assert distance(chosen, towards) < 0.25 * distance(pool, towards)


def test_records_are_chosen_once_whole_and_as_many_as_wanted() -> None:
    pool, towards = people("pool", 999), people("model", 5000)
    for wanted, start in ((1, 0.0), (500, 0.999), (998, 0.5), (999, 0.2)):
        chosen = chosen_of(pool, towards, wanted, start)
        assert len(set(chosen.tolist())) == wanted
        assert chosen.tolist() == sorted(chosen.tolist())
        assert 0 <= chosen[0] <= chosen[-1] < len(pool)


def test_weights_are_at_most_one_and_sum_to_the_number_wanted() -> None:
    goals = goals_of_records(people("pool", 999), people("model", 5000), DOMAIN)
    weights = raking_weights(goals, 999, 700)
    assert 0 < weights.min() <= weights.max() <= 1
    assert weights.sum() == pytest.approx(700, rel=1e-6)


def test_more_records_than_there_are_cannot_be_chosen() -> None:
    pool = people("pool", 10)
    with pytest.raises(InvalidInput, match="at least the 11 records wanted"):
        chosen_of(pool, pool, 11, 0.0)


def test_a_rare_cell_moves_the_weights_less_than_a_common_one() -> None:
    """Both cells should be twice as frequent; of three records more or less, half may be chance."""
    first = np.repeat(np.asarray([0, 1, 2], np.uint16), [3, 300, 697])
    goals = Goals(np.stack([first, np.zeros(1000, np.uint16)]), [(0, 1)], [np.asarray([[6.0], [600.0], [394.0]])])
    weights = raking_weights(goals, 1000, 500)
    rare, common, other = (float(weights[first == value].mean()) for value in range(3))
    assert other < rare < common <= 1


def test_records_are_chosen_evenly_along_the_order_of_the_attributes() -> None:
    """Without a reason to prefer any, every other record of those sorted by the first attribute of the order."""
    pool = np.stack([np.arange(100) % 10, np.arange(100)[::-1]], axis=1).astype(np.uint16)
    goals = Goals(np.stack([pool[:, 0], np.zeros(100, np.uint16)]), [(0, 1)], [np.ones((10, 1))])

    def chosen_in(order: list[int]) -> NDArray[np.int64]:
        return raked(pool, goals, 50, order=np.asarray(order), words=words_of(50, 0.5, unchanged=True))

    by_second = chosen_in([1, 0])
    assert np.array_equal(np.diff(np.sort(pool[by_second, 1])), np.full(49, 2))
    by_first = chosen_in([0, 1])
    assert np.array_equal(np.bincount(pool[by_first, 0]), np.full(10, 5))
    assert not np.array_equal(by_first, by_second)


def off(goals: Goals, chosen: NDArray[np.int64]) -> float:
    """The sum over cells of (count - goal)^2 / (goal + 3), by NumPy."""
    total = 0.0
    for (i, j), shares, counts in zip(goals.pairs, goals.shares, goals.counts(len(chosen)), strict=True):
        cells = goals.codes[i][chosen].astype(np.int64) * shares.shape[1] + goals.codes[j][chosen]
        have = np.bincount(cells, minlength=shares.size)
        total += float(((have - counts) ** 2 / (counts + 3)).sum())
    return total


def test_records_change_places_exactly_where_the_tables_come_nearer_to_the_goals() -> None:
    """Trial after trial by hand: a chosen record and one left out change places if the sum over cells falls."""
    pool, towards, wanted = people("pool", 60), people("model", 5000), 40
    goals, order = goals_of_records(pool, towards, DOMAIN), np.asarray([2, 0, 1])
    words = words_of(wanted, 0.4)
    chosen = raked(pool, goals, wanted, order=order, words=words[:1])
    places = np.lexsort(pool[:, order[::-1]].T)
    chosen = places[np.isin(places, chosen)]
    left = np.setdiff1d(places, chosen)
    changed = 0
    for place, other in words[1:].reshape(-1, 2).astype(np.int64):
        one, another = place * len(chosen) >> 32, other * len(left) >> 32
        tried = chosen.copy()
        tried[one] = left[another]
        if off(goals, tried) < off(goals, chosen) - 1e-9:
            chosen[one], left[another] = left[another], chosen[one]
            changed += 1
    assert changed > 5
    assert raked(pool, goals, wanted, order=order, words=words).tolist() == sorted(chosen.tolist())


def test_values_that_share_a_cell_leave_in_equal_numbers() -> None:
    """Cells are of buckets: which value of a bucket leaves must not depend on its place in the order."""
    values = np.repeat(np.arange(26), 500)
    goals = Goals(np.stack([values // 13, values % 1]).astype(np.uint16), [(0, 1)], [np.asarray([[10.0], [11.0]])])
    # All of the first bucket are chosen and half of the second, in the order of their values, so that many must leave.
    chosen = np.concatenate([np.flatnonzero(values < 13), np.flatnonzero(values >= 13)[::2]])
    left = np.setdiff1d(np.arange(len(values)), chosen)
    words = words_of(len(chosen), 0.3)[1:]
    found = np.bincount(values[_exchanged(goals, chosen, left, words)], minlength=26)
    assert abs(int(found[:13].sum()) - len(chosen) * 10 // 21) < 50
    for own in (found[:13], found[13:]):
        assert np.abs(own - own.mean()).max() < 5 * np.sqrt(own.mean())


def test_without_tables_records_are_chosen_by_systematic_sampling_alone() -> None:
    pool = people("pool", 130)
    found = raked(pool, no_goals(), 100, order=np.asarray([0, 1, 2]), words=words_of(100, 0.2))
    assert len(set(found.tolist())) == 100
