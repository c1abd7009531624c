"""The person who started a release is noted when it begins, and remains so whoever resumes it."""

import getpass
from pathlib import Path

import pytest

from schemas.spec.release_spec import load_spec
from stores.vault.actors import OPERATOR_VARIABLE, note_start, operator, people_of
from stores.vault.workspace import Workspace
from tests.small_release import write_small_release


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    spec = load_spec(write_small_release(tmp_path / "spec", people=[]))
    return Workspace(state=tmp_path / "state", release_id="small-1", spec=spec, mlflow_run_id="none")


def test_whoever_goes_on_did_not_start(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OPERATOR_VARIABLE, "Ada")
    note_start(workspace)
    monkeypatch.setenv(OPERATOR_VARIABLE, "Grace")
    assert people_of(workspace).started_by == "Ada"
    assert people_of(workspace).approval is None


@pytest.mark.parametrize(("named", "started_by"), [("  Ada \n Lovelace ", "Ada Lovelace"), ("", getpass.getuser())])
def test_the_operator_is_named_on_one_line_or_is_the_user(
    named: str, started_by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(OPERATOR_VARIABLE, named)
    assert operator() == started_by


def test_a_user_without_a_name_has_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(OPERATOR_VARIABLE, raising=False)
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    assert operator().startswith("user ")
