"""Every kind of column, by one row of one table, keeps what the contract promises."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd
import pytest
from pandera.pandas import Column

import schemas.table
from deniable.foundation.domain import Value
from deniable.foundation.errors import InvalidInput
from schemas.kinds.description import Description, described
from schemas.kinds.durations import in_minutes
from schemas.kinds.missing import usual_missing
from schemas.table import (
    boolean,
    dates,
    domain_of,
    duration,
    free_text,
    identifier,
    nominal,
    numeric,
    ordered,
    table,
)
from stores.tables.tables import VALID
from tasks.data.validate import Findings, examine


@dataclass(frozen=True)
class Row:
    """A kind of column.

    Attributes:
        column: a column of it.
        becomes: the value of texts of a source.
        unreadable: a text that is none.
    """

    column: Column
    becomes: Mapping[str, Value]
    unreadable: str


ROWS = {
    "nominal": Row(nominal(["ash", "oak"], by={"1": "ash", "2": "oak", "3": "oak"}), {"1": "ash", "3": "oak"}, "4"),
    "ordered": Row(ordered(["low", "high"], any_case=True), {" HIGH ": "high", "low": "low"}, "mid"),
    "boolean": Row(boolean(true=["ja"]), {"Ja": "true", "0.0": "false", "T": "true"}, "2"),
    "numeric": Row(numeric(0, 10, step=0.5, written="1,234.50"), {"9.5": 9.5, "0": 0.0}, "9.6"),
    "dates": Row(
        dates("2024-01-01", "2024-12-31", by="quarter"),
        {"2024-02-29": "2024-Q1", "2024-12-31T23:00": "2024-Q4"},
        "2025-01-01",
    ),
    "duration": Row(
        duration("0:00", "48:00", step=15, round=True),
        {"8:30": 510, "27:05": 1620, "PT45M": 45, "8 h 30 min": 510},
        "8:75",
    ),
}
"""A row for each kind that may be released."""
NEVER_RELEASED = {"identifier": identifier(), "free_text": free_text()}


@pytest.fixture(params=ROWS)
def row(request: pytest.FixtureRequest) -> Row:
    return ROWS[request.param]


def values_of(column: Column) -> tuple[Value, ...]:
    return described(column).values  # noqa: PD011 - of a description


@dataclass(frozen=True)
class Read:
    """What a source's texts became.

    Attributes:
        became: the values; null where one is missing.
        valid: whether each row is valid.
        findings: what was found.
    """

    became: list[object]
    valid: list[bool]
    findings: Findings


def read(column: Column, texts: list[str | None]) -> Read:
    """Read a column of a source as a release does."""
    findings = Findings()
    frame = examine(table({"c": column}), pd.DataFrame({"c": pd.Series(texts, dtype=object)}), findings)
    values = frame["c"].astype(object)
    return Read(values.where(values.notna(), None).to_list(), frame[VALID].to_list(), findings)


def test_every_kind_has_a_row() -> None:
    functions = {name: getattr(schemas.table, name) for name in schemas.table.__all__}
    kinds = {
        name
        for name, of in functions.items()
        if inspect.isfunction(of) and inspect.signature(of).return_annotation is Column
    }
    assert kinds == {*ROWS, *NEVER_RELEASED}


def test_the_domain_has_values_of_one_type_each_with_a_bucket(row: Row) -> None:
    known = described(row.column)
    (attribute,) = domain_of(table({"c": row.column})).attributes
    values = values_of(row.column)
    assert (attribute.name, attribute.cardinality, attribute.buckets) == ("c", len(values), known.buckets)
    assert len(set(values)) == len(values) == len(known.buckets) > 1
    assert {type(value) for value in values} == {known.value_type}
    assert sorted(set(known.buckets)) == list(range(len(set(known.buckets))))


def test_what_is_readable_becomes_a_value_and_nothing_else_passes(row: Row) -> None:
    found = read(row.column, [*row.becomes, row.unreadable, None])
    assert found.became[: len(row.becomes)] == list(row.becomes.values())
    assert set(row.becomes.values()) <= set(values_of(row.column))
    assert found.valid == [*[True] * len(row.becomes), False, False]
    assert (found.findings.invalid, found.findings.missing) == (1, 1)


def test_a_missing_value_can_be_a_value_of_its_own(row: Row) -> None:
    filled = usual_missing(row.column, "missing")
    own = described(filled).missing_as
    assert own not in values_of(row.column)
    found = read(filled, [*row.becomes, None, row.unreadable])
    assert found.became[:-1] == [*row.becomes.values(), own]
    assert found.valid == [*[True] * (len(row.becomes) + 1), False]
    assert usual_missing(filled, "other") is filled


@pytest.mark.parametrize("kind", NEVER_RELEASED)
def test_a_column_that_is_never_released_is_no_attribute(kind: str) -> None:
    known = described(NEVER_RELEASED[kind])
    assert not known.is_released
    assert known.checks() == []
    with pytest.raises(ValueError, match="is no attribute"):
        _ = known.released_kind


def test_a_column_of_no_kind_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"column age must be described by schemas\.table\.nominal"):
        described(Column(int), "age")
    assert Description(kind="nominal").value_type is str


@pytest.mark.parametrize(
    ("text", "minutes"),
    [("8:30", "510"), (" 27:05 ", "1625"), ("0:00:30", "0.5"), ("PT8H", "480"), ("90 min", "90"), ("2 hrs", "120")]
    + [(text, text) for text in ("8:75", "h", "", "PT", "8,5", "-1:00", "8:30 PM", "7")],
)
def test_a_duration_is_minutes_and_any_other_text_stays(text: str, minutes: str) -> None:
    assert in_minutes(text) == minutes


def test_a_duration_between_two_values_is_invalid_unless_it_is_rounded() -> None:
    assert read(duration("0:00", "10:00", step=15), ["8:07", "8:15"]).valid == [False, True]
    assert read(duration("0:00", "10:00", step=15, round=True), ["8:07", "11:00"]).became[0] == 480
    assert described(duration("1:00", "2:00", missing_as=-1)).labels == {-1: "missing"}


@pytest.mark.parametrize("bound", ["", "8:75", "0:00:30", "-5 min", 30])
def test_a_bound_of_a_duration_is_whole_minutes(bound: str) -> None:
    with pytest.raises(InvalidInput, match="whole minutes such as '8:30'"):
        duration(bound, "48:00")
