"""What another version of the program noted in the vault is not guessed at, and not taken for nothing."""

import json
from pathlib import Path

import pytest

from deniable.errors import Refused
from stores.held import HeldNote, held_note
from stores.unfinished import Begun, begun_releases

BEGUN = {
    "release_id": "small-20261120T104151Z",
    "dataset": "people",
    "spec": "0" * 64,
    "commitment": "1" * 64,
    "finished": False,
    "destroy_key": False,
}
HELD = {
    "release": "small-20261120T104151Z",
    "title": "Made-up people",
    "dataset": "people",
    "action": "hold",
    "why": ["the board wants to see it"],
    "candidate": "2" * 64,
    "since": "2026-11-20T10:41:51Z",
    "started_by": "ada",
    "approvers": None,
    "page": "/state/shelf/small-20261120T104151Z/report.html",
    "page_digest": "3" * 64,
    "mlflow_run": "4" * 32,
}


def written(state: Path, name: str, said: object) -> Path:
    place = state / "vault" / BEGUN["release_id"] / name  # type: ignore[operator]
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps(said))
    return place


def test_a_release_that_this_version_began_is_read(tmp_path: Path) -> None:
    written(tmp_path, "release.json", BEGUN)
    assert begun_releases(tmp_path) == [Begun(**BEGUN)]  # type: ignore[arg-type]


@pytest.mark.parametrize("said", [{**BEGUN, "later": 1}, {"release_id": "x"}, [1], "no record"])
def test_a_release_that_another_version_began_is_left_to_it(said: object, tmp_path: Path) -> None:
    written(tmp_path, "release.json", said)
    with pytest.raises(Refused, match=r"go on with small-.* by the version that it was begun with"):
        begun_releases(tmp_path)


def test_a_note_of_a_held_release_that_another_version_wrote_is_left_to_it(tmp_path: Path) -> None:
    place = written(tmp_path, "held.json", HELD)
    assert held_note(tmp_path, HELD["release"]) == HeldNote.model_validate(HELD)  # type: ignore[arg-type]
    place.write_text(json.dumps({**HELD, "later": 1}))
    with pytest.raises(Refused, match="use the version that wrote it"):
        held_note(tmp_path, HELD["release"])  # type: ignore[arg-type]
