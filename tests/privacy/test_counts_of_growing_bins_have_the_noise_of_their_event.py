"""The second table of a number, of its growing bins: what passes the doors is what its event charges."""

from fractions import Fraction
from math import sqrt
from typing import Literal

import numpy as np
import pytest
from scipy import stats

from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.errors import InvalidInput
from deniable.learners.loglinear.estimation.counting import Partition, RowCounter
from deniable.learners.loglinear.measurements import Measurements
from deniable.learners.loglinear.plan import LoglinearPlan, LoglinearRecipe
from deniable.measurements.growing_bins import growing_bins
from deniable.privacy.loss import DiscreteGaussianEvent, DiscreteLaplaceEvent
from tests.drawn_noise import OneStream

Noise = Literal["laplace", "gaussian"]
FALSE_ALARM = 1e-9
DRAWS = 1_500
DOMAIN = Domain(
    (
        Attribute("sex", ("f", "m"), "nominal", (0, 1)),
        Attribute("wage", tuple(range(300)), "numeric", tuple(range(300))),
    )
)
BINS = growing_bins(DOMAIN.attributes[1])
ROWS = np.random.default_rng(list(b"wages")).integers((2, 300), size=(900, 2)).astype(np.uint16)


def plan_of(kind: Noise) -> LoglinearPlan:
    delta = Fraction(1, 10**9) if kind == "gaussian" else Fraction(0)
    return LoglinearRecipe(Fraction(1), delta, kind).calibrate(DOMAIN)


def by_bins() -> Partition:
    assert BINS is not None
    return Partition.finest(DOMAIN).having(1, BINS.of_value)


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_counts_of_growing_bins_have_the_noise_of_their_event(kind: Noise) -> None:
    plan, partition = plan_of(kind), by_bins()
    shares = plan.layout.bin_shares[1]
    event = next(each for each in plan.events if each.query == "counts of wage by growing bins")
    counts = RowCounter(lambda: [ROWS]).tables(partition, [(1,)])[0]
    opener = OneStream(f"growing bins, {kind}")
    found = []
    for _ in range(DRAWS):
        [release] = Measurements(plan, opener).measure((1,), partition, counts, shares).releases
        assert release.multiplier == event.outputs == 1
        found.append(release.sums - counts)
    noise = np.concatenate(found)
    if isinstance(event, DiscreteGaussianEvent):
        wide, law = sqrt(event.variance), stats.norm(scale=sqrt(event.variance))
    else:
        assert isinstance(event, DiscreteLaplaceEvent)
        wide, law = float(event.scale), stats.laplace(scale=float(event.scale))
    allowed = float(law.pdf(0)) / 2 + sqrt(np.log(2 / FALSE_ALARM) / (2 * noise.size))
    assert float(stats.kstest(noise, law.cdf).statistic) < allowed
    # Two thirds of the noise, or half as much again, would have been noticed.
    for factor in (2 / 3, 1.5):
        other = stats.norm(scale=factor * wide) if kind == "gaussian" else stats.laplace(scale=factor * wide)
        assert float(stats.kstest(noise, other.cdf).statistic) > allowed


def test_a_row_more_changes_one_bin_by_one() -> None:
    assert BINS is not None
    finest = Partition.finest(DOMAIN)
    [before] = RowCounter(lambda: [ROWS]).tables(finest, [(1,)])
    assert np.array_equal(BINS.counted(before), RowCounter(lambda: [ROWS]).tables(by_bins(), [(1,)])[0])
    for value in range(300):
        after = before.copy()
        after[value] += 1
        changed = BINS.counted(after) - BINS.counted(before)
        assert (np.abs(changed).sum(), changed[BINS.of_value[value]]) == (1, 1)


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_the_doors_let_bins_through_once_with_their_shares(kind: Noise) -> None:
    plan, partition = plan_of(kind), by_bins()
    shares, counts = plan.layout.bin_shares[1], np.zeros(1, np.int64)
    door = Measurements(plan, OneStream("bins once"))
    for asked in (shares - 1, shares + 1, plan.layout.value_shares[1]):
        with pytest.raises(InvalidInput, match="within the planned shares"):
            door.measure((1,), partition, counts, asked)
    door.measure((1,), partition, counts, shares)
    assert (door.binned, door.shares) == ({1: shares}, 0)
    door.measure((1,), partition, counts, shares)
    assert door.shares == shares
    # A coarser table of an attribute for which no bins were planned is refused.
    with pytest.raises(InvalidInput, match="within the planned shares"):
        door.measure((0,), Partition((np.zeros(2, np.uint16), *partition.buckets[1:])), counts, 1)
