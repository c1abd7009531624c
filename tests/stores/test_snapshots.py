"""A snapshot is recognized by the content of its cells, under a key of the dataset."""

import stat
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import ReleaseKey
from schemas.spec.release_spec import load_spec
from stores.keys.dataset_key import DatasetInUse, dataset_to_itself
from stores.releases.snapshots import Snapshots
from tests.small_release import NAMES, made_up_people, write_small_release

KEY = ReleaseKey(bytes(range(32)))


def arrived(folder: Path, name: str = "people.csv", key: ReleaseKey = KEY) -> str:
    spec = load_spec(folder / "spec.yaml").reading(folder / name)
    return Snapshots(folder / "state", spec, key).arrived()


def of_parquet(folder: Path, columns: dict[str, Sequence[object] | pa.Array]) -> str:
    pq.write_table(pa.table(columns), folder / "people.parquet")
    return arrived(folder, "people.parquet")


def test_order_further_columns_and_chunks_do_not_matter_and_any_cell_does(tmp_path: Path) -> None:
    people = made_up_people(300)
    write_small_release(tmp_path, people=people)
    first = arrived(tmp_path)
    write_small_release(tmp_path, people=[["x", *row] for row in people[::-1]], names=["more", *NAMES], chunk_rows=7)
    assert arrived(tmp_path) == first
    write_small_release(tmp_path, people=[row[::-1] for row in people], names=NAMES[::-1])
    assert arrived(tmp_path) == first
    assert arrived(tmp_path, key=ReleaseKey(bytes(32))) != first
    for column in range(4):
        changed = [list(row) for row in people]
        changed[150][column] += "x"
        write_small_release(tmp_path, people=changed)
        assert arrived(tmp_path) != first
    write_small_release(tmp_path, people=[*people, people[0]])
    assert arrived(tmp_path) != first


def test_a_number_is_the_same_in_every_type_and_a_cell_never_runs_into_the_next(tmp_path: Path) -> None:
    write_small_release(tmp_path, people=[])
    rest = {"sex": ["f", "m", None], "school": ["none", "some", "some"], "employed": ["no", "yes", "no"]}
    whole = of_parquet(tmp_path, {"age": pa.array([18, 20, None], pa.int8()), **rest})
    assert of_parquet(tmp_path, {"age": pa.array([18.0, 20.0, None], pa.float64()), **rest}) == whole
    assert of_parquet(tmp_path, {"age": pa.array([18.0, 20.0, float("nan")], pa.float32()), **rest}) == whole
    others = [
        {"age": [18.5, 20.0, None], **rest},
        {"age": [18, 20, 0], **rest},
        {"age": ["18", "20", None], **rest},
        {"age": [18, 20, None], **rest, "sex": ["f", "m", "-"]},
        {"age": [18, 20, None], **rest, "sex": ["fn", "m", None], "school": ["one", "some", "some"]},
    ]
    assert len({whole, *(of_parquet(tmp_path, other) for other in others)}) == 1 + len(others)


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    write_small_release(tmp_path, people=made_up_people(9), names=["age", "sex", "schooling", "employed"])
    with pytest.raises(InvalidInput, match=r"lacks school;"):
        arrived(tmp_path)


def test_the_key_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    with dataset_to_itself(tmp_path, "people") as key, dataset_to_itself(tmp_path, "others") as other:
        assert key.commitment() != other.commitment()
    place = tmp_path / "keys" / "dataset-people.key"
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    with dataset_to_itself(tmp_path, "people") as again:
        assert again.commitment() == key.commitment()
    assert sorted(path.name for path in place.parent.iterdir()) == ["dataset-others.key", "dataset-people.key"]
    place.chmod(0o640)
    with pytest.raises(InvalidInput, match="0640"), dataset_to_itself(tmp_path, "people"):
        pass
    place.chmod(0o600)
    place.write_bytes(b"short")
    with pytest.raises(InvalidInput, match="32 bytes"), dataset_to_itself(tmp_path, "people"):
        pass


def test_a_dataset_is_refreshed_by_one_at_a_time(tmp_path: Path) -> None:
    with (
        dataset_to_itself(tmp_path, "people"),
        pytest.raises(DatasetInUse, match="people"),
        dataset_to_itself(tmp_path, "people"),
    ):
        pass
    with dataset_to_itself(tmp_path, "people"):
        pass
