from itertools import combinations

import numpy as np
import pytest

from deniable.foundation.domain import Attribute, Codes, Domain
from deniable.foundation.errors import InvalidInput
from deniable.models.raking import raked, raking_weights

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
    chosen = pool[raked(pool, towards, 2000, domain=DOMAIN, start=0.4)]
    draw = np.random.default_rng(3)
    at_random = [distance(pool[draw.permutation(len(pool))[:2000]], towards) for _ in range(20)]
    assert distance(chosen, towards) < 0.5 * min(at_random)


def test_records_that_are_too_rare_in_the_pool_are_all_chosen() -> None:
    pool, towards = people("pool", 2600, shift=-0.3), people("model", 60_000)
    chosen = pool[raked(pool, towards, 1500, domain=DOMAIN, start=0.4)]
    assert distance(chosen, towards) < 0.25 * distance(pool, towards)


def test_records_are_chosen_once_whole_and_as_many_as_wanted() -> None:
    pool, towards = people("pool", 999), people("model", 5000)
    for wanted, start in ((1, 0.0), (500, 0.999), (998, 0.5), (999, 0.2)):
        chosen = raked(pool, towards, wanted, domain=DOMAIN, start=start)
        assert len(set(chosen.tolist())) == wanted
        assert chosen.tolist() == sorted(chosen.tolist())
        assert 0 <= chosen[0] <= chosen[-1] < len(pool)


def test_weights_are_at_most_one_and_sum_to_the_number_wanted() -> None:
    weights = raking_weights(people("pool", 999), people("model", 5000), 700, domain=DOMAIN)
    assert 0 < weights.min() <= weights.max() <= 1
    assert weights.sum() == pytest.approx(700, rel=1e-6)


def test_more_records_than_there_are_cannot_be_chosen() -> None:
    pool = people("pool", 10)
    with pytest.raises(InvalidInput, match="at least the 11 records wanted"):
        raked(pool, pool, 11, domain=DOMAIN, start=0.0)
