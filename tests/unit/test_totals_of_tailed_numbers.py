"""Means of a number with growing bins are least squares from both tables, unbiased, with intervals that cover."""

from dataclasses import replace
from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

from deniable.foundation.domain import Attribute, Domain
from deniable.inference.estimation import Inference
from deniable.inference.many_values import TailedValues
from deniable.measurements.document import Measurements, Universe
from deniable.measurements.growing_bins import growing_bins
from deniable.measurements.noisy_tables import MeasuredTable, NoiseLaw, Release

SIZE = 2_500
WAGE = Attribute("wage", tuple(range(SIZE)), "numeric", tuple(range(SIZE)))
SEX = Attribute("sex", ("f", "m"), "nominal", (0, 1))
BINS = growing_bins(WAGE)
COUNTS = np.rint(4_000 / (np.arange(SIZE) + 40.0) ** 1.2 * 10).astype(np.int64)
BUCKETS = np.minimum(np.arange(SIZE) // 100, 7)
OF_VALUES, OF_BINS, OF_SEX = 20.0, 28.0, 10.0
KEYS = 100


def noisy(counts: np.ndarray, deviation: float, turn: int, draw: np.random.Generator) -> Release:
    sums = counts + np.rint(draw.normal(scale=deviation, size=counts.shape)).astype(np.int64)
    return Release(sums, NoiseLaw("gaussian", Fraction(deviation) ** 2), turn)


def measured(key: int) -> Measurements:
    """Wages by values and by bins, and a precise count of all records by sex."""
    assert BINS is not None
    draw = np.random.default_rng([key, *b"wages"])
    half = int(COUNTS.sum()) // 2
    wage = MeasuredTable(
        (0,),
        (noisy(COUNTS, OF_VALUES, 1, draw),),
        by_values=(0,),
        binned=(noisy(BINS.counted(COUNTS), OF_BINS, 3, draw),),
    )
    sex = MeasuredTable((1,), (noisy(np.array([half, COUNTS.sum() - half]), OF_SEX, 2, draw),), by_values=(1,))
    return Measurements(
        domain=Domain((WAGE, SEX)),
        learner="loglinear",
        universe=Universe("shared", "census"),
        buckets=(BUCKETS, np.arange(2)),
        tables=(wage, sex),
        choices=(),
        records=float(COUNTS.sum()),
        order=(0, 1),
    )


def test_the_estimate_of_a_function_is_least_squares_from_values_and_bins() -> None:
    assert BINS is not None
    small = Attribute("x", tuple(range(30)), "numeric", tuple(range(30)))
    bins = growing_bins(small)
    assert bins is not None
    draw = np.random.default_rng(list(b"least squares of both"))
    table = MeasuredTable(
        (0,),
        (noisy(np.full(30, 50), 6.0, 1, draw),),
        by_values=(0,),
        binned=(noisy(bins.sizes.astype(np.int64), 9.0, 2, draw),),
    )
    found = TailedValues.of(table, small)
    assert found is not None
    design = np.concatenate([np.eye(30), np.eye(bins.size)[:, bins.of_value]])
    precision = np.concatenate([np.full(30, 1 / 36), np.full(bins.size, 1 / 81)])
    inverted = np.linalg.inv(design.T @ (precision[:, None] * design))
    answers = np.concatenate([table.values, table.binned[0].sums])
    right = inverted @ design.T @ (precision * answers)
    one, other = np.arange(30.0) - 14.5, np.sqrt(np.arange(30.0))
    other -= other.mean()
    assert found.value(one) == pytest.approx(one @ right)
    assert found.covariance(one, other) == pytest.approx(one @ inverted @ other)
    assert TailedValues.of(replace(table, binned=()), small) is None


def test_means_are_unbiased_and_covered_and_more_precise_than_by_values_alone() -> None:
    """Fewer than 76 of 100 intervals of 95 % cover with a chance below 1e-9; standardized errors have mean 0."""
    truth = float((COUNTS * np.arange(SIZE)).sum() / COUNTS.sum())
    covered, scores, widths, before = 0, [], [], []
    for key in range(KEYS):
        own = measured(key)
        answer = Inference(own).mean("wage")
        assert answer.interval is not None
        low, high = answer.interval.low, answer.interval.high
        covered += low <= truth <= high
        scores.append((answer.estimate - truth) / ((high - low) / 2 / 1.96))
        widths.append(high - low)
        if key < 5:
            alone = replace(own, tables=(replace(own.tables[0], binned=()), replace(own.tables[1])))
            alone = replace(alone, tables=tuple(_with_turns(alone.tables)))
            wide = Inference(alone).mean("wage").interval
            assert wide is not None
            before.append(wide.high - wide.low)
    assert covered >= 76
    assert abs(np.mean(scores)) < 6 / sqrt(KEYS)
    assert 0.6 < np.std(scores) < 1.5
    assert np.mean(widths[:5]) < 0.5 * np.mean(before)


def _with_turns(tables: tuple[MeasuredTable, ...]) -> list[MeasuredTable]:
    """The tables with successive turns."""
    return [replace(own, releases=(replace(own.releases[0], turn=turn),)) for turn, own in enumerate(tables, 1)]
