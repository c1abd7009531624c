from pathlib import Path

import pyarrow.parquet as pq
import pytest

from deniable.foundation.errors import Refused
from schemas.references import Audience
from stores.tables.tables import load_codes
from tasks.data.clean import clean
from tasks.data.ingest import ingest
from tasks.data.validate import validate
from tests.tasks.hand_made import INVALID, MISSING, OUT_OF_SCOPE, UNREADABLE, VALID, workspace_of, write_people

WRONG = [*MISSING, *OUT_OF_SCOPE, *INVALID, *UNREADABLE]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_what_is_left_is_in_scope_complete_and_valid_and_encoded_by_the_public_domain(
    tmp_path: Path, suffix: str
) -> None:
    with workspace_of(write_people(tmp_path, [VALID[0], *WRONG, VALID[1]], suffix=suffix)) as workspace:
        codes = clean(workspace, validate(workspace, ingest(workspace)))
    assert (codes.name, codes.rows, codes.audience) == ("codes", 2, Audience.RESTRICTED)
    assert load_codes(codes.path, workspace.spec.domain).tolist() == [[12, 0, 0, 0], [22, 1, 1, 1]]


def test_codes_are_held_in_row_groups_of_the_chunk_size_however_many_rows_went(tmp_path: Path) -> None:
    with workspace_of(write_people(tmp_path, [VALID[0], *OUT_OF_SCOPE] * 7)) as workspace:
        groups = pq.read_metadata(clean(workspace, validate(workspace, ingest(workspace))).path)
    assert [groups.row_group(index).num_rows for index in range(groups.num_row_groups)] == [3, 3, 1]


def test_the_codes_of_a_row_do_not_depend_on_the_other_rows(tmp_path: Path) -> None:
    codes = []
    for number, rows in enumerate(([*VALID, *WRONG], VALID)):
        with workspace_of(write_people(tmp_path / str(number), rows)) as workspace:
            made = clean(workspace, validate(workspace, ingest(workspace)))
            codes.append(load_codes(made.path, workspace.spec.domain).tolist())
    assert codes[0] == codes[1]


@pytest.mark.parametrize("rows", [WRONG])
def test_a_table_of_which_nothing_is_left_is_refused(tmp_path: Path, rows: list) -> None:
    with workspace_of(write_people(tmp_path, rows)) as workspace:
        checked = validate(workspace, ingest(workspace))
        with pytest.raises(Refused, match="no row is in scope, complete and valid"):
            clean(workspace, checked)
    assert not (workspace.vault / "codes.parquet").exists()
