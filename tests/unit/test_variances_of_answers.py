"""What an answer states of its error is the variance of its noise, entry by entry, and that of sampling by its formula.

The noise is taken from the weights of the released entries, which no variance or covariance of the product enters, and
from estimates over many draws of noise.
"""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor, sqrt
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from deniable.foundation.errors import Refused
from deniable.foundation.rules import PublicTotal
from deniable.inference.answers import Answer, Asked
from deniable.inference.comparisons import compare
from deniable.inference.estimation import Inference
from deniable.inference.intervals import Interval
from deniable.inference.laws import two_sided
from deniable.inference.queries import Query
from deniable.inference.regression import regress
from deniable.inference.tables import table
from deniable.measurements.noisy_tables import MeasuredTable, NoiseLaw, Release
from tests.extent import drawn
from tests.inferred import EVERYTHING, measured, people

Counts = NDArray[np.float64]
POPULATION = Asked(estimand="population", sampling="simple random")
TWOFOLD = replace(POPULATION, design_effect=2.0)
RICH, POOR, MEN, WOMEN = {2: [0, 0, 1.0]}, {2: [1.0, 0, 0]}, {1: [0, 1.0]}, {1: [1.0, 0]}
AGES = np.arange(18.0, 24.0)
Z = two_sided(0.95)
ROWS = people(1, 4000)


@pytest.fixture(scope="module")
def inference() -> Inference:
    return Inference(measured(ROWS, amount=Fraction(900)), probability=Fraction(1))


def query(of: Mapping[int, Any]) -> Query:
    return Query.product({i: np.asarray(values, float) for i, values in of.items()})


def variance_of(inference: Inference, *parts: tuple[float, Query]) -> float:
    """The variance of the noise in a weighted sum of estimates, from the weights of the released entries."""
    found: dict[int, tuple[MeasuredTable, Counts]] = {}
    for factor, own in parts:
        for each, weights in inference.system.weights(inference.functional(own)):
            before = found[id(each)][1] if id(each) in found else 0.0
            found[id(each)] = (each, before + factor * weights)
    return float(sum(each.variance * (weights**2).sum() for each, weights in found.values()))


def value_of(inference: Inference, own: Query) -> float:
    return inference.system.value(inference.functional(own))


ALL = query({})
RATIOS: dict[str, tuple[Query, Query, Any]] = {
    "a share": (query(RICH), ALL, lambda i, a: i.share("income=>50K", asked=a)),
    "a share in a group": (
        query({**RICH, **MEN}),
        query(MEN),
        lambda i, a: i.share("income=>50K", "sex=m", a),
    ),
    "a mean": (query({0: AGES}), ALL, lambda i, a: i.mean("age", asked=a)),
    "a ratio": (query(RICH), query(POOR), lambda i, a: i.ratio("income=>50K", "income=low", a)),
}


def sampled(name: str, inference: Inference, ratio: float) -> float:
    """The variance of the numerator less the ratio times the denominator, over samples: a sum over all rows."""
    above, below, _ = RATIOS[name]
    if "share" in name:
        size = value_of(inference, below)
        return size * ratio * (1 - ratio)
    gaps = above.minus(below.times(ratio))
    return value_of(inference, gaps.within(gaps))


@pytest.mark.parametrize("name", RATIOS)
@pytest.mark.parametrize(("asked", "factor"), [(Asked(), 0.0), (POPULATION, 1.0), (TWOFOLD, 2.0)])
def test_a_ratio_has_the_variance_of_its_noise_and_of_sampling(
    inference: Inference, name: str, asked: Asked, factor: float
) -> None:
    above, below, ask = RATIOS[name]
    answer: Answer = ask(inference, asked)
    size = value_of(inference, below)
    assert answer.estimate == pytest.approx(value_of(inference, above) / size)
    noise = variance_of(inference, (1.0, above), (-answer.estimate, below)) / size**2
    assert answer.noise_deviation == pytest.approx(sqrt(noise), rel=1e-6)
    sampling = factor * sampled(name, inference, answer.estimate) / size**2
    assert answer.sampling_deviation == pytest.approx(sqrt(sampling), rel=1e-6)
    # Ends are the values that are just not rejected, with the variance that each implies.
    assert answer.interval is not None
    for end in (answer.interval.low, answer.interval.high):
        variance = variance_of(inference, (1.0, above), (-end, below)) + factor * sampled(name, inference, end)
        distance = value_of(inference, above) - end * size
        assert distance**2 == pytest.approx(Z**2 * variance, rel=1e-6)
    assert answer.interval.low < answer.estimate < answer.interval.high


