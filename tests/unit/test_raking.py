from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable.foundation.domain import Attribute, Codes, Domain
from deniable.foundation.errors import InvalidInput
from deniable.models.raking import Goal, goals_of_records, raked, raking_weights

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
    return raked(pool, goals, wanted, order=np.asarray([2, 0, 1]), start=start)


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
    goal = Goal(first, np.zeros(1000, np.uint16), np.asarray([[6.0], [600.0], [394.0]]))
    weights = raking_weights([goal], 1000, 500)
    rare, common, other = (float(weights[first == value].mean()) for value in range(3))
    assert other < rare < common <= 1


def test_records_are_chosen_evenly_along_the_order_of_the_attributes() -> None:
    """Without a reason to prefer any, every other record of those sorted by the first attribute of the order."""
    pool = np.stack([np.arange(100) % 10, np.arange(100)[::-1]], axis=1).astype(np.uint16)
    goal = Goal(pool[:, 0], np.zeros(100, np.uint16), np.ones((10, 1)))
    by_second = raked(pool, [goal], 50, order=np.asarray([1, 0]), start=0.5)
    assert np.array_equal(np.diff(np.sort(pool[by_second, 1])), np.full(49, 2))
    by_first = raked(pool, [goal], 50, order=np.asarray([0, 1]), start=0.5)
    assert np.array_equal(np.bincount(pool[by_first, 0]), np.full(10, 5))
    assert not np.array_equal(by_first, by_second)
