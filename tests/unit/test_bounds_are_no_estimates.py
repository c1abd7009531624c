"""Where counts only bound an answer there is no estimate but the model's, and every estimate lies in its interval."""

import csv
import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable.cli.dispatch import main
from deniable.data_user import csv_of, lines_of
from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.errors import DeniableError
from deniable.inference.answers import Answer, Asked, TableAnswer
from deniable.inference.comparisons import compare
from deniable.inference.estimation import Inference
from deniable.inference.interval_table import check_intervals, interval_table
from deniable.inference.intervals import Interval, whole_numbers
from deniable.inference.quantiles import cumulative, quantile
from deniable.inference.queries import Query
from deniable.inference.regression import regress
from deniable.inference.tables import table
from deniable.record.schema_document import describe_domain
from tests.extent import drawn
from tests.inferred import DOMAIN, EVERYTHING, measured, people

APART = tuple(query for query in EVERYTHING if query[0] != (1, 2))
"""Sex and income are not counted together."""
BELIEVED = Asked(grade="model")


class OfRows:
    """A model whose records are some rows."""

    def __init__(self, rows: NDArray[np.int64]) -> None:
        self._rows = rows

    def total(self, query: Query) -> float:
        parts = [
            (term.factor * np.prod([own[self._rows[:, i]] for i, own in term.of.items()], axis=0)).sum()
            if term.of
            else term.factor * len(self._rows)
            for term in query.terms
        ]
        return float(sum(parts))


def apart(rows: NDArray[np.int64], model: NDArray[np.int64] | None = None, **given: Any) -> Inference:
    """A release in which sex and income were not counted together."""
    believed = None if model is None else OfRows(model)
    return Inference(measured(rows, APART, amount=Fraction(25), **given), probability=Fraction(1, 2), model=believed)


def test_bounds_have_no_estimate_in_any_form() -> None:
    found = apart(people(1, 5000))
    for answer in (
        found.share("income=>50K", "sex=f"),
        found.count("income=>50K & sex=f"),
        found.mean("age", "sex=f"),
        compare(found, "income=>50K", "sex").answers[-1],
        compare(found, "age", "sex").answers[-1],
        table(found, ["sex", "income"]).answers[0],
        found.count("age=19 & sex=f"),
    ):
        assert answer.grade == "bounded"
        assert np.isnan(answer.estimate)
        assert np.isnan(answer.raw_estimate)
        assert answer.interval is not None
        assert answer.interval.low < answer.interval.high
        document = answer.document()
        assert (document["estimate"], document["unrestricted"], document["interval_grade"]) == (None, None, "bounded")
        [row] = csv.DictReader(csv_of(answer).splitlines())
        assert (row["estimate"], row["grade"]) == ("", "bounded")
        shown = "\n".join(lines_of(answer))
        assert "estimate  none: counts only bound the answer; --grade model adds the model's estimate" in shown
        assert "\n  bounds    " in shown
        assert "bounds are" in answer.condition or "bounds have" in answer.condition
    whole = "\n".join(lines_of(table(found, ["sex", "income"])))
    assert "Bounds of level 0.95, each by itself." in whole
    both = "\n".join(lines_of(compare(found, "age=18..19", "sex")))
    assert "Intervals of level 0.95" in both


