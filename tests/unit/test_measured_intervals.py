"""Intervals are read for pages from the columns of `intervals.csv` that have their names."""

from pathlib import Path

import pytest

from reports.figures.measured_intervals import MeasuredCell, read_intervals

HEAD = (
    "table,attribute_1,values_1,attribute_2,values_2,attribute_3,values_3,"
    "count,count_low,count_high,count_sd,share,share_low,share_high,share_sd,level,of,grade"
)
LINES = (
    "sex,sex,0,,,,,11,10,12,.5,.31,.3,.32,.01,0.95,the table,measured",
    "sex,sex,1,,,,,21,20,22,.6,.41,.4,.42,.02,0.95,the table,measured",
    "sex x trade,sex,1,trade,a to c,,,31,30,32,.7,.51,.5,.52,.03,0.9,the table,measured",
    "sex x trade x age,sex,1,trade,a to c,age,3,41,40,42,.8,.61,.6,.62,.04,0.95,the table,measured",
)
LABELS = {"sex": {"0": "women", "1": ""}}


@pytest.mark.parametrize("reverse", [False, True])
def test_tables_of_one_and_two_attributes_have_the_numbers_of_their_columns(tmp_path: Path, *, reverse: bool) -> None:
    rows = [line.split(",") for line in (HEAD, *LINES)]
    if reverse:
        # Columns of numbers in another order, with their names.
        rows = [[*row[:7], *row[:6:-1]] for row in rows]
    (tmp_path / "intervals.csv").write_text("\n".join(map(",".join, rows)) + "\n", encoding="utf-8")
    found = read_intervals(tmp_path / "intervals.csv", LABELS)
    assert [*found] == [("sex",), ("sex", "trade")]
    # A value without a meaning stands for itself.
    assert found["sex",].cells == (
        MeasuredCell(("women",), (11.0, 10.0, 12.0), (0.31, 0.3, 0.32)),
        MeasuredCell(("1",), (21.0, 20.0, 22.0), (0.41, 0.4, 0.42)),
    )
    assert found["sex", "trade"].cells == (MeasuredCell(("1", "a to c"), (31.0, 30.0, 32.0), (0.51, 0.5, 0.52)),)
    assert [table.level for table in found.values()] == [0.95, 0.9]
    assert found["sex", "trade"].attributes == ("sex", "trade")


def test_where_nothing_was_measured_there_are_no_tables(tmp_path: Path) -> None:
    assert read_intervals(tmp_path / "intervals.csv", LABELS) == {}
    (tmp_path / "intervals.csv").write_text(HEAD + "\n", encoding="utf-8")
    assert read_intervals(tmp_path / "intervals.csv", LABELS) == {}
