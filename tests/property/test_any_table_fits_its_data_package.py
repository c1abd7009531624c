"""Whatever values a domain has, a table of all of them is valid by the schema that describes it."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from frictionless import Schema
from frictionless.resources import TableResource
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.domain import Attribute, Domain
from stores.data_package import table_schema
from stores.release_folder import CSV, write_table

texts = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=8), min_size=1, unique=True)
numbers = st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=30, unique=True)
floats = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, unique=True)
columns = st.lists(st.one_of(texts, numbers, floats, st.just([False, True])), min_size=1, max_size=4)
kinds = st.sampled_from(["nominal", "numeric"])


@settings(max_examples=150, deadline=None)
@given(columns, kinds)
def test_any_table_fits_its_schema(values: list[list[str]], kind: str) -> None:
    domain = Domain(
        tuple(
            Attribute(f"attribute {place}", tuple(column), kind, tuple(range(len(column))))  # type: ignore[arg-type]
            for place, column in enumerate(values)
        )
    )
    rows = max(domain.cardinalities)
    codes = np.stack([np.arange(rows) % size for size in domain.cardinalities], axis=1).astype(np.uint16)
    with TemporaryDirectory() as folder:
        write_table(Path(folder), domain, [codes])
        schema = Schema.from_descriptor(table_schema(domain, {}, {}))
        report = TableResource(path=CSV, basepath=folder, encoding="utf-8", schema=schema).validate()
    assert report.valid, [error.message for error in report.tasks[0].errors]
