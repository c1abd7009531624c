"""Regressions on numbers that were counted in buckets: by the means of buckets, with their noise, and an honest grade.

The control is the regression on midpoints, as before.
"""

from dataclasses import replace
from fractions import Fraction
from functools import cache
from math import sqrt
from typing import Any

import numpy as np
import pytest

from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.errors import Refused
from deniable.inference import regression
from deniable.inference.answers import Asked
from deniable.inference.estimation import Inference
from deniable.inference.regression import regress
from deniable.measurements.noisy_tables import MeasuredTable
from tests.chosen_buckets import AGES, AMOUNT, SEX, Chosen, Rows, people, released
from tests.extent import drawn
from tests.inferred import measured
from tests.inferred import people as few_people

RELEASES = drawn(240, least=60)
OLD = Attribute("age", tuple(range(AGES)), "numeric", tuple(range(AGES)))
PAIR = Domain((SEX, OLD))
BELIEVED = Asked(grade="model")
QUERIES = (((0,), (0,)), ((1,), (1,)), ((2,), (2,)), ((0, 1), ()), ((0, 2), ()), ((1, 2), ()))


def skewed(seed: int, rows: int = 20_000) -> Rows:
    """Return records of which most are young, so that the means of buckets are below their midpoints."""
    draw = np.random.default_rng([31, seed])
    age = np.minimum(draw.exponential(14.0, rows).astype(int), AGES - 1)
    return np.stack([(draw.random(rows) < 0.25 + 0.008 * age).astype(int), age], axis=1)


def least_squares(y: Any, *columns: Any) -> Any:
    design = np.stack([np.ones(len(y)), *columns], axis=1)
    return np.linalg.lstsq(design, np.asarray(y, float), rcond=None)[0]


@cache
def made() -> tuple[Chosen, ...]:
    return tuple(released(skewed(seed), seed, PAIR, sds=(12, 25)) for seed in range(RELEASES))


def midpoints(inference: Inference, i: int) -> Any:
    """A number as it entered before."""
    values = inference.conditions.numbers(i)
    found = values.copy()
    for codes in inference.groups(i):
        found[codes] = (values[codes].min() + values[codes].max()) / 2
    return regression._Column(inference.measured.domain.names[i], i, found)


def covered(outcome: str, regressor: str) -> float:
    held = 0
    for each in made():
        sex, age = each.rows.T
        right = least_squares(sex, age)[1] if outcome == "sex=m" else least_squares(age, sex)[1]
        [_, answer] = regress(Inference(each.measured), outcome, [regressor]).answers
        assert answer.grade == "measured"
        assert answer.interval is not None
        held += answer.interval.low <= right <= answer.interval.high
    return held / RELEASES


