"""The labels in a file of Stata, SPSS or SAS become a schema; no value that only occurs in its records does."""

from pathlib import Path
from typing import Any

import pandas as pd
import pyreadstat
import pytest

from deniable.cli.dispatch import main
from deniable.foundation.errors import InvalidInput
from schemas.codebooks.drafting import draft_of, schema_text
from schemas.codebooks.reading import read_codebooks
from tests.sas_files import write_catalog, write_sas
from tests.spreadsheets import write_xlsx

PEOPLE = pd.DataFrame(
    {
        "sex": [1.0, 2, 9],
        "pay": [100.0, -9, 250],
        "grade": [1.0, 2, 1],
        "town": ["Quuxville", "Elm", "Ash"],
        "region": [701.0, 702, 703],
        "children": [0.0, 3, 1],
        "seen": pd.to_datetime(["2020-01-01", "2020-02-01", None]),
    }
)
LABELS: dict[str, Any] = {
    "column_labels": {"pay": "monthly  pay", "sex": "sex of the person"},
    "variable_value_labels": {
        "sex": {1: "male", 2: "female", 9: "no answer"},
        "pay": {-8: "inapplicable", -9: "refused"},
        "grade": {1: "low", 2: "high", 3: "never seen"},
    },
}
RANGES = "variable,values\npay,0 to 1000 by 0.5\nseen,2019-01-01 to 2021-12-31\nchildren,0 to 20\n"


def drafted(folder: Path, *books: Path) -> str:
    (folder / "ranges.csv").write_text(RANGES)
    draft = draft_of(read_codebooks([*books, folder / "ranges.csv"]), "people")
    # On one line each, whatever their length.
    return " ".join(schema_text(draft, sources=["people"]).split()).replace("( ", "(").replace(", )", ")")


def test_a_file_of_spss_has_labels_levels_and_codes_for_missing_values(tmp_path: Path) -> None:
    path = tmp_path / "people.sav"
    levels = {"sex": "nominal", "grade": "ordinal", "pay": "scale", "region": "nominal", "children": "scale"}
    missing = {"sex": [9], "pay": [{"lo": -9, "hi": -9}]}
    formats = {"children": "F2.0"}
    pyreadstat.write_sav(
        PEOPLE, path, **LABELS, missing_ranges=missing, variable_measure=levels, variable_format=formats
    )
    text = drafted(tmp_path, path)
    assert '"sex": nominal({1: "male", 2: "female"}, missing=[9], missing_as=9, label="sex of the person"),' in text
    assert '"grade": ordered({1: "low", 2: "high", 3: "never seen"}),' in text
    assert 'numeric(0.0, 1000.0, step=0.5, also={-8: "inapplicable"}, missing=[-9], missing_as=-9' in text
    assert 'label="monthly pay"' in text
    assert '"children": numeric(0, 20),' in text
    assert '"seen": dates("2019-01-01", "2021-12-31", by="month"),' in text
    assert '"region": open_values(),' in text
    # Towns and regions only occur in the records.
    assert '"town": open_values(),' in text
    assert not any(seen in text for seen in ("Quux", "701", "250"))


def test_a_file_of_stata_has_labels_and_its_special_codes_are_no_values(tmp_path: Path) -> None:
    path = tmp_path / "people.dta"
    people = PEOPLE.assign(top=[90.0, 88, 12], pay=[100.0, "a", 250.0])
    labels = LABELS["variable_value_labels"] | {
        "pay": {-8: "inapplicable", "a": "refused"},
        "top": {90: "90 or more"},
    }
    pyreadstat.write_dta(
        people,
        path,
        column_labels=LABELS["column_labels"],
        variable_value_labels=labels,
        missing_user_values={"pay": ["a"]},
    )
    text = drafted(tmp_path, path)
    assert '"sex": nominal({1: "male", 2: "female", 9: "no answer"}, label="sex of the person"),' in text
    assert 'numeric(0.0, 1000.0, step=0.5, also={-8: "inapplicable"}, label="monthly pay"),' in text
    # One labelled number, such as a top code, does not make a column of names.
    assert '"top": open_range(),' in text
    assert "Quux" not in text


