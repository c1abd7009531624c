"""An attribute that has thousands of values is answered for by itself, as one of few values is, without matrices."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.errors import InvalidInput, Refused
from deniable.inference.answers import Answer, Asked, TableAnswer
from deniable.inference.comparisons import compare
from deniable.inference.estimation import Inference
from deniable.inference.interval_table import _Latest, interval_table
from deniable.inference.quantiles import cumulative, quantile
from deniable.inference.regression import regress
from deniable.inference.tables import table
from deniable.measurements.noisy_tables import Law
from tests.inferred import Query, measured, people

BY_VALUES: tuple[Query, ...] = (((0,), (0,)), ((1,), (1,)), ((0, 1), (0, 1)), ((1, 2), ()))
POPULATION = Asked(estimand="population", sampling="simple random")
ASKS: tuple[Callable[[Inference], Answer | TableAnswer], ...] = (
    lambda i: i.count(),
    lambda i: i.count("age=19..21"),
    lambda i: i.share("age>=20"),
    lambda i: i.share("age=23", asked=POPULATION),
    lambda i: i.share("age=18", "age=18..20"),
    lambda i: i.mean("age"),
    lambda i: i.mean("age", "age<22", POPULATION),
    lambda i: i.ratio("age", "age>=20"),
    lambda i: quantile(i, "age", 0.5),
    lambda i: quantile(i, "age", 0.05, asked=POPULATION),
    lambda i: quantile(i, "age", 0.97),
    lambda i: table(i, ["age"]),
    lambda i: table(i, ["age"], "share", simultaneous=True),
    lambda i: cumulative(i, "age"),
)


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
@pytest.mark.parametrize("kept", [Fraction(1), Fraction(1, 2)])
def test_answers_are_those_of_an_attribute_of_few_values(
    law: Law, kept: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = measured(people(1, 5000), BY_VALUES, law=law)
    few = Inference(found, probability=kept)
    monkeypatch.setattr("deniable.inference.system._MOST_VALUES", 5)
    many = Inference(found, probability=kept)
    assert set(many.system.many) == {0}
    for ask in ASKS:
        one, other = (ask(each).document() for each in (few, many))
        for left, right in zip(one.pop("cells", [one]), other.pop("cells", [other]), strict=True):
            for entry in ("estimate", "low", "high", "noise_sd", "sampling_sd"):
                one_of, other_of = left.pop(entry), right.pop(entry)
                assert one_of == other_of or one_of == pytest.approx(other_of, rel=1e-8), entry
            assert {own["table"][0] for own in left.pop("sources")} <= {"age", "sex"}
            del right["sources"], left["question"], right["question"]
            assert left == right


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
@pytest.mark.parametrize("asked", [Asked(), POPULATION, Asked(level=0.9998)])
def test_quantiles_are_looked_for_as_far_as_the_noise_reaches(
    law: Law, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of forty values with much noise, whose intervals have many values; all of them are tried where they are few."""
    ages = Attribute("age", tuple(range(40)), "numeric", (0,) * 40)
    draw = np.random.default_rng(6)
    codes = draw.binomial(39, 0.4, (5000, 1))
    queries: tuple[Query, ...] = (((0,), (0,)),)
    amount = Fraction(10_000) if law == "gaussian" else Fraction(70)
    found = measured(codes, queries, law=law, amount=amount, domain=Domain((ages,)))
    few = Inference(found, probability=Fraction(1))
    monkeypatch.setattr("deniable.inference.system._MOST_VALUES", 5)
    many = Inference(found, probability=Fraction(1))
    assert set(many.system.many) == {0}
    widths = []
    for probability in (0.05, 0.3, 0.5, 0.8, 0.99):
        one, other = (quantile(each, "age", probability, asked=asked) for each in (few, many))
        assert (one.estimate, one.interval) == (other.estimate, other.interval)
        assert one.interval is not None
        widths.append(one.interval.high - one.interval.low)
    assert max(widths) >= 4


def test_the_table_of_intervals_has_its_values(monkeypatch: pytest.MonkeyPatch) -> None:
    found = measured(people(1, 5000), BY_VALUES)
    expected = [line for line in interval_table(found, Fraction(1)).splitlines() if line.startswith("age,")]
    monkeypatch.setattr("deniable.inference.system._MOST_VALUES", 5)
    monkeypatch.setattr("deniable.inference.interval_table._lines", _Latest())  # those above are kept
    lines = interval_table(found, Fraction(1)).splitlines()
    assert [line.split(",")[2] for line in lines if line.startswith("age,")] == ["18", "19", "20", "21", "22", "23"]
    for line, other in zip([line for line in lines if line.startswith("age,")], expected, strict=True):
        numbers = [float(each) for each in line.split(",")[5:13]]
        assert numbers == pytest.approx([float(each) for each in other.split(",")[5:13]], rel=1e-8)
    assert not any(line.startswith("age x") for line in lines)


def test_with_others_it_is_summed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniable.inference.system._MOST_VALUES", 5)
    found = Inference(measured(people(1, 5000)))
    asks: tuple[Callable[[], Any], ...] = (
        lambda: table(found, ["sex", "age"], "share"),
        lambda: compare(found, "sex=f", "age"),
        lambda: regress(found, "sex=f", ["age"]),
    )
    for ask in asks:
        with pytest.raises(InvalidInput, match="attributes of at most 5 values, got age with 6; ask for its counts"):
            ask()
    with pytest.raises(InvalidInput, match="values of age were counted together"):
        found.count("age=18 & sex=f", Asked(grade="measured"))
    bounds = found.count("age=18 & sex=f")
    own = found.count("age=18", Asked(level=1 - 0.05 / 4)).interval
    assert own is not None
    assert bounds.interval is not None
    assert (bounds.grade, bounds.interval.low) == ("bounded", 0.0)
    assert abs(bounds.interval.high - own.high) < 1, "the counts of its values bound it"
    with pytest.raises(Refused, match="a quantile of age, which has 6 values, must be of all records"):
        quantile(found, "age", 0.5, "sex=f")


@pytest.mark.nightly
@pytest.mark.slow
def test_sixty_thousand_values_take_little_room() -> None:
    """A matrix of their contrasts would have 3.6 billion entries."""
    size = 60_000
    incomes = Attribute("income", tuple(range(size)), "numeric", (0,) * size)
    sex = Attribute("sex", ("f", "m"), "nominal", (0, 1))
    draw = np.random.default_rng(5)
    own = np.minimum(draw.lognormal(9.5, 0.7, 40_000).astype(int), size - 1)
    codes = np.stack([own, draw.integers(0, 2, 40_000)], axis=1)
    domain = Domain((incomes, sex))
    found = Inference(measured(codes, (((0,), (0,)), ((1,), (1,))), domain=domain), probability=Fraction(1))
    asked = (
        (found.mean("income"), own.mean()),
        (found.count("income>=20000"), (own >= 20_000).sum()),
        (found.share("income<5000"), (own < 5_000).mean()),
        (quantile(found, "income"), np.sort(own)[len(own) // 2 - 1]),
    )
    for answer, right in asked:
        assert answer.interval is not None
        assert answer.interval.low <= right <= answer.interval.high
        assert ("income",) in answer.sources
    shown = cumulative(found, "income")
    assert len(shown.answers) == 200
    assert "up to 200 of its 60,000 values" in shown.question
