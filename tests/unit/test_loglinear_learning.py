from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import Parameter, ReleaseKey, WordStream
from deniable.learners.loglinear.estimation.buckets import Bucketed, bucketed, smooth_value_counts
from deniable.learners.loglinear.estimation.counting import CountedOnce, Partition, RowCounter
from deniable.learners.loglinear.estimation.empirical_bayes import (
    Uncertain,
    denoised,
    nearest_with_total,
    posterior_mean,
)
from deniable.learners.loglinear.estimation.fitting import Shape, raked
from deniable.learners.loglinear.estimation.maximum_entropy import estimate_margins, estimate_total
from deniable.learners.loglinear.estimation.orders import candidate_orders
from deniable.learners.loglinear.estimation.sparse_counts import sparse_counts
from deniable.learners.loglinear.estimation.within_bucket_tables import by_values, within_bucket_counts
from deniable.learners.loglinear.learning import divided
from deniable.learners.loglinear.measurements import Measurements
from deniable.learners.loglinear.plan import LoglinearRecipe
from deniable.learners.loglinear.quantization import WITHIN, within_buckets
from deniable.models.contrasts import completed, contrast, contrast_counts, contrast_shape
from deniable.models.noisy_marginals import NoisyMarginal, NoisySums, marginal_of, measured_table

DRAW = np.random.default_rng(list(b"log-linear learning"))


def table(values: Any, deviation: float = 1.0, attributes: tuple[int, ...] = (0,), shares: int = 1) -> NoisyMarginal:
    """A table with Gaussian noise of some deviation, released once."""
    sums = np.rint(np.asarray(values) * shares).astype(np.int64)
    return NoisyMarginal(
        attributes, (NoisySums(sums, shares, shares, 1),), "gaussian", Fraction(deviation) ** 2 * shares
    )


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


@pytest.mark.parametrize(("most_cells", "passes"), [(4_000_000, 2), (3, 4)])
def test_tables_are_counted_once_unless_they_are_too_many_to_keep(most_cells: int, passes: int) -> None:
    codes = DRAW.integers((3, 4), size=(1000, 2)).astype(np.uint16)
    opened = []
    rows = RowCounter(lambda: opened.append(1) or [codes])  # type: ignore[func-returns-value]
    once = CountedOnce(rows, most_cells)
    finest = Partition(tuple(np.arange(size, dtype=np.uint16) for size in (3, 4)))
    coarse = Partition((finest.buckets[0], np.asarray([0, 0, 1, 1], np.uint16)))
    for partition, wanted in (
        (finest, [(0,), (0, 1)]),
        (finest, [(0, 1), (0,)]),
        (coarse, [(0, 1)]),
        (coarse, [(0, 1)]),
    ):
        again = RowCounter(lambda: [codes]).tables(partition, wanted)
        for counted, expected in zip(once.tables(partition, wanted), again, strict=True):
            assert np.array_equal(counted, expected)
    assert len(opened) == passes


def test_who_gets_a_table_that_is_kept_cannot_change_it() -> None:
    codes = DRAW.integers((3, 4), size=(1000, 2)).astype(np.uint16)
    once = CountedOnce(RowCounter(lambda: [codes]))
    finest = Partition(tuple(np.arange(size, dtype=np.uint16) for size in (3, 4)))
    for _ in range(2):
        (table,) = once.tables(finest, [(0, 1)])
        with pytest.raises(ValueError, match="read-only"):
            table += 1


@pytest.mark.parametrize(
    ("codes", "fault"),
    [([[0, 1], [0, 3]], "codes of values must be below"), ([[0], [1]], "rows must have 2 attributes at least, got 1")],
)
def test_rows_of_another_table_are_an_error_and_not_counted_elsewhere_in_memory(
    codes: list[list[int]], fault: str
) -> None:
    partition = Partition((np.arange(2, dtype=np.uint16), np.arange(3, dtype=np.uint16)))
    with pytest.raises(IndexError, match=fault):
        RowCounter(lambda: [np.asarray(codes, np.uint16)]).tables(partition, [(0, 1)])