@pytest.mark.parametrize("asked", [Asked(), POPULATION, TWOFOLD])
@pytest.mark.parametrize("kept", [Fraction(1), Fraction(1, 2)])
def test_a_share_of_a_table_states_what_the_share_alone_does(kept: Fraction, asked: Asked) -> None:
    inference = Inference(measured(ROWS, amount=Fraction(900)), probability=kept)
    found = table(inference, ["age", "income"], "share", asked)
    for (age, income), own in zip(found.cells, found.answers, strict=True):
        alone = inference.share(f"age={age} & income={income}", asked=asked)
        for name in ("estimate", "noise_deviation", "sampling_deviation"):
            assert getattr(own, name) == pytest.approx(getattr(alone, name), rel=1e-9), (name, age, income)
        assert own.interval is not None
        assert alone.interval is not None
        assert (own.interval.low, own.interval.high) == pytest.approx((alone.interval.low, alone.interval.high))


@pytest.mark.parametrize("kept", [0.25, 0.5])
def test_a_count_of_a_part_has_the_error_of_what_was_not_measured(kept: float) -> None:
    inference = Inference(measured(ROWS, amount=Fraction(16)), probability=Fraction(kept))
    counted = value_of(inference, query(RICH))
    noise = variance_of(inference, (1.0, query(RICH)))
    both = table(inference, ["income"]).answers[2]
    for answer in (inference.count("income=>50K"), both):
        assert answer.estimate == pytest.approx(counted / kept)
        assert answer.noise_deviation == pytest.approx(sqrt(noise) / kept)
        assert answer.sampling_deviation == pytest.approx(sqrt(counted * (1 - kept)) / kept)
        assert answer.interval is not None
        for end in (answer.interval.low, answer.interval.high):
            # Of that many records, so many were measured, with a binomial variance.
            assert (counted - kept * end) ** 2 == pytest.approx(Z**2 * (noise + kept * (1 - kept) * end), rel=1e-3)


@pytest.mark.parametrize("asked", [Asked(), POPULATION, TWOFOLD])
@pytest.mark.parametrize("what", ["income=>50K", "age"])
def test_a_difference_has_the_noise_of_both_groups_together(what: str, asked: Asked) -> None:
    by_values = tuple((attributes, attributes) for attributes, _ in EVERYTHING)
    inference = Inference(measured(ROWS, by_values, amount=Fraction(900)), probability=Fraction(1))
    women, men, difference = compare(inference, what, "sex", asked=asked).answers
    above = query(RICH) if what != "age" else query({0: AGES})
    parts = []
    for sign, group, answer in ((-1.0, query(WOMEN), women), (1.0, query(MEN), men)):
        size = value_of(inference, group)
        parts += [(sign / size, above.within(group)), (-sign * answer.estimate / size, group)]
    assert difference.estimate == pytest.approx(men.estimate - women.estimate)
    assert difference.noise_deviation == pytest.approx(sqrt(variance_of(inference, *parts)), rel=1e-6)
    apart = sqrt(women.noise_deviation**2 + men.noise_deviation**2)
    assert difference.noise_deviation != pytest.approx(apart, rel=1e-4), "groups have noise in common"
    sampling = sqrt(women.sampling_deviation**2 + men.sampling_deviation**2)
    assert difference.sampling_deviation == pytest.approx(sampling)
    assert difference.interval is not None
    assert difference.interval.high - difference.estimate == pytest.approx(
        Z * sqrt(difference.noise_deviation**2 + sampling**2)
    )


