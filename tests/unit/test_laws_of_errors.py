"""The law of an estimate's error is that of the weighted sum of its noise, and intervals are made of it exactly."""

import json
from collections.abc import Iterator
from fractions import Fraction
from math import exp, sqrt
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable.inference.intervals import (
    Quadratic,
    Unbounded,
    exact_count_interval,
    exact_share_interval,
    ratio_interval,
    score_interval,
    share_interval,
    share_intervals,
)
from deniable.inference.laws import ErrorLaw, two_sided
from deniable.measurements.noisy_tables import Law, MeasuredTable, NoiseLaw, Release

Z = two_sided(0.95)


def table(law: Law, amount: int, shape: tuple[int, ...], multiplier: int = 1) -> MeasuredTable:
    release = Release(np.zeros(shape, np.int64), NoiseLaw(law, Fraction(amount)), 1, multiplier)
    return MeasuredTable((0,), (release,), (0,))


def masses(law: Law, amount: int, most: int = 400) -> NDArray[np.float64]:
    places = np.arange(-most, most + 1)
    size = np.exp(-np.abs(places) / amount) if law == "laplace" else np.exp(-(places**2) / (2 * amount))
    return np.asarray(size / size.sum())


@pytest.mark.parametrize(("law", "amount"), [("laplace", 3), ("laplace", 1), ("gaussian", 9), ("gaussian", 2)])
def test_one_count_has_the_exact_law_of_its_noise(law: Law, amount: int) -> None:
    found = ErrorLaw.of([(table(law, amount, (4,)), np.asarray([0.0, 1.0, 0.0, 0.0]))])
    own = masses(law, amount)
    cumulated = np.cumsum(own)
    places = np.arange(-10, 11)
    assert found.below(places.astype(float)) == pytest.approx(cumulated[places + 400], abs=1e-9)
    assert found.below(places + 0.5) == pytest.approx(cumulated[places + 400], abs=1e-9)
    for level in (0.6, 0.9, 0.95, 0.999):
        reach = found.reach(level)
        inside = own[400 - round(reach) : 401 + round(reach)].sum()
        assert reach == round(reach)
        assert inside >= level - 1e-12
        assert own[401 - round(reach) : 400 + round(reach)].sum() < level, "a step less is not enough"


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
@pytest.mark.parametrize("weights", [(1.0, 1.0), (0.5, -0.5), (1.0, 0.0), (0.0, 0.0), (0.001, 0.001), (1.0, 0.37)])
@pytest.mark.parametrize("normal", [0.0, 2.0])
def test_a_law_has_a_lattice_where_its_steps_have_a_length(
    law: Law, weights: tuple[float, float], normal: float
) -> None:
    own = [(table(law, 9, (2,)), np.asarray(weights)), (table(law, 9, (1,)), np.asarray(weights[:1]))]
    assert ErrorLaw.has_lattice(own, normal) == (ErrorLaw.of(own, normal).step > 0)


def test_two_different_weights_tell_that_there_is_no_lattice() -> None:
    def weighted() -> Iterator[tuple[MeasuredTable, NDArray[np.float64]]]:
        yield table("gaussian", 9, (2,)), np.asarray([1.0, 1.0])
        yield table("gaussian", 9, (1,)), np.asarray([0.5])
        pytest.fail("the weights of a third table are not needed")

    assert not ErrorLaw.has_lattice(weighted())


@pytest.mark.parametrize("weights", [(1.0, 1.0), (1.0, 0.37), (0.9, 0.05), (0.5, 0.31)])
def test_sums_of_laplace_noise_have_their_law_and_not_the_normal_one(weights: tuple[float, float]) -> None:
    scale = 40
    found = ErrorLaw.of([(table("laplace", scale, (2,)), np.asarray(weights))])
    # The law of two numbers, added up over all pairs.
    places = np.arange(-1000, 1001)
    own = masses("laplace", scale, 1000)
    sums = np.abs(weights[0] * places[:, None] + weights[1] * places[None, :]).ravel()
    mass = (own[:, None] * own[None, :]).ravel()
    for level in (0.8, 0.95, 0.99):
        reach = found.reach(level)
        assert mass[sums <= reach * 1.002 + 1e-9].sum() >= level - 1e-4
        assert mass[sums < reach * 0.99 - 1.5].sum() < level
    normal = two_sided(0.99) * sqrt(found.variance)
    assert mass[sums <= normal].sum() < 0.988, "the normal law would be too narrow"


def test_many_draws_are_normal_and_the_variance_is_that_of_the_noise() -> None:
    heavy = ErrorLaw.of([(table("laplace", 5, (400,)), np.linspace(0.5, 1.5, 400))])
    assert heavy.reach(0.95) == pytest.approx(Z * sqrt(heavy.variance), rel=0.005)
    p = exp(-1 / 5)
    assert heavy.variance == pytest.approx((np.linspace(0.5, 1.5, 400) ** 2).sum() * 2 * p / (1 - p) ** 2)
    mixed = ErrorLaw.of([(table("gaussian", 50, (3,)), np.asarray([1.0, 0.5, 0.2]))], normal=30.0)
    assert mixed.reach(0.95) == pytest.approx(Z * sqrt(30 + 50 * 1.29))
    assert ErrorLaw().reach(0.95) == 0


