"""Which attributes noisy tables say anything about, by published integers alone."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from deniable.foundation.domain import Attribute, Domain
from deniable.measurements.document import Measurements, Universe
from deniable.measurements.growing_bins import growing_bins
from deniable.measurements.noisy_tables import MeasuredTable, NoiseLaw, Release
from deniable.measurements.signal import Signal, signal_of

SIGMA = 50


def measured(counts: dict[str, list[int]], *, records: float, sigma: int = SIGMA) -> Measurements:
    """One-way marginals with Gaussian noise."""
    attributes = tuple(
        Attribute(name, tuple(range(len(own))), "nominal", tuple(range(len(own)))) for name, own in counts.items()
    )
    law = NoiseLaw("gaussian", Fraction(sigma**2))
    tables = tuple(
        MeasuredTable((i,), (Release(np.array(own, np.int64), law, i + 1),), by_values=(i,))
        for i, own in enumerate(counts.values())
    )
    return Measurements(
        domain=Domain(attributes),
        learner="loglinear",
        universe=Universe("shared"),
        buckets=tuple(np.arange(len(own)) for own in counts.values()),
        tables=tables,
        choices=(),
        records=records,
        order=tuple(range(len(counts))),
    )


@pytest.mark.parametrize(
    ("own", "records", "known"),
    [
        # Error 2 * 50 / (1000 sqrt(2 pi)) = .04: known, although it is even.
        ([500, 500], 1000, 1),
        # Error 2 * 50 / (100 sqrt(2 pi)) = .40, and (70 - 30)^2 / 2 is what noise would give.
        ([70, 30], 100, 0),
        # Error .40 * 4, but one value stands out: 900^2 * 3 / 4 - 3 * 2500 is more than 5 * 2500 * sqrt(6).
        ([900, 0, 0, 0], 100, 1),
        # At the border: the spread of (2x, 0) is 2 x^2, and 2500 * (1 + 5 sqrt(2)) = 20,178 = 2 * 100.4^2.
        ([200, 0], 100, 0),
        ([202, 0], 100, 1),
    ],
)
def test_an_attribute_is_known_if_noise_is_small_or_its_counts_stand_out(
    own: list[int], records: float, known: int
) -> None:
    assert signal_of(measured({"a": own}, records=records)) == Signal(known, 1)


def test_a_number_of_many_values_is_known_by_its_growing_bins() -> None:
    """Noise hides each of 3,000 values, and none of the bins that hold them."""
    size = 3_000
    wage = Attribute("wage", tuple(range(size)), "numeric", tuple(range(size)))
    bins = growing_bins(wage)
    assert bins is not None
    law, counts = NoiseLaw("gaussian", Fraction(SIGMA**2)), np.ones(size, np.int64)
    values = Release(counts, law, 1)
    alone = measured({"wage": [1] * size}, records=size)
    alone = replace(alone, domain=Domain((wage,)), tables=(MeasuredTable((0,), (values,), by_values=(0,)),))
    assert signal_of(alone) == Signal(0, 1)
    both = replace(alone.tables[0], binned=(Release(bins.counted(counts), law, 2),))
    assert signal_of(replace(alone, tables=(both,))) == Signal(1, 1)


def test_an_attribute_of_one_value_is_not_counted() -> None:
    assert signal_of(measured({"a": [7], "b": [9]}, records=9)) == Signal(0, 0)
    assert not Signal(0, 0).is_too_low


def test_the_signal_is_too_low_if_most_attributes_are_hidden() -> None:
    assert Signal(40, 81).is_too_low
    assert not Signal(41, 81).is_too_low
    assert not Signal(2, 4).is_too_low
    assert Signal(1, 4).in_words().startswith("noise hides 3 of its 4 attributes, about which it says next to nothing")


def test_counts_by_pairs_tell_of_both_attributes_and_those_of_differences_of_none() -> None:
    one = measured({"a": [500, 500], "b": [500, 500]}, records=1000)
    law = NoiseLaw("gaussian", Fraction(SIGMA**2))
    pair = MeasuredTable((0, 1), (Release(np.full((2, 2), 250, np.int64), law, 1),), by_values=(0, 1))
    assert signal_of(Measurements(**{**vars(one), "tables": (pair,)})) == Signal(2, 2)
    difference = MeasuredTable((0, 1), (Release(np.full((2, 1), 250, np.int64), law, 1),), differences=(1,))
    assert signal_of(Measurements(**{**vars(one), "tables": (difference,)})) == Signal(0, 2)


def test_noise_alone_is_hardly_ever_taken_for_signal() -> None:
    """Of even counts of 2,000 records in 81 attributes under noise of 580, as at epsilon .1, next to none are known."""
    draw = np.random.default_rng(81)
    counts = {f"a{i}": (2000 / c + draw.normal(0, 580, c)).round().astype(int).tolist() for i, c in enumerate([4] * 81)}
    found = signal_of(measured(counts, records=2000, sigma=580))
    assert found.is_too_low
    # The square of a sum of normals has a heavier tail than a normal: of 81, chance takes one or two.
    assert found.known <= 3
