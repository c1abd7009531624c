"""Form, runs, worker, watch and commands read what they share in the state folder, whatever their environments say."""

import os
from pathlib import Path

import pytest

from deniable.foundation.errors import InvalidInput, Refused
from flows import specs
from flows.prefect_runs.outages import pauses_s
from flows.prefect_runs.shared import Shared, share, shared
from tests.small_release import write_small_release

DEFAULT = (60.0, 300.0, 900.0, 3600.0)


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "state").mkdir()
    monkeypatch.setenv("DENIABLE_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


def test_before_anything_is_deployed_there_are_the_specs_that_ship(state: Path) -> None:
    assert shared() == Shared((), DEFAULT)
    assert "acs_ma" in specs.spec_places()


def test_a_worker_of_another_environment_finds_the_specs_that_deploy_was_given(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = write_small_release(tmp_path / "own")
    monkeypatch.chdir(tmp_path)
    share(state, {"DENIABLE_SPECS": "own", "DENIABLE_RESUME_AFTER_S": "2 4"})
    monkeypatch.chdir("/")
    monkeypatch.setenv("DENIABLE_SPECS", str(tmp_path / "other"))
    monkeypatch.setenv("DENIABLE_RESUME_AFTER_S", "1000")
    assert specs.spec_places()["spec"] == own
    assert pauses_s() == (2, 4)
    # A spec that is added later is found by the next run.
    own.with_name("later.yaml").write_text(own.read_text())
    assert specs.spec_places()["later"] == own.with_name("later.yaml")


def test_what_deploy_is_not_told_stays_as_it_was(state: Path, tmp_path: Path) -> None:
    share(state, {"DENIABLE_SPECS": str(tmp_path)})
    share(state, {"DENIABLE_RESUME_AFTER_S": "5"})
    assert shared() == Shared((str(tmp_path),), (5.0,))
    share(state, {"DENIABLE_SPECS": "", "DENIABLE_RESUME_AFTER_S": ""})
    assert shared() == Shared((), ())


@pytest.mark.parametrize(
    ("variable", "said", "sentence"),
    [
        ("DENIABLE_SPECS", "/nowhere/to/be/found", "must name folders, and /nowhere/to/be/found is none"),
        ("DENIABLE_RESUME_AFTER_S", "soon", "must hold seconds such as '60 300 900 3600', got 'soon'"),
        ("DENIABLE_RESUME_AFTER_S", "-1", "must hold seconds"),
        ("DENIABLE_RESUME_AFTER_S", "inf", "must hold seconds"),
    ],
)
def test_what_cannot_be_shared_is_refused_and_nothing_is_written(
    variable: str, said: str, sentence: str, state: Path
) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        share(state, {variable: said})
    assert not (state / "deployments.json").exists()


@pytest.mark.parametrize("content", ["", "[]", '{"specs": []}', '{"specs": 1, "resume_after_s": 2}'])
def test_a_note_that_cannot_be_read_is_refused_until_deploy_writes_it_again(content: str, state: Path) -> None:
    (state / "deployments.json").write_text(content)
    with pytest.raises(InvalidInput, match="must be readable as deploy wrote it"):
        shared()
    share(state, {})
    assert shared() == Shared((), DEFAULT)


def test_a_pipe_in_its_place_is_not_waited_for(state: Path) -> None:
    os.mkfifo(state / "deployments.json")
    with pytest.raises(Refused, match="is a pipe"):
        shared()
