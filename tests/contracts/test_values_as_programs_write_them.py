"""Values as R, pandas, spreadsheets and statistics programs write them are what the codebook says."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pandera.pandas import DataFrameSchema

from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.errors import InvalidInput
from deniable.record.released_table import TableFindings, check_csv, check_parquet, first_difference, is_text_of
from deniable.record.schema_document import describe_domain
from schemas.codebooks.drafting import draft_of, schema_text
from schemas.codebooks.reading import read_codebooks
from schemas.spec.release_spec import load_spec
from schemas.table import boolean, dates, domain_of, nominal, numeric, table
from stores.publication.release_folder import CSV, PARQUET, check_tables, write_table
from stores.tables.sources.reading import Source
from stores.tables.sources.text_tables import CsvTable
from stores.tables.tables import codes_of_column
from tasks.data.validate import Findings, examine


def read(schema: DataFrameSchema, **columns: Sequence[Any]) -> list[Any]:
    """The values that a table's only column has after reading; `invalid` if the row is left out as invalid."""
    findings = Findings()
    frame = examine(schema, pd.DataFrame(columns), findings)
    (name,) = schema.columns
    return [value if valid else "invalid" for value, valid in zip(frame[name], frame.iloc[:, -1], strict=True)]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (["True", "False", None], ["true", "false", "none"]),
        (["TRUE", "FALSE", "NA"], ["true", "false", "none"]),
        (["T", "F", "1.0"], ["true", "false", "true"]),
        (["1", "0", "2"], ["true", "false", "invalid"]),
        (["yes", "No", " Y"], ["true", "false", "true"]),
        ([1.0, 0.0, np.nan], ["true", "false", "none"]),
        (pd.array([True, None, False], "boolean"), ["true", "none", "false"]),
        (["ja", "NEIN", "vielleicht"], ["true", "false", "invalid"]),
    ],
)
def test_a_truth_value_is_one_however_it_is_written(written: Sequence[Any], meant: list[str]) -> None:
    smoker = boolean(true=["Ja"], false=["nein"], missing=["NA"], missing_as="none")
    assert read(table({"smoker": smoker}), smoker=written) == meant


def test_a_code_is_true_false_or_missing() -> None:
    for codes in ({"true": ["x"], "false": ["X"]}, {"true": ["x"], "missing": ["x"]}):
        with pytest.raises(InvalidInput, match="got one that is two"):
            boolean(**codes)
    # A code that usually means one thing may mean another here.
    assert read(table({"a": boolean(true=["0"], false=["1"])}), a=["0", "1"]) == ["true", "false"]
    assert read(table({"a": boolean(missing=["n"], missing_as="?")}), a=["n", "y"]) == ["?", "true"]


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_number_of_the_codebook_is_itself_in_32_bits(kind: type) -> None:
    tenths = [tenth / 10 for tenth in range(101)]
    stored = np.asarray(tenths, np.float32).astype(kind)
    assert read(table({"score": numeric(0.0, 10.0, step=0.1)}), score=stored) == tenths
    assert read(table({"score": numeric(0.0, 10.0, step=0.1, round="down")}), score=stored) == tenths
    # Other numbers are not rounded to it.
    assert read(table({"score": numeric(0.0, 10.0, step=0.1)}), score=[0.1 + 0.2, 9.61, 9.60001]) == [
        0.3,
        "invalid",
        "invalid",
    ]


def test_zeros_that_a_spreadsheet_removed_come_back() -> None:
    town = nominal(["00501", "02139", "10001"], digits=5)
    assert read(table({"zip": town}), zip=["501", "02139", "2139.0", "10001", "1", "5O1"]) == [
        "00501",
        "02139",
        "02139",
        "10001",
        "invalid",
        "invalid",
    ]
    grouped = nominal(["east", "west"], by={"005": "east", "021": "west"}.get, digits=3)
    assert read(table({"zip": grouped}), zip=[5, 21, 22]) == ["east", "west", "invalid"]
    with pytest.raises(InvalidInput, match="must be text, such as '00501'"):
        nominal([501, 2139], digits=5)