@pytest.mark.parametrize(("asked", "factor"), [(Asked(), 0.0), (POPULATION, 1.0), (TWOFOLD, 2.0)])
def test_coefficients_without_noise_have_the_errors_of_least_squares(asked: Asked, factor: float) -> None:
    """Of few rows, so that degrees of freedom show."""
    rows = people(7, 150)
    by_values = tuple((attributes, attributes) for attributes, _ in EVERYTHING)
    quiet = Inference(measured(rows, by_values, amount=Fraction(1, 100)), probability=Fraction(1))
    found = regress(quiet, "age", ["sex", "income"], asked)
    design = np.stack([np.ones(150), rows[:, 1], rows[:, 2] == 1, rows[:, 2] == 2], axis=1).astype(float)
    y = AGES[rows[:, 0]]
    inverted = np.linalg.inv(design.T @ design)
    right = inverted @ design.T @ y
    residual = y - design @ right
    errors = np.sqrt(factor * (residual**2).sum() / (150 - 4) * np.diag(inverted))
    assert [answer.estimate for answer in found.answers] == pytest.approx(right.tolist())
    assert [answer.sampling_deviation for answer in found.answers] == pytest.approx(errors.tolist(), rel=1e-6)


@pytest.mark.parametrize(("asked", "factor"), [(Asked(), 0.0), (POPULATION, 1.0), (TWOFOLD, 2.0)])
@pytest.mark.parametrize("regressors", [["sex"], ["sex", "income"]])
def test_coefficients_of_what_was_counted_together_have_errors_of_any_variance(
    regressors: list[str], asked: Asked, factor: float
) -> None:
    """Without noise, those of White as MacKinnon and White have them (HC1)."""
    rows = people(7, 150)
    rows[:, 0] = np.where(rows[:, 1] == 1, rows[:, 0], np.minimum(rows[:, 0], 1))
    together = ((0, 1), (0, 1)) if len(regressors) == 1 else ((0, 1, 2), (0, 1, 2))
    queries = (*((attributes, attributes) for attributes, _ in EVERYTHING), together)
    quiet = Inference(measured(rows, queries, amount=Fraction(1, 100)), probability=Fraction(1))
    found = regress(quiet, "age", regressors, asked)
    columns = [np.ones(150), rows[:, 1], *([rows[:, 2] == 1, rows[:, 2] == 2] if len(regressors) == 2 else [])]
    design = np.stack(columns, axis=1).astype(float)
    y = AGES[rows[:, 0]]
    inverted = np.linalg.inv(design.T @ design)
    right = inverted @ design.T @ y
    residual = y - design @ right
    size = design.shape[1]
    robust = inverted @ (design.T * residual**2) @ design @ inverted * 150 / (150 - size)
    errors = np.sqrt(factor * np.diag(robust))
    assert [answer.estimate for answer in found.answers] == pytest.approx(right.tolist())
    assert [answer.sampling_deviation for answer in found.answers] == pytest.approx(errors.tolist(), rel=1e-6)
    equal = np.sqrt(factor * (residual**2).sum() / (150 - size) * np.diag(inverted))
    assert not factor or errors.tolist() != pytest.approx(equal.tolist(), rel=0.05)
    said = [answer.condition for answer in found.answers]
    assert all(("sampling errors of any variance" in each) == (factor > 0) for each in said)


def test_a_condition_that_divides_a_bucket_has_errors_of_equal_variance() -> None:
    """It was counted with the regressor by values, and with another attribute by buckets, where it is not known."""
    queries = (*EVERYTHING, ((0, 1), (0, 1)))
    found = regress(Inference(measured(ROWS, queries)), "age=18", ["sex"], POPULATION)
    assert all("sampling errors of equal variance" in answer.condition for answer in found.answers)
    found = regress(Inference(measured(ROWS, queries)), "age=18..19", ["sex"], POPULATION)
    assert all("sampling errors of any variance" in answer.condition for answer in found.answers)


