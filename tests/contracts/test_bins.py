"""Columns of more numbers than can be counted one by one: public bins, and numbers drawn within them at the end."""

import csv
import io
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pandera.pandas import DataFrameSchema
from scipy.stats import chisquare

from deniable.foundation.domain import Attribute, Bins, Codes, Domain
from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import ReleaseKey
from deniable.foundation.uniform import uniform_below
from deniable.inference.conditions import Conditions
from deniable.record.released_table import TableFindings, check_csv, check_parquet, check_rules, is_text_of
from deniable.record.schema_document import describe_domain
from deniable.samplers.within_bins import WithinBins
from schemas.rules import at_most
from schemas.table import domain_of, labels_of, nominal, numeric, table
from stores.publication.data_package import table_schema
from stores.publication.release_folder import CSV, PARQUET, check_tables, write_table
from stores.tables.tables import encode
from tasks.data.validate import Findings, examine
from tests.property.test_records_are_split_with_the_stated_probabilities import Words

FALSE_ALARM = 1e-9
KEY = ReleaseKey(bytes(32))


def schema(**more: Any) -> DataFrameSchema:
    return table(
        {
            "wage": numeric(0, 9_999_999, bins=[1, 1_000, 50_000, 1_000_000], also={-1: "inapplicable"}, **more),
            "sex": nominal(["f", "m"]),
            "price": numeric(0, 100_000, step=0.01, bins=250),
        }
    )


def released(folder: Path, codes: Codes) -> list[dict[str, str]]:
    """The records of a table as text."""
    domain = domain_of(schema())
    assert write_table(folder, domain, [codes[:5], codes[5:]], WithinBins(domain, KEY, "codes")) == len(codes)
    return list(csv.DictReader(io.StringIO((folder / CSV).read_text())))


def some_codes(rows: int = 500) -> Codes:
    domain = domain_of(schema())
    draw = np.random.default_rng(list(b"bins"))
    return np.stack([draw.integers(0, size, rows) for size in domain.cardinalities], axis=1).astype(np.uint16)


def test_a_column_is_counted_by_bins() -> None:
    wage = domain_of(schema()).attributes[0]
    assert wage.values == (-1, 0, 1, 1_000, 50_000, 1_000_000)  # noqa: PD011 - of an attribute, not of a frame
    assert wage.bins == Bins((-1, 0, 999, 49_999, 999_999, 9_999_999), 1)
    assert wage.bin_sizes.tolist() == [1, 1, 999, 49_000, 950_000, 9_000_000]
    price = domain_of(schema()).attributes[2]
    assert price.cardinality == 401
    assert price.bins is not None
    assert price.bins.last[:2] == (249.99, 499.99)
    assert price.bins.last[-1] == 100_000.0
    assert labels_of(schema())["wage"] == {
        "-1": "inapplicable",
        "1": "to 999",
        "1000": "to 49999",
        "50000": "to 999999",
        "1000000": "to 9999999",
    }


def test_numbers_become_the_first_of_their_bin_and_what_is_no_number_of_the_column_is_invalid() -> None:
    findings = Findings()
    wages = [-1, 0, 1, 999, 1_000, 9_999_999, 10_000_000, 12.5, -2, 3]
    prices = ["0.07", "249.99", "250.00", "99999.99", "100000", "3", "3", "3", "3", "3.001"]
    frame = examine(schema(), pd.DataFrame({"wage": wages, "sex": ["f"] * 10, "price": prices}), findings)
    assert frame["wage"].tolist()[:6] == [-1, 0, 1, 1, 1_000, 1_000_000]
    assert frame["price"].tolist()[:6] == [0, 0, 250, 99_750, 100_000, 0]
    assert frame.iloc[:, -1].tolist() == [True] * 6 + [False] * 4
    assert encode(frame[:6].iloc[:, :-1], domain_of(schema())).tolist()[3] == [2, 0, 399]


def test_numbers_are_rounded_and_clipped_before_they_are_counted_by_bins() -> None:
    of_amounts = table({"wage": numeric(0, 10**6, step=100, bins=1_000, round="down", clip=True)})
    frame = examine(of_amounts, pd.DataFrame({"wage": [-5, 1_099, 999, 5 * 10**6]}), Findings())
    assert frame["wage"].tolist() == [0, 1_000, 0, 10**6]


def test_a_missing_value_of_a_column_with_bins_is_a_number_outside_them() -> None:
    wage = domain_of(schema(missing_as=-9)).attributes[0]
    assert wage.values[:3] == (-9, -1, 0)  # noqa: PD011 - as above
    assert wage.bins is not None
    assert wage.bins.last[:3] == (-9, -1, 0)
    with pytest.raises(InvalidInput, match="outside the bins, got 5"):
        schema(missing_as=5)


