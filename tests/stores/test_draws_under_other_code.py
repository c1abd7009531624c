"""Draws under a key by another version or other code are not repeated under it: the noise would differ."""

from pathlib import Path
from typing import Any

import pytest

from deniable.foundation.errors import Refused
from deniable.foundation.keys import ReleaseKey
from deniable.ledger import drawing_versions
from schemas.references import Audience, Reference
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import load_spec
from stores.ledger.charging import open_ledger, opened_streams, require_room, reserve
from stores.ledger.ledger import LEDGER_VARIABLE
from stores.releases import resumable_releases as unfinished
from stores.releases.resumable_releases import note_beginning, note_end, require_same_code
from stores.vault.workspace import Workspace
from tests.small_release import QUICK, write_small_release

KEY = ReleaseKey(bytes(range(32)))
LOGLINEAR = {**QUICK, "learner": {"kind": "loglinear", "noise": "auto", "parameters": {"epsilon": 1, "delta": 1e-6}}}


@pytest.fixture(autouse=True)
def own_ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(LEDGER_VARIABLE, raising=False)


def begun(folder: Path, changes: dict[str, Any]) -> Workspace:
    """A release that was begun, and charged for its parameters."""
    spec = load_spec(write_small_release(folder / "spec", people=[], **changes))
    workspace = Workspace(state=folder / "state", release_id="small-20261120T104151Z", spec=spec, mlflow_run_id="run")
    with workspace.writing("key", Audience.RESTRICTED) as path:
        path.write_bytes(KEY.secret)
    note_beginning(workspace)
    require_room(workspace, plan_release(spec).accounts)
    charged(workspace)
    return workspace


def charged(workspace: Workspace) -> str:
    part = Reference(name="shared", path=Path("shared"), digest="1" * 64, rows=1, audience=Audience.RESTRICTED)
    return reserve(workspace, workspace.plan.accounts.learnt[-1], part, parameters={})


@pytest.mark.parametrize(("drawing", "changes"), [("learn_parameters", QUICK), ("learn_loglinear", LOGLINEAR)])
def test_a_release_is_not_gone_on_with_by_a_version_that_draws_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, drawing: str, changes: dict[str, Any]
) -> None:
    workspace = begun(tmp_path, changes)
    first, stream = charged(workspace), opened_streams(workspace, "learn_parameters", "inputs")
    before = drawing_versions.VERSIONS
    require_room(workspace, workspace.plan.accounts)
    monkeypatch.setattr(drawing_versions, "VERSIONS", {**before, drawing: before[drawing] + 1})
    with pytest.raises(Refused, match=rf"charged as learn_parameters/{before[drawing]}, .* would draw as") as told:
        require_room(workspace, workspace.plan.accounts)
    assert "deniable release discard small-20261120T104151Z: its charges remain" in str(told.value)
    assert len(open_ledger(workspace).charges()) == 1
    # Should anything draw nevertheless, it is another draw, with noise and a charge of its own.
    again = opened_streams(workspace, "learn_parameters", "inputs")
    words = [opened(mechanism="counts", parameters={}).take(4).tolist() for opened in (stream, again)]
    assert words[0] != words[1]
    assert charged(workspace) != first
    assert len(open_ledger(workspace).charges()) == 2


def test_a_version_of_another_mechanism_is_in_nobodys_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = begun(tmp_path, QUICK)
    monkeypatch.setattr(drawing_versions, "VERSIONS", {**drawing_versions.VERSIONS, "learn_loglinear": 9})
    require_room(workspace, workspace.plan.accounts)


def test_a_key_is_used_again_by_the_code_alone_that_has_drawn_under_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, commitment = begun(tmp_path, QUICK), KEY.commitment()
    state, dataset = workspace.state, workspace.spec.dataset_name
    require_same_code(state, dataset, commitment)
    require_same_code(state, dataset, ReleaseKey(bytes(32)).commitment())
    own = unfinished.code_digest()
    monkeypatch.setattr(unfinished, "code_digest", lambda: "other code")
    with pytest.raises(Refused, match="got the key of small-20261120T104151Z, drawn by other code; compare by"):
        require_same_code(state, dataset, commitment)
    note_end(workspace, "{}")
    monkeypatch.setattr(unfinished, "code_digest", lambda: own)
    with pytest.raises(Refused, match="drawn by unknown code"):
        require_same_code(state, dataset, commitment)
    (workspace.vault / "release.json").unlink()
    with pytest.raises(Refused, match="drawn by unknown code"):
        require_same_code(state, dataset, commitment)
