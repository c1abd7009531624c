"""A release is asked from the command line: answers with grade and condition, and refusals of one sentence."""

import csv
import json
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from deniable.cli.dispatch import main
from deniable.data_user import lines_of
from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.errors import InvalidInput, Refused
from deniable.inference.answers import Asked
from deniable.inference.comparisons import _difference, compare
from deniable.inference.conditions import Conditions
from deniable.inference.estimation import Inference
from deniable.inference.intervals import exact_count_interval
from deniable.inference.quantiles import quantile
from deniable.inference.queries import Query
from deniable.inference.regression import regress
from deniable.inference.tables import table
from deniable.record.schema_document import describe_domain
from tests.inferred import DOMAIN, EVERYTHING, measured, people

LABELS = {"sex": {"f": "women", "m": "men"}}


def folder_of(folder: Path, **documents: Mapping[str, Any]) -> Path:
    """A folder with what a release measured, and no record."""
    folder.mkdir(parents=True, exist_ok=True)
    contents = {
        "schema": describe_domain(DOMAIN, {}, LABELS),
        "measured": measured(people(1, 5000), amount=Fraction(25)).document(),
        **documents,
    }
    for name, document in contents.items():
        (folder / f"{name}.json").write_text(json.dumps(document))
    return folder


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder_of(tmp_path_factory.mktemp("inferred") / "release")


@pytest.fixture(scope="module")
def apart() -> Inference:
    """A release in which sex and income were not counted together."""
    queries = tuple(query for query in EVERYTHING if query[0] != (1, 2))
    return Inference(measured(people(1, 5000), queries, amount=Fraction(25)), probability=Fraction(1, 2))