@pytest.mark.parametrize("rows", [0, 1, 4097, 10_000])
def test_small_and_large_tables_of_many_rows_are_counted_alike(rows: int) -> None:
    """Beyond the rows that are counted together, odd numbers of them, and a table on each side of what is small."""
    codes = DRAW.integers((40, 30, 2), size=(rows, 3)).astype(np.uint16)
    finest = Partition(tuple(np.arange(size, dtype=np.uint16) for size in (40, 30, 2)))
    for attributes in ((2,), (0, 1), (1, 2), (0, 2, 1)):
        (counted,) = RowCounter(lambda: [np.asfortranarray(codes)]).tables(finest, [attributes])
        expected = np.zeros(finest.shape(attributes), np.int64)
        np.add.at(expected, tuple(codes[:, list(attributes)].T), 1)
        assert np.array_equal(counted, expected)


def test_denoising_is_nearer_to_the_truth_than_what_was_released() -> None:
    rows, columns = DRAW.dirichlet(np.ones(12)), DRAW.dirichlet(np.ones(9))
    truth = 20_000 * np.outer(rows, columns) * (DRAW.random((12, 9)) < 0.4)
    expected = 20_000 * np.outer(rows, columns) * truth.sum() / 20_000
    noisy = truth + 40 * DRAW.standard_normal(truth.shape)
    for laplace in (False, True):
        (found,) = denoised([Uncertain(noisy, expected, 40.0, np.asarray([False, False]))], laplace=laplace)
        assert (found >= 0).all()
        assert np.abs(found - truth).sum() < 0.7 * np.abs(noisy - truth).sum()


def test_neighbours_learn_from_each_other_along_an_ordered_axis() -> None:
    truth = 300 * np.exp(-(((np.arange(40) - 15) / 6) ** 2))[:, None] * np.asarray([0.3, 0.7])
    expected = np.full_like(truth, truth.mean())
    noisy = truth + 40 * DRAW.standard_normal(truth.shape)
    tables = [Uncertain(noisy, expected, 40.0, np.asarray([ordered, False])) for ordered in (True, False)]
    errors = [np.abs(found - truth).sum() for found in denoised(tables, laplace=False)]
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
    own = bucketed(attribute(12, "numeric"), table(counts, 0.1), counts.sum(), 100.0, 1e4)
    assert own.of_value.tolist()[3] != own.of_value.tolist()[6] != own.of_value.tolist()[7]
    assert (np.diff(own.of_value.astype(int)) >= 0).all()
    assert own.of_value[11] == own.size - 1
    assert own.counts == pytest.approx(counts, abs=2)


def test_rare_values_share_a_bucket_where_there_are_many() -> None:
    counts = np.concatenate([np.full(10, 1000.0), np.zeros(90)])
    own = bucketed(attribute(100), table(counts, 1.0), counts.sum(), 50.0, 1e4)
    assert own.size == 11
    assert len(set(own.of_value[10:].tolist())) == 1
    wide = np.full(3000, 100.0)
    assert bucketed(attribute(3000), table(wide, 1.0), wide.sum(), 1.0, 1e6).size == 128
    few = np.asarray([0.0] * 20 + [1000.0])
    assert bucketed(attribute(21), table(few, 1.0), 1000.0, 50.0, 1e4).size == 21


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_a_law_of_counts_finds_few_frequent_values_among_many(law: str) -> None:
    """Half of the records have one value of 3,000, which is more than any multiple of even counts that lifts allow."""
    truth, laplace = np.zeros(3000), law == "laplace"
    truth[:40] = 10_000 / np.arange(1, 41) ** 1.2
    truth[0] += 30_000
    noise = DRAW.laplace(scale=10.0, size=3000) if laplace else 10.0 * DRAW.standard_normal(3000)
    deviation = 10.0 * np.sqrt(2) if laplace else 10.0
    noisy = np.rint(truth + noise)
    found = sparse_counts(noisy, deviation, truth.sum(), laplace=laplace)
    assert found.sum() == pytest.approx(truth.sum())
    assert (found >= 0).all()
    lifts = smooth_value_counts(attribute(3000), table(noisy, 10.0), truth.sum())
    error, of_lifts, of_noise = (np.abs(each - truth).sum() for each in (found, lifts, noisy))
    assert error < 0.5 * of_lifts < 0.5 * of_noise
    assert found[0] == pytest.approx(truth[0], rel=0.01)


def test_counts_of_which_nothing_is_known_are_about_even() -> None:
    found = sparse_counts(np.zeros(500), 1e6, 100.0, laplace=False)
    assert found == pytest.approx(np.full(500, 0.2))
    assert sparse_counts(np.full(64, -50.0), 1.0, 1.0, laplace=False).sum() == pytest.approx(1)
    assert sparse_counts(np.full(64, 1e9), 1.0, 1.0, laplace=False) == pytest.approx(np.full(64, 1 / 64))


