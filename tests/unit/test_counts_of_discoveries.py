"""What a discovery counts: one record of each person, chosen by words of its own, and texts that may be published."""

from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable.discovery.plan import STEP, Question
from deniable.foundation.domain import Person
from deniable.foundation.keys import ReleaseKey, WordStream
from deniable.ledger.drawing_versions import stream_name
from schemas.references import Audience, Reference
from tasks.discovery import answer_questions
from tasks.discovery.answer_questions import _counts, _one_of_each

if TYPE_CHECKING:
    from stores.vault.workspace import Workspace

PEOPLE: list[list[str | None]] = [["p1", "p2", None, "p1", "-9"], ["p3", "p2", "p1", "-9", "p3"]]
"""Identifiers of two chunks of rows, of which -9 is nobody."""


class Key:
    """A key that notes which streams are opened."""

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []

    def stream(self, **asked: Any) -> WordStream:
        self.seen.append(asked)
        return ReleaseKey(bytes(32)).stream(**asked)


@pytest.fixture
def snapshot(tmp_path: Path) -> Reference:
    path = tmp_path / "snapshot.parquet"
    schema = pa.schema([("who", pa.string())])
    with pq.ParquetWriter(path, schema) as file:
        for rows in PEOPLE:
            file.write_table(pa.table({"who": rows}, schema=schema))
    return Reference(name="snapshot", path=path, audience=Audience.RESTRICTED, digest="d" * 64)


def test_one_record_of_each_person_counts_by_a_stream_that_names_what_decides_it(
    snapshot: Reference, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_questions, "nobody", lambda _: ("-9",))
    key = Key()
    workspace = cast("Workspace", SimpleNamespace(spec=None, key=lambda: key))
    kept = [rows.tolist() for rows in _one_of_each(workspace, snapshot, Person("who"))]
    assert [len(rows) for rows in kept] == [5, 5]
    pairs = zip(chain(*PEOPLE), chain(*kept), strict=True)
    assert sorted(str(who) for who, counts in pairs if counts) == ["p1", "p2", "p3"]
    assert key.seen == [
        {
            "step": stream_name(STEP, STEP),
            "mechanism": "one record of each person",
            "inputs": snapshot.digest,
            "parameters": {"person": "who", "most_records": 1},
            "chunk": chunk,
        }
        for chunk in range(2)
    ]


@pytest.mark.parametrize(
    ("text", "as_value", "as_number"),
    [("7", True, True), ("-9", False, False), ("7\n", False, True)],
)
def test_values_are_counted_if_a_file_can_hold_them(text: str, as_value: bool, as_number: bool) -> None:  # noqa: FBT001
    """A text that no file can hold is no value; whether it is a number is for the grid to say."""
    assert _counts(text, Question(column="a", kind="values", missing=("-9",))) == as_value
    assert _counts(text, Question(column="a", kind="range", missing=("-9",))) == as_number
