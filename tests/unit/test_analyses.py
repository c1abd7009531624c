"""Analyses on real and on released records: their estimates are those of textbooks, and a release is judged by them."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from math import sqrt

import numpy as np
import pytest
from scipy.stats import linregress

from deniable.evaluation.analyses.declared import Analysis, made_for, means, quantile, regression
from deniable.evaluation.analyses.estimates import SIGMAS, estimated
from deniable.evaluation.classifiers import classifiers
from deniable.evaluation.contract import Value
from deniable.evaluation.evidence import UtilityEvidence
from deniable.evaluation.metrics import analyses
from deniable.evaluation.uses import ANALYSES
from deniable.foundation.domain import Attribute, Codes, Domain
from deniable.foundation.errors import InvalidInput
from tests.evaluated_release import KEY, independent, population

ROWS = 3000
SIZES = {"age": 40, "income": 40, "town": 30, "sex": 2, "sick": 2}
KINDS = {"sex": "nominal", "sick": "nominal"}
DOMAIN = Domain(
    tuple(
        Attribute(name, tuple(range(size)), KINDS.get(name, "numeric"), tuple(range(size)))  # type: ignore[arg-type]
        for name, size in SIZES.items()
    ),
    target="sex",
)
DECLARED = (regression("income ~ age + sex"), means("income", "sex"), quantile("age", 0.5, None))


def measured(
    released: Codes, chosen: tuple[Analysis, ...] = DECLARED, holdout: Codes | None = None, *, are_declared: bool = True
) -> dict[str, Value]:
    """What the metric measures of a release."""
    with ThreadPoolExecutor(2) as pool:
        evidence = UtilityEvidence(
            domain=DOMAIN,
            tables={"released": released, "training": population(ROWS, "training")},
            holdout=population(ROWS, "holdout") if holdout is None else holdout,
            rows=500,
            classifiers=(),
            factories=classifiers(KEY.stream(step="test", mechanism="c", inputs="", parameters={}), trees=2),
            groups=(),
            pool=pool,
            analyses=chosen,
            are_declared=are_declared,
        )
        return dict(analyses.METRIC.measure(evidence))


def test_a_regression_is_that_of_scipy_and_of_least_squares() -> None:
    codes = population(900, "one")
    age, income, sex = (codes[:, j].astype(float) for j in (0, 1, 3))
    alone = estimated(regression("income ~ age"), DOMAIN, codes)
    assert alone.values[0] == pytest.approx(linregress(age, income).slope)
    found = estimated(regression("income ~ age + sex"), DOMAIN, codes)
    design = np.column_stack((np.ones(900), age, sex))
    expected, *_ = np.linalg.lstsq(design, income, rcond=None)
    assert found.values == pytest.approx(expected[1:])
    inverse, residual = np.linalg.inv(design.T @ design), income - design @ expected
    robust = inverse @ (design.T * residual**2) @ design @ inverse * 900 / 897
    assert found.errors == pytest.approx(np.sqrt(np.diag(robust))[1:])


def test_a_coefficient_that_the_records_do_not_give_is_missing_and_the_others_are_not() -> None:
    codes = population(900, "one")
    codes[:, 4] = 0
    found = estimated(regression("income ~ age + sick + sex"), DOMAIN, codes)
    assert np.isnan(found.values).tolist() == np.isnan(found.errors).tolist() == [False, True, False]
    assert found.values[[0, 2]] == pytest.approx(estimated(regression("income ~ age + sex"), DOMAIN, codes).values)
    codes[:, 4] = codes[:, 3]
    twice = estimated(regression("income ~ age + sick + sex"), DOMAIN, codes)
    assert np.isnan(twice.values).tolist() == [False, True, True]


def test_means_shares_and_medians_by_group_are_those_of_the_groups() -> None:
    codes = population(501, "one")
    groups = [codes[codes[:, 3] == sex] for sex in (0, 1)]
    found = estimated(means("income", "sex"), DOMAIN, codes)
    assert found.values == pytest.approx([group[:, 1].mean() for group in groups])
    assert found.errors == pytest.approx([group[:, 1].std(ddof=1) / sqrt(len(group)) for group in groups])
    shares = estimated(means("sick=1", "sex"), DOMAIN, codes)
    assert shares.values == pytest.approx([group[:, 4].mean() for group in groups])
    middle = estimated(quantile("income", 0.5, "sex"), DOMAIN, codes)
    assert middle.values.tolist() == [float(np.quantile(group[:, 1], 0.5, method="inverted_cdf")) for group in groups]


def test_a_missing_number_is_left_out() -> None:
    attributes = (replace(DOMAIN.attributes[0], missing=0), *DOMAIN.attributes[1:])
    codes, domain = population(900, "one"), replace(DOMAIN, attributes=attributes)
    known = codes[codes[:, 0] > 0]
    assert len(known) < 900
    for analysis in (regression("income ~ age"), means("age", None), quantile("age", 0.25, "sex")):
        one, other = estimated(analysis, domain, codes), estimated(analysis, DOMAIN, known)
        assert one.values == pytest.approx(other.values)
        assert one.errors == pytest.approx(other.errors)


def test_the_interval_of_a_median_covers_it_and_is_no_wider_than_the_spread_of_medians() -> None:
    found = [estimated(quantile("age", 0.5, None), DOMAIN, population(400, f"median {i}")) for i in range(200)]
    values, errors = (np.array([getattr(each, name)[0] for each in found]) for name in ("values", "errors"))
    assert (np.abs(values - 19.5) <= SIGMAS * errors + 0.5).sum() >= 185
    assert float(np.mean(errors)) == pytest.approx(float(values.std()), rel=0.2)


def test_overlap_is_one_for_equal_intervals_half_for_halves_and_zero_apart() -> None:
    ones, wide = np.ones(4), np.array([1.0, 1.0, 1.0, 0.0])
    other = np.array([1.0, 1 + 1.96, 9.0, 1.0])
    assert analyses.interval_overlap(ones, wide, other, wide) == pytest.approx([1, 0.5, 0, 1])
    assert analyses.interval_overlap(ones[:1], ones[:1], np.array([np.nan]), ones[:1]).tolist() == [0]
    narrow = analyses.interval_overlap(np.array([1.0]), np.array([0.5]), np.array([1.0]), np.array([1.0]))
    assert narrow == pytest.approx([0.75])


def test_a_sample_of_the_population_keeps_every_analysis_and_independent_attributes_do_not() -> None:
    good, bad = measured(population(ROWS, "best")), measured(independent(ROWS, "bad"))
    some = measured(population(ROWS, "best"), DECLARED[:2])
    assert ANALYSES.grade(some[analyses.WORST]) in {"good", "with caution"}
    # So few records do not decide on a median.
    assert ANALYSES.grade(good[analyses.WORST]) is None
    assert ANALYSES.grade(bad[analyses.WORST]) == "do not"
    assert good[analyses.KEPT].value == 1
    assert bad[analyses.KEPT].value == 0
    assert good[analyses.OVERLAP].value > 0.4 > bad[analyses.OVERLAP_WORST].value == 0
    assert bad[analyses.DIFFERENCE].value > 20
    # Only what depends on other attributes is off.
    assert bad[analyses.gap_of(0)].value > 0.3
    assert bad[analyses.gap_of(2)].value < 0.05


def test_the_use_is_judged_by_the_analysis_that_may_be_worst() -> None:
    certain, doubtful, fine = (0.3, 0.01), (0.02, 0.5), (0.03, 0.001)
    order = sorted((doubtful, certain, fine), key=lambda each: analyses._badness(*each, 2.0))
    assert order == [fine, doubtful, certain]
    found = measured(population(ROWS, "best"))
    ends = [found[name].value + 2.394 * (found[name].error or 0) for name in map(analyses.gap_of, range(3))]
    worst = found[analyses.WORST]
    assert worst.value + 1.96 * (worst.error or 0) == pytest.approx(max(ends), abs=1e-4)


def test_a_gap_is_that_of_standardized_coefficients_less_that_of_training_records() -> None:
    found = measured(independent(ROWS, "bad"))[analyses.WORST].summarizes[0]
    tables = [independent(ROWS, "bad"), population(ROWS, "training"), population(ROWS, "holdout")]
    slopes = [estimated(DECLARED[0], DOMAIN, table).values[0] for table in tables]
    ratio = tables[2][:, 0].std() / tables[2][:, 1].std()
    assert found == pytest.approx(ratio * (abs(slopes[0] - slopes[2]) - abs(slopes[1] - slopes[2])))


def test_gaps_of_samples_of_one_population_are_within_their_errors() -> None:
    scores = []
    for i in range(12):
        found = measured(population(ROWS, f"again {i}"), holdout=population(ROWS, f"held {i}"))
        scores += [found[analyses.gap_of(k)].value / (found[analyses.gap_of(k)].error or 1) for k in range(3)]
    assert max(scores) < 4
    assert abs(float(np.mean(scores))) < 0.6


def test_a_group_that_the_release_lost_is_a_standard_deviation_off() -> None:
    released = population(ROWS, "best")
    found = measured(released[released[:, 3] == 0], (means("income", "sex"),))
    assert found[analyses.WORST].summarizes[1] > 0.9
    assert found[analyses.OVERLAP].summarizes[1] == 0
    assert found[analyses.DIFFERENCE].value == analyses.MOST_DIFFERENCE


def test_only_declared_analyses_have_figures_of_their_own() -> None:
    names = measured(population(ROWS, "best"), made_for(DOMAIN), are_declared=False).keys()
    assert analyses.gap_of(0) not in names
    assert analyses.gap_of(2) in measured(population(ROWS, "best"))


def test_analyses_are_made_from_the_kinds_and_the_target() -> None:
    made = made_for(DOMAIN)
    assert [each.words for each in made[:2]] == [
        "regression of sex=1 on age, income, sick",
        "regression of age on income, town, sex, sick",
    ]
    assert "median of income by sex" in [each.words for each in made]
    assert len(made) <= 10
    for each in made:
        each.require_in(DOMAIN)
    only = Domain(DOMAIN.attributes[3:], target="sex")
    assert [each.words for each in made_for(only)] == ["regression of sex=1 on sick", "share with sick=1 by sex"]
    assert made_for(Domain(DOMAIN.attributes[3:4], target="sex")) == ()


@pytest.mark.parametrize(
    ("analysis", "message"),
    [
        (regression("incme ~ age"), "did you mean income?"),
        (regression("sex ~ age"), "or one of its values: sex=1."),
        (regression("sex=2 ~ age"), "must be a value of sex"),
        (regression("income ~ age + age"), "must name each attribute once"),
        (quantile("sex", 0.5, None), "must be numeric, and sex is nominal"),
        (means("income", "towns"), "did you mean town?"),
    ],
)
def test_an_analysis_that_the_table_does_not_allow_is_refused(analysis: Analysis, message: str) -> None:
    with pytest.raises(InvalidInput, match=message.replace("?", r"\?").replace("+", r"\+")):
        analysis.require_in(DOMAIN)


def test_a_regression_with_too_many_coefficients_is_refused() -> None:
    wide = Attribute("job", tuple(range(60)), "nominal", tuple(range(60)))
    domain = Domain((*DOMAIN.attributes, wide), target="sex")
    with pytest.raises(InvalidInput, match="at most 40 estimates, got 60"):
        regression("income ~ job").require_in(domain)
    means("income", "job").require_in(domain)


@pytest.mark.parametrize("written", ["income", "income ~", "~ age", "income ~ age + "])
def test_a_regression_that_is_written_otherwise_is_refused(written: str) -> None:
    with pytest.raises(InvalidInput, match="must be written as an outcome"):
        regression(written)
