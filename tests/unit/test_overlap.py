"""A table made from another is recognised, however it was shortened, shuffled or recoded; other people's is not."""

import numpy as np
import pytest

from deniable.evaluation.overlap import RecordCounts
from deniable.foundation.domain import Codes

ROWS = 6000

DOMAINS = {"rare records": [40, 12, 9, 7, 5, 4, 3, 2], "frequent records": [20, 5, 4, 3, 2]}
"""Numbers of values: nearly every record is its own, or about three people have each."""


def people(sizes: list[int], rows: int, number: int, skew: float = 1.0) -> Codes:
    """Draw people of one population, in which attributes depend on their predecessor."""
    draw = np.random.default_rng([number, 35])
    columns = [draw.integers(0, sizes[0], rows)]
    for size in sizes[1:]:
        weights = 1 / np.arange(1, size + 1) ** skew
        drawn = draw.choice(size, rows, p=weights / weights.sum())
        follows = draw.random(rows) < 0.3
        columns.append(np.where(follows, columns[-1] % size, drawn))
    return np.stack(columns, axis=1).astype(np.uint8)


def counted(codes: Codes, *, chunk: int = 1000) -> RecordCounts:
    found = RecordCounts()
    for start in range(0, len(codes), chunk):
        found.add(codes[start : start + chunk])
    return found


def recoded(codes: Codes, column: int) -> Codes:
    draw = np.random.default_rng(7)
    changed = codes.copy()
    changed[:, column] = draw.permutation(changed[:, column])
    return changed


COPIES = {
    "itself": lambda codes: codes,
    "less one row": lambda codes: codes[1:],
    "less a tenth": lambda codes: codes[len(codes) // 10 :],
    "less half": lambda codes: codes[::2],
    "shuffled": lambda codes: np.random.default_rng(1).permutation(codes),
    "with a changed column": lambda codes: recoded(codes, 1),
    "with one altered record": lambda codes: np.concatenate([codes[:-1], codes[:1]]),
    "less half, shuffled, with a changed column": lambda codes: np.random.default_rng(1).permutation(
        recoded(codes[::2], 2)
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("how", COPIES)
def test_a_table_made_from_another_is_recognised(domain: str, how: str) -> None:
    codes = people(DOMAINS[domain], ROWS, 1)
    copy = COPIES[how](codes)
    assert counted(copy).is_made_from(counted(codes))
    assert counted(codes, chunk=77).is_made_from(counted(copy))


@pytest.mark.slow
def test_a_few_copied_people_among_others_are_recognised_if_records_are_rare() -> None:
    sizes = DOMAINS["rare records"]
    source, others = people(sizes, ROWS, 1), people(sizes, ROWS, 2)
    for share in (8, 4, 2):
        mixed = np.concatenate([source[: ROWS // share], others])
        assert counted(mixed).is_made_from(counted(source))


@pytest.mark.slow
@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("rows", [ROWS, ROWS // 2, ROWS // 20, 3 * ROWS])
def test_other_people_of_the_same_population_are_not_a_copy(domain: str, rows: int) -> None:
    source = counted(people(DOMAINS[domain], ROWS, 1))
    for number in range(2, 5):
        assert not counted(people(DOMAINS[domain], rows, number)).is_made_from(source)


@pytest.mark.parametrize("domain", DOMAINS)
def test_people_of_another_population_are_not_a_copy(domain: str) -> None:
    source = counted(people(DOMAINS[domain], ROWS, 1))
    assert not counted(people(DOMAINS[domain], ROWS, 2, skew=2)).is_made_from(source)


def test_records_drawn_anew_from_the_counts_are_an_earlier_release_and_not_a_copy() -> None:
    codes = people(DOMAINS["frequent records"], 50_000, 1)
    again = np.random.default_rng(3).choice(codes, len(codes))
    assert not counted(again).is_made_from(counted(codes))


@pytest.mark.slow
def test_it_holds_in_bounded_memory_where_only_some_records_are_kept() -> None:
    sizes = [200, 100, 50, 40, 30]
    codes = people(sizes, 150_000, 1)
    whole = counted(codes, chunk=50_000)
    assert whole.counted[0].halvings > 0
    assert counted(codes[::3], chunk=50_000).is_made_from(whole)
    assert counted(recoded(codes, 0), chunk=50_000).is_made_from(whole)
    assert not counted(people(sizes, 150_000, 2), chunk=50_000).is_made_from(whole)


def test_an_empty_table_is_made_from_nothing() -> None:
    codes = people([3, 2], 5, 1)
    assert not RecordCounts().is_made_from(counted(codes))
    assert not counted(codes).is_made_from(RecordCounts())