def test_a_file_of_sas_takes_the_labels_of_its_catalog(tmp_path: Path) -> None:
    write_sas(
        tmp_path / "people.sas7bdat",
        {"sex": [1.0, 2.0], "seen": [21915.0, None], "town": ["Quuxville", "Elm"]},
        {"sex": "SEX", "seen": "YYMMDD10."},
        {"sex": "sex of the person"},
    )
    write_catalog(tmp_path / "formats.sas7bcat", {"SEX": {1.0: "male", 2.0: "female"}})
    text = drafted(tmp_path, tmp_path / "people.sas7bdat", tmp_path / "formats.sas7bcat")
    assert '"sex": nominal({1: "male", 2: "female"}, label="sex of the person"),' in text
    assert '"seen": dates("2019-01-01", "2021-12-31", by="month"),' in text
    assert "Quux" not in text
    without = drafted(tmp_path, tmp_path / "people.sas7bdat")
    assert '"sex": open_range(),' in without


def test_a_catalog_alone_is_refused(tmp_path: Path) -> None:
    write_catalog(tmp_path / "formats.sas7bcat", {"SEX": {1.0: "male"}})
    with pytest.raises(InvalidInput, match=r"formats\.sas7bcat; name the \.sas7bdat file first"):
        read_codebooks([tmp_path / "formats.sas7bcat"])


@pytest.mark.parametrize("name", ["people.sav", "people.dta", "people.sas7bdat", "book.xlsx"])
def test_what_is_no_such_file_is_refused_without_quoting_it(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"Ann Smith\n" * 100)
    with pytest.raises(InvalidInput, match=f"the codebook .*{name}.* is not; save it again") as caught:
        read_codebooks([tmp_path / name])
    assert "Ann" not in str(caught.value)


def test_a_codebook_may_be_a_spreadsheet(tmp_path: Path) -> None:
    rows = [["variable", "type", "values"], ["sex", "nominal", "1=male | 2=female"], ["age", "integer", "0 to 99"]]
    write_xlsx(tmp_path / "book.xlsx", {"variables": rows})
    text = schema_text(draft_of(read_codebooks([tmp_path / "book.xlsx"]), "people"), sources=["book.xlsx"])
    assert '"sex": nominal({1: "male", 2: "female"}),' in text
    assert '"age": numeric(0, 99),' in text


def test_the_labels_may_be_in_sheets_beside_the_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The spec names the sheet of the records, of which nothing is read."""
    labels = [["variable", "type"], ["sex", "nominal"], ["age", "integer"]]
    values = [["variable", "value", "label"], ["sex", 1.0, "male"], ["sex", 2.0, "female"], ["age", "0 to 99", ""]]
    book = tmp_path / "people.xlsx"
    write_xlsx(book, {"Labels": labels, "Data": [["sex", "age"], ["secret", 98.0]], "Values": values})

    def draft(*words: str) -> int:
        return main(["table", "draft", str(book), "--to", str(tmp_path), *words, "--state", str(tmp_path / "state")])

    assert draft("--sheet", "Labels,Values") == 0
    assert "only the sheets Labels and Values were read, and no record." in capsys.readouterr().out
    schema, spec = ((tmp_path / f"people.{suffix}").read_text() for suffix in ("py", "yaml"))
    assert '"sex": nominal({1: "male", 2: "female"}),' in schema
    assert "secret" not in schema
    assert 'people.xlsx", sheet: "Data"}' in spec
    for wrong, said in (
        (("--sheet", "Lables"), "must name sheets of"),
        (("--sheet", "Labels,Values,Data", "--source", str(book)), "in a sheet that --sheet does not name"),
    ):
        assert draft(*wrong, "--replace") == 1
        assert said in capsys.readouterr().err
    (tmp_path / "book.csv").write_text("variable,type,values\nsex,nominal,m | f\n")
    assert main(["table", "draft", str(tmp_path / "book.csv"), "--sheet", "one", "--to", str(tmp_path)]) == 1
    assert "is none; leave it out" in capsys.readouterr().err


def test_nothing_of_the_records_is_shown_if_their_sheet_is_named_by_mistake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With columns that a codebook could have, the records would be quoted as its faults."""
    book = tmp_path / "people.xlsx"
    records = [["name", "type"], ["Quuxville", "very secret"]]
    write_xlsx(book, {"Labels": [["variable", "type"], ["sex", "nominal"]], "Data": records})
    for more in ((), ("--source", str(book))):
        asked = ["table", "draft", str(book), "--sheet", "Data", "--to", str(tmp_path), *more]
        assert main([*asked, "--state", str(tmp_path / "state")]) == 1
        said = "".join(capsys.readouterr())
        assert "line 2" in said
        assert "save them in a file of their own to see it" in said
        assert "Quuxville" not in said
        assert "secret" not in said