def test_each_published_record_has_a_number_of_its_bin(tmp_path: Path) -> None:
    codes, domain = some_codes(), domain_of(schema())
    records = released(tmp_path, codes)
    wages = np.array([int(record["wage"]) for record in records], np.float64)
    prices = np.array([float(record["price"]) for record in records])
    assert domain.attributes[0].bins_of(wages).tolist() == codes[:, 0].tolist()
    assert domain.attributes[2].bins_of(prices).tolist() == codes[:, 2].tolist()
    assert len(set(prices.tolist())) > 450
    # As a decimal number is written, and not as the sum of floats.
    assert all(len(record["price"].partition(".")[2]) <= 2 for record in records)


def test_a_published_table_is_in_its_domain_and_verifies(tmp_path: Path) -> None:
    codes, domain = some_codes(), domain_of(schema())
    released(tmp_path, codes)
    check_tables(tmp_path, domain, len(codes))
    again = Domain.from_document(json.loads(json.dumps(describe_domain(domain, {}, {}))))
    assert (again, again.digest) == (domain, domain.digest)
    with (tmp_path / CSV).open("rb") as text, (tmp_path / PARQUET).open("rb") as parquet:
        assert check_csv(text, again) == TableFindings(len(codes))
        assert check_parquet(parquet, again, pq) == TableFindings(len(codes))
    with (tmp_path / CSV).open("rb") as text, (tmp_path / PARQUET).open("rb") as parquet:
        assert is_text_of(text, parquet, again, pq)
    field = table_schema(domain, {}, {})["fields"][0]
    assert field["constraints"] == {"required": True, "minimum": -1, "maximum": 9_999_999}


@pytest.mark.parametrize(
    "written", ["10000000", "-2", "1.0", "1e3", "01", " 1", "", "nan", "\uff11", str(2**53 + 1), "9" * 50, "x"]
)
def test_what_is_no_number_of_a_bin_is_found_in_a_table(tmp_path: Path, written: str) -> None:
    released(tmp_path, some_codes(20))
    header, first, *rest = (tmp_path / CSV).read_text().splitlines()
    changed = "\n".join([header, written + first[first.index(",") :], *rest, ""])
    assert "wage has a value" in str(check_csv(io.BytesIO(changed.encode()), domain_of(schema())).faults)


@pytest.mark.parametrize("written", ["0.001", "100000.01", "-0.0", "1", "1e-05", "0.10", "0.30000000000000004"])
def test_what_is_no_decimal_of_a_bin_is_found_in_a_table(tmp_path: Path, written: str) -> None:
    released(tmp_path, some_codes(20))
    header, first, *rest = (tmp_path / CSV).read_text().splitlines()
    changed = "\n".join([header, first[: first.rindex(",") + 1] + written, *rest, ""])
    assert "price has a value" in str(check_csv(io.BytesIO(changed.encode()), domain_of(schema())).faults)


def test_numbers_of_another_type_or_outside_are_found_in_parquet() -> None:
    domain = Domain((Attribute("wage", (0, 10), "numeric", (0, 1), Bins((9, 99), 1)),))
    assert check_parquet(parquet([5, 99]), domain, pq) == TableFindings(2)
    for wrong in ([5, 100], [5.0, 99.0], ["5", "99"], [5, None]):
        assert check_parquet(parquet(wrong), domain, pq).faults, wrong


def parquet(values: list[Any]) -> io.BytesIO:
    file = io.BytesIO()
    pq.write_table(pa.table({"wage": values}), file)
    return file


def test_records_with_bins_are_checked_against_the_rules_of_other_columns() -> None:
    of = table(
        {"wage": numeric(0, 10**6, bins=1_000), "part": numeric(0, 3), "total": numeric(0, 3)},
        rules=[at_most("part", "total", source="codebook")],
    )
    text = b"wage,part,total\n1234,1,2\n777777,3,2\n"
    assert list(check_rules(io.BytesIO(text), domain_of(of))) == ["record 2 breaks rule 1: part is at most total"]


def test_rules_about_columns_with_bins_are_refused() -> None:
    columns = {"part": numeric(0, 10**6, bins=1_000), "total": numeric(0, 10**6, bins=1_000)}
    with pytest.raises(InvalidInput, match="columns without bins, in which numbers are drawn at the end, got part"):
        table(columns, rules=[at_most("part", "total", source="codebook")])


@pytest.mark.parametrize("bins", [0, 0.5, -1, [5, 5], [7, 5], [11], [0.5], 10**-6])
def test_bins_that_are_none_are_refused(bins: Any) -> None:
    with pytest.raises(InvalidInput, match="bins"):
        numeric(0, 10, bins=bins)


@pytest.mark.parametrize(
    ("values", "bins"),
    [
        ((0, 10), Bins((10, 20), 1)),
        ((10, 0), Bins((20, 5), 1)),
        ((0, 10), Bins((9,), 1)),
        ((0, 10), Bins((9, 20), 3)),
        ((0, 10), Bins((9, 20), 0)),
        ((0, 10), Bins((9, 2**53), 1)),
        ((0, 10), Bins((9, float("inf")), 1)),
        (("a", "b"), Bins(("a", "b"), 1)),
        ((0, True), Bins((0, True), 1)),
        ((0.0, 1.0), Bins((1e-300, 2.0), 1e-300)),
    ],
)
def test_a_document_with_wrong_bins_is_refused(values: Any, bins: Bins) -> None:
    with pytest.raises(InvalidInput, match="the bins of attribute wage must be in order"):
        Attribute("wage", values, "numeric", (0, 1), bins)


