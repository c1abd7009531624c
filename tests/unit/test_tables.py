"""Contingency counts."""

import numpy as np

from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.tables import FamilyCounts, PairCounts, bucketize, configuration_count

DOMAIN = Domain(
    (
        Attribute("a", (10, 20, 30, 40), "numeric", (0, 0, 1, 1)),
        Attribute("b", ("x", "y"), "nominal", (0, 1)),
        Attribute("c", ("p", "q", "r"), "nominal", (0, 1, 2)),
    )
)
CODES = np.array([[0, 0, 2], [1, 0, 2], [3, 1, 0], [3, 1, 1], [2, 0, 0]], np.uint16)


def counted(*chunks: np.ndarray) -> PairCounts:
    counts = PairCounts(DOMAIN)
    for chunk in chunks:
        counts.add(chunk)
    return counts


def test_counts_of_chunks_add_up_to_the_counts_of_the_whole() -> None:
    whole, parts = counted(CODES), counted(CODES[:2], CODES[2:])
    merged = counted(CODES[:3])
    merged.merge(counted(CODES[3:]))
    for other in (parts, merged):
        assert other.rows == whole.rows == 5
        for i in range(3):
            assert np.array_equal(other.one(i), whole.one(i))
            for j in range(i + 1, 3):
                assert np.array_equal(other.pair(i, j), whole.pair(i, j))


def test_one_way_and_two_way_counts_are_those_of_the_rows() -> None:
    counts = counted(CODES)
    assert counts.one(0).tolist() == [1, 1, 1, 2]
    assert counts.one(2).tolist() == [2, 1, 2]
    assert counts.pair(0, 1).tolist() == [[1, 0], [1, 0], [1, 0], [0, 2]]
    assert np.array_equal(counts.pair(1, 0), counts.pair(0, 1).T)
    assert counts.pair(1, 2).tolist() == [[1, 0, 2], [1, 1, 0]]


def test_bucketizing_adds_the_values_of_a_bucket_along_one_axis() -> None:
    table = counted(CODES).pair(0, 2)
    coarse = bucketize(table, DOMAIN.attributes[0].bucket_of, 0)
    assert np.array_equal(coarse, [table[0] + table[1], table[2] + table[3]])
    assert np.array_equal(bucketize(table.T, DOMAIN.attributes[0].bucket_of, 1), coarse.T)


def test_family_counts_follow_the_bucketized_parents() -> None:
    counts = FamilyCounts(DOMAIN, ((), (0,), (0, 1)))
    counts.add(CODES[:3])
    more = FamilyCounts(DOMAIN, counts.parents)
    more.add(CODES[3:])
    counts.merge(more)
    assert counts.tables[0].tolist() == [[1, 1, 1, 2]]
    assert counts.tables[1].tolist() == [[2, 0], [1, 2]]
    assert configuration_count(DOMAIN, (0, 1)) == 4
    # configurations: (bucket of a, b), b running fastest
    assert counts.tables[2].tolist() == [[0, 0, 2], [0, 0, 0], [1, 0, 0], [1, 1, 0]]
