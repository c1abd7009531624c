"""A release for which noise leaves few uses says so and waits for a person, by what is public alone."""

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from flows.audit import audit_here
from flows.release import release
from flows.replay import replay
from schemas.provenance import RECORD
from stores.keys.signed_record import read_signed
from stores.vault.actors import OPERATOR_VARIABLE
from stores.vault.pending_approval import Held
from tests.approving import approved
from tests.small_release import made_up_people, write_small_release

pytestmark = pytest.mark.usefixtures("prefect")

SPEC = {
    "name": "hidden",
    "dataset": "people.py",
    "source": "people.csv",
    "epsilon": 0.01,
    "synthesis": {"records": 200},
    "evaluation": {"classifiers": ["tree"]},
}


@pytest.mark.nightly
def test_it_is_held_and_published_once_a_person_approves_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, state = write_small_release(tmp_path / "spec", people=made_up_people(60)).parent, tmp_path / "state"
    spec = folder / "hidden.yaml"
    with spec.open("w") as file:
        YAML(typ="safe", pure=True).dump(SPEC, file)
    monkeypatch.setenv(OPERATOR_VARIABLE, "ada")
    with pytest.raises(Held) as held:
        release(spec, state)
    note = held.value.note
    why = note.why[0]
    assert why.startswith("by its noisy counts alone it can be good for 0 of ")
    assert why in " ".join(note.page.read_text().split())
    assert not list((state / "releases").glob("*"))

    approved(state, note, "ines", "it is for training only")
    workspace = release(spec, state).workspace
    approval = read_signed(workspace.release_folder / RECORD).record.people.approval
    assert approval is not None
    assert (approval.by, approval.decision) == ("ines", "approved")
    for name in ("privacy.json", "PRIVACY.md"):
        assert "the person who approved it, as the record says" in (workspace.release_folder / name).read_text(), name
    assert replay(workspace.release_folder, state).same
    audited = audit_here(workspace.release_id, state)
    assert audited.holds, audited
