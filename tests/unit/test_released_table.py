"""A released table is compared with its public domain, and no message quotes its content."""

import csv
import io
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable.foundation.domain import Attribute, Domain
from deniable.record.released_table import TableFindings, check_csv, check_parquet, is_text_of, parquet_reader

DOMAIN = Domain(
    (
        Attribute("age", (18, 19, 20), "numeric", (0, 0, 1)),
        Attribute("town", ('a, "b"', "c\nd", "plain"), "nominal", (0, 1, 2)),
        Attribute("share", (0.5, 1.0), "numeric", (0, 1)),
        Attribute("works", (True, False), "nominal", (0, 1)),
    )
)
ROWS = [(18, 'a, "b"', 0.5, True), (19, "c\nd", 1.0, False), (20, "plain", 0.5, True)]
HEADER = list(DOMAIN.names)
OUTSIDE = "has a value that is not in its public domain"


def as_csv(rows: list[Any], header: list[str] = HEADER) -> io.BytesIO:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    return io.BytesIO(text.getvalue().encode())


def as_parquet(columns: dict[str, list[Any]]) -> io.BytesIO:
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    return file


def columns(rows: list[Any]) -> dict[str, list[Any]]:
    return dict(zip(HEADER, map(list, zip(*rows, strict=True)), strict=True))


def parquet(file: io.BytesIO) -> TableFindings:
    return check_parquet(file, DOMAIN, parquet_reader())


def test_a_table_within_its_domain_is_counted_however_its_values_are_quoted() -> None:
    assert check_csv(as_csv(ROWS * 20_000), DOMAIN) == TableFindings(60_000)
    assert parquet(as_parquet(columns(ROWS * 20_000))) == TableFindings(60_000)
    assert check_csv(as_csv([]), DOMAIN) == TableFindings(0)


def test_a_file_is_left_open_for_whoever_opened_it() -> None:
    file = as_csv(ROWS)
    check_csv(file, DOMAIN)
    assert not file.closed


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ((21, "plain", 0.5, True), f"age {OUTSIDE}"),
        (("18.0", "plain", 0.5, True), f"age {OUTSIDE}"),
        (("", "plain", 0.5, True), f"age {OUTSIDE}"),
        ((18, "Plain", 0.5, True), f"town {OUTSIDE}"),
        ((18, "c\r\nd", 0.5, True), f"town {OUTSIDE}"),
        ((18, "plain", "0.50", True), f"share {OUTSIDE}"),
        ((18, "plain", 1, True), f"share {OUTSIDE}"),
        ((18, "plain", 0.5, 1), f"works {OUTSIDE}"),
        ((18, "plain", 0.5), "does not have 4 values"),
        ((18, "plain", 0.5, True, True), "does not have 4 values"),
        ((), "does not have 4 values"),
    ],
)
def test_a_row_that_does_not_belong_is_named_by_its_number_and_not_quoted(row: tuple[Any, ...], fault: str) -> None:
    """In the middle of a later batch."""
    rows = [*ROWS * 15_000, row, *ROWS]
    found = check_csv(as_csv(rows), DOMAIN)
    assert found.faults == (f"record 45001{'' if fault.startswith('does') else ':'} {fault}",)
    assert found.records == 40_000


@pytest.mark.parametrize(
    ("header", "fault"),
    [
        (["town", "age", "share", "works"], "its columns are not in the order of the domain"),
        (["age", "town", "share"], "its columns are not those of the domain, age, town, share, works"),
        (["age", "town", "share", "works", "name"], "its columns are not those of the domain"),
        (["age", "town", "share", "works", "works"], "its columns are not those of the domain"),
    ],
)
def test_columns_that_are_not_the_domains_are_found(header: list[str], fault: str) -> None:
    assert fault in check_csv(as_csv(ROWS, header), DOMAIN).faults[0]
    if len(set(header)) == len(header):
        table = {name: columns(ROWS).get(name, [1, 2, 3]) for name in header}
        assert fault in parquet(as_parquet(table)).faults[0]


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "its columns are not those of the domain"),
        (b"age,town,share,works\n18,plain,0.5,\xff\n", "it is not written in UTF-8 after record 0"),
        (b'age,town,share,works\n18,"plain"x,0.5,True\n', "it is not CSV after record 0"),
        (b'age,town,share,works\n18,"plain,0.5,True\n', "it is not CSV after record 0"),
        (b"age,town,share,works\n" + b"1" * (1 << 22), "after record 0"),
    ],
)
def test_what_is_no_table_is_said_to_be_none(content: bytes, fault: str) -> None:
    assert fault in str(check_csv(io.BytesIO(content), DOMAIN).faults)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + bytes(100) + b"PAR1", b"age,town\n"])