def test_a_slope_of_a_small_group_whose_shares_vary_more_is_covered() -> None:
    """A tenth has a share of a half, and nine tenths one of .02: errors of equal variance are half as wide."""
    replicates = drawn(400, 150)
    population = people(2, 100_000)
    draw = np.random.default_rng(17)
    population[:, 1] = draw.random(len(population)) < 0.1
    rich = draw.random(len(population)) < np.where(population[:, 1] == 1, 0.5, 0.02)
    population[:, 2] = np.where(rich, 2, 0)
    gap = rich[population[:, 1] == 1].mean() - rich[population[:, 1] == 0].mean()
    held, short = 0, 0
    for seed in range(replicates):
        rows = population[np.random.default_rng([18, seed]).integers(0, len(population), 2000)]
        inference = Inference(measured(rows, amount=Fraction(16), seed=seed), probability=Fraction(1))
        answer = regress(inference, "income=>50K", ["sex"], POPULATION).answers[1]
        assert answer.interval is not None
        assert "sampling errors of any variance" in answer.condition
        held += answer.interval.low <= gap <= answer.interval.high
        mean_square = np.var(rows[:, 2] == 2) - gap**2 * 0.09
        half = Z * sqrt(mean_square / 2000 / 0.09)
        short += abs(answer.estimate - gap) <= half
    slack = 6 * sqrt(0.95 * 0.05 / replicates)
    assert 0.95 - slack <= held / replicates <= 0.95 + slack
    assert short / replicates < 0.8, "errors of equal variance do not cover"


def test_coefficients_have_the_noise_of_regressors_and_outcome() -> None:
    """By differences: each released entry is moved, and the regression made again."""
    queries = tuple((attributes, attributes) for attributes, _ in EVERYTHING[1:] if attributes != (0, 1))
    found = measured(ROWS, queries, amount=Fraction(100))
    asked = {"outcome": "income=>50K", "regressors": ["sex"]}

    def estimates(tables: tuple[MeasuredTable, ...]) -> Counts:
        own = regress(Inference(replace(found, tables=tables)), **asked)
        return np.asarray([answer.estimate for answer in own.answers])

    variances = np.zeros(2)
    for place, own in enumerate(found.tables):
        for entry in np.ndindex(own.values.shape):
            moved = own.values.astype(np.int64)
            moved[entry] += 1
            release = replace(own.releases[0], sums=moved)
            changed = (*found.tables[:place], replace(own, releases=(release,)), *found.tables[place + 1 :])
            variances += own.variance * (estimates(changed) - estimates(found.tables)) ** 2
    stated = [answer.noise_deviation for answer in regress(Inference(found), **asked).answers]
    assert stated == pytest.approx(np.sqrt(variances).tolist(), rel=5e-3)


def test_releases_of_one_table_count_by_their_precision() -> None:
    rows = people(2, 2000)
    exact = np.bincount(rows[:, 2], minlength=3)
    laws = [NoiseLaw("gaussian", Fraction(100)), NoiseLaw("gaussian", Fraction(2500))]
    releases = tuple(Release(exact + 2 * turn, own, turn) for turn, own in enumerate(laws, 1))
    own = MeasuredTable((2,), releases, (2,))
    found = replace(measured(rows, EVERYTHING[:1]), tables=(own,))
    inference = Inference(found)
    functional = inference.functional(query(RICH))
    assert inference.system.variance(functional) == pytest.approx(1 / (1 / 100 + 1 / 2500))
    assert inference.law(functional).variance == pytest.approx(1 / (1 / 100 + 1 / 2500))
    laplace = replace(
        own, releases=tuple(replace(each, noise=NoiseLaw("laplace", each.noise.amount)) for each in releases)
    )
    heavy = Inference(replace(found, tables=(laplace,)))
    apart = heavy.law(heavy.functional(query(RICH)))
    assert apart.variance == pytest.approx(heavy.system.variance(heavy.functional(query(RICH))))
    # With an error of sampling beside the noise, both are in the law.
    wide = heavy.law(heavy.functional(query(RICH)), 10 * apart.variance)
    assert wide.reach(0.95) == pytest.approx(Z * sqrt(11 * apart.variance), rel=0.01)