@pytest.mark.parametrize(
    ("example", "texts", "numbers"),
    [
        ("1,234.50", ["1,234.50", "99.00", "1234.5", "-2,000"], [1234.5, 99.0, 1234.5, -2000.0]),
        ("$1,234.50", ["$2,000.00", "2,000.00", "-$7", "($7.00)"], [2000.0, 2000.0, -7.0, -7.0]),
        ("1.234,50 EUR", ["1.234,50 EUR", "7,5", "2.000 EUR"], [1234.5, 7.5, 2000.0]),
        ("1 234", ["1 234", "1\u00a0234", "12 34"], [1234.0, 1234.0, "invalid"]),
        ("1'234.5", ["1'234.5", "1\u2019234"], [1234.5, 1234.0]),
        ("12%", ["12%", "7 %", "100"], [12.0, 7.0, 100.0]),
        ("12,5", ["12,5", "1,234.5"], [12.5, "invalid"]),
    ],
)
def test_a_number_is_read_as_its_example_shows(example: str, texts: list[str], numbers: list[Any]) -> None:
    amount = numeric(-10_000.0, 10_000.0, step=0.5, written=example)
    assert read(table({"amount": amount}), amount=texts) == numbers
    for wrong in ("dollars", "", "1,2,3 and 4", "%"):
        with pytest.raises(InvalidInput, match="must be an example of a number"):
            numeric(0, 9, written=wrong)


def test_rows_without_any_content_are_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    path.write_text('id,sex\n1,f\n,\n2,\n" ",""\n,m\n\n,\n')
    found = CsvTable(path, "sheet.csv")
    source = Source([found], ["sex"], 10)
    assert [batch.column("sex").to_pylist() for batch in source.batches()] == [["f", None, "m"]]
    assert source.empty_rows == 3
    path.write_text("id,sex\n1,f\n2,m\n")
    source = Source([CsvTable(path, "sheet.csv")], ["sex"], 10)
    assert sum(map(len, source.batches())) == 2
    assert source.empty_rows == 0


