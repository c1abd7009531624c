"""Other people's tools read a release by its data package, and refuse a table that is not the one it describes."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from frictionless import Package, Report, validate

from schemas.spec.release_spec import ReleaseSpec, load_spec
from stores.publication.data_package import DATA_PACKAGE, data_package
from stores.publication.release_folder import CSV, PARQUET, write_document, write_table
from tests.small_release import write_small_release

SCHEMA = """
from schemas.table import nominal, numeric, table

schema = table(
    {
        "age": numeric(18, 37, width=5, label="age in years"),
        "height": numeric(-10, 40, step=5),
        "share": numeric(0.0, 9.0),
        "sex": nominal({"f": "female", "m": "male"}, label="sex"),
        "code": nominal([3, 1, 20]),
        "awkward": nominal(["NA", "007", "x  y", 'a,"b"', "true", "Größe", "-"]),
        "employed": nominal(["False", "True"]),
    },
    description="Made-up people.",
    target="sex",
)
"""
EVALUATION = {
    "classifiers": ["tree"],
    "train_rows": 400,
    "quasi_identifiers": ["age"],
    "sensitive": ["employed"],
    "known": ["age"],
}


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> ReleaseSpec:
    path = write_small_release(
        tmp_path_factory.mktemp("described"), people=[], evaluation=EVALUATION, dataset="awkward.py"
    )
    (path.parent / "awkward.py").write_text(SCHEMA)
    return load_spec(path)


@pytest.fixture
def folder(spec: ReleaseSpec, tmp_path: Path) -> Path:
    """A table in which every value of every attribute appears, and its package."""
    rows = max(spec.domain.cardinalities)
    codes = np.stack([np.arange(rows) % size for size in spec.domain.cardinalities], axis=1).astype(np.uint16)
    write_table(tmp_path, spec.domain, [codes[:7], codes[7:]])
    describe(tmp_path, spec)
    return tmp_path


def describe(folder: Path, spec: ReleaseSpec) -> None:
    write_document(
        folder / DATA_PACKAGE, data_package(folder, release_id="small-1", day="2026-01-31", spec=spec, is_private=True)
    )


def complaints(folder: Path) -> list[str]:
    """Kinds of the errors that frictionless finds."""
    report: Report = validate(str(folder / DATA_PACKAGE))
    found = [error.type for error in report.errors] + [error.type for task in report.tasks for error in task.errors]
    assert report.valid == (not found)
    return sorted(set(found))


def fields(folder: Path) -> dict[str, dict[str, Any]]:
    package = json.loads((folder / DATA_PACKAGE).read_text())
    return {field["name"]: field for field in package["resources"][0]["schema"]["fields"]}


def test_a_table_with_every_value_of_the_domain_is_valid(folder: Path) -> None:
    assert complaints(folder) == []


def test_what_is_read_through_the_package_is_what_was_written(folder: Path, spec: ReleaseSpec) -> None:
    rows = Package(str(folder / DATA_PACKAGE)).get_resource("synthetic").read_rows()
    table = pd.read_parquet(folder / PARQUET)
    assert len(rows) == len(table) == 20
    for name in spec.domain.names:
        read = [float(row[name]) if name == "share" else row[name] for row in rows]
        assert read == table[name].tolist()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("age", "17"),
        ("age", "38"),
        ("age", "18.5"),
        ("height", "1"),
        ("share", "0.5"),
        ("share", "NaN"),
        ("sex", "x"),
        ("sex", ""),
        ("code", "2"),
        ("awkward", "7"),
        ("employed", "perhaps"),
    ],
)
def test_a_value_outside_the_domain_makes_the_package_invalid(
    folder: Path, spec: ReleaseSpec, name: str, value: str
) -> None:
    table = pd.read_csv(folder / CSV, dtype=str, keep_default_na=False)
    table.loc[3, name] = value
    table.to_csv(folder / CSV, index=False, lineterminator="\n")
    describe(folder, spec)  # so that neither size nor digest gives it away
    assert complaints(folder) in (["constraint-error"], ["type-error"])


@pytest.mark.parametrize("file_name", [CSV, PARQUET])
def test_a_changed_byte_makes_the_package_invalid(folder: Path, file_name: str) -> None:
    content = bytearray((folder / file_name).read_bytes())
    content[-2] ^= 1
    (folder / file_name).write_bytes(content)
    assert "hash-count" in complaints(folder)


@pytest.mark.parametrize("file_name", [CSV, PARQUET])
def test_a_byte_more_makes_the_package_invalid(folder: Path, file_name: str) -> None:
    (folder / file_name).write_bytes((folder / file_name).read_bytes() + b"\n")
    assert "byte-count" in complaints(folder)


def test_a_column_less_or_in_another_place_makes_the_package_invalid(folder: Path, spec: ReleaseSpec) -> None:
    table = pd.read_csv(folder / CSV, dtype=str, keep_default_na=False)
    for columns in ([*table.columns[:-1]], [*reversed(table.columns)]):
        table[columns].to_csv(folder / CSV, index=False, lineterminator="\n")
        describe(folder, spec)
        assert complaints(folder)


def test_types_titles_categories_and_bounds_say_what_the_domain_says(folder: Path) -> None:
    described = fields(folder)
    assert {name: field["type"] for name, field in described.items()} == {
        "age": "integer",
        "height": "integer",
        "share": "number",
        "sex": "string",
        "code": "integer",
        "awkward": "string",
        "employed": "string",
    }
    assert described["age"]["title"] == "age in years"
    assert described["age"]["constraints"] == {"required": True, "minimum": 18, "maximum": 37}
    assert described["height"]["constraints"]["enum"] == list(range(-10, 41, 5))
    assert described["sex"]["categories"] == [{"value": "f", "label": "female"}, {"value": "m", "label": "male"}]
    assert described["code"]["categories"] == [{"value": 3}, {"value": 1}, {"value": 20}]


def test_nothing_is_to_be_read_as_missing(folder: Path) -> None:
    package = json.loads((folder / DATA_PACKAGE).read_text())
    assert package["resources"][0]["schema"]["missingValues"] == []


def test_the_same_release_is_described_in_the_same_bytes(folder: Path, spec: ReleaseSpec) -> None:
    before = (folder / DATA_PACKAGE).read_bytes()
    describe(folder, spec)
    assert (folder / DATA_PACKAGE).read_bytes() == before
    assert b"small-1" in before
    assert b"2026-01-31" in before


def test_the_descriptor_follows_the_profile_of_version_2(folder: Path) -> None:
    package = json.loads((folder / DATA_PACKAGE).read_text())
    assert package["$schema"].endswith("/2.0/datapackage.json")
    assert "profile" not in package
    kinds = {resource["path"]: resource.get("type") for resource in package["resources"]}
    assert kinds == {CSV: "table", PARQUET: None}  # version 2 knows no other type