def test_several_draws_are_averaged() -> None:
    found = ErrorLaw.of([(table("gaussian", 100, (2,), multiplier=4), np.asarray([1.0, 0.0]))])
    assert found.variance == pytest.approx(25)
    assert found.step == pytest.approx(0.25)


def test_the_score_interval_of_the_vectors_and_wilsons_without_noise(shared: Path) -> None:
    known = json.loads((shared / "vectors" / "vectors2.json").read_text())["inference"]["score_interval"]
    z = 1.959963984540054
    for case, right in zip([(0.01, 0.002, 25000), (-0.001, 0.001, 25000), (0.3, 0, 100)], known.values(), strict=True):
        found = score_interval(case[0], case[1] ** 2, case[2], z)
        assert (found.low, found.high) == pytest.approx(right, abs=1e-8)
    for share, records in [(0.0, 30), (0.3, 100), (0.97, 1000)]:
        centre = (share + Z**2 / (2 * records)) / (1 + Z**2 / records)
        half = Z / (1 + Z**2 / records) * sqrt(share * (1 - share) / records + Z**2 / (4 * records**2))
        found = score_interval(share, 0.0, records, Z)
        assert (found.low, found.high) == pytest.approx((max(centre - half, 0), centre + half), abs=1e-12)


@pytest.mark.parametrize("factor", [0.0, 0.4, 1.0])
def test_intervals_of_many_shares_are_those_of_each(factor: float) -> None:
    counts = np.asarray([-40.0, -3.0, 0.0, 4.0, 300.0, 996.0, 1003.0, 1060.0])
    own, shared, whole = np.full(8, 36.0), np.linspace(0, 9, 8), 25.0
    low, high = share_intervals(counts, 1000.0, (own, shared, whole), factor, Z)
    for place, count in enumerate(counts.tolist()):
        variance = Quadratic(36.0, -2 * float(shared[place]), whole).plus(Quadratic(0.0, 1000.0, -1000.0), factor)
        found = share_interval(count, 1000.0, variance, Z)
        assert (low[place], high[place]) == pytest.approx((found.low, found.high), abs=1e-12), count
        assert 0 <= found.low < found.high <= 1


def test_a_ratio_of_normal_numbers_has_fiellers_interval() -> None:
    found = ratio_interval(30.0, 60.0, Quadratic(4.0, 0.0, 9.0), Z)
    for end in (found.low, found.high):
        assert (30 - end * 60) ** 2 == pytest.approx(Z**2 * (4 + 9 * end**2))
    assert found.low < 0.5 < found.high
    with pytest.raises(Unbounded):
        ratio_interval(3.0, 5.0, Quadratic(4.0, 0.0, 9.0), Z)


def test_exact_intervals_without_noise_are_those_of_clopper_and_pearson() -> None:
    found = exact_share_interval(3.0, 10.0, ErrorLaw(), 0.95)
    assert (found.low, found.high) == pytest.approx((0.066739, 0.652453), abs=1e-5)
    assert exact_share_interval(0.0, 10.0, ErrorLaw(), 0.95).high == pytest.approx(0.308497, abs=1e-5)


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_exact_intervals_cover_small_counts_whatever_the_share(law: Law) -> None:
    """The probability of coverage itself, added up over counts and noise; a Wald interval has less."""
    amount = 4 if law == "gaussian" else 2
    noise = ErrorLaw.of([(table(law, amount, (2,)), np.asarray([1.0, 0.0]))])
    own = masses(law, amount, 60)
    trials, most = 400, 40
    ends = {z: exact_share_interval(z, trials, noise, 0.9) for z in range(-60, most + 61)}
    for share in (0.001, 0.004, 0.01, 0.02):
        x = np.arange(most + 1)
        binomial = np.ones(most + 1) * (1 - share) ** trials
        for k in range(1, most + 1):
            binomial[k] = binomial[k - 1] * share / (1 - share) * (trials - k + 1) / k
        covered = naive = 0.0
        for count in x:
            for e, mass in zip(range(-60, 61), own, strict=True):
                p = binomial[count] * mass
                z = int(count + e)
                covered += p * (ends[z].low <= share <= ends[z].high)
                half = 1.645 * sqrt(max(z, 0.25) * 1.0) / trials
                naive += p * (abs(z / trials - share) <= half)
        assert covered >= 0.9 - 1e-6, share
        assert share > 0.01 or naive < 0.89, "an interval without the noise does not"


@pytest.mark.parametrize("kept", [1.0, 0.4])
def test_exact_counts_cover_whatever_the_count(kept: float) -> None:
    noise = ErrorLaw.of([(table("laplace", 2, (2,)), np.asarray([1.0, 0.0]))])
    own = masses("laplace", 2, 40)
    ends = {z: exact_count_interval(z, kept, noise, 0.9) for z in range(-40, 56)}
    for count in (0, 1, 5, 15):
        binomial = np.zeros(count + 1)
        for k in range(count + 1):
            choose = np.prod([(count - j) / (j + 1) for j in range(k)])
            binomial[k] = choose * kept**k * (1 - kept) ** (count - k) if kept < 1 else float(k == count)
        covered = sum(
            mass * chance * (ends[k + e].low <= count <= ends[k + e].high)
            for k, chance in enumerate(binomial)
            for e, mass in zip(range(-40, 41), own, strict=True)
        )
        assert covered >= 0.9 - 1e-6, count
