"""Kinds of columns: what a source writes becomes a value by public rules, and what no release can have is refused."""

from typing import Any

import pandas as pd
import pytest
from pandera.errors import SchemaErrors
from pandera.pandas import DataFrameSchema

from deniable.foundation.domain import Domain
from deniable.foundation.errors import InvalidInput
from deniable.record.schema_document import describe_domain
from schemas.hierarchies import (
    ICD9_CHAPTERS,
    ICD10_CHAPTERS,
    icd9_chapter,
    icd10_chapter,
    prefix,
    starting_at,
)
from schemas.table import (
    columns_read,
    dates,
    domain_of,
    free_text,
    identifier,
    labels_of,
    nominal,
    numeric,
    ordered,
    table,
)
from stores.publication.data_package import table_schema
from stores.tables.tables import VALID, encode
from tasks.data.validate import Findings, examine


def read(schema: DataFrameSchema, **columns: list[object]) -> tuple[pd.DataFrame, Findings]:
    """Rows as validation marks them."""
    findings = Findings()
    return examine(schema, pd.DataFrame(columns), findings), findings


def values(schema: DataFrameSchema, name: str, written: list[object]) -> list[object]:
    """What becomes of some cells: a value, or None if their row is not valid."""
    frame, _ = read(schema, **{name: written})
    return [value if valid else None for value, valid in zip(frame[name], frame[VALID], strict=True)]


def listed(schema: DataFrameSchema, number: int = 0) -> tuple[object, ...]:
    """The values of an attribute."""
    return domain_of(schema).attributes[number].values  # noqa: PD011