def test_the_models_estimate_has_the_bounds_beside_it() -> None:
    rows = people(1, 5000)
    truth = ((rows[:, 2] == 2) & (rows[:, 1] == 0)).sum() / (rows[:, 1] == 0).sum()
    plain, found = apart(rows), apart(rows, people(9, 4000))
    answer = found.share("income=>50K", "sex=f", BELIEVED)
    bounds = plain.share("income=>50K", "sex=f").interval
    assert (answer.grade, answer.interval_grade, answer.interval) == ("model", "bounded", bounds)
    assert bounds is not None
    assert abs(answer.estimate - truth) < 0.01
    assert (bounds.low + bounds.high) / 2 > 5 * truth, "a midpoint estimates nothing"
    assert answer.condition.startswith("The estimate is the model's, which nothing measured supports; the attributes ")
    shown = "\n".join(lines_of(answer))
    assert "  bounds    0" in shown
    assert "grade     model: by the model alone" in shown
    count = found.count("income=>50K & sex=f", BELIEVED)
    own = (people(9, 4000)[:, 1:] == [0, 2]).all(axis=1).mean()
    assert count.estimate == pytest.approx(own * found.records / found.kept)
    mean = found.mean("age", "sex=f", BELIEVED)
    assert mean.grade == "model"
    assert mean.estimate == pytest.approx(18 + people(9, 4000)[people(9, 4000)[:, 1] == 0, 0].mean())
    difference = compare(found, "income=>50K", "sex", asked=BELIEVED).answers[-1]
    assert (difference.grade, difference.interval_grade) == ("model", "bounded")
    assert np.isfinite(difference.estimate)
    assert found.share("age=18", "sex=f", BELIEVED).grade == "model", "a value within a bucket"
    assert found.share("age=18..19", "sex=f", BELIEVED).grade == "measured", "what was measured needs no model"
    assert plain.share("income=>50K", "sex=f", BELIEVED).grade == "bounded", "without records there is no model"


def test_a_models_estimate_outside_the_bounds_is_moved_to_them() -> None:
    rows = people(1, 5000)
    wrong = rows[(rows[:, 1] == 0) & (rows[:, 2] == 2)]
    found = apart(rows, wrong)
    answer = found.count("income=>50K & sex=f", BELIEVED)
    assert answer.interval is not None
    assert answer.estimate == answer.interval.high < answer.raw_estimate


@pytest.mark.parametrize("edge", [18, 19, 20, 21, 22])
@pytest.mark.parametrize("buckets", [(0, 0, 1, 1, 2, 2), (0, 1, 1, 1, 1, 2), (0, 0, 0, 0, 0, 1)])
def test_every_condition_is_answered_whatever_buckets_were_chosen(edge: int, buckets: tuple[int, ...]) -> None:
    domain = Domain((replace(DOMAIN.attributes[0], buckets=buckets), *DOMAIN.attributes[1:]))
    rows = people(3, 5000)
    found = Inference(measured(rows, domain=domain, amount=Fraction(25)), probability=Fraction(1))
    above, women = rows[:, 0] > edge - 18, rows[:, 1] == 0
    cut = buckets[edge - 18] == buckets[edge - 17]
    for answer, truth in (
        (found.count(f"age>{edge} & sex=f"), (above & women).sum()),
        (found.share(f"age>{edge}", "sex=f"), (above & women).sum() / women.sum()),
        (found.share("sex=f", f"age>{edge}"), (above & women).sum() / above.sum()),
    ):
        assert answer.grade == ("bounded" if cut else "measured")
        assert answer.interval is not None
        assert answer.interval.low <= truth <= answer.interval.high
        assert ("for a measured answer ask for" in answer.condition) == cut
    # With all values of divided buckets there cannot be more, and without them not fewer.
    if cut:
        bounds = found.count(f"age>{edge} & sex=f").interval
        least = women & np.isin(rows[:, 0], [v for v in range(6) if buckets[v] > buckets[edge - 17]])
        most = women & np.isin(rows[:, 0], [v for v in range(6) if buckets[v] >= buckets[edge - 17]])
        assert bounds is not None
        assert least.sum() - 30 < bounds.low
        assert bounds.high < most.sum() + 30


def test_a_table_is_answered_in_the_order_in_which_it_is_asked() -> None:
    found = Inference(measured(people(1, 5000)))
    for kind in ("count", "share"):
        one, other = (table(found, names, kind) for names in (["age", "income"], ["income", "age"]))
        assert other.columns == ("income", "age")
        assert other.question == f"{kind}s by income, age"
        assert other.cells[:2] == (("low", "18..19"), ("low", "20..21"))
        turned = {cell[::-1]: answer for cell, answer in zip(other.cells, other.answers, strict=True)}
        for cell, answer in zip(one.cells, one.answers, strict=True):
            assert turned[cell].interval == answer.interval
            assert turned[cell].estimate == answer.estimate
            assert turned[cell].question == f"{kind} of income={cell[1]} & age={cell[0]}"
    split = table(apart(people(1, 5000)), ["income", "sex"])
    assert split.columns == ("income", "sex")
    assert split.cells[:2] == (("low", "f"), ("low", "m"))
    again = apart(people(1, 5000)).count("income=low & sex=m").interval
    assert split.answers[1].interval == again


