from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from deniable.domain import Attribute, Domain
from deniable.errors import InvalidInput
from deniable.keys import ReleaseKey
from deniable.loglinear.buckets import bucketed
from deniable.loglinear.counting import Partition, RowCounter, count
from deniable.loglinear.denoising import denoised, posterior_mean
from deniable.loglinear.fitting import raked
from deniable.loglinear.gluing import estimate_margins, estimate_total, simplex
from deniable.loglinear.learning import divided
from deniable.loglinear.plan import LoglinearRecipe
from deniable.loglinear.releases import NoisyTable, Releases, averaged
from deniable.loglinear.rounding import WITHIN, within_buckets

DRAW = np.random.default_rng(list(b"log-linear learning"))


def table(values: Any, deviation: float = 1.0, attributes: tuple[int, ...] = (0,), shares: int = 1) -> NoisyTable:
    return NoisyTable(attributes, np.asarray(values, float), shares, np.asarray(deviation))


def attribute(size: int, kind: Any = "nominal") -> Attribute:
    return Attribute("a", tuple(range(size)), kind, (0,) * size)


def test_chunks_add_up_to_the_counts_of_the_whole() -> None:
    codes = DRAW.integers((3, 4, 5), size=(1000, 3)).astype(np.uint16)
    partition = Partition(tuple(np.asarray(b, np.uint16) for b in ([0, 1, 1], [0, 1, 2, 3], [0, 0, 1, 1, 2])))
    wanted = [(0,), (1, 2), (0, 1, 2)]
    whole = RowCounter(lambda: [codes]).tables(partition, wanted)
    chunks = RowCounter(lambda: [codes[:1], codes[1:400], codes[400:]]).tables(partition, wanted)
    coarse = np.stack([partition.buckets[i][codes[:, i]] for i in range(3)])
    for attributes, one, other in zip(wanted, whole, chunks, strict=True):
        expected, _ = np.histogramdd(
            coarse[list(attributes)].T, [np.arange(s + 1) for s in partition.shape(attributes)]
        )
        assert np.array_equal(one, expected)
        assert np.array_equal(one, other)
    assert np.array_equal(count(coarse.astype(np.int32), (2, 4, 3)), whole[2])


def test_denoising_is_nearer_to_the_truth_than_what_was_released() -> None:
    rows, columns = DRAW.dirichlet(np.ones(12)), DRAW.dirichlet(np.ones(9))
    truth = 20_000 * np.outer(rows, columns) * (DRAW.random((12, 9)) < 0.4)
    expected = 20_000 * np.outer(rows, columns) * truth.sum() / 20_000
    noisy = truth + 40 * DRAW.standard_normal(truth.shape)
    for laplace in (False, True):
        found = denoised(noisy, expected, 40.0, np.asarray([False, False]), laplace=laplace)
        assert (found >= 0).all()
        assert np.abs(found - truth).sum() < 0.7 * np.abs(noisy - truth).sum()


def test_neighbours_learn_from_each_other_along_an_ordered_axis() -> None:
    truth = 300 * np.exp(-(((np.arange(40) - 15) / 6) ** 2))[:, None] * np.asarray([0.3, 0.7])
    expected = np.full_like(truth, truth.mean())
    noisy = truth + 40 * DRAW.standard_normal(truth.shape)
    errors = [
        np.abs(denoised(noisy, expected, 40.0, np.asarray([ordered, False]), laplace=False) - truth).sum()
        for ordered in (True, False)
    ]
    assert errors[0] < 0.9 * errors[1]


def test_without_noise_the_counts_are_what_was_released() -> None:
    noisy = np.asarray([100.0, 3.0, 0.0, 57.0])
    found = posterior_mean(noisy, np.full(4, 40.0), 1e-3, laplace=False)
    assert found == pytest.approx(noisy, abs=1e-2)


def test_with_nothing_but_noise_the_counts_are_about_what_is_expected() -> None:
    noisy = 10_000 * DRAW.standard_normal(50)
    found = posterior_mean(noisy, np.full(50, 20.0), 10_000.0, laplace=False)
    assert (found < 100).all()


def test_buckets_of_numbers_hold_enough_and_frequent_values_stand_alone() -> None:
    counts = np.asarray([5, 5, 5, 900, 5, 5, 300, 310, 1, 1, 1, 1], float)
    own = bucketed(attribute(12, "numeric"), table(counts, 0.1), counts.sum(), 100.0, 1e4, laplace=False)
    assert own.of_value.tolist()[3] != own.of_value.tolist()[6] != own.of_value.tolist()[7]
    assert (np.diff(own.of_value.astype(int)) >= 0).all()
    assert own.of_value[11] == own.size - 1
    assert own.counts == pytest.approx(counts, abs=2)


