"""Whatever values a domain has, a table of all of them is valid by the schema that describes it."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from frictionless import Dialect, Schema
from frictionless.resources import TableResource
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deniable.foundation.domain import Attribute, Codes, Domain
from stores.publication.data_package import DIALECT, table_schema
from stores.publication.release_folder import CSV, PARQUET, check_tables, write_table
from stores.tables.tables import decode
from tests.extent import drawn

texts = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=8), min_size=1, unique=True)
numbers = st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=30, unique=True)
floats = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, unique=True)
columns = st.lists(st.one_of(texts, numbers, floats, st.just([False, True])), min_size=1, max_size=4)
kinds = st.sampled_from(["nominal", "numeric"])


def domain_of(values: list[list[str]], kind: str) -> Domain:
    return Domain(
        tuple(
            Attribute(f"attribute {place}", tuple(column), kind, tuple(range(len(column))))  # type: ignore[arg-type]
            for place, column in enumerate(values)
        )
    )


def all_values(domain: Domain) -> Codes:
    rows = max(domain.cardinalities)
    return np.stack([np.arange(rows) % size for size in domain.cardinalities], axis=1).astype(np.uint16)


@settings(max_examples=drawn(150))
@given(columns, kinds)
# A reader that guesses takes the tab for what stands between the fields.
@example([['"\t'], [False, True]], "nominal")
def test_any_table_fits_its_schema(values: list[list[str]], kind: str) -> None:
    domain = domain_of(values, kind)
    codes = all_values(domain)
    with TemporaryDirectory() as folder:
        write_table(Path(folder), domain, [codes])
        schema = Schema.from_descriptor(table_schema(domain, {}, {}))
        dialect = Dialect.from_descriptor(DIALECT)
        report = TableResource(path=CSV, basepath=folder, encoding="utf-8", dialect=dialect, schema=schema).validate()
    assert report.valid, [error.message for error in report.tasks[0].errors]


@settings(max_examples=drawn(150))
@given(columns, kinds)
def test_any_table_is_written_as_pandas_writes_it(values: list[list[str]], kind: str) -> None:
    domain = domain_of(values, kind)
    codes = all_values(domain)
    frame = decode(codes, domain)
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_table(folder, domain, [codes[:1], codes[1:]])
        assert (folder / CSV).read_bytes() == frame.to_csv(index=False, lineterminator="\n").encode()
        assert pd.read_parquet(folder / PARQUET).equals(frame)
        check_tables(folder, domain, len(codes))