def test_what_is_no_parquet_is_said_to_be_none(content: bytes) -> None:
    assert parquet(io.BytesIO(content)).faults == ("it cannot be read as Parquet after record 0",)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("age", [18, 19, 21]),
        ("age", [18, 19, None]),
        ("age", [18.0, 19.0, 20.0]),
        ("town", ["plain", "plain", "elsewhere"]),
        ("works", [1, 0, 1]),
        ("share", [0.5, 1.0, float("nan")]),
    ],
)
def test_parquet_is_held_against_the_domain_with_its_types(name: str, values: list[Any]) -> None:
    altered = columns(ROWS) | {name: values}
    assert parquet(as_parquet(altered)).faults == (f"after record 0: {name} {OUTSIDE}",)


def test_without_its_library_parquet_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    assert parquet_reader() is None


@pytest.mark.slow
def test_memory_does_not_grow_with_the_table(tmp_path: Path) -> None:
    narrow = Domain(DOMAIN.attributes[:1])
    peaks = []
    for rows in (60_000, 240_000):
        path = tmp_path / f"{rows}.csv"
        path.write_text("age\n" + "18\n19\n20\n" * (rows // 3))
        tracemalloc.start()
        with path.open("rb") as file:
            assert check_csv(file, narrow).records == rows
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]


def is_text(rows: list[Any], text: bytes) -> bool:
    return is_text_of(io.BytesIO(text), as_parquet(columns(rows)), DOMAIN, parquet_reader())


def test_a_text_that_is_written_of_the_parquet_form_is_known_by_its_bytes() -> None:
    assert is_text(ROWS * 20_000, as_csv(ROWS * 20_000).getvalue())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"age,town", b"town,age"),
        (b"19,", b"20,"),
        (b"19,", b"19 ,"),
        (b"plain", b'"plain"'),
        (b"1.0", b"1.00"),
        (b"True\n", b"True\r\n"),
    ],
)
def test_one_other_byte_in_a_text_is_found(old: bytes, new: bytes) -> None:
    text = as_csv([*ROWS * 20_000, *ROWS]).getvalue()
    place = text.rindex(old)
    assert not is_text([*ROWS * 20_000, *ROWS], text[:place] + new + text[place + len(old) :])


def test_a_text_with_a_record_too_many_or_too_few_is_found() -> None:
    text = as_csv(ROWS).getvalue()
    assert not is_text(ROWS, text + b"18,plain,0.5,True\n")
    assert not is_text(ROWS, text[: text.rindex(b"20,")])
    assert not is_text(ROWS, b"")


def test_values_that_are_equal_and_written_differently_are_told_apart() -> None:
    domain = Domain((Attribute("gain", (0.0, 1.0), "numeric", (0, 1)),))
    file = as_parquet({"gain": [1.0, 0.0, -0.0]})
    assert check_parquet(file, domain, parquet_reader()) == TableFindings(3)
    assert not is_text_of(io.BytesIO(b"gain\n1.0\n0.0\n0.0\n"), file, domain, parquet_reader())
    assert not is_text_of(io.BytesIO(b"gain\n1.0\n0.0\n-0.0\n"), file, domain, parquet_reader())
    assert not is_text_of(io.BytesIO(b"gain\n1.0\n0.0\n"), as_parquet({"gain": [1.0, None]}), domain, parquet_reader())