def answers_of(found: Inference, asked: Asked) -> Iterator[Answer]:
    """Answers to questions of all kinds; those that are refused are left out."""
    questions: list[Any] = [
        *(lambda c=c: found.count(c, asked) for c in ("", "age=23", "age>=19 & sex=f", "sex=f & income=>50K")),
        *(lambda c=c: found.share(c, "sex=f", asked) for c in ("age=23", "age=22..23", "income=>50K")),
        lambda: found.mean("age", asked=asked),
        lambda: found.mean("age", "income=>50K", asked),
        lambda: found.ratio("age=23", "sex=f", asked),
        lambda: found.ratio("age", "sex=f", asked),
        *(lambda p=p: quantile(found, "age", p, asked=asked) for p in (0.01, 0.5, 0.99)),
        *(lambda p=p: quantile(found, "age", p, "sex=f", asked) for p in (0.1, 0.9)),
        lambda: quantile(found, "age", 0.5, "sex=f & income=>50K", asked),
        lambda: cumulative(found, "age", asked=asked),
        *(lambda n=n, k=k: table(found, n, k, asked) for n in (["age"], ["sex", "income"]) for k in ("count", "share")),
        lambda: compare(found, "income=>50K", "sex", asked=asked),
        lambda: compare(found, "age", "income", asked=asked),
        lambda: regress(found, "income=>50K", ["sex"], asked),
    ]
    for ask in questions:
        try:
            answer = ask()
        except DeniableError:
            continue
        yield from answer.answers if isinstance(answer, TableAnswer) else [answer]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "queries", "asked"),
    [
        ("gaussian", EVERYTHING, Asked()),
        ("gaussian", APART, BELIEVED),
        ("gaussian", APART, Asked(estimand="population", sampling="simple random")),
        ("laplace", APART, Asked()),
    ],
)
def test_an_estimate_lies_in_its_interval_whatever_is_asked(law: Any, queries: Any, asked: Asked) -> None:
    """Of few rows with much noise, so that many estimates are below 0 or beyond what intervals are cut at."""
    seen, moved = 0, 0
    settings = [(kept, amount) for kept in (Fraction(1), Fraction(1, 2)) for amount in (Fraction(1, 40), Fraction(60))]
    for seed in range(drawn(8, least=1) if law == "gaussian" else 1):
        rows = people(seed, 260)
        rows[:, 0] = np.where(rows[:, 0] == 5, 4, rows[:, 0])
        for kept, amount in settings if law == "gaussian" else [(Fraction(1), Fraction(6))]:
            given = measured(rows, queries, law=law, amount=amount, seed=seed)
            for answer in answers_of(Inference(given, probability=kept, model=OfRows(people(7, 300))), asked):
                seen += 1
                moved += bool(answer.estimate != answer.raw_estimate and not np.isnan(answer.estimate))
                assert np.isnan(answer.estimate) == (answer.grade == "bounded"), answer
                if answer.interval is not None:
                    assert answer.interval.low <= answer.interval.high, answer
                    assert answer.interval.nearest(answer.estimate) == answer.estimate or np.isnan(answer.estimate)
    assert seen > 30
    assert moved > 0 or law == "laplace"


def test_a_mean_of_few_records_among_many_values_lies_in_its_interval() -> None:
    """Of 300 values up to 145, of which nearly all records have the first: noise of the others decides the mean."""
    size = 300
    domain = Domain(
        (
            Attribute("amount", tuple(range(0, 145 * size, 145)), "numeric", tuple(range(size))),
            Attribute("sex", ("f", "m"), "nominal", (0, 1)),
        )
    )
    rows = np.zeros((150, 2), np.int64)
    negative = 0
    for seed in range(12):
        given = measured(rows, (((0,), (0,)), ((1,), (1,))), amount=Fraction(9), seed=seed, domain=domain)
        answer = Inference(given, probability=Fraction(1)).mean("amount")
        assert answer.interval is not None
        assert answer.interval.low <= answer.estimate <= answer.interval.high
        negative += answer.raw_estimate < 0
    assert negative > 2, "as many estimates would be below the least value"