def test_an_empty_line_of_a_table_of_one_column_lacks_a_value(tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    path.write_text("smoker\nTrue\n\nFalse\n\n")
    source = Source([CsvTable(path, "one.csv")], ["smoker"], 10)
    assert [batch.column("smoker").to_pylist() for batch in source.batches()] == [["True", None, "False", None]]


def domain_with_missing() -> Domain:
    return domain_of(
        table(
            {
                "smoker": boolean(missing_as="missing"),
                "died": numeric(1990, 1992, missing_as=-1),
                "wage": numeric(0.0, 1.0, step=0.5, missing_as=-1),
                "rent": numeric(0, 99, bins=10, missing_as=-1),
                "kin": numeric(0, 2, also={-2: "refused"}, missing_as=-2),
                "sex": nominal(["f"], missing_as="missing"),
            }
        )
    )


class _Numbers:
    """The first number of each bin, in the place of drawn ones."""

    def __init__(self, domain: Domain) -> None:
        self._rent = domain.index("rent")
        self._values = np.asarray(domain.attributes[self._rent].values)

    def numbers(self, codes: np.ndarray, chunk: int) -> dict[int, np.ndarray]:
        del chunk
        return {self._rent: self._values[codes[:, self._rent]]}


def test_a_released_number_that_is_missing_is_no_number(tmp_path: Path) -> None:
    domain = domain_with_missing()
    known = {"smoker": [1, 0, 2], "died": [0, 1, 2], "wage": [0, 1, 2], "rent": [0, 1, 2], "kin": [0, 1, 2]}
    codes = np.array([*known.values(), [0, 1, 0]], np.uint16).T
    write_table(tmp_path, domain, [codes], _Numbers(domain))  # type: ignore[arg-type]
    assert (tmp_path / CSV).read_text() == (
        "smoker,died,wage,rent,kin,sex\ntrue,,,,-2,f\nfalse,1990,0.0,0,0,missing\n,1991,0.5,10,1,f\n"
    )
    held = pq.read_table(tmp_path / PARQUET)
    assert held.schema.field("smoker").type == pa.bool_()
    assert held.to_pydict() == {
        "smoker": [True, False, None],
        "died": [None, 1990, 1991],
        "wage": [None, 0.0, 0.5],
        "rent": [None, 0, 10],
        "kin": [-2, 0, 1],
        "sex": ["f", "missing", "f"],
    }
    frame = pd.read_csv(tmp_path / CSV)
    assert frame["died"].mean() == 1990.5
    # Readers find the codes again, also from the published description.
    again = Domain.from_document(describe_domain(domain, {}, {}))
    assert again == domain
    for place, attribute in enumerate(again.attributes):
        column = held.column(attribute.name).combine_chunks()
        assert codes_of_column(column, attribute).tolist() == codes[:, place].tolist()
    check_tables(tmp_path, again, 3)
    with (tmp_path / CSV).open("rb") as text, (tmp_path / PARQUET).open("rb") as parquet:
        assert check_csv(text, again) == TableFindings(3)
        assert check_parquet(parquet, again, pq) == TableFindings(3)
        text.seek(0)
        assert is_text_of(text, parquet, again, pq)
        text.seek(0)
        assert first_difference(text, parquet, pq) is None


@pytest.mark.parametrize("name", ["died", "wage", "rent"])
def test_the_number_that_stands_for_missing_is_in_no_released_table(tmp_path: Path, name: str) -> None:
    domain = domain_with_missing()
    write_table(tmp_path, domain, [np.zeros((2, 6), np.uint16)], _Numbers(domain))  # type: ignore[arg-type]
    held = pq.read_table(tmp_path / PARQUET)
    number = -1.0 if name == "wage" else -1
    place = held.schema.get_field_index(name)
    pq.write_table(held.set_column(place, held.schema.field(name), pa.array([number, None])), tmp_path / PARQUET)
    with (tmp_path / PARQUET).open("rb") as parquet:
        assert f"{name} has a value" in str(check_parquet(parquet, domain, pq).faults)
    text = pd.read_csv(tmp_path / CSV, dtype=str, keep_default_na=False).assign(**{name: str(number)})
    text.to_csv(tmp_path / CSV, index=False)
    with (tmp_path / CSV).open("rb") as file:
        assert f"{name} has a value" in str(check_csv(file, domain).faults)


def test_a_domain_states_what_is_missing_only_if_it_is_a_value() -> None:
    with pytest.raises(InvalidInput, match="must be one of its values"):
        Attribute("age", (0, 1), "numeric", (0, 1), missing=-1)
    with pytest.raises(InvalidInput, match="must be false and true"):
        Attribute("smoker", ("no", "yes"), "nominal", (0, 1), is_boolean=True)


def test_codes_may_differ_by_case_and_blanks_if_the_schema_says_so() -> None:
    town = nominal(["Ash", "Elm Tree"], any_case=True, missing_as="none")
    assert read(table({"a": town}), a=["ASH", "elm  tree", " Ash ", None]) == ["Ash", "Elm Tree", "Ash", "none"]
    by = nominal(["east", "west"], by={"Ash": "east", "Elm": "west"}, any_case=True)
    assert read(table({"a": by}), a=["ASH", "elm"]) == ["east", "west"]
    with pytest.raises(InvalidInput, match="must differ by more than case and blanks, and two do not"):
        nominal(["Ash", "ash"], any_case=True)
    with pytest.raises(InvalidInput, match="in any case must be listed, or be the codes of a table in `by`"):
        nominal(["a"], by=lambda code: code[:1], any_case=True)


@pytest.mark.parametrize(
    ("written", "counts"),
    [
        ("excel days", ["43831", "43890.75"]),
        ("epoch days", ["18262", "18321"]),
        ("epoch seconds", ["1577836800", "1583020799"]),
        ("stata days", [21915.0, 21974.0]),
        ("sas days", ["21915", "21974"]),
    ],
)
def test_days_may_be_counted_as_programs_count_them(written: str, counts: list[Any]) -> None:
    seen = dates("2020-01-01", "2020-02-29", written=written)
    assert read(table({"a": seen}), a=counts) == ["2020-01-01", "2020-02-29"]


def test_a_draft_keeps_zeros_and_truth_values_and_names_blanks(tmp_path: Path) -> None:
    book = tmp_path / "book.csv"
    book.write_text(
        "variable,type,values\nzip,nominal,00501 | 02139 | 10001\nyear,nominal,01 | 2\nsmoker,boolean,0=no | 1=yes\n"
        "vote,boolean,left | right\nage,integer,0 to 9\n"
    )
    text = schema_text(draft_of(read_codebooks([book]), "book"), sources=["book.csv"], missing_as="missing")
    for line in (
        '"zip": nominal(["00501", "02139", "10001"], digits=5),',
        '"year": nominal(["01", "2"]),',
        '"smoker": boolean({"false": "no", "true": "yes"}),',
        '"vote": nominal(["left", "right"]),',
        'missing_as="missing",  # of empty fields, whose rows are kept',
    ):
        assert line in text
    (tmp_path / "drafted.py").write_text(text)
    (tmp_path / "drafted.yaml").write_text("name: drafted\ndataset: drafted.py\nsource: t.csv\nepsilon: 1\n")
    assert load_spec(tmp_path / "drafted.yaml").domain.attributes[4].missing == -1


@pytest.mark.parametrize(
    ("example", "texts", "minutes"),
    [
        ("14:30", ["00:00", "7:05", "23:59", "24:00", "14:30:30", "2:30 pm"], [0, 425, 1439, 1440, 870.5, 870]),
        ("2:30 PM", ["12:00 am", "12:15 p.m.", "2:30PM", "11:59 PM"], [0, 735, 870, 1439]),
        ("14:30", ["24:01", "24:00:01", "7:60", "13:00 pm", "0:30 am", "noon"], ["invalid"] * 6),
        ("hhmm", ["517", "5", "0517", "2400", "517.0", "14:30"], [317, 5, 317, 1440, 317, "invalid"]),
        ("hhmm", [517, 1200.0, -1, 1275, 2401], [317, 720, -1, "invalid", "invalid"]),
        ("14:30", ["-1", "7:00"], [-1, 420]),
    ],
)
def test_times_of_day_are_minutes_since_midnight(example: str, texts: list[Any], minutes: list[Any]) -> None:
    begun = numeric(0.0, 1440.0, step=0.5, also={-1: "never"}, written=example)
    assert read(table({"begun": begun}), begun=texts) == minutes


def test_hours_and_minutes_are_read_from_numbers_beside_codes_for_missing() -> None:
    schema = table({"begun": numeric(0, 1439, missing=[9999], missing_as=-1, written="hhmm")})
    assert read(schema, begun=[517.0, 9999.0, np.nan, 1200.0]) == [317, -1, -1, 720]


def test_a_codebook_describes_times_of_day(tmp_path: Path) -> None:
    (tmp_path / "book.csv").write_text(
        "variable,type,values,missing,pattern\nbegun,time,,,\nended,time,06:00 to 22:30,99:99,2:30 PM\n"
        "left,time,5:00 to 23:59,,hhmm\n"
    )
    text = schema_text(draft_of(read_codebooks([tmp_path / "book.csv"]), "book.csv"), sources=["book.csv"])
    described = "\n".join(line for line in text.split("\n") if line.startswith("        "))
    assert described == (
        "        # minutes since midnight, of the whole day\n"
        '        "begun": numeric(0, 1439, round=True, written="14:30"),\n'
        "        # minutes since midnight\n"
        '        "ended": numeric(360, 1350, round=True, written="2:30 PM", missing=["99:99"], missing_as=-1),\n'
        "        # minutes since midnight\n"
        '        "left": numeric(300, 1439, round=True, written="hhmm"),'
    )
    scope: dict[str, Any] = {}
    exec(text, scope)  # noqa: S102 - the schema that was drafted
    for wrong in ("time,,,noon", "time,6 to 22,,", "time,22:00 to 6:00,,"):
        (tmp_path / "book.csv").write_text(f"variable,type,values,missing,pattern\nbegun,{wrong}\n")
        with pytest.raises(InvalidInput, match="begun"):
            draft_of(read_codebooks([tmp_path / "book.csv"]), "book.csv")
