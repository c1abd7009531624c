import csv
import math
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from pandera.pandas import DataFrameSchema

from deniable.foundation.domain import Attribute, Domain
from schemas import datasets
from schemas.table import columns_read, domain_of
from stores.tables.tables import decode

SHIPPED = [module.name for module in iter_modules(datasets.__path__)]


@pytest.fixture(scope="module", autouse=True)
def ready() -> None:
    """pandera gets ready for pandas with its first validation; single parsers do not."""
    DataFrameSchema({}).validate(pd.DataFrame())


def schema_of(name: str) -> DataFrameSchema:
    return import_module(f"schemas.datasets.{name}").schema


@pytest.mark.parametrize("name", SHIPPED)
def test_a_dataset_that_ships_says_what_it_is(name: str) -> None:
    schema = schema_of(name)
    domain = domain_of(schema)
    assert schema.description
    assert domain.target in domain.names
    assert all(column.title for column in schema.columns.values())


@pytest.mark.parametrize("name", SHIPPED)
def test_parents_of_a_dataset_that_ships_have_few_buckets(name: str) -> None:
    assert max(domain_of(schema_of(name)).bucket_counts) <= 25


def test_the_paper_s_dataset_has_the_paper_s_domain_and_buckets(shared: Path) -> None:
    domain = domain_of(schema_of("acs13"))
    with (shared / "data" / "acs13" / "acs13_attrs.csv").open() as file:
        values = {name: tuple(map(int, codes)) for name, *codes in csv.reader(file)}
    with (shared / "data" / "acs13" / "acs13_grps.csv").open() as file:
        buckets = [tuple(int(bucket) - 1 for bucket in row) for row in csv.reader(file)]
    described = tuple(
        Attribute(attribute.name, values[attribute.name], attribute.kind, of)
        for attribute, of in zip(domain.attributes, buckets, strict=True)
    )
    assert domain == Domain(described, target="incc")


def test_the_persons_file_of_2024_is_recoded_as_its_coded_extract_is(shared: Path) -> None:
    schema = schema_of("acs2024_persons")
    folder = shared / "data" / "acs2024"
    reading = pq.ParquetFile(folder / "acs2024_persons_49states.parquet").iter_batches(
        200_000, columns=columns_read(schema)
    )
    recoded = schema.validate(next(reading).to_pandas(), lazy=True)
    coded = next(pq.ParquetFile(folder / "acs2024_workers_pd9_coded.parquet").iter_batches(len(recoded)))
    assert len(recoded) > 90_000
    for name in domain_of(schema).names:
        assert np.array_equal(recoded[name].to_numpy(), coded.column(name).to_numpy()), name
    assert not schema_of("acs2024_workers").validate(coded.to_pandas(), lazy=True).isna().any(axis=None)


def one_worker(**changes: object) -> pd.DataFrame:
    """A person of 2024 as the file has her."""
    person = {
        "SPORDER": 1, "AGEP": 40, "COW": 1, "SCHL": 21, "MAR": 1, "OCCP": 3255, "RAC1P": 9, "SEX": 2, "WKHP": 36,
        "NATIVITY": 1, "CIT": 1, "WAGP": 50_001,
    }  # fmt: skip
    return pd.DataFrame([person | changes])


def recoded(**changes: object) -> dict[str, float]:
    """What is made of her, checked by nobody."""
    parsed = one_worker(**changes)
    for parser in schema_of("acs2024_persons").parsers:
        parsed = parser(parsed).parser_output
    return parsed.to_dict("records")[0] if len(parsed) else {}


def test_a_worker_is_recoded_to_the_paper_s_attributes() -> None:
    assert recoded() == {
        "age": 24, "wc": 1, "edu": 21, "ms": 1, "occ": 15, "race": 4, "sex": 2, "hpw": 36, "incc": 2, "native": 1,
        "cit": 1, "householder": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    "change", [{"AGEP": 16}, {"AGEP": 96}, {"COW": None}, {"COW": 9}, {"WKHP": None}, {"WKHP": 0}, {"AGEP": None}]
)
def test_persons_out_of_scope_are_left_out(change: dict[str, object]) -> None:
    assert recoded(**change) == {}


@pytest.mark.parametrize(
    ("column", "attribute"),
    [
        ("WAGP", "incc"),
        ("OCCP", "occ"),
        ("RAC1P", "race"),
        ("SPORDER", "householder"),
        ("SCHL", "edu"),
        ("AGEP", "age"),
    ],
)
def test_what_cannot_be_read_stays_unreadable_through_the_recoding(column: str, attribute: str) -> None:
    assert not math.isfinite(recoded(**{column: "unknown"})[attribute])


@pytest.mark.parametrize(
    ("column", "attribute"), [("WAGP", "incc"), ("OCCP", "occ"), ("RAC1P", "race"), ("SCHL", "edu")]
)
def test_what_is_missing_stays_missing_through_the_recoding(column: str, attribute: str) -> None:
    assert math.isnan(recoded(**{column: None})[attribute])


@pytest.mark.parametrize("code", [0, 9, 9840, 9920])
def test_an_occupation_of_no_group_is_invalid(code: int) -> None:
    assert recoded(OCCP=code)["occ"] == math.inf


def test_capital_gains_are_rounded_up_so_that_only_none_is_none() -> None:
    recode = schema_of("adult").parsers[-1]
    amounts = pd.DataFrame(
        {"capital-gain": [0, 1, 1000, 99_999, math.inf], "capital-loss": [0, 1, 100, 4356, math.nan]}
    )
    rounded = recode(amounts).parser_output
    assert rounded["capital-gain"].tolist() == [0, 1000, 1000, 100_000, math.inf]
    assert rounded["capital-loss"].tolist()[:-1] == [0, 100, 100, 4400]
    assert math.isnan(rounded["capital-loss"].tolist()[-1])


def test_massachusetts_keeps_the_format_of_its_file() -> None:
    frame = decode(np.zeros((1, 17), np.uint16), domain_of(schema_of("acs_ma")))
    types = {name: str(dtype) for name, dtype in frame.dtypes.items()}
    assert types.pop("AGEP") == "float64"
    assert types.pop("employed") == "int64"
    assert set(types.values()) == {"str"}
