"""For which uses a release can be good, and which attributes are off, by published integers and records alone."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable.evaluation.analyses.declared import means, quantile, regression
from deniable.foundation.domain import Attribute, Domain
from deniable.measurements.document import Measurements, Universe
from deniable.measurements.foreseen_uses import LEFT, Foreseen, ForeseenUse, foreseen
from deniable.measurements.growing_bins import growing_bins
from deniable.measurements.noisy_tables import MeasuredTable, NoiseLaw, Release

SIGMA = 50
ROWS = 1000
AGE = Attribute("age", tuple(range(10)), "numeric", tuple(range(10)))
PAY = Attribute("pay", tuple(range(10)), "numeric", tuple(range(10)))
SEX = Attribute("sex", ("f", "m"), "nominal", (0, 1))
DOMAIN = Domain((AGE, PAY, SEX), target="sex")


def measured(*together: tuple[int, ...], sigma: float = SIGMA, records: float = ROWS) -> Measurements:
    """Tables with Gaussian noise, of even counts."""
    law = NoiseLaw("gaussian", Fraction(sigma) ** 2)
    tables = []
    for turn, columns in enumerate(together, 1):
        shape = tuple(DOMAIN.cardinalities[i] for i in columns)
        even = np.full(shape, round(records / np.prod(shape)), np.int64)
        tables.append(MeasuredTable(columns, (Release(even, law, turn),), by_values=columns))
    return Measurements(
        domain=DOMAIN,
        learner="loglinear",
        universe=Universe("shared"),
        buckets=tuple(np.arange(size) for size in DOMAIN.cardinalities),
        tables=tuple(tables),
        choices=(),
        records=records,
        order=(0, 1, 2),
    )


EVERY = ((0,), (1,), (2,), (0, 1), (0, 2))


def errors(found: Foreseen) -> dict[str, float]:
    return {use.name: use.error for use in found.uses}


def test_the_error_of_each_use_is_what_noise_of_that_size_does() -> None:
    """By drawing the noise: distances, means, cumulative shares and correlations of even counts."""
    stated = errors(foreseen(measured(*EVERY)))
    drawn, steps = np.random.default_rng(5), 4000
    alone = drawn.normal(0, SIGMA * LEFT, (steps, 10)) / ROWS
    pair = drawn.normal(0, SIGMA * LEFT, (steps, 10, 10)) / ROWS
    distance = [
        float(np.abs(drawn.normal(0, SIGMA * LEFT, (steps, size)) / ROWS).sum(axis=1).mean()) / 2 for size in (10, 2)
    ]
    assert stated["shares"] == pytest.approx((2 * distance[0] + distance[1]) / 3, rel=0.03)
    both = [float(np.abs(drawn.normal(0, SIGMA * LEFT, (steps, n)) / ROWS).sum(axis=1).mean()) / 2 for n in (100, 20)]
    assert stated["tables"] == pytest.approx(sum(both) / 2, rel=0.03)
    scores = (np.arange(10) - 4.5) / np.arange(10).std()
    assert stated["means"] == pytest.approx(float((alone * scores).sum(axis=1).std()), rel=0.05)
    assert stated["correlations"] == pytest.approx(float(np.einsum("sij,i,j->s", pair, scores, scores).std()), rel=0.05)
    # Half of the cells are below the median, and the total is as noisy as the rest.
    cumulative = alone[:, :5].sum(axis=1) - alone.sum(axis=1) / 2
    assert stated["quantiles"] == pytest.approx(float(cumulative.std()), rel=0.05)


def test_more_records_or_less_noise_make_more_uses_possible() -> None:
    good = [foreseen(measured(*EVERY, records=records)).good for records in (100, 1000, 10_000, 1_000_000)]
    assert good == sorted(good)
    assert good[0] == 0
    assert good[-1] == len(foreseen(measured(*EVERY)).uses) == 6
    assert foreseen(measured(*EVERY, records=100)).is_too_low
    assert not foreseen(measured(*EVERY, records=1_000_000)).reasons()
    [reason] = foreseen(measured(*EVERY, records=100)).reasons()
    assert reason.startswith("by its noisy counts alone it can be good for 0 of 6 uses, and not for shares of one")


def test_half_of_the_uses_suffice() -> None:
    possible, lost = ForeseenUse("a", "a", 0.01, 0.05), ForeseenUse("b", "b", 0.11, 0.05)
    assert not Foreseen((possible, lost)).is_too_low
    assert Foreseen((possible, lost, lost)).is_too_low
    assert not Foreseen(()).is_too_low


def test_what_was_not_measured_is_by_the_model_alone() -> None:
    found = errors(foreseen(measured((0,), (1,), (2,), records=1e6)))
    assert found["tables"] == found["correlations"] == np.inf
    assert errors(foreseen(measured((0, 1), (2,), records=1e6)))["correlations"] < 0.01
    # A pair gives the shares of both its attributes, with the noise of ten cells in each.
    both = errors(foreseen(measured((0, 1), (2,), records=1e6)))["means"]
    assert both == pytest.approx(errors(foreseen(measured((0,), (1,), (2,), records=1e6)))["means"] * np.sqrt(10))


def test_analyses_are_possible_if_their_outcome_was_counted_with_what_explains_it() -> None:
    chosen = (regression("pay ~ age"), means("age", "sex"), quantile("age", 0.5, None))
    assert errors(foreseen(measured(*EVERY, records=1e6), chosen))["analyses"] < 0.01
    assert errors(foreseen(measured(*EVERY), chosen))["analyses"] == pytest.approx(10 * LEFT * SIGMA / ROWS)
    assert errors(foreseen(measured((0,), (1,), (2,), (0, 1)), chosen))["analyses"] == np.inf


def test_a_number_of_many_values_is_known_by_its_growing_bins() -> None:
    """Noise hides each of 3,000 values, and none of the bins that hold them."""
    size = 3_000
    wage = Attribute("wage", tuple(range(size)), "numeric", tuple(range(size)))
    bins = growing_bins(wage)
    assert bins is not None
    law, counts = NoiseLaw("gaussian", Fraction(SIGMA**2)), np.ones(size, np.int64)
    table = MeasuredTable((0,), (Release(counts, law, 1),), by_values=(0,))
    alone = replace(measured((0,)), domain=Domain((wage,)), tables=(table,), records=size, order=(0,))
    binned = replace(alone, tables=(replace(table, binned=(Release(bins.counted(counts), law, 2),)),))
    assert errors(foreseen(alone))["means"] > 10 * errors(foreseen(binned))["means"]


def released(rows: int, of: int, seed: int = 3) -> list[NDArray[np.int64]]:
    """Counts of even records of a kind: `of` is the number of ages that occur."""
    drawn = np.random.default_rng(seed)
    return [np.bincount(drawn.integers(0, n, rows), minlength=size) for n, size in ((of, 10), (10, 10), (2, 2))]


def test_attributes_that_are_off_by_more_than_chance_are_named_and_others_are_not() -> None:
    loud, quiet = measured(*EVERY), measured(*EVERY, sigma=1)
    for seed in range(40):
        for known in (loud, quiet):
            assert foreseen(known, (), released(500, 10, seed)).off == ()
    assert foreseen(quiet, (), released(500, 5)).off == ("age",)
    assert "the shares of age in its records are off" in foreseen(quiet, (), released(500, 5)).reasons()[-1]
    # Under so much noise, half of the ages missing is hardly more than chance.
    assert foreseen(measured(*EVERY, sigma=200), (), released(500, 5)).off == ()


def test_a_small_difference_is_not_off_however_certain_it_is() -> None:
    counts = [np.full(10, 10**6), np.full(10, 10**6), np.array([5_300_000, 4_700_000])]
    assert foreseen(measured(*EVERY, sigma=1, records=1e6), (), counts).off == ()
    counts[2] = np.array([5_700_000, 4_300_000])
    assert foreseen(measured(*EVERY, sigma=1, records=1e6), (), counts).off == ("sex",)


def test_buckets_are_compared_with_the_buckets_of_released_values() -> None:
    law = NoiseLaw("gaussian", Fraction(1))
    table = MeasuredTable((0,), (Release(np.array([200, 800]), law, 1),))
    coarse = np.array([0, 0, 1, 1, 1, 1, 1, 1, 1, 1])
    known = replace(measured((1,), (2,), sigma=1), tables=(table,))
    known = replace(known, buckets=(coarse, *known.buckets[1:]))
    assert foreseen(known, (), released(500, 10)).off == ()
    assert foreseen(known, (), released(500, 5)).off == ("age",)
