"""A learner that reads nothing, and records of its model: nothing is charged, and all else is as with any release."""

from pathlib import Path

import pytest

from deniable.ledger.entries import Charge
from flows.audit import audit_here
from flows.cli.planning import show_plan
from flows.release import release
from flows.replay import replay
from schemas.provenance import RECORD
from schemas.spec.release_spec import load_spec
from stores.keys.signed_record import read_signed
from stores.ledger.charging import note_publication
from stores.ledger.ledger import Ledger, ledger_place
from tests.mechanisms.table import LEARNERS, SAMPLERS
from tests.small_release import write_small_release
from tests.whole_release import drawn_release

pytestmark = pytest.mark.usefixtures("prefect")


@pytest.mark.nightly
def test_it_is_planned_made_audited_and_replayed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = write_small_release(tmp_path / "spec", **{**LEARNERS["uniform"].asked, **SAMPLERS["seedless"]})
    state = tmp_path / "state"
    assert show_plan(load_spec(spec), state) == 0
    said = capsys.readouterr().out
    assert "whole release  epsilon = 0, delta = 0" in said
    assert "The budget allows this release." in said

    released = release(spec, state)
    workspace = released.workspace
    record = read_signed(workspace.release_folder / RECORD).record
    assert record.cost.total is not None
    assert (record.cost.total.epsilon, record.cost.total.delta, record.cost.steps) == (0.0, 0.0, ())
    assert record.release.begun == record.release.published
    entries = Ledger.open(ledger_place(state)).entries()
    assert not [entry for entry in entries if isinstance(entry.fact(), Charge)]

    audited = audit_here(workspace.release_id, state)
    assert audited.holds, audited
    assert replay(workspace.release_folder, state).same
    # Another release comes in between: what the record shows of the ledger stays what it was.
    other = drawn_release(tmp_path, "small-other")
    note_publication(other.workspace, other.publish())
    other.seal()
    assert audit_here(workspace.release_id, state).holds
    assert audit_here(other.workspace.release_id, state).holds
