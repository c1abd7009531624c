"""A ledger that is gone, or an old copy, gives no budget back: what releases prove was spent stays spent."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from deniable.ledger.verification import records_of, verify
from flows.release import release
from schemas.provenance import RECORD
from stores.keys.trust_file import trusted_keys
from stores.ledger import state_ledger as opening
from stores.ledger.anchor import LedgerReplaced
from stores.ledger.evidence import NOTES
from stores.ledger.ledger import Ledger, kept_lines, write_lines
from stores.ledger.recovery import recover
from stores.record.folder_verification import verified_release
from tests.ledger_users import restore_old_ledger
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
    require_refused(spec, state, f"lacks entry 3 of {folder.name}, as releases/{folder.name}/{RECORD} proves")
    (said,) = recover(state, [], by="ada", reason="all is gone", accept=False)
    assert said.startswith("0 entries were restored from copies, and 1 charges from signed records and notes")
    assert opened(state).spent("people") == spent
    assert verify(records_of(kept_lines(database))).holds

    export = tmp_path / "export.jsonl"
    write_lines(whole, export)
    database.unlink()
    anchor.unlink()
    recover(state, [export], by="ada", reason="an export was found", accept=False)
    assert kept_lines(database)[:-1] == whole
    assert opened(state).spent("people") == spent


@contextmanager
def alone(state: Path, witness: str, witnesses: list[str]) -> Iterator[None]:
    """Take all other witnesses away."""
    others = [state / other for other in witnesses if other != witness]
    for other in others:
        other.rename(other.with_name(f".{other.name}"))
    yield
    for other in others:
        other.with_name(f".{other.name}").rename(other)


def test_a_ledger_restored_together_with_its_copy_is_refused_while_any_witness_proves_a_charge(
    tmp_path: Path, prefect: None
) -> None:
    spec, state = write_small_release(tmp_path / "spec", **QUICK), tmp_path / "state"
    opened(state)
    old = kept_lines(state / "ledger" / "ledger.db")
    name = release(spec, state).workspace.release_id
    spent, charges = opened(state).spent("people"), opened(state).charges()
    restore_old_ledger(state, old)

    witnesses = {
        f"releases/{name}": f"lacks entry 3 of {name}, as releases/{name}/{RECORD} proves",
        f"shelf/{name}/{RECORD}": f"lacks entry 4 of {name}, as shelf/{name}/{RECORD} proves",
        f"{NOTES}/{name}.jsonl": f"lacks entry 2 of {name}, as {NOTES}/{name}.jsonl proves",
        f"{NOTES}/@policies.jsonl": f"lacks entry 1 of the dataset people, as {NOTES}/@policies.jsonl proves",
        f"vault/{name}": f"lacks the charges of {name}, as vault/{name}/release.json proves",
    }
    for witness, said in witnesses.items():
        with alone(state, witness, list(witnesses)):
            opening._opened.cache_clear()
            with pytest.raises(LedgerReplaced, match=f"{said}; nothing was read or drawn: restore the ledger"):
                release(spec, state)
    assert kept_lines(state / "ledger" / "ledger.db") == old
    (state / "releases" / name / RECORD).write_text("{}")
    with (
        alone(state, f"releases/{name}", list(witnesses)),
        pytest.raises(LedgerReplaced, match="proves, although it cannot be read"),
    ):
        opened(state)
    # The control: with no witness left, the budget is whole again.
    with alone(state, "", list(witnesses)):
        assert opened(state).charges() == []
    with pytest.raises(LedgerReplaced):
        opened(state)

    (said,) = recover(state, [], by="ada", reason="an old backup was put back", accept=False)
    assert said.startswith("0 entries were restored from copies, and 1 charges from signed records and notes")
    assert opened(state).spent("people") == spent
    assert [charged.charge for charged in opened(state).charges()] == [charged.charge for charged in charges]
    release(spec, state)
    assert opened(state).spent("people").epsilon == 2 * spent.epsilon
