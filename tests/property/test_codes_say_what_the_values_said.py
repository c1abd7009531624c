from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.foundation.domain import Attribute, Codes, Domain
from deniable.foundation.errors import InvalidInput
from stores.tables.tables import CodesWriter, decode, encode, load_codes, read_codes, write_codes

DTYPES = {int: "int64", float: "float64", str: "str", bool: "bool"}

texts = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8), min_size=1, unique=True)
numbers = st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=300, unique=True)
floats = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, unique=True)


@st.composite
def encoded_tables(draw: st.DrawFn) -> tuple[Domain, Codes]:
    """A domain and a table of codes of it."""
    columns = draw(st.lists(st.one_of(texts, numbers, floats, st.just([False, True])), min_size=1, max_size=4))
    domain = Domain(
        tuple(
            Attribute(f"attribute {place}", tuple(values), "nominal", tuple(range(len(values))))
            for place, values in enumerate(columns)
        )
    )
    record = st.tuples(*(st.integers(0, len(values) - 1) for values in columns))
    codes = np.array(draw(st.lists(record, max_size=30)), np.uint16).reshape(-1, len(columns))
    return domain, codes


@given(encoded_tables())
def test_decoding_and_encoding_gives_the_codes_back(table: tuple[Domain, Codes]) -> None:
    domain, codes = table
    assert np.array_equal(encode(decode(codes, domain), domain), codes)


@given(encoded_tables())
def test_a_decoded_table_has_the_values_types_and_names_of_the_domain(table: tuple[Domain, Codes]) -> None:
    domain, codes = table
    frame = decode(codes, domain)
    assert tuple(frame.columns) == domain.names
    for column, attribute in enumerate(domain.attributes):
        allowed = attribute.values  # noqa: PD011 - of an attribute, not of a frame
        values = frame[attribute.name].tolist()
        assert values == [allowed[code] for code in codes[:, column]]
        assert {type(value) for value in values} <= {type(allowed[0])}
        assert str(frame[attribute.name].dtype) == DTYPES[type(allowed[0])]


@given(encoded_tables(), st.integers(1, 7), st.integers(1, 7))
def test_codes_are_read_as_they_were_written(table: tuple[Domain, Codes], chunk: int, group: int) -> None:
    domain, codes = table
    chunks = [codes[start : start + chunk] for start in range(0, len(codes), chunk)]
    with TemporaryDirectory() as folder:
        plain, grouped = Path(folder, "plain.parquet"), Path(folder, "grouped.parquet")
        assert write_codes(plain, domain, chunks) == len(codes)
        with CodesWriter(grouped, domain, group) as writer:
            for part in chunks:
                writer.write(part)
        assert writer.rows == len(codes)
        assert [part.tolist() for part in read_codes(plain, domain)] == [part.tolist() for part in chunks]
        groups = list(read_codes(grouped, domain))
        assert all(len(part) == group for part in groups[:-1])
        for path in (plain, grouped):
            assert np.array_equal(load_codes(path, domain), codes)
            assert np.array_equal(load_codes(path, domain, 3), codes[:3])
        assert all(part.flags.c_contiguous and part.dtype == np.uint16 for part in groups)


DOMAIN = Domain((Attribute("sex", ("f", "m"), "nominal", (0, 1)),))


def test_a_value_outside_the_domain_has_no_code_and_is_not_quoted() -> None:
    with pytest.raises(InvalidInput, match="values of sex must lie in the domain") as caught:
        encode(pd.DataFrame({"sex": ["f", "secret"]}), DOMAIN)
    assert "secret" not in str(caught.value)


def test_codes_of_another_domain_are_refused(tmp_path: Path) -> None:
    write_codes(tmp_path / "codes.parquet", DOMAIN, [np.zeros((2, 1), np.uint16)])
    other = Domain((Attribute("age", (1, 2), "nominal", (0, 1)),))
    with pytest.raises(InvalidInput, match="must hold codes of the attributes age"):
        list(read_codes(tmp_path / "codes.parquet", other))


def test_a_table_without_rows_is_a_table(tmp_path: Path) -> None:
    assert write_codes(tmp_path / "codes.parquet", DOMAIN, []) == 0
    assert load_codes(tmp_path / "codes.parquet", DOMAIN).shape == (0, 1)
    assert decode(np.empty((0, 1), np.uint16), DOMAIN).empty