def test_the_nearest_counts_have_the_sum_and_nothing_negative() -> None:
    values = np.asarray([5.0, -3.0, 2.0, 0.5])
    found = nearest_with_total(values, np.ones(4), 4.0)
    assert found.tolist() == pytest.approx([3.5, 0, 0.5, 0])
    # What is known four times as well is moved a quarter as far.
    found = nearest_with_total(np.asarray([5.0, 5.0]), np.asarray([1.0, 4.0]), 15.0)
    assert found.tolist() == pytest.approx([6.0, 9.0])
    variances, noisy = DRAW.random(9) + 0.1, 10 * DRAW.standard_normal(9)
    nearest = nearest_with_total(noisy, variances, 30.0)
    assert nearest.sum() == pytest.approx(30)
    for _ in range(50):
        other = 30 * DRAW.dirichlet(np.full(9, 0.5))
        assert ((nearest - noisy) ** 2 / variances).sum() <= ((other - noisy) ** 2 / variances).sum()


def test_the_excess_of_a_margin_is_that_of_its_noisiest_bucket() -> None:
    """The bucket of all rare values has the noise of all of them."""
    noisy = NoisyMarginal(
        (0,), table([120.0, 80.0, 1850.0], 10.0).releases, "gaussian", Fraction(100), np.asarray([1, 1, 500])
    )
    [margin] = estimate_margins([noisy], (3,), 2000.0)
    assert margin == pytest.approx([120, 80, 1800], abs=12)
    [alike] = estimate_margins([replace(noisy, terms=None)], (3,), 2000.0)
    assert np.abs(margin - [120, 80, 1800]).sum() < np.abs(alike - [120, 80, 1800]).sum()


def test_margins_weigh_tables_by_their_precision() -> None:
    pair = table([[10.0, 30.0], [20.0, 40.0]], 1e-3, (0, 1))
    margins = estimate_margins([table([500.0, 500.0], 100.0), pair], (2, 2), 100.0)
    assert margins[0] == pytest.approx([40, 60], abs=0.1)
    assert margins[1] == pytest.approx([30, 70], abs=0.1)
    assert estimate_total([table([500.0, 500.0], 100.0), pair]) == pytest.approx(100, abs=0.1)


@pytest.mark.filterwarnings("error")
def test_without_tables_a_total_is_one() -> None:
    """All that was measured may be differences, of which none states a number of records."""
    assert estimate_total([]) == 1.0


def test_a_raked_table_has_its_margins() -> None:
    margins = [np.asarray([30.0, 70.0]), np.asarray([20.0, 50.0, 30.0])]
    found = raked(DRAW.random((2, 3)), [((axis,), margin) for axis, margin in enumerate(margins)])
    assert found.sum(axis=1) == pytest.approx(margins[0], rel=1e-6)
    assert found.sum(axis=0) == pytest.approx(margins[1], rel=1e-6)


def test_a_raked_table_of_three_has_its_pairs_and_a_margin() -> None:
    truth = DRAW.random((2, 3, 4))
    wanted = [((0, 1), truth.sum(axis=2)), ((1, 2), truth.sum(axis=0)), ((2,), truth.sum(axis=(0, 1)))]
    found = raked(DRAW.random((2, 3, 4)), wanted)
    for axes, counts in wanted:
        others = tuple(axis for axis in range(3) if axis not in axes)
        assert found.sum(axis=others) == pytest.approx(counts, rel=1e-4)


def test_of_two_buckets_the_difference_is_asked_for() -> None:
    counts = DRAW.integers(100, size=(2, 3, 2))
    asked = contrast_counts(counts)
    assert asked.shape == contrast_shape(counts.shape) == (1, 3, 1)
    assert asked[0, :, 0].tolist() == (counts[1, :, 1] - counts[0, :, 1] - counts[1, :, 0] + counts[0, :, 0]).tolist()
    assert np.array_equal(contrast_counts(counts[0][:, :1]), counts[0][:, :1])