def test_rare_values_share_a_bucket_where_there_are_many() -> None:
    counts = np.concatenate([np.full(10, 1000.0), np.zeros(90)])
    own = bucketed(attribute(100), table(counts, 1.0), counts.sum(), 50.0, 1e4, laplace=False)
    assert own.size == 11
    assert len(set(own.of_value[10:].tolist())) == 1
    wide = np.full(3000, 100.0)
    assert bucketed(attribute(3000), table(wide, 1.0), wide.sum(), 1.0, 1e6, laplace=False).size == 128
    few = np.asarray([0.0] * 20 + [1000.0])
    assert bucketed(attribute(21), table(few, 1.0), 1000.0, 50.0, 1e4, laplace=False).size == 21


def test_a_projection_has_the_sum_and_nothing_negative() -> None:
    values = np.asarray([5.0, -3.0, 2.0, 0.5])
    found = simplex(values, 4.0)
    assert found.sum() == pytest.approx(4)
    assert found.tolist() == pytest.approx([3.5, 0, 0.5, 0])


def test_margins_weigh_tables_by_their_precision() -> None:
    pair = table([[10.0, 30.0], [20.0, 40.0]], 1e-3, (0, 1))
    margins = estimate_margins([table([500.0, 500.0], 100.0), pair], (2, 2), 100.0)
    assert margins[0] == pytest.approx([40, 60], abs=0.1)
    assert margins[1] == pytest.approx([30, 70], abs=0.1)
    assert estimate_total([table([500.0, 500.0], 100.0), pair]) == pytest.approx(100, abs=0.1)


def test_a_raked_table_has_its_margins() -> None:
    margins = [np.asarray([30.0, 70.0]), np.asarray([20.0, 50.0, 30.0])]
    found = raked(DRAW.random((2, 3)), margins)
    assert found.sum(axis=1) == pytest.approx(margins[0], rel=1e-6)
    assert found.sum(axis=0) == pytest.approx(margins[1], rel=1e-6)


def test_shares_are_divided_without_a_rest() -> None:
    assert divided(10, [1.0, 1.0, 8.0]) == [2, 2, 6]
    assert divided(3, [1.0, 100.0, 1.0]) == [1, 1, 1]
    assert sum(divided(661, DRAW.random(37).tolist())) == 661


def test_two_releases_of_a_table_are_averaged_by_precision() -> None:
    both = averaged(table([0.0], 1.0, shares=3), table([10.0], 2.0, shares=5))
    assert both.values[0] == pytest.approx(2.0)
    assert float(both.deviation) == pytest.approx(0.8**0.5)
    assert both.shares == 8


def test_shares_within_buckets_add_up() -> None:
    bucket = np.asarray([0, 1, 0, 2, 1, 0], np.uint16)
    counts = np.asarray([[1.0, 0.0, 2.0, 5.0, 0.0, 1.0], [-1.0, 3.0, 0.0, 0.1, 1.0, 7.0]])
    found = within_buckets(bucket, counts)
    assert [found[:, bucket == b].sum(axis=1).tolist() for b in range(3)] == [[WITHIN] * 2] * 3
    assert found[0, [2, 1]].tolist() == [WITHIN // 2, WITHIN // 2]
    assert found[1].tolist() == [0, 3 * WITHIN // 4, 0, WITHIN, WITHIN // 4, WITHIN]


def test_doors_refuse_what_was_not_planned() -> None:
    domain = Domain(tuple(Attribute(f"a{i}", (0, 1), "nominal", (0, 0)) for i in range(3)), target="a0")
    plan = LoglinearRecipe(Fraction(1), Fraction(0)).calibrate(domain)
    doors = Releases(plan, partial(ReleaseKey(bytes(32)).stream, step="test", inputs=""))
    finest, counts = Partition.finest(domain), np.full((2, 2), 5)
    doors.measure((0, 1), finest, counts, plan.layout.table_shares - 1)
    with pytest.raises(InvalidInput, match="planned"):
        doors.measure((0, 1), finest, counts, 2)
    doors.measure((0, 2), finest, counts, 1)
    with pytest.raises(InvalidInput, match="planned"):
        doors.measure((0, 2), finest, counts, 1)
    doors.choose("tree", [1, 2])
    with pytest.raises(InvalidInput, match="planned"):
        doors.choose("tree", [1, 2])
    with pytest.raises(InvalidInput, match="planned"):
        doors.choose("other", [1, 2])


def test_the_same_question_asked_again_has_fresh_noise() -> None:
    domain = Domain(tuple(Attribute(f"a{i}", (0, 1), "nominal", (0, 0)) for i in range(2)))
    plan = LoglinearRecipe(Fraction(1), Fraction(0)).calibrate(domain)
    doors = Releases(plan, partial(ReleaseKey(bytes(32)).stream, step="test", inputs=""))
    finest, counts = Partition.finest(domain), np.full((2, 2), 5)
    first, second = (doors.measure((0, 1), finest, counts, 1) for _ in range(2))
    assert not np.array_equal(first.values, second.values)
