"""What does not fit a schema is mended by the line that a check proposes, without a count or a value of a record."""

from pathlib import Path

import pytest

from deniable.foundation.errors import InvalidInput
from schemas.amending import with_argument, with_description
from schemas.spec.release_spec import load_spec
from tasks.data.fit import fit_of
from tasks.data.mending import in_words, proposals_of

DRAFT = '''"""Drafted."""

from schemas.table import boolean, dates, nominal, numeric, ordered, table

schema = table(
    {{
        "a": {column},
        "é": nominal(["x"]),
    }},
)
'''
NAMES = 'nominal(["yes", "no"])'
MISFITS = [
    (NAMES, ["True", "False"], '"a": boolean()'),
    ('nominal(["00501", "02139"])', ["501", "2139"], '"a": nominal(..., digits=5)'),
    ('nominal(["Ash", "Elm Tree"])', ["ASH", "elm  tree"], '"a": nominal(..., any_case=True)'),
    (
        'ordered({1: "none", 2: "some"})',
        ["None", "some"],
        '"a": ordered(..., by={"none": 1, "some": 2, "1": 1, "2": 2}, any_case=True)',
    ),
    ("numeric(0, 10_000)", ["1,234", "7"], '"a": numeric(..., written="1,234.50")'),
    ("numeric(0.0, 9.0, step=.5)", ["$1.50", "$7"], '"a": numeric(..., written="$1,234.50")'),
    ("numeric(0, 100)", ["12%", "7%"], '"a": numeric(..., written="12%")'),
    ("numeric(0.0, 9.0, step=.5)", ["0,5", "1,5"], 'source: {..., decimal: ","}'),
    ("numeric(0.0, 9_999.0, step=.5)", ["1.000,5", "1,5"], 'source: {..., decimal: ",", thousands: "."}'),
    ("numeric(0, 1439)", ["7:05", "14:30"], '"a": numeric(..., written="14:30")'),
    ("numeric(0, 1439)", ["7:05 am", "2:30 PM"], '"a": numeric(..., written="14:30")'),
    ("numeric(0, 9)", ["1.2", "2.7"], '"a": numeric(..., round=True)'),
    ("numeric(0, 9)", ["NA", "3"], '"a": numeric(..., missing=["NA"])'),
    ("numeric(0, 9)", ["-9", "3"], '"a": numeric(..., missing=[-9])'),
    ('dates("2020-01-01", "2020-12-31")', ["31.01.2020", "28.02.2020"], '"a": dates(..., written="%d.%m.%Y")'),
    ('dates("2020-01-01", "2020-12-31")', ["43861", "43889"], '"a": dates(..., written="excel days")'),
    (NAMES, [None, "yes"], 'table(..., missing_as="missing")'),
    ("boolean()", ["Ja", "no"], '"a": boolean(..., true=["ja"])'),
    ("boolean()", ["1", "2"], '"a": boolean(..., false=["2"])'),
    ('dates("2020-01-01", "2020-12-31", by="month")', ["18262", "18322"], '"a": dates(..., written="epoch days")'),
    ("numeric(10_000, 13_000)", ["12.345", "11.999"], '"a": numeric(..., written="1.234,50")'),
]


def check(folder: Path, column: str, values: list[str | None]) -> Path:
    (folder / "mine.py").write_text(DRAFT.format(column=column))
    (folder / "t.csv").write_text("a,é\n" + "".join(f'"{value or ""}",x\n' for value in values * 5))
    (folder / "mine.yaml").write_text("# kept\nname: mine\ndataset: mine.py\nsource: t.csv\nepsilon: 1\n")
    return folder / "mine.yaml"


@pytest.mark.parametrize(("column", "values", "line"), MISFITS, ids=[line for _, _, line in MISFITS])
def test_the_proposed_line_mends_the_misfit(tmp_path: Path, column: str, values: list[str | None], line: str) -> None:
    path = check(tmp_path, column, values)
    spec = load_spec(path)
    before = fit_of(spec, tmp_path)
    assert before.valid < before.rows
    found = proposals_of(spec, before)
    proposal = next(each for each in found if each.line == line)
    said = " ".join(in_words(found))
    assert "10" not in said.replace("1,234.50", "")
    place = path if proposal.is_of_spec else tmp_path / "mine.py"
    place.write_text(proposal.write(place.read_text()))
    after = fit_of(load_spec(path), tmp_path)
    # A code that means missing is no longer invalid; its rows are left out until the table keeps them.
    assert (after.invalid, after.valid + after.missing) == (0, 10)
    assert path.read_text().startswith("# kept\n")
    assert '"é": nominal(["x"]),' in (tmp_path / "mine.py").read_text()


def test_what_can_be_read_in_two_ways_is_proposed_in_both_and_left_to_a_person(tmp_path: Path) -> None:
    path = check(tmp_path, 'dates("2020-01-01", "2020-12-31")', ["03/04/2020", "05/06/2020"])
    spec = load_spec(path)
    found = proposals_of(spec, fit_of(spec, tmp_path))
    assert {each.line for each in found} == {f'"a": dates(..., written="{form}")' for form in ("%d/%m/%Y", "%m/%d/%Y")}
    assert not any(each.is_certain for each in found)


def test_values_of_records_are_in_no_proposal(tmp_path: Path) -> None:
    path = check(tmp_path, NAMES, ["Ann Smith", "yes"])
    spec = load_spec(path)
    said = "\n".join(in_words(proposals_of(spec, fit_of(spec, tmp_path))))
    assert 'other="other"' in said
    assert "Ann" not in said


def test_a_schema_of_another_form_is_changed_by_hand() -> None:
    for text in ("schema = other", "schema = (", 'schema = table({"a": COLUMN})'):
        with pytest.raises(InvalidInput, match="must"):
            with_argument(text, "a", "digits", "5")
    with pytest.raises(InvalidInput, match="import its functions as a draft does"):
        with_description('import schemas.table\nschema = table({"a": nominal(["x"])})', "a", "boolean()")


def test_an_argument_is_written_where_a_person_would_write_it() -> None:
    text = 'schema = table({"a": nominal(\n    ["x"],\n), "b": numeric(0, 9, missing=["?"])})\n'
    assert with_argument(text, "b", "missing", '["?", "NA"]').count('missing=["?", "NA"]') == 1
    changed = with_argument(text, "a", "other", '"o"')
    assert '["x"],\n            other="o",\n)' in changed
    compile(with_argument(changed, None, "missing_as", '"missing"'), "schema", "exec")
