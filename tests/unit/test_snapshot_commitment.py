from itertools import permutations

import pytest

from deniable.foundation.keys import ReleaseKey
from deniable.record.snapshot_commitment import SnapshotCommitment

KEY = ReleaseKey(bytes(range(32)))


def committed(*rows: bytes, key: ReleaseKey = KEY, columns: tuple[str, ...] = ("a",), malformed: int = 0) -> str:
    made = SnapshotCommitment(key)
    made.add((row, 1) for row in rows)
    return made.digest(columns, malformed)


def test_the_order_of_rows_and_how_they_are_cut_up_does_not_matter() -> None:
    rows = [b"1", b"2", b"2", b"3"]
    assert len({committed(*order) for order in permutations(rows)}) == 1
    made = SnapshotCommitment(KEY)
    made.add([(b"3", 1), (b"2", 2)])
    made.add([(b"1", 1)])
    assert made.digest(["a"], 0) == committed(*rows)


def test_everything_else_does() -> None:
    different = [
        committed(b"1", b"2"),
        committed(b"1", b"2", b"2"),
        committed(b"1", b"1", b"2"),
        committed(b"1", b"3"),
        committed(b"1", b"2", columns=("b",)),
        committed(b"1", b"2", malformed=1),
        committed(b"1", b"2", key=ReleaseKey(bytes(32))),
        committed(b"12"),
        committed(),
    ]
    assert len(set(different)) == len(different)


@pytest.mark.parametrize("purpose", ["artifact", "row of a snapshot"])
def test_it_is_no_other_digest_under_the_key(purpose: str) -> None:
    assert committed(b"1") != KEY.digest(purpose, b"1")
