"""Counts and shares of attributes that were not counted together, by a certificate of the model's error."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.errors import Refused
from deniable.inference import estimation
from deniable.inference.answers import Asked
from deniable.inference.estimation import Inference
from deniable.inference.queries import Query
from deniable.measurements.certificate import POPULATION, Certificate, margin, workload_of
from deniable.measurements.document import Measurements, Sampling, Universe
from deniable.measurements.noisy_tables import MeasuredTable, NoiseLaw, Release

Counts = NDArray[np.int64]
LAW, OWN = NoiseLaw("gaussian", Fraction(100)), NoiseLaw("gaussian", Fraction(2500))
DOMAIN = Domain(
    (
        Attribute("age", (0, 1, 2, 3), "numeric", (0, 0, 1, 1)),
        Attribute("sex", ("f", "m"), "nominal", (0, 1)),
        Attribute("town", ("a", "b", "c"), "nominal", (0, 1, 2)),
    )
)
TRUTH: Counts = np.array([[[900, 200], [400, 500]], [[300, 800], [1100, 800]], [[600, 700], [900, 2800]]])
"""Of towns, buckets of age, and sexes: 10,000 rows."""


def released(table: Counts, turn: int, draw: np.random.Generator) -> Release:
    return Release(table + np.rint(draw.normal(0, 10, table.shape)).astype(np.int64), LAW, turn)


def inferred(seed: int, sampling: Sampling = "unknown", probability: Fraction | None = None) -> Inference:
    """Each attribute was measured, and age with sex by buckets; of the other pairs there is a model."""
    draw = np.random.default_rng(seed)
    by_age = TRUTH.sum(axis=(0, 2))
    halves = np.stack([by_age // 2, by_age - by_age // 2], axis=1).ravel()
    tables = (
        MeasuredTable((0,), (released(halves, 1, draw),), (0,)),
        MeasuredTable((1,), (released(TRUTH.sum(axis=(0, 1)), 2, draw),), (1,)),
        MeasuredTable((2,), (released(TRUTH.sum(axis=(1, 2)), 3, draw),), (2,)),
        MeasuredTable((0, 1), (released(TRUTH.sum(axis=0), 4, draw),)),
    )
    buckets = tuple(attribute.bucket_of for attribute in DOMAIN.attributes)
    universe = Universe("parameters", sampling)
    measured = Measurements(DOMAIN, "loglinear", universe, buckets, tables, (), 10_000.0, (0, 1, 2))
    workload = workload_of(measured)
    assert workload.pairs == ((0, 2), (1, 2))
    pairs = [TRUTH.sum(axis=2).T, TRUTH.sum(axis=1).T]
    model = [np.rint(np.outer(own.sum(axis=1), own.sum(axis=0)) / 10_000).astype(np.int64) for own in pairs]
    worst = max(int(np.abs(own - other).max()) for own, other in zip(pairs, model, strict=True))
    noisy = worst + int(np.rint(draw.normal(0, 50)))
    made = Certificate(DOMAIN, "parameters", workload, 10_000, POPULATION, tuple(model), noisy, OWN)
    return Inference(measured, probability=probability, certificate=made)


TOWNS = [f"town={town} & {other}" for town, other in product("abc", ("sex=f", "sex=m", "age<=1", "age>=2"))]


def truth_of(condition: str) -> int:
    town, other = condition.split(" & ")
    own = TRUTH["abc".index(town[-1])]
    return int({"sex=f": own[:, 0], "sex=m": own[:, 1], "age<=1": own[0], "age>=2": own[1]}[other].sum())


@pytest.mark.slow
def test_certified_intervals_cover_all_counts_at_once_more_often_than_they_say() -> None:
    covered = []
    for seed in range(40):
        found = inferred(seed)
        answers = {condition: found.count(condition) for condition in TOWNS}
        assert {answer.grade for answer in answers.values()} == {"certified"}
        covered.append(
            all(own.interval and own.interval.low <= truth_of(of) <= own.interval.high for of, own in answers.items())
        )
    assert np.mean(covered) >= 0.9


def test_a_certified_count_is_the_models_with_its_bound_within_what_separate_counts_allow() -> None:
    found = inferred(3)
    plain = Inference(found.measured)
    certificate = found._certified._certificate  # type: ignore[union-attr]
    answer, bounded = found.count("town=a & sex=f"), plain.count("town=a & sex=f")
    assert bounded.grade == "bounded"
    assert answer.interval is not None
    assert bounded.interval is not None
    assert answer.interval.high - answer.interval.low <= 2 * certificate.bound(0.975)
    assert answer.interval.high - answer.interval.low < bounded.interval.high - bounded.interval.low
    assert certificate.bound(0.975) == certificate.released + margin(OWN, 0.975)
    assert "rests on the released certificate" in answer.condition
    # Two cells may be off by twice as much: then the separate counts say as much.
    both = found.count("town=a|b & sex=f")
    assert both.interval is not None
    assert both.interval.high <= 9_000
    assert both.estimate == pytest.approx(float(certificate.model[1][0, :2].sum()))


def test_shares_and_the_population_have_the_error_of_what_else_is_in_them() -> None:
    found = inferred(5, "simple random")
    share = found.share("town=c", "sex=m")
    assert share.grade == "certified"
    assert share.interval is not None
    assert share.interval.low <= TRUTH[2, :, 1].sum() / TRUTH[:, :, 1].sum() <= share.interval.high
    population = found.share("town=c", "sex=m", Asked(estimand="population"))
    assert population.grade == "certified"
    assert population.interval is not None
    assert population.interval.high - population.interval.low > share.interval.high - share.interval.low
    part = inferred(5, probability=Fraction(1, 2)).count("town=c & sex=m")
    assert part.interval is not None
    assert part.interval.low <= 2 * TRUTH[2, :, 1].sum() <= part.interval.high
    assert part.estimate == pytest.approx(2 * found.count("town=c & sex=m").estimate, rel=0.2)


@pytest.mark.parametrize("level", [0.9, 0.975])
def test_a_count_of_several_cells_may_be_off_by_as_many_bounds(level: float) -> None:
    certified = inferred(3)._certified
    assert certified is not None
    bound = certified._certificate.bound(level)
    for towns in ([1.0, 0, 0], [1.0, 0, 1], [1.0, 1, 1]):
        own = certified.count({1: np.asarray([1.0, 0]), 2: np.asarray(towns)}, level)
        assert own is not None
        assert own.interval.high - own.estimate == own.estimate - own.interval.low == sum(towns) * bound


OF_POPULATION = Asked(estimand="population", sampling="simple random")


@pytest.mark.parametrize("is_certified", [True, False])
@pytest.mark.parametrize(
    "ask",
    [
        lambda own: own.count("town=a & sex=f"),
        lambda own: own.count("town=a & sex=f", Asked(level=0.8)),
        lambda own: own.share("town=c", "sex=m"),
        lambda own: own.share("town=a & sex=f", "town=a|b"),
        lambda own: own.share("town=c", "sex=m", OF_POPULATION),
        lambda own: own.share("town=a & sex=f", "town=a|b", OF_POPULATION),
    ],
)
def test_all_that_an_interval_rests_on_misses_together_as_seldom_as_it_says(
    ask: Any, monkeypatch: pytest.MonkeyPatch, *, is_certified: bool
) -> None:
    """By the sum of the probabilities with which counts, certificate and sampling miss; no less is left to them."""
    whole = inferred(3)
    inference = whole if is_certified else Inference(whole.measured, probability=Fraction(1))
    misses: list[float] = []

    def noted(own: Any, place: int) -> Any:
        return lambda *given: misses.append(1 - given[place]) or own(*given)

    monkeypatch.setattr(Inference, "reach", noted(Inference.reach, 2))
    monkeypatch.setattr(Certificate, "bound", noted(Certificate.bound, 1))
    monkeypatch.setattr(estimation, "two_sided", noted(estimation.two_sided, 0))
    answer = ask(inference)
    assert answer.grade == ("certified" if is_certified else "bounded")
    assert sum(misses) == pytest.approx(1 - answer.level)
    assert len(misses) >= 3 + is_certified


@pytest.mark.parametrize("effect", [1.0, 4.0])
def test_a_certified_count_of_a_sample_is_off_by_the_error_of_sampling_too(effect: float) -> None:
    """By the normal law at the count in its interval that varies most, of binomial ones."""
    found = inferred(3)
    assert found._certified is not None
    [term] = Query.product(found.conditions.parse("town=a & sex=f")).terms
    own = found._by_certificate(term, replace(OF_POPULATION, design_effect=effect), of_all=True)
    assert own is not None
    bound = found._certified._certificate.bound(1 - 0.05 / 4)
    most = own.estimate + bound
    assert most < found.records / 2
    sampling = stats.norm.ppf(1 - 0.05 / 8) * (effect * most * (1 - most / found.records)) ** 0.5
    assert own.interval.high == pytest.approx(own.estimate + bound + sampling)
    assert own.interval.low == pytest.approx(max(own.estimate - bound, 0) - sampling)


def test_bounds_of_a_sample_are_wider_than_those_of_its_rows() -> None:
    plain = Inference(inferred(3).measured, probability=Fraction(1))
    widths = []
    for asked in (Asked(), OF_POPULATION, replace(OF_POPULATION, design_effect=4.0)):
        found = plain.share("town=a & sex=f", asked=asked)
        assert found.grade == "bounded"
        assert found.interval is not None
        widths.append(found.interval.high - found.interval.low)
    assert widths[0] < widths[1] < widths[2]


@pytest.mark.parametrize("condition", ["age=0 & town=a", "age=0..1 & sex=f & town=a"])
def test_what_the_certificate_is_not_about_is_bounded(condition: str) -> None:
    assert inferred(1).count(condition).grade == "bounded"


def test_a_certified_answer_is_refused_where_only_measured_ones_are_accepted() -> None:
    accepted: Any = Asked(grade="certified")
    assert inferred(1).count("town=a & sex=f", accepted).grade == "certified"
    with pytest.raises(Refused, match="certified"):
        inferred(1).count("town=a & sex=f", Asked(grade="measured"))
    assert inferred(1).count("age<=1 & sex=f", Asked(grade="measured")).grade == "measured"
    assert inferred(1).count("town=a & sex=f", Asked(level=0.9998)).grade == "certified"
