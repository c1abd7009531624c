import stat
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from deniable.foundation.errors import InvalidInput
from schemas.references import Audience
from schemas.spec.release_spec import FileSource, PackageSource, PackageTable
from stores.tables.tables import malformed_rows
from tasks.data.ingest import describe_source, ingest
from tests.tasks.hand_made import MISSING, VALID, workspace_of, write_people


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_snapshot_has_the_columns_that_the_schema_reads_and_no_others(tmp_path: Path, suffix: str) -> None:
    with workspace_of(write_people(tmp_path, VALID + MISSING, suffix=suffix)) as workspace:
        snapshot = ingest(workspace)
    assert (snapshot.name, snapshot.rows, snapshot.audience) == ("snapshot", 5, Audience.RESTRICTED)
    frame = pd.read_parquet(snapshot.path)
    assert list(frame.columns) == ["age", "sex", "job", "wage"]
    assert frame["job"].tolist() == ["clerk", "nurse", "?", "clerk", "clerk"]
    assert frame["wage"].isna().tolist() == [False, False, False, False, True]


def test_a_snapshot_is_held_in_row_groups_of_the_chunk_size(tmp_path: Path) -> None:
    with workspace_of(write_people(tmp_path, VALID * 5)) as workspace:
        groups = pq.read_metadata(ingest(workspace).path)
    assert [groups.row_group(index).num_rows for index in range(groups.num_row_groups)] == [3, 3, 3, 1]


def test_a_snapshot_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    with workspace_of(write_people(tmp_path, VALID)) as workspace:
        snapshot = ingest(workspace)
    assert stat.S_IMODE(snapshot.path.stat().st_mode) == 0o600


def test_the_digest_of_a_snapshot_confirms_no_guess_without_the_key(tmp_path: Path) -> None:
    spec = write_people(tmp_path, VALID)
    digests = []
    for key in (bytes(32), bytes(32), b"1" * 32):
        with workspace_of(spec, key) as workspace:
            digests.append(ingest(workspace).digest)
    assert digests[0] == digests[1] != digests[2]


def test_rows_that_are_no_rows_are_counted_and_left_out(tmp_path: Path) -> None:
    spec = write_people(tmp_path, VALID, text="10,Kim,nurse\n10,Lou,nurse,1,30,7\n")
    with workspace_of(spec) as workspace:
        snapshot = ingest(workspace)
    assert (snapshot.rows, malformed_rows(snapshot.path)) == (2, 2)


def test_a_source_that_lacks_columns_leaves_nothing_and_quotes_nothing(tmp_path: Path) -> None:
    spec = write_people(tmp_path, VALID)
    source = tmp_path / "hand_made.csv"
    source.write_text("\n".join(source.read_text().splitlines()[1:]))
    with workspace_of(spec) as workspace, pytest.raises(InvalidInput, match="lacks age, sex, job, wage") as caught:
        ingest(workspace)
    assert "Ann" not in str(caught.value)
    assert [path.name for path in workspace.vault.iterdir()] == ["key"]


def test_of_a_package_it_is_said_which_one_and_of_a_file_not_where_it_is() -> None:
    package = PackageSource(
        kind="package", package="people", version="1.2", sha256="0" * 64, tables=(PackageTable(member="people.csv"),)
    )
    assert describe_source(package) == {
        "source": "package",
        "package": "people",
        "package_version": "1.2",
        "package_sha256": "0" * 64,
    }
    assert describe_source(FileSource(kind="file", path="confidential/people.csv")) == {"source": "file"}
