"""Records drawn from exact counts: released, resumed, audited and replayed, charged once; the counts stay."""

from pathlib import Path

import numpy as np
import pytest

from deniable.ledger.entries import Charge
from flows.audit import audit_here
from flows.cli.planning import show_plan
from flows.release import release
from flows.replay import replay
from schemas.provenance import RECORD
from schemas.spec.release_spec import load_spec
from stores.keys.signed_record import read_signed
from stores.ledger.ledger import Ledger, ledger_place
from tasks.running.step import StepFailed
from tasks.synthesis import gather as gathering
from tests.mechanisms.table import CHARGED, SAMPLERS
from tests.small_release import write_small_release

pytestmark = pytest.mark.usefixtures("prefect")


@pytest.mark.nightly
def test_they_are_planned_resumed_audited_and_replayed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, state = write_small_release(tmp_path / "spec", **SAMPLERS[CHARGED]), tmp_path / "state"
    assert show_plan(load_spec(spec), state) == 0
    said = capsys.readouterr().out
    assert "vacuous" in said
    assert "The budget allows this release." in said

    def pulled(*_: object, **__: object) -> None:
        raise OSError("the power went")

    monkeypatch.setattr(gathering, "commit", pulled)
    with pytest.raises(StepFailed):
        release(spec, state)
    monkeypatch.undo()
    before = charges(state)
    assert [charge.step for charge in before] == ["learn_structure", "draw_records"]

    workspace = release(spec, state).workspace
    assert charges(state) == before, "what was paid for is drawn again, and not paid for again"
    record = read_signed(workspace.release_folder / RECORD).record
    assert record.release.records == load_spec(spec).synthesis.records
    names = {path.name for path in workspace.release_folder.iterdir()}
    assert "urns.json" in names
    assert not names & {"model.json", "graph.json", "exact_counts.npy"}
    (counts,) = workspace.vault.rglob("exact_counts.npy")
    assert counts.parent == workspace.vault
    with counts.open("rb") as file:
        number = int(np.load(file)[0])
        assert [np.load(file).dtype.kind for _ in range(number)] == ["i"] * number

    audited = audit_here(workspace.release_id, state)
    assert audited.holds, audited
    assert replay(workspace.release_folder, state).same


def charges(state: Path) -> list[Charge]:
    """All charges of the ledger."""
    facts = [entry.fact() for entry in Ledger.open(ledger_place(state)).entries()]
    return [fact for fact in facts if isinstance(fact, Charge)]
