"""The report's intervals by noisy counts are those of `deniable data infer`, or it says why there are none."""

import json
from dataclasses import replace
from fractions import Fraction
from math import isfinite
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from deniable.evaluation.analyses.declared import Analysis, means, quantile, regression
from deniable.foundation.domain import Domain
from deniable.inference.estimation import Inference
from deniable.inference.quantiles import quantile as inferred_quantile
from deniable.inference.regression import regress
from deniable.measurements.document import Measurements
from reports.figures.analyses import Inferred
from schemas.references import Audience, Reference
from tasks.publication.inferred import inferred_analyses
from tests.inferred import DOMAIN, EVERYTHING, measured, people

PLAIN = Domain((replace(DOMAIN.attributes[0], buckets=tuple(range(6))), *DOMAIN.attributes[1:]))
HALF = {"shared": Fraction(1, 2), "holdout": Fraction(1, 2)}


def answered(folder: Path, known: Measurements, *analyses: Analysis) -> list[Inferred]:
    """What the report shows of some analyses."""
    place = folder / "measured.json"
    place.write_text(json.dumps(known.document()))
    reference = Reference(name="measured", path=place, digest="0" * 64, audience=Audience.PUBLIC)
    spec: Any = SimpleNamespace(domain=known.domain, analyses=analyses, split=SimpleNamespace(probabilities=HALF))
    return list(inferred_analyses(spec, reference))


def test_the_intervals_are_those_that_a_data_user_is_given(tmp_path: Path) -> None:
    known = measured(people(1, 5000, PLAIN), amount=Fraction(25), domain=PLAIN)
    inference = Inference(known, probability=Fraction(1, 2))
    asked = (
        regression("income=>50K ~ age + sex"),
        means("age", "sex"),
        means("sex=m", "income"),
        quantile("age", 0.5, None),
    )
    slopes, ages, shares, median = answered(tmp_path, known, *asked)
    expected = regress(inference, "income=>50K", ["age", "sex"]).answers[1:]
    for name, answer in zip(("age", "sex=m"), expected, strict=True):
        assert answer.interval is not None
        assert slopes.intervals[name] == (answer.estimate, answer.interval.low, answer.interval.high)
    of_men = inference.mean("age", "sex=m")
    assert of_men.interval is not None
    assert ages.intervals["m"] == (of_men.estimate, of_men.interval.low, of_men.interval.high)
    assert shares.intervals.keys() == {"low", "<=50K", ">50K"}
    assert shares.intervals["<=50K"][0] == inference.share("sex=m", 'income="<=50K"').estimate
    assert median.intervals["all records"][0] == inferred_quantile(inference, "age", 0.5).estimate
    assert not any(each.reason for each in (slopes, ages, shares, median))
    assert all(
        isfinite(number) for each in (slopes, ages, shares) for ends in each.intervals.values() for number in ends
    )


@pytest.mark.parametrize(
    ("queries", "rows", "reason"),
    [
        (EVERYTHING[:3], 5000, "were not counted together"),
        (EVERYTHING, 40, "at least 100 rows must have been measured"),
    ],
)
def test_where_there_is_no_interval_the_reason_is_given(
    tmp_path: Path, queries: tuple[Any, ...], rows: int, reason: str
) -> None:
    known = measured(people(1, rows, PLAIN), queries, amount=Fraction(4), domain=PLAIN)
    [found] = answered(tmp_path, known, regression("age ~ sex"))
    assert not found.intervals
    assert reason in found.reason


def test_groups_that_were_counted_in_buckets_have_no_interval(tmp_path: Path) -> None:
    known = measured(people(1, 5000), amount=Fraction(25))
    [found] = answered(tmp_path, known, means("sex=m", "age"))
    assert found.reason == "values of age were counted in buckets."