def test_whole_numbers_within_a_distance_are_never_none() -> None:
    assert whole_numbers(3.5, 0.2) == Interval(3.0, 4.0)
    assert whole_numbers(3.5, 0.6) == Interval(3.0, 4.0)
    assert whole_numbers(3.0, 0.2) == Interval(3.0, 3.0)
    assert whole_numbers(-0.5, 0.2) == Interval(0.0, 0.0)


def test_files_of_earlier_releases_with_estimates_outside_their_intervals_are_verified() -> None:
    rows = people(2, 3000)
    rows[:, 0] = np.where(rows[:, 0] == 5, 0, rows[:, 0])
    given = measured(rows, seed=3)
    described = json.loads(json.dumps(describe_domain(DOMAIN, {}, {})))
    text = interval_table(given, None)
    lines = [line.split(",") for line in text.splitlines()]
    places = [number for number, line in enumerate(lines[1:], 1) if float(line[5]) == float(line[6]) == 0]
    assert places, "some estimates are at 0, where their intervals begin"
    inference = Inference(given)
    for number in places:
        condition = " & ".join(f"{n}={v}" for n, v in zip(lines[number][1:5:2], lines[number][2:5:2], strict=True) if n)
        for first, answer in ((5, inference.count(condition)), (9, inference.share(condition))):
            lines[number][first] = f"{answer.raw_estimate:.10g}"
    former = "\n".join(map(",".join, lines)) + "\n"
    assert former != text
    assert check_intervals(described, given.document(), text, None).holds
    assert check_intervals(described, given.document(), former, None).holds
    lines[places[0]][5] = "-4000"
    assert not check_intervals(described, given.document(), "\n".join(map(",".join, lines)) + "\n", None).holds


def test_the_command_shows_bounds_and_adds_the_models_estimate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = people(1, 5000)
    for name, document in (
        ("schema", describe_domain(DOMAIN, {}, {})),
        ("measured", measured(rows, APART, amount=Fraction(25)).document()),
    ):
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    shown = [",".join(str(DOMAIN.attributes[i].values[code]) for i, code in enumerate(row)) for row in rows.tolist()]
    (tmp_path / "synthetic.csv").write_text("\n".join(["age,sex,income", *shown]) + "\n")
    asked = ["infer", str(tmp_path), "share", "income=>50K", "--given", "sex=f"]
    assert main(asked) == 0
    assert "estimate  none: counts only bound the answer" in capsys.readouterr().out
    assert main([*asked, "--grade", "model", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    women = rows[rows[:, 1] == 0]
    assert found["estimate"] == pytest.approx((women[:, 2] == 2).mean())
    assert (found["grade"], found["interval_grade"]) == ("model", "bounded")
    assert found["low"] < found["estimate"] < found["high"]


def test_bounds_of_a_group_are_by_its_own_conditions() -> None:
    """The group is of two attributes that were not counted together, and one of them was counted with the condition."""
    rows = people(1, 5000)
    found = apart(rows)
    group = (rows[:, 1] == 1) & (rows[:, 2] < 2)
    answer = found.share("age=18..19", "sex=m & income=low|<=50K")
    assert answer.interval is not None
    assert answer.interval.low <= (rows[group, 0] < 2).mean() <= answer.interval.high
    # Of two conditions the bounds are Frechet's, which a third one does not change.
    sizes = found.count("sex=m & income=low|<=50K").interval
    young = found.count("age=18..19 & sex=m & income=low|<=50K").interval
    assert sizes is not None
    assert young is not None
    assert answer.interval.low == pytest.approx(young.low / sizes.high, rel=0.1, abs=0.01)
