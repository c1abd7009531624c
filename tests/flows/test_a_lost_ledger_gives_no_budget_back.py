"""A ledger that is gone, or an old copy, gives no budget back: what releases prove was spent stays spent."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from deniable.ledger.verification import records_of, verify
from flows.release import release
from stores.keys.trust_file import trusted_keys
from stores.ledger import state_ledger as opening
from stores.ledger.anchor import LedgerReplaced
from stores.ledger.ledger import Ledger, kept_lines, write_lines
from stores.ledger.recovery import recover
from stores.record.folder_verification import verified_release
from tests.small_release import QUICK, write_small_release

if TYPE_CHECKING:
    from flows.released import Released


def opened(state: Path) -> Ledger:
    """The ledger, as another process opens it."""
    opening._opened.cache_clear()
    return opening.state_ledger(state)


def require_refused(spec: Path, state: Path, said: str) -> None:
    """Nothing begins, nothing is read."""
    opening._opened.cache_clear()
    vaults = sorted((state / "vault").iterdir())
    with pytest.raises(LedgerReplaced, match=said):
        release(spec, state)
    assert sorted((state / "vault").iterdir()) == vaults
    assert len(list((state / "releases").iterdir())) == 1


def test_what_a_release_was_charged_outlives_the_ledger_and_its_copy(tmp_path: Path, prefect: None) -> None:
    spec, state = write_small_release(tmp_path / "spec", **QUICK), tmp_path / "state"
    made: Released = release(spec, state)
    database, anchor = state / "ledger" / "ledger.db", state / "ledger-anchor.jsonl"
    whole, spent = kept_lines(database), opened(state).spent("people")
    assert spent.epsilon > 0

    database.unlink()
    require_refused(spec, state, "got one without entries at")
    recover(state, [], by="ada", reason="the disk failed", accept=False)
    assert kept_lines(database)[:-1] == whole
    folder = made.workspace.release_folder
    assert verified_release(folder, trusted_keys(state), ledger=kept_lines(database)).holds

    database.unlink()
    anchor.unlink()
    require_refused(spec, state, f"lacks entries of {folder.name}; nothing was read or drawn")
    (said,) = recover(state, [], by="ada", reason="all is gone", accept=False)
    assert said.startswith("0 entries were restored from copies, and 1 charges from signed records")
    assert opened(state).spent("people") == spent
    assert verify(records_of(kept_lines(database))).holds

    export = tmp_path / "export.jsonl"
    write_lines(whole, export)
    database.unlink()
    anchor.unlink()
    recover(state, [export], by="ada", reason="an export was found", accept=False)
    assert kept_lines(database)[:-1] == whole
    assert opened(state).spent("people") == spent