QUESTIONS = {
    "count": ["count", "sex=f & income=>50K"],
    "count of all": ["count"],
    "share": ["share", "income=>50K", "--given", "sex=women"],
    "mean": ["mean", "age"],
    "mean in a group": ["mean", "age", "--given", "sex=f"],
    "ratio": ["ratio", "sex=f", "sex=m"],
    "ratio of totals": ["ratio", "age", "sex=m | f"],
    "quantile": ["quantile", "age", "--at", "0.25"],
    "cumulative": ["quantile", "age", "--cumulative", "--given", "sex=m"],
    "table": ["table", "sex", "income", "--simultaneous"],
    "table of shares": ["table", "age", "--of", "share"],
    "compare": ["compare", "income=>50K", "--by", "sex", "--test"],
    "compare means": ["compare", "age", "--by", "income"],
    "regress": ["regress", "income=>50K", "sex", "age", "--test"],
    "population": ["share", "sex=f", "--estimand", "population", "--sampling", "simple random", "--deff", "1.5"],
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_answer_has_its_grade_and_its_condition(
    release: Path, question: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name, *rest = QUESTIONS[question]
    assert main(["data", "infer", str(release), name, *rest]) == 0
    told = capsys.readouterr()
    assert "measured" in told.out or "bounded" in told.out
    assert "(finite)" in told.out or "(population)" in told.out
    assert told.out.rstrip().endswith(".")
    assert "nothing shows who made it" in told.err
    assert main(["data", "infer", str(release), name, *rest, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    for cell in document.get("cells", [document]):
        assert cell["grade"] in {"measured", "bounded"}
        assert cell["condition"].endswith(".")
        assert (cell["estimate"] is None) == (cell["grade"] == "bounded")
        assert cell["low"] <= (cell["low"] if cell["estimate"] is None else cell["estimate"]) <= cell["high"]
        assert cell["estimand"] in {"finite", "population"}


def test_numbers_have_the_decimals_that_they_deserve(release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "infer", str(release), "share", "income=>50K", "--given", "sex=f"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Share with income=>50K among those with sex=f"
    estimate, interval = lines[2].split(), lines[3].split()
    assert estimate[0] == "estimate"
    assert estimate[2] == "%"
    assert len(estimate[1].split(".")[1]) <= 2
    assert interval[-2:] == ["level", "0.95"]
    assert "the rows that were measured (finite)" in lines[4]


def test_a_table_is_written_as_csv(release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "out.csv"
    assert main(["data", "infer", str(release), "table", "sex", "income", "--csv", str(file)]) == 0
    assert capsys.readouterr().out == ""
    with file.open(newline="") as text:
        rows = list(csv.DictReader(text))
    assert len(rows) == 6
    assert {row["grade"] for row in rows} == {"measured"}
    assert [row["sex"] for row in rows] == ["f"] * 3 + ["m"] * 3
    for row in rows:
        assert float(row["low"]) <= float(row["estimate"]) <= float(row["high"])
        assert row["condition"].endswith(".")


REFUSALS = {
    "an unknown attribute": (["count", "sx=f"], "the release has no attribute sx; did you mean sex?"),
    "an unknown value": (["count", "income=>50k"], "income has no value >50k; did you mean >50K?"),
    "a number outside": (["count", "age=17"], "age has no value 17; its values are 18 to 23."),
    "no value": (["count", "age>30"], "the condition must allow a value of age, got none"),
    "an order of nominal values": (["count", "sex>f"], "sex is nominal, so its values have no order"),
    "a comparison with a word": (["count", "age>old"], "age must be compared with a number, got old."),
    "half a condition": (["count", "sex=f &"], "on both sides of & and |"),
    "no condition": (["count", "women"], "a condition must be attribute=value"),
    "open quotes": (["count", 'sex="f'], "quotes of a condition must be closed"),
    "a split bucket": (
        ["count", "age>=19 & sex=f", "--grade", "measured"],
        "values of age were counted together (18..19), and the condition divides them; ask for age=20..23 or no",
    ),
    "a mean of names": (["mean", "sex"], "sex must be numeric for this, and is nominal"),
    "a level": (["count", "--level", "1.5"], "the level must be in (0.5, 0.9999), got 1.5; give one such as 0.95."),
    "a design effect": (["count", "--deff", "-1"], "the design effect must be between 0.1 and 100, got -1."),
    "a design effect of the table": (["share", "sex=f", "--deff", "2"], "must be of intervals for the population"),
    "a design effect of a census": (
        ["share", "sex=f", "--estimand", "population", "--sampling", "census", "--deff", "2"],
        "a census has no design effect, because its rows are no sample; leave it out.",
    ),
    "an unknown sampling": (
        ["share", "sex=f", "--estimand", "population"],
        "the release does not state how its rows were sampled",
    ),
    "a count of the population": (
        ["count", "sex=f", "--estimand", "population", "--sampling", "census"],
        "a count must be of the confidential table (finite)",
    ),
    "a table of the population": (
        ["table", "sex", "--estimand", "population", "--sampling", "census"],
        "counts must be of the confidential table (finite)",
    ),
    "a table twice": (["table", "sex", "sex"], "must have one or more different attributes, got sex, sex."),
    "a quantile": (["quantile", "age", "--at", "2"], "a quantile must be of a share in (0, 1), got 2"),
    "a higher grade": (
        ["mean", "age", "--given", "sex=f", "--grade", "measured"],
        "the answer would be of the grade bounded, and you ask for measured at least.",
    ),
    "a regressor twice": (["regress", "age", "sex", "sex"], "must be different attributes, got sex twice."),
    "a test of bounds": (["compare", "age", "--by", "sex", "--test"], "a test needs what was measured or certified"),
    "an outcome of two": (["regress", "sex=f & income=low", "age"], "the outcome must be one numeric attribute"),
}


@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_refusal_is_one_sentence(release: Path, refusal: str, capsys: pytest.CaptureFixture[str]) -> None:
    asked, said = REFUSALS[refusal]
    assert main(["data", "infer", str(release), *asked]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert said in told.err
    assert len(told.err.strip().splitlines()) == 1
    assert told.err.strip()[-1] in ".?"


def test_what_was_not_counted_together_is_refused_by_its_grade(apart: Inference) -> None:
    found = apart.share("income=>50K", "sex=f")
    assert found.grade == "bounded"
    with pytest.raises(Refused, match="sex and income were not counted together, so the grade would be bounded"):
        apart.share("income=>50K", "sex=f", Asked(grade="measured"))
    with pytest.raises(Refused, match="this difference is bounded; leave --test out"):
        compare(apart, "income=>50K", "sex", test=True)
    with pytest.raises(Refused, match="the table of each pair of attributes: sex and income were not"):
        regress(apart, "sex=f", ["age", "income"])
    cells = table(apart, ["sex", "income"], "share")
    assert {each.grade for each in cells.answers} == {"bounded"}
    with pytest.raises(Refused, match="the grade would be bounded"):
        table(apart, ["sex", "income"], "share", Asked(grade="measured"))
    assert quantile(apart, "age", 0.5, "sex=f").grade == "measured"


def test_the_model_is_believed_only_when_it_is_asked_for(apart: Inference) -> None:
    class Certain:
        def total(self, query: Any) -> float:
            return 10.0 * len(query.attributes) + 1

    with_model = Inference(apart.measured, probability=Fraction(1), model=Certain())
    with pytest.raises(Refused, match="the grade would be model"):
        with_model.ratio("sex=f & income=low", "sex=m & income=low")
    found = with_model.ratio("sex=f & income=low", "sex=m & income=low", Asked(grade="model"))
    assert (found.grade, found.interval, found.estimate) == ("model", None, 1.0)
    assert found.condition == "The model is right; nothing measured supports it, and there is no interval."
    assert "none: no interval with known coverage exists" in "\n".join(lines_of(found))


def test_few_rows_are_not_asked() -> None:
    with pytest.raises(Refused, match="at least 100 rows must have been measured for estimates, got about"):
        Inference(measured(people(1, 40), amount=Fraction(1)))


def test_what_a_release_states_of_its_sampling_counts() -> None:
    stated = Inference(measured(people(1, 4000), sampling="simple random"), probability=Fraction(1))
    found = stated.share("sex=f", asked=Asked(estimand="population"))
    assert found.condition.endswith("; the release states that the rows are a simple random sample.")
    assert found.sampling_deviation > 0
    wider = stated.share("sex=f", asked=Asked(estimand="population", design_effect=4.0))
    assert wider.sampling_deviation == pytest.approx(2 * found.sampling_deviation)
    assert wider.interval is not None
    clustered = Inference(stated.measured, probability=Fraction(1), design_effect=4.0)
    for own in (
        clustered.share("sex=f", asked=Asked(estimand="population")),
        table(clustered, ["sex"], "share", Asked(estimand="population")).answers[0],
    ):
        assert own.interval is not None
        ends = wider.interval.low, wider.interval.high
        assert (own.interval.low, own.interval.high) == pytest.approx(ends, abs=1e-12)
        assert own.condition.endswith("a simple random sample with a design effect of 4.")
    with pytest.raises(Refused, match="the release states that its rows are a simple random sample, got census"):
        stated.share("sex=f", asked=Asked(estimand="population", sampling="census"))
    census = Inference(measured(people(1, 4000), sampling="census"), probability=Fraction(1))
    assert census.share("sex=f", asked=Asked(estimand="population")).sampling_deviation == 0


def test_regression_is_least_squares_where_the_noise_is_small() -> None:
    rows = people(3, 6000)
    by_values = tuple((attributes, attributes) for attributes, _ in EVERYTHING)
    found = regress(Inference(measured(rows, by_values, amount=Fraction(1, 10**6))), "income=>50K", ["age", "sex"])
    design = np.stack([np.ones(len(rows)), 18 + rows[:, 0], rows[:, 1]], axis=1)
    right = np.linalg.lstsq(design, (rows[:, 2] == 2).astype(float), rcond=None)[0]
    assert found.cells == (("constant",), ("age",), ("sex=m",))
    assert [answer.estimate for answer in found.answers] == pytest.approx(right, abs=1e-6)


@pytest.mark.parametrize("estimand", ["finite", "population"])
def test_a_test_rejects_0_as_often_as_an_interval_of_its_level_leaves_it_out(estimand: Any) -> None:
    """With normal errors, of which a p-value has both tails."""
    rows = people(1, 5000)
    rows[:, 2] = np.where(rows[:, 1] == 1, np.roll(rows[:, 2], 7), rows[:, 2])
    inference = Inference(measured(rows, amount=Fraction(400)), probability=Fraction(1))
    asked = Asked(estimand=estimand, sampling=None if estimand == "finite" else "simple random")
    tested = [
        *compare(inference, "income=>50K", "age", asked=asked, test=True).answers[3:],
        *compare(inference, "income=>50K", "sex", asked=asked, test=True).answers[2:],
        *regress(inference, "income=>50K", ["sex"], asked, test=True).answers[1:],
    ]
    assert len(tested) == 4
    for each in tested:
        both = 2 * stats.norm.sf(abs(each.estimate) / each.deviation)
        assert each.p_value == pytest.approx(both, rel=1e-6, abs=1e-12)
    assert max(each.p_value or 0.0 for each in tested) > 1e-6, "some are not nearly 0"


def test_regressors_that_the_noise_hides_are_refused() -> None:
    noisy = Inference(measured(people(1, 900), amount=Fraction(20_000)))
    with pytest.raises(Refused, match="cannot be distinguished under so much noise"):
        regress(noisy, "income=>50K", ["age", "sex"])


def test_a_folder_that_is_no_release_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def told(folder: Path) -> str:
        assert main(["data", "infer", str(folder), "count"]) == 2
        return capsys.readouterr().err.strip()

    assert "a release must be a readable folder" in told(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    assert told(tmp_path / "empty").startswith("a release must have measured.json for estimates with intervals")
    broken = folder_of(tmp_path / "broken")
    (broken / "measured.json").write_text("{")
    assert "measured.json" in told(broken)
    (broken / "measured.json").write_text("[]")
    assert told(broken) == "measured.json must be a JSON object, and is not."
    (broken / "measured.json").write_text('{"format": "deniable/measured/3"}')
    assert "measured.json must have" in told(broken)
    (broken / "schema.json").unlink()
    assert told(broken) == "schema.json must be a file of the release folder, and is missing."


def test_values_are_found_by_labels_and_quotes(release: Path) -> None:
    inference = Inference(measured(people(1, 5000)), labels=LABELS)
    words = inference.conditions
    same = [words.parse(text)[1].tolist() for text in ("sex=f", "sex=women", 'sex="f"', "sex != m", "sex==f")]
    assert same == [[1, 0]] * 5
    assert words.parse("age=18..20|23")[0].tolist() == [1, 1, 1, 0, 0, 1]
    assert words.parse("age>=19 & age<=22 & age!=20")[0].tolist() == [0, 1, 0, 1, 1, 0]
    assert words.parse("age=18.0")[0].tolist() == [1, 0, 0, 0, 0, 0]
    assert words.parse("income=>50K|<=50K")[2].tolist() == [0, 1, 1]
    assert words.named(0, [0, 1, 2]) == "age=18..20"
    assert words.named(2, [0, 2]) == "income=low|>50K"
    with pytest.raises(InvalidInput, match="is computed from other attributes"):
        Inference(measured(people(1, 5000)), computed=["bmi"]).count("bmi=3")


def test_values_come_before_labels_and_every_value_can_be_worded() -> None:
    values = ("0", "1", 'a "b"', "=c", " d", "e&f", "g..h")
    domain = Domain((Attribute("R&D", values, "nominal", tuple(range(len(values)))), *DOMAIN.attributes))
    words = Conditions(domain, {"R&D": {"0": "1", "1": "2"}})
    for code in range(len(values)):
        allowed = words.parse(words.named(0, [code]))[0]
        assert np.flatnonzero(allowed).tolist() == [code], values[code]
    assert np.flatnonzero(words.parse(words.named(0, [1, 2, 5]))[0]).tolist() == [1, 2, 5]
    assert np.flatnonzero(words.parse('"R&D"=2')[0]).tolist() == [1], "labels are found where no value is"


def test_the_grade_of_a_difference_is_the_lower_of_both(apart: Inference) -> None:
    answer = apart.share("sex=f")
    pair = (replace(answer, grade="bounded"), replace(answer, grade="certified"))
    for own in (pair, pair[::-1]):
        found = _difference(apart, ("", "difference of shares"), own, (None, None), Asked(), test=False)
        assert found.grade == "bounded"


def test_the_model_does_not_claim_a_sample_that_nobody_states(apart: Inference) -> None:
    class One:
        def total(self, _: Any) -> float:
            return 1.0

    with_model = Inference(apart.measured, model=One())
    asked = Asked(grade="model", estimand="population")
    with pytest.raises(Refused, match="does not state how its rows were sampled"):
        with_model.ratio("sex=f & income=low", "sex=m & income=low", asked)
    stated = replace(asked, sampling="simple random")
    found = with_model.ratio("sex=f & income=low", "sex=m & income=low", stated)
    assert found.condition.endswith("you state that the rows are a simple random sample.")


def test_records_that_are_no_text_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = folder_of(tmp_path / "release", measured=measured(people(1, 5000), EVERYTHING[:3]).document())
    for content in (b"\xff\n", b"age,sex,income\n" + b"x" * 200_000 + b"\n"):
        (folder / "synthetic.csv").write_bytes(content)
        asked = ["ratio", "sex=f & income=low", "sex=m & income=low", "--grade", "model"]
        assert main(["data", "infer", str(folder), *asked]) == 2
        assert "synthetic.csv must have only values of the public domain" in capsys.readouterr().err


def test_what_has_no_standard_deviation_states_none(
    release: Path, tmp_path: Path, apart: Inference, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["data", "infer", str(release), "quantile", "age", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["noise_sd"], found["sampling_sd"]) == (None, None)
    assert main(["data", "infer", str(release), "quantile", "age", "--csv", str(tmp_path / "median.csv")]) == 0
    with (tmp_path / "median.csv").open(newline="") as text:
        [row] = csv.DictReader(text)
    assert (row["noise_sd"], row["sampling_sd"], row["grade"]) == ("", "", "measured")
    bounded = apart.share("income=>50K & sex=f")
    assert (bounded.grade, bounded.document()["noise_sd"]) == ("bounded", None)
    assert not any(line.startswith("  sd") for line in lines_of(bounded))


def test_a_normal_error_of_sampling_is_named_as_a_condition(apart: Inference) -> None:
    population = Asked(estimand="population", sampling="simple random")
    said = "the error of sampling is taken as normal"
    assert said in apart.mean("age").condition
    assert said in apart.mean("age", asked=population).condition
    assert said in compare(apart, "age=18..19", "sex", asked=population).answers[-1].condition
    assert said not in apart.share("sex=f", asked=population).condition, "it is binomial"
    assert said not in Inference(apart.measured, probability=Fraction(1)).mean("age").condition, "there is none"


def test_differences_that_were_not_measured_have_intervals_that_hold_together(
    apart: Inference, monkeypatch: pytest.MonkeyPatch
) -> None:
    levels: list[float] = []
    share = Inference.share

    def noted(own: Inference, what: str, given: str, how: Asked) -> Any:
        levels.append(how.level)
        return share(own, what, given, how)

    monkeypatch.setattr(Inference, "share", noted)
    compare(apart, "sex=f", "income", asked=Asked(level=0.9))
    assert levels == [0.9] * 3 + [0.95] * 3, "the first group's interval is worked out once"
    with pytest.raises(Refused, match=r"must be at most 0\.9996, got 0\.9998; ask for less"):
        compare(apart, "sex=f", "income", asked=Asked(level=0.9998))
    assert compare(apart, "sex=f", "income", asked=Asked(level=0.9996)).answers[-1].grade == "bounded"


def test_cells_that_were_not_counted_together_share_the_level_of_a_table(apart: Inference) -> None:
    whole = table(apart, ["sex", "income"], simultaneous=True)
    for (sex, income), each in zip(whole.cells, whole.answers, strict=True):
        alone = apart.count(f"sex={sex} & income={income}", Asked(level=1 - 0.05 / 6))
        assert (each.interval, each.level) == (alone.interval, 0.95)


def test_small_shares_of_a_table_are_exact_as_those_that_are_asked_one_by_one() -> None:
    quiet = Inference(measured(people(1, 150), amount=Fraction(4)))
    population = Asked(estimand="population", sampling="simple random")
    cells = table(quiet, ["age", "income"], "share", population)
    small = 0
    for (age, income), own in zip(cells.cells, cells.answers, strict=True):
        alone = quiet.share(f"age={age} & income={income}", asked=population)
        assert own.interval is not None
        assert alone.interval is not None
        assert (own.interval.low, own.interval.high) == pytest.approx((alone.interval.low, alone.interval.high))
        if own.estimate * quiet.records <= 30:
            functional = quiet.functional(Query.product(quiet.conditions.parse(f"age={age} & income={income}")))
            assert alone.interval == quiet.small_share_interval(functional, 0.95)
            part = Inference(quiet.measured, probability=Fraction(1, 2)).count(f"age={age} & income={income}")
            counted = quiet.system.value(functional)
            assert part.interval == exact_count_interval(counted, 0.5, quiet.law(functional), 0.95)
            small += 1
    assert small >= 4