def test_decimals_are_the_numbers_that_are_written() -> None:
    schema = table({"rate": numeric(0, 1, step=0.1)})
    assert listed(schema) == (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    assert values(schema, "rate", ["0.3", "0.30", ".7", 1, "0.35", "1.1", "-0.1"]) == [0.3, 0.3, 0.7, 1.0, *[None] * 3]
    assert encode(pd.DataFrame({"rate": [0.3, 0.7]}), domain_of(schema)).tolist() == [[3], [7]]


def test_every_decimal_of_a_long_grid_is_on_it() -> None:
    schema = table({"price": numeric(-100, 500, step=0.01)})
    written = [f"{cents / 100:.2f}" for cents in range(-10_000, 50_001)]
    frame, findings = read(schema, price=written)
    assert findings.valid == len(written)
    assert encode(frame[["price"]], domain_of(schema))[:, 0].tolist() == list(range(60_001))
    assert [f"{value:.2f}" for value in listed(schema)] == written


@pytest.mark.parametrize(
    ("rounding", "expected"),
    [
        (True, [10, 10, 20, 20, None, None, 0]),
        ("down", [10, 10, 10, 20, None, None, 0]),
        ("up", [10, 20, 20, 20, None, None, 10]),
    ],
)
def test_numbers_between_the_values_are_rounded_as_asked(rounding: Any, expected: list[object]) -> None:
    schema = table({"age": numeric(0, 90, step=10, round=rounding)})
    assert values(schema, "age", [10, 14, 15, 20, 94, -1, 4]) == expected


def test_a_value_stays_what_it_is_when_decimals_are_rounded_down() -> None:
    schema = table({"rate": numeric(0, 1, step=0.1, round="down")})
    assert values(schema, "rate", ["0.3", "0.39", "0.7", "0.05"]) == [0.3, 0.3, 0.7, 0.0]


def test_numbers_beyond_the_range_are_clipped_as_asked() -> None:
    schema = table({"hours": numeric(0, 60, step=5, clip=True, round=True, also={-1: "inapplicable"})})
    assert values(schema, "hours", [-1, -3, 0, 99, 61, 33, "many", None]) == [-1, 0, 0, 60, 60, 35, None, None]


def test_special_codes_are_values_with_buckets_of_their_own() -> None:
    schema = table({"wage": numeric(0, 30, step=10, width=20, also={-1: "inapplicable", 99: "refused"})})
    assert listed(schema) == (-1, 0, 10, 20, 30, 99)
    assert domain_of(schema).attributes[0].buckets == (0, 1, 1, 2, 2, 3)
    assert labels_of(schema) == {"wage": {"-1": "inapplicable", "99": "refused"}}
    assert values(schema, "wage", [-1, 99, 10, 40, -2, 5]) == [-1, 99, 10, None, None, None]


@pytest.mark.parametrize("also", [{5: "refused"}, [0.5], {"N": "none"}, {True: "yes"}, [float("inf")]])
def test_a_special_code_must_be_a_number_outside_the_range(also: object) -> None:
    with pytest.raises(InvalidInput, match="special code"):
        numeric(0, 9, also=also)


def test_a_missing_value_is_a_value_where_the_column_says_so() -> None:
    schema = table(
        {
            "race": nominal(["white", "black"], missing=["?"], missing_as="unknown"),
            "weight": numeric(0, 9, missing=["?"], missing_as=-1),
            "age": numeric(0, 9),
        }
    )
    frame, findings = read(schema, race=["?", None, "black", "x"], weight=["?", 3, None, 3], age=[1, 1, None, 1])
    assert frame["race"].tolist()[:3] == ["unknown", "unknown", "black"]
    assert frame["weight"].tolist() == [-1, 3, -1, 3]
    assert frame[VALID].tolist() == [True, True, False, False]
    assert (findings.missing, findings.invalid) == (1, 1)
    assert listed(schema) == ("white", "black", "unknown")
    assert listed(schema, 1) == (-1, *range(10))
    assert labels_of(schema) == {"weight": {"-1": "missing"}}


def test_one_word_makes_missing_a_value_of_all_columns() -> None:
    schema = table(
        {
            "race": nominal(["white", "black"], missing=["?"]),
            "sex": nominal({1: "male", 2: "female"}),
            "weight": numeric(-5, 9),
            "rate": numeric(0, 1, step=0.5),
            "school": ordered(["none", "some"], missing_as="unknown"),
            "seen": dates("2020-01-01", "2020-12-31", by="quarter"),
        },
        missing_as="missing",
    )
    frame, findings = read(schema, **{name: [None] for name in domain_of(schema).names})
    assert frame.iloc[0, :-1].tolist() == ["missing", -1, -9, -1.0, "unknown", "missing"]
    assert findings.valid == 1
    assert labels_of(schema)["weight"] == {"-9": "missing"}
    assert labels_of(schema)["sex"] == {"1": "male", "2": "female", "-1": "missing"}
    assert listed(schema, 3) == (-1.0, 0.0, 0.5, 1.0)


def test_what_cannot_be_read_is_not_made_a_missing_value_by_a_recode() -> None:
    schema = table(
        {"class": nominal(["low", "high"])},
        reads={"wage": float},
        missing_as="missing",
        recode=lambda person: pd.DataFrame(
            {"class": (person["wage"] > 50).map({False: "low", True: "high"}).where(person["wage"].notna())}
        ),
    )
    frame, findings = read(schema, wage=["much", "90", None])
    assert frame["class"].tolist()[1:] == ["high", "missing"]
    assert frame[VALID].tolist() == [False, True, True]
    assert findings.invalid == 1


@pytest.mark.parametrize("value", [3, 1.5, True, "=x", "\n"])
def test_a_value_for_missing_must_be_one_of_the_column(value: object) -> None:
    with pytest.raises(InvalidInput):
        table({"a": nominal(["x"], missing_as=value)})


def test_dates_are_released_by_their_period() -> None:
    written: list[object] = [
        "2019-12-31",
        "2020-01-31",
        "2020-02-01T13:00:00",
        "2021-03-31",
        "2021-04-01",
        "soon",
        None,
    ]
    expected = {
        "day": [None, "2020-01-31", "2020-02-01", "2021-03-31", None, None, None],
        "month": [None, "2020-01", "2020-02", "2021-03", None, None, None],
        "quarter": [None, "2020-Q1", "2020-Q1", "2021-Q1", None, None, None],
        "year": [None, "2020", "2020", "2021", None, None, None],
    }
    for by, becomes in expected.items():
        schema = table({"seen": dates("2020-01-01", "2021-03-31", by=by)})
        assert values(schema, "seen", written) == becomes
    schema = table({"seen": dates("2020-01-01", "2021-03-31", by="quarter", buckets="year")})
    assert listed(schema) == ("2020-Q1", "2020-Q2", "2020-Q3", "2020-Q4", "2021-Q1")
    assert domain_of(schema).attributes[0].buckets == (0, 0, 0, 0, 1)
    assert domain_of(schema).attributes[0].kind == "ordered"


def test_a_date_is_read_as_the_source_writes_it() -> None:
    schema = table({"seen": dates("2020-01-01", "2020-12-31", by="month", written="%d.%m.%Y", missing_as="never")})
    assert values(schema, "seen", ["01.02.2020", "2020-02-01", None]) == ["2020-02", None, "never"]


@pytest.mark.parametrize(
    ("first", "last", "more"),
    [
        ("2020-02-01", "2020-01-01", {}),
        ("soon", "2020-01-01", {}),
        ("2020-01-01", "2020-01-01T10:00", {}),
        ("2020-01-01", "2020-02-01", {"by": "week"}),
        ("2020-01-01", "2020-02-01", {"by": "year", "buckets": "month"}),
        ("1700-01-01", "2200-01-01", {}),
    ],
)
def test_days_that_are_none_are_refused(first: str, last: str, more: dict[str, str]) -> None:
    with pytest.raises(InvalidInput):
        dates(first, last, **more)


def test_codes_become_their_groups_by_a_table_or_a_function() -> None:
    schema = table(
        {
            "diagnosis": nominal(ICD9_CHAPTERS, by=icd9_chapter, missing=["?"], missing_as="none"),
            "zip": nominal(["021", "100"], by=prefix(3, digits=5)),
            "job": nominal(by={"11": "manager", "12": "manager", "31": "nurse"}),
            "sector": ordered([1, 2], by=starting_at({10: 1, 500: 2}, last=899)),
        }
    )
    frame, findings = read(
        schema,
        diagnosis=["250.83", "V45", "?", "E878"],
        zip=["2139", "02139-1000", "10001", "99999"],
        job=[11, "31", "12", "11"],
        sector=["10", "499", 500, "11"],
    )
    assert frame["diagnosis"].tolist() == ["240-279", "V01-V91", "none", "E000-E999"]
    assert frame["zip"].tolist()[:3] == ["021", "021", "100"]
    assert frame["job"].tolist() == ["manager", "nurse", "manager", "manager"]
    assert frame["sector"].tolist() == [1.0, 1.0, 2.0, 1.0]
    assert frame[VALID].tolist() == [True, True, True, False]
    assert findings.invalid == 1
    assert listed(schema, 2) == ("manager", "nurse")


def test_a_code_without_a_group_is_invalid_even_if_it_is_the_name_of_one() -> None:
    schema = table({"job": nominal(by={"11": "manager"}), "sector": nominal([1, 2], by={"a": 1, "b": 2})})
    frame, findings = read(schema, job=["manager", "11", None], sector=["a", "1", "b"])
    assert frame[VALID].tolist() == [False, False, False]
    assert (findings.invalid, findings.missing) == (2, 1)


def test_a_hierarchy_may_give_the_buckets() -> None:
    schema = table({"zip": nominal(["02138", "02139", "10001", "99"], buckets=prefix(3))})
    assert domain_of(schema).attributes[0].buckets == (0, 0, 1, 2)


def test_chapters_of_diagnoses() -> None:
    assert [icd9_chapter(code) for code in ["1", "139.9", "140", "799", "800", "999.9", "v91", "E0"]] == [
        "001-139",
        "001-139",
        "140-239",
        "780-799",
        "800-999",
        "800-999",
        "V01-V91",
        "E000-E999",
    ]
    assert [icd9_chapter(code) for code in ["0", "1000", "?", "V92", "", "25O"]] == [None] * 6
    assert [icd10_chapter(code) for code in ["A00", "B99.9", "D49", "D50", "H59", "H60.1", "O9A", "e119", "Z99"]] == [
        "A00-B99",
        "A00-B99",
        "C00-D49",
        "D50-D89",
        "H00-H59",
        "H60-H95",
        "O00-O9A",
        "E00-E89",
        "Z00-Z99",
    ]
    assert [icd10_chapter(code) for code in ["250", "E", "", "K96"]] == [None] * 4
    assert len(ICD9_CHAPTERS) == 19
    assert len(ICD10_CHAPTERS) == 22


@pytest.mark.parametrize("code", ["9" * 5000, "E" + "9" * 5000, "250." + "8" * 5000, "", ".", "\u0661", "V" * 5000])
def test_a_code_of_any_length_has_a_chapter_or_none(code: str) -> None:
    assert icd9_chapter(code) in {None, *ICD9_CHAPTERS}
    assert icd10_chapter(code) in {None, *ICD10_CHAPTERS}
    assert starting_at({1: "one"}, last=9)(code) in {None, "one"}


def test_ordered_names_keep_their_order_in_all_that_describes_them() -> None:
    schema = table({"school": ordered(["none", "some", "degree"])})
    domain = domain_of(schema)
    assert domain.attributes[0].kind == "ordered"
    assert domain.attributes[0].is_ordered
    assert Domain.from_document(describe_domain(domain, {}, {})) == domain
    field = table_schema(domain, {}, {})["fields"][0]
    assert field["categoriesOrdered"] is True
    assert field["type"] == "string"


def test_identifiers_are_neither_released_nor_read() -> None:
    schema = table({"patient": identifier(label="patient's number"), "age": numeric(0, 9)})
    assert domain_of(schema).names == ("age",)
    assert columns_read(schema) == ("age",)


def test_what_no_release_can_have_is_refused_for_all_columns_at_once() -> None:
    with pytest.raises(InvalidInput) as caught:
        table(
            {
                "notes": free_text(),
                "smokes": nominal([True, False]),
                "class": nominal(["a", "b "]),
                "race": nominal(["white", "?"], missing=["?"]),
                "sex": nominal([1, 2, 9], missing=[9]),
                "home": nominal(["", "own"]),
                "age": numeric(0, 9),
            }
        )
    lines = str(caught.value).splitlines()
    assert lines[0] == "the schema is wrong in 6 of its columns:"
    assert [line.split()[1] for line in lines[1:]] == ["notes", "smokes", "class", "race", "sex", "home"]
    assert "leave it out" in lines[1]
    assert "describe it by boolean()" in lines[2]
    assert "write 'b'" in lines[3]
    assert "code for missing" in lines[4]


def test_text_that_is_read_as_a_number_can_never_occur() -> None:
    with pytest.raises(InvalidInput, match="column sex has the value '1', which can never occur"):
        table({"sex": nominal(["1", "2"])}, reads={"sex": int})


def test_codes_that_are_not_listed_become_the_other_value() -> None:
    described = {
        "charge": nominal(["theft", "fraud"], other="other", missing=["?"], missing_as="missing"),
        "site": nominal([1, 2], other=9),
        "plan": nominal(["a", "b"], by={"1": "a", "2": "b"}, other="b"),
    }
    schema = table(described)
    frame = pd.DataFrame({"charge": ["theft", "Quux", "?", None], "site": [1, 7, 2, 9], "plan": ["1", "2", "3", "1"]})
    read = schema.validate(frame)
    assert read["charge"].tolist() == ["theft", "other", "missing", "missing"]
    assert read["site"].tolist() == [1, 9, 2, 9]
    assert read["plan"].tolist() == ["a", "b", "b", "a"]
    assert listed(schema, 0) == ("theft", "fraud", "other", "missing")
    assert listed(schema, 1) == (1, 2, 9)
    assert listed(schema, 2) == ("a", "b")


@pytest.mark.parametrize(
    ("written", "stated", "day"),
    [
        (None, "2024-03-05T23:30:00-05:00", "2024-03-05"),
        (None, "2024-03-05 23:30-0500", "2024-03-05"),
        (None, "2024-03-05T00:10:00+09", "2024-03-05"),
        (None, "2024-03-05T00:10:00.5Z", "2024-03-05"),
        (None, "2024-03-05", "2024-03-05"),
        (None, "2024-03-05T07:00", "2024-03-05"),
        ("%d.%m.%Y %H:%M %z", "05.03.2024 23:30 -0500", "2024-03-05"),
        ("%d.%m.%Y", "05.03.2024", "2024-03-05"),
    ],
)
def test_the_day_of_a_time_is_the_one_that_is_written(written: str | None, stated: str, day: str) -> None:
    schema = table({"at": dates("2024-03-01", "2024-03-31", written=written, missing_as="none")})
    read = schema.validate(pd.DataFrame({"at": [stated, None]}))
    assert read["at"].tolist() == [day, "none"]


@pytest.mark.parametrize("written", [None, "%d.%m.%Y %z"])
def test_what_is_no_time_is_invalid_whatever_its_form(written: str | None) -> None:
    schema = table({"at": dates("2024-03-01", "2024-03-31", written=written)})
    for stated in ("soon", "2024-13-05T00:00-05:00", "2024-02-30", "05.03.2024 -99:99"):
        with pytest.raises(SchemaErrors):
            schema.validate(pd.DataFrame({"at": [stated]}), lazy=True)


def test_a_special_code_is_a_number_that_is_read_exactly() -> None:
    assert numeric(0, 9, also=[-(2**53)])
    with pytest.raises(InvalidInput, match="where numbers are read exactly, got a larger one"):
        numeric(0, 9, also=[-(2**53) - 1])