@pytest.mark.parametrize("shape", [(2, 2), (2, 5), (4, 3), (2, 3, 4), (2, 2, 6)])
def test_without_noise_a_table_is_completed_to_what_it_is(shape: tuple[int, ...]) -> None:
    """What is known besides: the sums over any one attribute."""
    truth = DRAW.random(shape) * 100
    wanted = [
        (tuple(other for other in range(truth.ndim) if other != axis), truth.sum(axis=axis))
        for axis in range(truth.ndim)
    ]
    known = np.ones(shape)
    for _ in range(40):
        known = raked(known, wanted)
    found, _ = completed(contrast(truth), known, 1.0)
    assert found == pytest.approx(truth, abs=1e-3)


@pytest.mark.parametrize("shape", [(2, 2), (2, 5), (4, 3), (2, 3, 4)])
def test_the_noise_that_is_left_in_a_completed_table_is_what_it_says(shape: tuple[int, ...]) -> None:
    known = np.full(shape, 50.0)
    draws = 20_000
    noise = 7 * DRAW.standard_normal((draws, *contrast_shape(shape)))
    found = [completed(each, known, 7.0) for each in noise]
    deviation = found[0][1]
    cells = np.stack([cells for cells, _ in found]) - known
    assert cells.std(axis=0) == pytest.approx(np.full(shape, deviation), rel=0.03)
    assert deviation < 7 * 0.75


def test_a_difference_says_how_its_attribute_divides_the_records() -> None:
    ones = [table([480.0, 520.0], 50.0, (0,)), table([300.0, 400.0, 300.0], 0.01, (1,))]
    both = table([[100.0, 50.0, 50.0]], 0.01, (0, 1))
    assert both.differences((2, 3)) == [0]
    assert ones[0].differences((2, 3)) == []
    margins = estimate_margins([*ones, both], (2, 3), 1000.0)
    assert margins[0] == pytest.approx([400, 600], abs=1)
    assert margins[1] == pytest.approx([300, 400, 300], abs=1)
    neither = table([[600.0]], 0.01, (0, 1))
    assert estimate_margins([ones[0], neither], (2, 2), 1000.0)[0] == pytest.approx([480, 520], abs=15)


def test_values_in_a_bucket_follow_their_guide_where_it_says_what_they_are() -> None:
    own = Bucketed(np.asarray([0, 0, 1, 1, 1], np.uint16), np.asarray([500.0, 500, 300, 300, 400]))
    # The guide's three buckets: values 0 and 2, values 1 and 3, value 4.
    truth = np.asarray([[500.0, 0, 300, 0, 0], [0, 500, 0, 300, 0], [0, 0, 0, 0, 400]])
    pair = np.stack([own.added_up(row) for row in truth])
    assert np.array_equal(own.added_up_along(truth.astype(np.int64), 1), pair)
    spread = by_values(pair, 1, own)
    assert spread[0].tolist() == pytest.approx([250, 250, 90, 90, 120])
    noisy = truth + 10 * DRAW.standard_normal(truth.shape)
    found = within_bucket_counts(noisy, 10.0, pair, 1, own, laplace=False)
    assert found == pytest.approx(truth, abs=25)
    turned = within_bucket_counts(noisy.T, 10.0, pair.T, 0, own, laplace=False)
    assert turned == pytest.approx(found)
    blind = within_bucket_counts(noisy, 1e6, pair, 1, own, laplace=False)
    assert blind == pytest.approx(spread, rel=0.5, abs=1)


def test_a_guide_comes_before_what_it_guides() -> None:
    shape = Shape((2, 3, 4, 5), np.zeros(4, bool), 0, laplace=False)
    distances = {(0, 1): 0.1, (0, 2): 0.1, (0, 3): 0.1, (1, 2): 0.5, (2, 3): 1.5}
    free = candidate_orders(distances, shape, {})
    for guide, attribute in [(1, 3), (3, 1), (2, 1)]:
        orders = candidate_orders(distances, shape, {attribute: guide})
        assert all(order.index(guide) < order.index(attribute) for order in orders)
        assert all(order[0] == 0 for order in orders)
    assert all(order.index(1) > order.index(3) for order in free)


def test_shares_are_divided_without_a_rest() -> None:
    assert divided(10, [1.0, 1.0, 8.0]) == [2, 2, 6]
    assert divided(3, [1.0, 100.0, 1.0]) == [1, 1, 1]
    # Remainders .71, .43 and .86: the first and the last have one more.
    assert divided(8, [1.0, 2.0, 4.0]) == [2, 2, 4]
    assert sum(divided(661, DRAW.random(37).tolist())) == 661