@pytest.mark.parametrize(
    ("asked", "codes"),
    [
        ("wage>=1000", [3, 4, 5]),
        ("wage>999", [3, 4, 5]),
        ("wage<=999", [0, 1, 2]),
        ("wage=1..49999", [2, 3]),
        ("wage=0", [1]),
        ("wage=-1..0|1000..49999", [0, 1, 3]),
        ("wage!=-1", [1, 2, 3, 4, 5]),
    ],
)
def test_questions_are_answered_for_whole_bins(asked: str, codes: list[int]) -> None:
    words = Conditions(domain_of(schema()))
    assert np.flatnonzero(words.parse(asked)[0]).tolist() == codes
    assert np.flatnonzero(words.parse(words.named(0, codes))[0]).tolist() == codes


@pytest.mark.parametrize("asked", ["wage>=500", "wage<999", "wage=5", "wage=2..999", "wage=1..1500", "wage!=3"])
def test_questions_that_divide_a_bin_are_refused(asked: str) -> None:
    words = Conditions(domain_of(schema()))
    with pytest.raises(InvalidInput, match="counted by bins, and the condition divides 1"):
        words.parse(asked)


def test_means_of_numbers_that_were_counted_by_bins_are_refused() -> None:
    with pytest.raises(InvalidInput, match=r"wage was counted by bins, such as 1000000\.\.9999999"):
        Conditions(domain_of(schema())).numbers(0)


def test_numbers_are_uniform_within_their_bins() -> None:
    domain = Domain((Attribute("wage", (0, 7, 1_000_000), "numeric", (0, 1, 2), Bins((6, 7, 1_000_003), 1)),))
    codes = np.repeat(np.array([[0], [2], [1]], np.uint16), [70_000, 40_000, 10], axis=0)
    drawn = WithinBins(domain, KEY, "law").numbers(codes, 0)[0]
    assert chisquare(np.bincount(drawn[:70_000], minlength=7)).pvalue > FALSE_ALARM
    assert chisquare(np.bincount(drawn[70_000:110_000] - 1_000_000, minlength=4)).pvalue > FALSE_ALARM
    assert set(drawn[110_000:].tolist()) == {7}
    uneven = np.add(np.bincount(drawn[:70_000], minlength=7), [900, *[-150] * 6])
    assert chisquare(uneven).pvalue < FALSE_ALARM


def test_chunks_columns_and_tables_have_draws_of_their_own() -> None:
    attribute = Attribute("wage", (0,), "numeric", (0,), Bins((10**9,), 1))
    domain = Domain((attribute, Attribute("other", (0,), "numeric", (0,), Bins((10**9,), 1))))
    codes = np.zeros((20, 2), np.uint16)
    drawn = [
        WithinBins(domain, key, inputs).numbers(codes, chunk)
        for key, inputs, chunk in [(KEY, "a", 0), (KEY, "a", 1), (KEY, "b", 0), (ReleaseKey(b"1" * 32), "a", 0)]
    ]
    found = [tuple(numbers.tolist()) for each in drawn for numbers in each.values()]
    assert len(set(found)) == len(found) == 8
    again = WithinBins(domain, KEY, "a").numbers(codes, 0)
    assert {column: numbers.tolist() for column, numbers in again.items()} == {
        column: numbers.tolist() for column, numbers in drawn[0].items()
    }


@given(st.integers(1, 2**53))
def test_every_number_below_a_bound_owns_equally_many_words(bound: int) -> None:
    each = (2**64 - 1) // bound
    ends = [0, each - 1, each * (bound - 1), each * bound - 1]
    drawn = uniform_below(Words(ends), np.full(4, bound, np.uint64))
    assert drawn.tolist() == [0, 0, bound - 1, bound - 1]
    if each * bound < 2**64:
        # Words that would favour some numbers are drawn again.
        assert uniform_below(Words([each * bound, 0]), np.full(1, bound, np.uint64)).tolist() == [0]


@given(st.integers(-(10**6), 10**6), st.integers(0, 4), st.integers(1, 500))
def test_decimals_of_bins_are_read_as_they_are_written(first: int, decimals: int, numbers: int) -> None:
    scale = 10**decimals
    low, high, step = (float(Fraction(number, scale)) for number in (first, first + numbers, 1))
    attribute = Attribute("price", (low,), "numeric", (0,), Bins((high,), step))
    found = attribute.numbers_in(np.zeros(numbers + 1, np.uint16), np.arange(numbers + 1))
    assert found.tolist() == [float(Fraction(first + number, scale)) for number in range(numbers + 1)]
    texts = [str(each) for each in found.tolist() if str(each) != "-0.0"]
    assert (attribute.bins_of_texts(texts) == 0).all()