@pytest.mark.parametrize("asked", [Asked(), POPULATION])
def test_shares_vary_as_much_as_they_state(asked: Asked) -> None:
    """Over draws of noise, and of rows where the population is meant; by the law of chi-squared at 1e-9."""
    population = people(0, 100_000)
    replicates = drawn(240, 60)
    estimates, stated = [], []
    for seed in range(replicates):
        draw = np.random.default_rng([15, seed])
        rows = population[draw.integers(0, len(population), 2000)] if asked.estimand == "population" else ROWS[:2000]
        made = measured(rows, amount=Fraction(400), seed=1000 + seed)
        own = table(Inference(made, probability=Fraction(1)), ["age", "income"], "share", asked)
        estimates.append([answer.estimate for answer in own.answers])
        stated.append([answer.deviation**2 for answer in own.answers])
    found, right = np.var(estimates, axis=0, ddof=1), np.mean(stated, axis=0)
    low, high = (stats.chi2.ppf(tail, replicates - 1) / (replicates - 1) for tail in (1e-10, 1 - 1e-10))
    assert low < (found / right).min()
    assert (found / right).max() < high
    # All cells together tell more: a tenth less or more of the standard deviations would show.
    assert abs(float((found / right).mean()) - 1) < 0.19


def test_public_totals_bring_the_error_of_which_rows_were_measured() -> None:
    """Half of the rows were measured: a total of all of them says how many these are to within a binomial error."""
    total = PublicTotal("a register", None, (len(ROWS),))
    found = measured(ROWS[::2], amount=Fraction(90), law="laplace")
    known = replace(found, domain=replace(found.domain, totals=(total,)))
    plain, told = (Inference(each, probability=Fraction(1, 2)) for each in (found, known))
    whole = told.functional(ALL)
    assert told.system.variance(whole) < plain.system.variance(whole)
    public = told.system.variance_of_public_totals(whole)
    share = told.system.variance(whole) / (len(ROWS) / 4)
    assert public == pytest.approx(share**2 * len(ROWS) / 4, rel=1e-6), "by its weight, which is that of its precision"
    for of in (ALL, query(RICH), query({**RICH, **MEN})):
        functional = told.functional(of)
        assert told.law(functional).variance == pytest.approx(told.system.variance(functional), rel=1e-6)


def test_a_difference_that_was_not_measured_has_the_ends_of_both_groups() -> None:
    apart = tuple(query for query in EVERYTHING if query[0] != (1, 2))
    inference = Inference(measured(ROWS, apart, amount=Fraction(25)), probability=Fraction(1))
    difference = compare(inference, "income=low", "sex").answers[-1]
    women, men = (inference.share("income=low", f"sex={sex}", Asked(level=0.975)).interval for sex in "fm")
    assert women is not None
    assert men is not None
    assert difference.interval == Interval(men.low - women.high, men.high - women.low)
    with pytest.raises(Refused, match="needs what was measured or certified, and this difference is bounded"):
        compare(inference, "income=low", "sex", test=True)


def test_whole_numbers_of_a_count_are_those_within_reach(inference: Inference) -> None:
    answer = inference.count("age=18..19 & sex=f")
    value = value_of(inference, query({0: [1, 1, 0, 0, 0, 0], **WOMEN}))
    half = Z * sqrt(variance_of(inference, (1.0, query({0: [1, 1, 0, 0, 0, 0], **WOMEN}))))
    assert answer.interval is not None
    assert (answer.interval.low, answer.interval.high) == (ceil(value - half), floor(value + half))