def test_two_releases_of_a_table_are_averaged_by_precision() -> None:
    one, other = NoisySums(np.asarray([0]), 3, 3, 1), NoisySums(np.asarray([80]), 5, 5, 2)
    gaussian = [NoisyMarginal((0,), (each,), "gaussian", Fraction(15)) for each in (one, other)]
    both = gaussian[0].joined(gaussian[1])
    assert both.values.tolist() == [10.0]
    assert float(both.deviation) == pytest.approx(np.sum([float(each.deviation) ** -2 for each in gaussian]) ** -0.5)
    assert both.shares == 8
    laplace = [NoisyMarginal((0,), (replace(each, multiplier=1),), "laplace", Fraction(15)) for each in (one, other)]
    both = laplace[0].joined(laplace[1])
    assert both.values.tolist() == [80 * 25 / 34]
    assert float(both.deviation) == pytest.approx(np.sum([float(each.deviation) ** -2 for each in laplace]) ** -0.5)


def test_a_release_at_once_weighs_as_much_as_its_shares_one_by_one() -> None:
    at_once, one_by_one = NoisySums(np.asarray([10]), 1, 6, 1), NoisySums(np.asarray([80]), 2, 2, 2)
    both = NoisyMarginal((0,), (at_once, one_by_one), "gaussian", Fraction(12))
    assert both.values.tolist() == [(6 * 10 + 2 * 40) / 8]
    assert float(both.deviation) == pytest.approx((12 / 8) ** 0.5)
    published = measured_table(both, reason="one-way")
    assert [str(each.noise.amount) for each in published.releases] == ["2", "12"]
    assert [each.cost for each in published.releases] == [Fraction(1, 2), Fraction(1, 6)]
    again = marginal_of(published)
    assert again.values.tolist() == both.values.tolist()
    assert float(again.deviation) == pytest.approx(float(both.deviation))


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
    doors = Measurements(plan, partial(ReleaseKey(bytes(32)).stream, step="test", inputs=""))
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
    doors = Measurements(plan, partial(ReleaseKey(bytes(32)).stream, step="test", inputs=""))
    finest, counts = Partition.finest(domain), np.full((2, 2), 5)
    first, second = (doors.measure((0, 1), finest, counts, 1) for _ in range(2))
    assert not np.array_equal(first.values, second.values)


def test_the_noise_of_a_table_names_everything_that_decides_it() -> None:
    """Two tables that differ in one of these have unlike noise, even with the same key."""
    domain = Domain(tuple(Attribute(f"a{i}", (0, 1), "nominal", (0, 0)) for i in range(2)))
    plan, opened = LoglinearRecipe(Fraction(1), Fraction(0)).calibrate(domain), []

    def open_stream(*, mechanism: str, parameters: dict[str, Parameter]) -> WordStream:
        opened.append((mechanism, parameters))
        return ReleaseKey(bytes(32)).stream(step="test", mechanism=mechanism, inputs="", parameters=parameters)

    Measurements(plan, open_stream).measure((0, 1), Partition.finest(domain), np.full((2, 2), 5), 1)
    named = {"turn": 1, "attributes": ["a0", "a1"], "buckets": [[0, 1], [0, 1]], "shares": 1}
    assert opened == [
        ("counts", {**named, "noise": "laplace", "amount": plan.amount, "domain": domain.digest}),
    ]


def test_a_choice_names_everything_that_decides_it() -> None:
    """Two choices that differ in one of these have unlike words, even with the same key."""
    domain = Domain(tuple(Attribute(f"a{i}", (0, 1), "nominal", (0, 0)) for i in range(4)), target="a0")
    plan, opened = LoglinearRecipe(Fraction(1), Fraction(0)).calibrate(domain), []

    def open_stream(*, mechanism: str, parameters: dict[str, Parameter]) -> WordStream:
        opened.append((mechanism, parameters))
        return ReleaseKey(bytes(32)).stream(step="test", mechanism=mechanism, inputs="", parameters=parameters)

    doors = Measurements(plan, open_stream)
    doors.choose("tree", [1, 2, 3])
    doors.choose("tree", [1, 2])
    named = {"purpose": "tree", "epsilon": plan.choice_epsilon, "domain": domain.digest}
    assert opened == [
        ("choice", {**named, "turn": 1, "number": 0, "candidates": 3}),
        ("choice", {**named, "turn": 2, "number": 1, "candidates": 2}),
    ]