@pytest.mark.slow
def test_slopes_on_means_of_buckets_are_covered_and_those_on_midpoints_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a share on age, and of age on sex; at least the level, because intervals allow for what buckets hide."""
    slack = 6 * sqrt(0.95 * 0.05 / RELEASES)
    assert covered("sex=m", "age") >= 0.95 - slack
    assert covered("age", "sex") >= 0.95 - slack
    with monkeypatch.context() as before:
        before.setattr(regression, "_number", midpoints)
        assert covered("sex=m", "age") < 0.95 - slack


@pytest.mark.parametrize(("outcome", "regressors"), [("sex=m", ["age", "income"]), ("age", ["sex", "income"])])
def test_coefficients_have_the_noise_of_the_means_of_buckets(outcome: str, regressors: list[str]) -> None:
    """By differences: each released entry is moved, and the regression made again."""
    found = measured(few_people(3, 20_000), QUERIES, amount=Fraction(400))

    def estimates(tables: tuple[MeasuredTable, ...]) -> Any:
        own = regress(Inference(replace(found, tables=tables)), outcome, regressors)
        return np.asarray([answer.estimate for answer in own.answers])

    variances: Any = 0.0
    for place, own in enumerate(found.tables):
        for entry in np.ndindex(own.values.shape):
            moved = own.releases[0].sums.copy()
            moved[entry] += 1
            release = replace(own.releases[0], sums=moved)
            changed = (*found.tables[:place], replace(own, releases=(release,)), *found.tables[place + 1 :])
            variances = variances + own.variance * (estimates(changed) - estimates(found.tables)) ** 2
    answers = regress(Inference(found), outcome, regressors).answers
    assert [answer.noise_deviation for answer in answers] == pytest.approx(np.sqrt(variances).tolist(), rel=5e-3)
    alone = [answer.sources[("age",)] for answer in answers]
    assert max(alone) > 0.004, "the counts of single values matter"


@pytest.mark.parametrize("within", [0.2, 1.0, 1.8])
def test_the_interval_allows_for_other_slopes_within_buckets(within: float) -> None:
    """Without noise: shares that differ within buckets of two values by 0 to 2 times what the slope between implies."""
    rows = few_people(5, 40_000)
    draw = np.random.default_rng(6)
    middle = rows[:, 0] // 2 * 2 + 0.5
    rows[:, 1] = draw.random(len(rows)) < 0.2 + 0.1 * (middle + within * (rows[:, 0] - middle))
    found = regress(Inference(measured(rows, QUERIES, amount=Fraction(1, 10**6))), "sex=m", ["age"]).answers[1]
    right = least_squares(rows[:, 1], 18 + rows[:, 0])[1]
    assert found.interval is not None
    assert found.interval.low <= right <= found.interval.high
    if within != 1:
        assert abs(found.estimate - right) > 0.001, "buckets hide a difference"
    assert "age enters as the mean of its bucket, and slopes within buckets are taken to be between 0 and" in (
        found.condition
    )


class _Records:
    """Records of a model, here those that were counted."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def total(self, query: Any) -> float:
        found = 0.0
        for term in query.terms:
            own = np.full(len(self._rows), term.factor)
            for i, values in term.of.items():
                own *= values[self._rows[:, i]]
            found += float(own.sum())
        return found


def test_a_number_most_of_whose_variance_is_within_buckets_has_no_measured_coefficient() -> None:
    """The model's coefficient is that of single values, and has no interval."""
    chosen = released(people(1), 1)
    plain = Inference(chosen.measured)
    for outcome, regressors in (("sex=m", ["amount"]), ("amount", ["sex"]), ("sex=m", ["age", "amount"])):
        said = r"amount was counted with others in buckets that hide \d+ % of its variance, so the grade would be model"
        with pytest.raises(Refused, match=said):
            regress(plain, outcome, regressors)
        with pytest.raises(Refused, match=said):
            regress(plain, outcome, regressors, BELIEVED)
    assert {answer.grade for answer in regress(plain, "sex=m", ["age"]).answers} == {"measured"}
    believed = Inference(chosen.measured, model=_Records(chosen.rows))
    found = regress(believed, "sex=m", ["age", "amount"], BELIEVED).answers
    amounts = np.asarray(AMOUNT.values, float)[chosen.rows[:, 3]]
    right = least_squares(chosen.rows[:, 1], chosen.rows[:, 4], amounts)
    assert [answer.estimate for answer in found] == pytest.approx(right.tolist(), rel=1e-6)
    assert {(answer.grade, answer.interval) for answer in found} == {("model", None)}
    with pytest.raises(Refused, match="a test needs what was measured"):
        regress(believed, "sex=m", ["amount"], BELIEVED, test=True)


def test_pairs_that_were_not_counted_together_are_answered_by_the_model_if_it_is_accepted() -> None:
    rows = few_people(4, 5000)
    apart = Inference(measured(rows, QUERIES[:4]), model=_Records(rows))
    with pytest.raises(Refused, match="needs the table of each pair of attributes"):
        regress(apart, "sex=m", ["age", "income"])
    found = regress(apart, "sex=m", ["age", "income"], BELIEVED).answers
    right = least_squares(rows[:, 1], 18 + rows[:, 0], rows[:, 2] == 1, rows[:, 2] == 2)
    assert [answer.estimate for answer in found] == pytest.approx(right.tolist(), rel=1e-6)
