"""Tables in many Parquet files, in a folder and in an object store, are read as one table in one order."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from deniable.foundation.errors import InvalidInput
from schemas.spec.release_spec import load_spec
from stores.tables.sources.partitions import parts_in_store
from stores.tables.sources.reading import Source, opened_source
from tests.small_release import NAMES, made_up_people, write_small_release
from tests.store_server import BUCKET, ObjectStore, object_store


@pytest.fixture(scope="module")
def store() -> Iterator[ObjectStore]:
    with object_store() as started:
        yield started


def write_parts(folder: Path, people: list[list[str]], sizes: list[int]) -> list[str]:
    """Write rows into Parquet files of some sizes, and return their names in the order of the rows."""
    names, start = [], 0
    for number, size in enumerate(sizes):
        path = folder / f"part-{number:03d}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pd.DataFrame(people[start : start + size], columns=NAMES).to_parquet(path, row_group_size=64)
        names.append(path.name)
        start += size
    return names


def read(source: Source) -> list[list[Any]]:
    return [list(row.values()) for batch in source.batches() for row in batch.to_pylist()]


def rows_of(spec: Path, place: str | Path, cache: Path) -> list[list[Any]]:
    with opened_source(load_spec(spec).reading(place), cache) as source:
        assert source.schema.names == NAMES
        return read(source)


@pytest.mark.slow
def test_a_folder_and_a_prefix_are_read_in_the_order_of_their_paths_whatever_wrote_them(
    tmp_path: Path, store: ObjectStore
) -> None:
    people, folder = made_up_people(400), tmp_path / "parts"
    spec = write_small_release(tmp_path / "spec", people=[])
    write_parts(folder / "b", people[200:], [150, 50])
    write_parts(folder / "a", people[:200], [1, 99, 100])
    for noise in ("_SUCCESS", ".part-000.parquet.crc", "_temporary/half.parquet"):
        (folder / noise).parent.mkdir(exist_ok=True)
        (folder / noise).write_bytes(b"not a table")
    address = store.put(folder, "order")
    assert rows_of(spec, folder, tmp_path) == people
    assert rows_of(spec, address, tmp_path) == rows_of(spec, f"{address}/", tmp_path) == people
    assert rows_of(spec, f"{address}/b/part-001.parquet", tmp_path) == people[350:]
    # The order is that of the paths' bytes: capitals before small letters, 10 before 9.
    (folder / "b").rename(folder / "A")
    assert rows_of(spec, folder, tmp_path) == people[200:] + people[:200]


def test_what_hive_writes_into_paths_is_a_column(tmp_path: Path) -> None:
    people = [person for person in made_up_people(100) if person[1] == "f"]
    spec = write_small_release(tmp_path / "spec", people=[])
    folder = tmp_path / "parts" / "sex=f" / "school=so%6De"
    folder.mkdir(parents=True)
    pd.DataFrame(people, columns=NAMES).drop(columns=["sex", "school"]).to_parquet(folder / "0.parquet")
    expected = [[age, "f", "some", employed] for age, _, _, employed in people]
    assert rows_of(spec, tmp_path / "parts", tmp_path) == expected
    folder.rename(folder.with_name("school=__HIVE_DEFAULT_PARTITION__"))
    assert {row[2] for row in rows_of(spec, tmp_path / "parts", tmp_path)} == {None}
    pd.DataFrame(people, columns=NAMES).to_parquet(tmp_path / "parts" / "sex=f" / "1.parquet")
    with pytest.raises(InvalidInput, match=r"parts/sex=\.\.\./1\.parquet, file 1 must have different names") as refused:
        rows_of(spec, tmp_path / "parts", tmp_path)
    assert "sex=f" not in str(refused.value), "it is a value of records"


def test_the_spec_and_the_environment_can_name_them(
    tmp_path: Path, store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = made_up_people(60)
    write_parts(tmp_path / "spec" / "parts", people, [30, 30])
    address = store.put(tmp_path / "spec" / "parts", "named")
    for place in ("parts/", address):
        spec = write_small_release(tmp_path / "spec", source={"kind": "file", "path": place})
        with opened_source(load_spec(spec), tmp_path) as source:
            assert read(source) == people
    spec = write_small_release(tmp_path / "spec", source={"kind": "file", "environment": "PEOPLE"})
    for place in (str(tmp_path / "spec" / "parts"), address):
        monkeypatch.setenv("PEOPLE", place)
        with opened_source(load_spec(spec), tmp_path) as source:
            assert read(source) == people


def test_a_folder_may_hold_files_of_one_other_kind(tmp_path: Path) -> None:
    people = [person for person in made_up_people(90) if person[1] == "f"]
    spec = load_spec(write_small_release(tmp_path / "spec", people=[], source={"kind": "file", "path": "parts/"}))
    folder = tmp_path / "spec" / "parts"
    for month, part in enumerate((people[:20], people[20:])):
        (folder / f"month={month}" / "sex=f").mkdir(parents=True)
        frame = pd.DataFrame(part, columns=NAMES).drop(columns=["sex"])
        frame.to_csv(folder / f"month={month}" / "sex=f" / "people.csv", index=False, sep=";")
    with pytest.raises(InvalidInput, match=r"sex=\.\.\./people\.csv, file 1 must be written .*semicolons") as refused:
        opened_source(spec, tmp_path).__enter__()
    assert "sex=f" not in str(refused.value), "it is a value of records"
    stated = {"kind": "file", "path": "parts/", "delimiter": ";"}
    with opened_source(load_spec(write_small_release(tmp_path / "spec", people=[], source=stated)), tmp_path) as source:
        assert read(source) == people


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({}, "and holds none"),
        ({"people.csv": b"a,b\n", "more.parquet": b""}, "and also holds others"),
        ({"people.csv": b"a,b\n", "more.sav": b""}, "and also holds others"),
        ({"a.parquet": b"PAR1"}, "must be a complete Parquet file"),
    ],
    ids=["empty", "another format", "two other formats", "cut off"],
)
def test_a_folder_of_anything_else_is_refused(tmp_path: Path, content: dict[str, bytes], said: str) -> None:
    spec = write_small_release(tmp_path / "spec", people=[])
    (tmp_path / "parts").mkdir()
    for name, text in content.items():
        (tmp_path / "parts" / name).write_bytes(text)
    with pytest.raises(InvalidInput, match=said):
        rows_of(spec, tmp_path / "parts", tmp_path)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("s3://no-such-bucket/people", "no-such-bucket/people does not exist; correct its bucket"),
        (f"s3://{BUCKET}/nothing-here", "does not exist|holds none"),
        (f"s3://{BUCKET}/nothing-here.parquet", "nothing-here.parquet does not exist"),
        (f"s3://me:my-secret@{BUCKET}/people", "credentials must be in the environment"),
        (f"s3://{BUCKET}/people?endpoint_override=elsewhere", "must have the form s3://BUCKET/PREFIX"),
    ],
)
def test_what_is_not_in_a_store_is_refused_in_one_sentence(
    tmp_path: Path, store: ObjectStore, address: str, said: str
) -> None:
    spec = write_small_release(tmp_path, people=[])
    with pytest.raises(InvalidInput, match=said) as refused:
        rows_of(spec, address, tmp_path)
    assert "my-secret" not in str(refused.value)


def test_wrong_credentials_are_refused_in_one_sentence(tmp_path: Path, store: ObjectStore) -> None:
    spec = write_small_release(tmp_path / "spec", people=[])
    write_parts(tmp_path / "parts", made_up_people(10), [10])
    address = store.put(tmp_path / "parts", "secret")
    with store.asking_for_credentials(), pytest.raises(InvalidInput, match="the store refuses them; check AWS_ACCESS"):
        rows_of(spec, address, tmp_path)


def test_records_do_not_come_over_a_network_in_the_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://store.example:9000")
    with pytest.raises(InvalidInput, match="must be reached by https://"):
        parts_in_store("s3://people/all")


@pytest.mark.slow
def test_a_store_that_goes_away_in_the_middle_is_one_sentence(tmp_path: Path) -> None:
    with object_store() as store:
        spec = write_small_release(tmp_path / "spec", people=[], chunk_rows=10)
        write_parts(tmp_path / "parts", made_up_people(40), [20, 20])
        address = store.put(tmp_path / "parts", "people")
        with opened_source(load_spec(spec).reading(address), tmp_path) as source:
            batches = source.batches()
            assert len(next(batches)) == 10
            store.stop()
            with pytest.raises(InvalidInput, match=r"must answer until .* is read, and does not") as refused:
                list(batches)
    assert refused.value.__suppress_context__
