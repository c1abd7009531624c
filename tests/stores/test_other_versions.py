"""Notes that another version of the program left in the vault are neither guessed at nor ignored."""

import json
from pathlib import Path

import pytest

from deniable.foundation.errors import Refused
from schemas.spec.release_spec import ReleaseSpec, load_spec
from stores.ledger.state_ledger import state_ledger
from stores.releases.resumable_releases import (
    ResumableRelease,
    begun_releases,
    destroy_left_keys,
    find_release,
    other_unfinished_releases,
    releases_of,
    unfinished_release,
)
from stores.releases.snapshots import published_releases
from stores.vault.pending_approval import HeldNote, held_note
from tests.charging import charge, policy
from tests.small_release import write_small_release

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


NOTES = [{**BEGUN, "later": 1}, {"dataset": "people"}, [1], "no record"]


def written(state: Path, name: str, said: object, release: object = BEGUN["release_id"]) -> Path:
    place = state / "vault" / str(release) / name
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps(said))
    return place


def spec_of(folder: Path, dataset: str, name: str) -> ReleaseSpec:
    budget = {"epsilon": 8, "delta": 1e-4, "dataset": dataset}
    return load_spec(write_small_release(folder / dataset / name, people=[], name=name, budget=budget))


def require_refused(state: Path, spec: ReleaseSpec, release: str) -> None:
    """Nothing that might pay anew begins, and the sentence names the note and its folder."""
    for ask in (releases_of, unfinished_release, other_unfinished_releases, published_releases):
        with pytest.raises(Refused, match=rf"{release}/release.json must be as .* resume it with the version") as told:
            ask(state, spec)
        assert f"restore the folder {state / 'vault' / release} from a backup" in str(told.value)


def require_nothing_of(state: Path, spec: ReleaseSpec) -> None:
    """What cannot be read is not in the way of another dataset."""
    assert unfinished_release(state, spec) is None
    assert [*releases_of(state, spec), *other_unfinished_releases(state, spec), *published_releases(state, spec)] == []


def test_a_release_that_this_version_began_is_read(tmp_path: Path) -> None:
    written(tmp_path, "release.json", BEGUN)
    assert begun_releases(tmp_path) == [ResumableRelease(**BEGUN)]  # type: ignore[arg-type]


@pytest.mark.parametrize("said", NOTES)
def test_a_release_that_another_version_began_is_left_to_it_and_other_datasets_go_on(
    said: object, tmp_path: Path
) -> None:
    written(tmp_path, "release.json", said)
    require_refused(tmp_path, spec_of(tmp_path, "people", "small"), str(BEGUN["release_id"]))
    require_nothing_of(tmp_path, spec_of(tmp_path, "firms", "yearly"))
    with pytest.raises(Refused, match="must be as this version"):
        find_release(tmp_path, str(BEGUN["release_id"]))


def test_a_note_that_cannot_be_read_is_of_the_dataset_that_it_names(tmp_path: Path) -> None:
    written(tmp_path, "release.json", {"dataset": "people", "begun": "in another way"})
    require_refused(tmp_path, spec_of(tmp_path, "people", "yearly"), str(BEGUN["release_id"]))


def test_a_note_that_cannot_be_read_is_of_the_dataset_that_its_release_was_charged_to(tmp_path: Path) -> None:
    """One that was charged to nobody keeps no other spec of the dataset waiting: nothing can be paid for twice."""
    written(tmp_path, "release.json", "damaged")
    people, firms = (spec_of(tmp_path, dataset, "yearly") for dataset in ("people", "firms"))
    for spec in (people, firms):
        require_nothing_of(tmp_path, spec)
    ledger = state_ledger(tmp_path)
    ledger.set_policy(policy())
    ledger.reserve(charge(release=BEGUN["release_id"]))
    require_refused(tmp_path, people, str(BEGUN["release_id"]))
    require_nothing_of(tmp_path, firms)


def test_a_note_that_is_no_file_is_not_taken_for_none(tmp_path: Path) -> None:
    (tmp_path / "vault" / str(BEGUN["release_id"]) / "release.json").mkdir(parents=True)
    require_refused(tmp_path, spec_of(tmp_path, "people", "small"), str(BEGUN["release_id"]))


def test_beside_a_note_that_cannot_be_read_keys_are_destroyed_and_releases_found(tmp_path: Path) -> None:
    damaged = written(tmp_path, "release.json", "damaged").with_name("key")
    done = {**BEGUN, "release_id": "yearly-20261120T104151Z", "finished": True, "destroy_key": True}
    left = written(tmp_path, "release.json", done, done["release_id"]).with_name("key")
    for key in (damaged, left):
        key.touch()
    destroy_left_keys(tmp_path)
    assert (damaged.exists(), left.exists()) == (True, False)
    assert find_release(tmp_path, str(done["release_id"])) == ResumableRelease(**done)  # type: ignore[arg-type]


def test_a_note_of_a_held_release_that_another_version_wrote_is_left_to_it(tmp_path: Path) -> None:
    place = written(tmp_path, "held.json", HELD)
    assert held_note(tmp_path, HELD["release"]) == HeldNote.model_validate(HELD)  # type: ignore[arg-type]
    place.write_text(json.dumps({**HELD, "later": 1}))
    with pytest.raises(Refused, match="use the version that wrote it"):
        held_note(tmp_path, HELD["release"])  # type: ignore[arg-type]
