"""`intervals.csv` has the cells of every measured table as the questions about them are answered, and no others."""

import csv
import io
import json
from fractions import Fraction

import pytest

from deniable.inference import interval_table as of_cells
from deniable.inference.estimation import Inference
from deniable.inference.interval_table import check_intervals, interval_table
from deniable.measurements.document import Measurements
from deniable.record.schema_document import describe_domain
from tests.inferred import DOMAIN, EVERYTHING, measured, people


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
@pytest.mark.parametrize("kept", [Fraction(1), Fraction(3, 5)])
def test_cells_are_what_a_question_would_be_answered(law: str, kept: Fraction) -> None:
    found = measured(people(2, 3000), law=law, amount=Fraction(30))  # type: ignore[arg-type]
    inference = Inference(found, probability=kept)
    rows = list(csv.DictReader(io.StringIO(interval_table(found, kept))))
    tables = list(dict.fromkeys(row["table"] for row in rows))
    assert tables == ["age", "sex", "income", "age x sex", "age x income", "sex x income"]
    assert len(rows) == 6 + 2 + 3 + 6 + 9 + 6
    for row in rows:
        parts = [(row[f"attribute_{k}"], row[f"values_{k}"]) for k in (1, 2) if row[f"attribute_{k}"]]
        condition = " & ".join(map("=".join, parts))
        for kind, answer in (("count", inference.count(condition)), ("share", inference.share(condition))):
            assert answer.interval is not None
            ends = (answer.estimate, answer.interval.low, answer.interval.high)
            stated = tuple(float(row[f"{kind}{end}"]) for end in ("", "_low", "_high"))
            # Of cells the law without sampling has the quantile; a question has the law of both.
            width = answer.interval.high - answer.interval.low
            assert stated == pytest.approx(ends, abs=1e-6 + (0.03 * width if law == "laplace" else 0)), condition
            assert float(row[f"{kind}_sd"]) == pytest.approx(answer.deviation)
        assert (row["level"], row["of"], row["grade"]) == ("0.95", "the confidential table", "measured")


def test_only_measured_tables_of_a_size_that_can_be_read_are_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    apart = measured(people(2, 3000), EVERYTHING[:4])
    assert "sex x income" not in interval_table(apart, Fraction(1))
    monkeypatch.setattr(of_cells, "MOST_CELLS", 6)
    whole = interval_table(measured(people(2, 3000)), Fraction(1))
    assert "age x income" not in whole
    assert "age x sex" in whole


def test_of_few_rows_there_is_only_the_head() -> None:
    text = interval_table(measured(people(2, 20), amount=Fraction(1)), Fraction(1))
    assert text.count("\n") == 1


def test_what_follows_holds_and_what_does_not_is_found() -> None:
    found = measured(people(2, 3000))
    described = json.loads(json.dumps(describe_domain(DOMAIN, {}, {})))
    text, split = interval_table(found, Fraction(1, 2)), {"parameters": Fraction(1, 2), "holdout": Fraction(1, 2)}
    check = check_intervals(described, found.document(), text, split)
    assert check.holds, check.faults
    assert check.note == "32 cells"
    lines = text.splitlines()
    last = lines[5].split(",")
    for altered in (
        [*last[:6], f"{float(last[6]) + 0.01}", *last[7:]],
        [*last[:-1], "certified"],
        ["sex", *last[1:]],
        ["x"] * len(last),
    ):
        changed = "\n".join([*lines[:5], ",".join(altered), *lines[6:]]) + "\n"
        assert not check_intervals(described, found.document(), changed, split).holds
    assert not check_intervals(described, found.document(), "", split).holds
    assert not check_intervals(described, found.document(), text, {"parameters": Fraction(1, 3)}).holds
    close = [*last[:6], f"{float(last[6]) * (1 + 1e-9)}", *last[7:]]
    same = "\n".join([*lines[:5], ",".join(close), *lines[6:]]) + "\n"
    assert check_intervals(described, found.document(), same, split).holds, "as another machine may round"


def test_a_line_that_is_no_table_is_a_fault() -> None:
    described = json.loads(json.dumps(describe_domain(DOMAIN, {}, {})))
    check = check_intervals(described, measured(people(2, 3000)).document(), "x" * 200_000, None)
    assert check.faults == ("intervals.csv must be a table of comma-separated values, and is not",)


def test_at_no_moment_does_a_key_stand_by_the_lines_of_another_table() -> None:
    one, other = measured(people(2, 3000)), measured(people(3, 3000))
    right = list(of_cells._rows(other, Fraction(1)))
    found: list[object] = []

    class Watched(of_cells._Latest):
        def __setattr__(self, name: str, value: object) -> None:
            super().__setattr__(name, value)
            at_this_moment = of_cells._Latest()
            vars(at_this_moment).update(vars(self))
            found.append(list(at_this_moment.of(other, Fraction(1))))

    latest = Watched()
    for each in (one, other):
        list(latest.of(each, Fraction(1)))
    assert len(found) > 2
    assert all(lines == right for lines in found)


def test_lines_are_worked_out_once_and_anew_for_anything_else(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    rows = of_cells._rows

    def counted(*given: object, **named: object) -> object:
        made.append(given)
        return rows(*given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(of_cells, "_rows", counted)
    monkeypatch.setattr(of_cells, "_lines", of_cells._Latest())
    one, other = measured(people(2, 3000)), measured(people(3, 3000))
    first = interval_table(one, Fraction(1, 2))
    again = Measurements.from_document(one.domain, json.loads(json.dumps(one.document())))
    assert interval_table(again, Fraction(1, 2)) == first
    assert len(made) == 1
    assert interval_table(one, Fraction(3, 5)) != first
    assert interval_table(other, Fraction(3, 5)) != interval_table(one, Fraction(3, 5))
    assert interval_table(one, Fraction(1, 2)) == first
    assert len(made) == 5
    monkeypatch.setattr(of_cells, "MOST_CELLS", 10)
    latest = interval_table(other, Fraction(1))
    assert interval_table(other, Fraction(1)) == latest
    assert len(made) == 7, "many lines are not kept"
