"""A state folder knows its ledger: one that was lost, replaced or exchanged is refused, with the reason."""

import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from deniable.foundation.errors import InvalidInput, Refused
from deniable.ledger.state import LedgerBroken
from deniable.ledger.verification import records_of, verify
from deniable.privacy.loss import Guarantee
from deniable.record.attestation import DISCOVERY, Envelope, statement
from schemas.provenance import RECORD
from stores.ledger import state_ledger as opening
from stores.ledger.anchor import Anchor, LedgerReplaced
from stores.ledger.database import LedgerDatabase, LedgerUnavailable, insert_lines
from stores.ledger.evidence import Witnesses
from stores.ledger.ledger import LEDGER_VARIABLE, Ledger, kept_lines, ledger_place, write_lines
from stores.ledger.moving import move_ledger
from stores.ledger.recovery import recover
from stores.vault.scratch import scratch_folder
from stores.vault.step_log import StepDraft
from tests.charging import cost, policy
from tests.ledger_users import asks, charge_and_be_killed, charge_often, with_ledger
from tests.postgres import fresh_database
from tests.warm.forking import FORKS


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where the ledger of the state folder is."""
    here = str(tmp_path / "ledger" / "ledger.db") if request.param == "sqlite" else fresh_database()
    monkeypatch.setenv(LEDGER_VARIABLE, here)
    return here


@pytest.fixture
def state(tmp_path: Path, place: str) -> Path:
    """A state folder whose ledger was charged twice."""
    ledger = opened(tmp_path)
    ledger.set_policy(policy(30))
    ledger.commit(ledger.reserve(asks(1)).identity, "output")
    ledger.reserve(asks(2))
    return tmp_path


def opened(state: Path) -> Ledger:
    """The ledger of a state folder, as another process opens it."""
    opening._opened.cache_clear()
    return opening.state_ledger(state)


def with_entries(place: str, lines: list[str]) -> None:
    """Put other entries in the place of the ledger's, as restoring an old copy does."""
    if "://" in place:
        with psycopg.connect(place, autocommit=True) as connection:
            connection.execute("DROP SCHEMA public CASCADE")
            connection.execute("CREATE SCHEMA public")
    else:
        Path(place).unlink()
    database = LedgerDatabase.at(place)
    database.bring_up_to_date()
    with database.writing() as writing:
        insert_lines(writing, lines)


def other_ledger(folder: Path) -> list[str]:
    ledger = Ledger.open(folder / "other.db")
    ledger.set_policy(policy(10))
    return kept_lines(folder / "other.db")


def test_a_state_folder_keeps_every_entry_before_anything_is_drawn(state: Path, place: str) -> None:
    assert Anchor(state).lines() == kept_lines(place)
    assert len(Anchor(state).lines()) == 5
    assert (state / "ledger-anchor.jsonl").stat().st_mode & 0o777 == 0o600


LOST: dict[str, tuple[Callable[[list[str], Path], list[str]], str]] = {
    "emptied": (lambda _lines, _folder: [], "got one without entries at"),
    "an old copy": (lambda lines, _folder: lines[:3], "got an older copy, which ends with entry 2, at"),
    "an old copy by one": (lambda lines, _folder: lines[:-1], "got an older copy, which ends with entry 3, at"),
    "of another": (lambda _lines, folder: other_ledger(folder), "got another one at"),
}


@pytest.mark.parametrize("how", LOST)
def test_a_ledger_that_was_lost_or_replaced_is_refused_and_nothing_is_charged(
    state: Path, place: str, tmp_path: Path, how: str
) -> None:
    replace, said = LOST[how]
    left = replace(kept_lines(place), tmp_path)
    running = opened(state)
    with_entries(place, left)
    with pytest.raises(LedgerReplaced, match=said) as told:
        opened(state)
    assert "nothing was read or drawn" in str(told.value)
    assert "deniable budget recover" in str(told.value)
    with pytest.raises(LedgerBroken, match="it is not what it was, or is gone"):
        running.reserve(asks(3))
    assert kept_lines(place) == left


def test_a_ledger_that_went_on_otherwise_after_an_old_copy_was_put_back_is_refused(state: Path, place: str) -> None:
    with_entries(place, kept_lines(place)[:3])
    elsewhere = Ledger.open(place)
    for epsilon in (4, 5, 6):
        elsewhere.reserve(asks(epsilon))
    with pytest.raises(LedgerReplaced, match="got one whose entry 3 is another at"):
        opened(state)


def test_a_ledger_that_others_went_on_with_is_the_same(state: Path, place: str) -> None:
    other = state.parent / f"{state.name}-other"
    other.mkdir()
    opened(other).reserve(asks(4))
    running = opened(state)
    opened(other).reserve(asks(5))
    running.reserve(asks(6))
    assert Anchor(state).lines() == kept_lines(place)
    assert len(kept_lines(place)) == 8
    shutil.rmtree(other)


def ends(work: Callable[..., None], place: str, *given: tuple[Path, object]) -> list[int | None]:
    """How processes end that use the ledger of a state folder, all at the same time."""
    processes = [FORKS.Process(target=with_ledger, args=(place, work, *each)) for each in given]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    return [process.exitcode for process in processes]


@pytest.mark.parametrize("moment", ["before", "torn", "kept"])
def test_a_process_that_is_killed_between_ledger_and_state_folder_stops_nobody(
    state: Path, place: str, moment: str
) -> None:
    before = kept_lines(place)
    assert ends(charge_and_be_killed, place, (state, moment)) == [-signal.SIGKILL]
    assert len(kept_lines(place)) == len(before) + 1
    assert len(Anchor(state).lines()) == len(before) + (moment == "kept")
    reserved = opened(state).reserve(asks(3))
    assert not reserved.fresh
    assert Anchor(state).lines() == kept_lines(place)
    with_entries(place, before)
    with pytest.raises(LedgerReplaced):
        opened(state)


def test_nothing_may_be_drawn_while_the_state_folder_cannot_keep_the_charge(state: Path, place: str) -> None:
    ledger, anchor = opened(state), state / "ledger-anchor.jsonl"
    kept = anchor.read_bytes()
    anchor.unlink()
    anchor.mkdir()
    with pytest.raises(LedgerUnavailable, match=r"must keep what its ledger was charged, and .* nothing was drawn"):
        ledger.reserve(asks(3))
    anchor.rmdir()
    anchor.write_bytes(kept)
    assert ledger.reserve(asks(3)).charge.step == "step 3"
    assert Anchor(state).lines() == kept_lines(place)


def test_processes_that_charge_at_once_keep_one_copy(state: Path, place: str) -> None:
    opened(state).set_policy(policy(100))
    assert ends(charge_often, place, *((state, number) for number in range(4))) == [0] * 4
    assert Anchor(state).lines() == kept_lines(place)
    assert len(kept_lines(place)) == 6 + 32


def test_a_ledger_is_rebuilt_from_the_state_folders_own_copy(state: Path, place: str) -> None:
    before = kept_lines(place)
    with_entries(place, before[:2])
    (said,) = recover(state, [], by="ada", reason="the disk failed", accept=False)
    assert said.startswith("3 entries were restored from copies, and 0 charges from signed records")
    ledger = opened(state)
    assert kept_lines(place)[:-1] == before == Anchor(state).lines()[:-1]
    (noted,) = ledger.recoveries()
    assert noted.content["signature"]
    assert {name: value for name, value in noted.content.items() if name != "signature"} == {
        "set_by": "ada",
        "reason": "the disk failed",
        "known": 5,
        "known_head": ledger.entries()[4].digest,
        "found": 2,
        "found_head": ledger.entries()[1].digest,
        "restored": 3,
        "accepted": False,
    }
    assert verify(records_of(kept_lines(place))).holds
    assert ledger.spent("people") == cost(3)
    (nothing,) = recover(state, [], by="ada", reason="once more", accept=False)
    assert "there is nothing to recover" in nothing


def test_a_ledger_is_rebuilt_from_an_export_where_the_state_folder_lost_its_copy(state: Path, place: str) -> None:
    before = kept_lines(place)
    export = state / "export.jsonl"
    write_lines(before, export)
    with_entries(place, before[:2])
    (state / "ledger-anchor.jsonl").unlink()
    recover(state, [export], by="ada", reason="the disk failed", accept=False)
    assert kept_lines(place)[:-1] == before
    assert opened(state).spent("people") == cost(3)


@pytest.mark.parametrize("how", ["emptied", "an old copy", "of another"])
def test_a_ledger_is_accepted_as_it_is_by_a_person_and_says_so(
    state: Path, place: str, tmp_path: Path, how: str
) -> None:
    before = kept_lines(place)
    left = LOST[how][0](before, tmp_path)
    with_entries(place, left)
    (state / "ledger-anchor.jsonl").write_text("".join(f"{line}\n" for line in before))
    _, accepted = recover(state, [], by="ada", reason="it was a trial", accept=True)
    assert accepted.startswith("Accepted: ")
    ledger = opened(state)
    (noted,) = ledger.recoveries()
    assert (noted.content["known"], noted.content["found"], noted.content["accepted"]) == (5, len(left), True)
    ledger.set_policy(policy(10))
    ledger.reserve(asks(7))
    assert Anchor(state).lines() == kept_lines(place)
    kept = (state / "ledger-anchor.jsonl.before-1").read_text().splitlines() if how != "emptied" or left else before
    assert kept == before


def test_what_cannot_be_rebuilt_is_refused_and_stays_as_it_is(state: Path, place: str, tmp_path: Path) -> None:
    known, other = kept_lines(place), other_ledger(tmp_path)
    with_entries(place, other)
    with pytest.raises(Refused, match="must be rebuilt from copies of one ledger"):
        recover(state, [], by="ada", reason="?", accept=False)
    altered = tmp_path / "altered.jsonl"
    write_lines([line.replace('"1"', '"0"') for line in known], altered)
    with pytest.raises(Refused, match="copies that hold"):
        recover(state, [altered], by="ada", reason="?", accept=False)
    with pytest.raises(InvalidInput, match="must be an export or a ledger's file"):
        recover(state, [tmp_path / "none"], by="ada", reason="?", accept=False)
    with pytest.raises(InvalidInput, match="must have a reason"):
        recover(state, [], by="ada", reason=" ", accept=True)
    assert (kept_lines(place), Anchor(state).lines()) == (other, known)


def test_a_release_of_the_vault_that_the_ledger_does_not_know_proves_a_lost_ledger(tmp_path: Path) -> None:
    vault = tmp_path / "vault" / "small-20261120T104151Z"
    (vault / "steps").mkdir(parents=True)
    (vault / "release.json").write_text('{"commitment": "11"}')
    (vault / "steps" / "learn_parameters-00.json").touch()
    with pytest.raises(
        LedgerReplaced,
        match=r"the charges of small-20261120T104151Z, as vault/small-20261120T104151Z/release\.json proves",
    ):
        opened(tmp_path)
    assert kept_lines(ledger_place(tmp_path)) == []
    with pytest.raises(Refused, match="are in no copy and in no record"):
        recover(tmp_path, [], by="ada", reason="lost", accept=False)
    recover(tmp_path, [], by="ada", reason="lost", accept=True)
    opened(tmp_path).set_policy(policy(1))


@pytest.mark.parametrize("spends", [False, True])
def test_a_release_of_the_vault_that_spent_nothing_proves_no_charge(tmp_path: Path, *, spends: bool) -> None:
    vault = tmp_path / "vault" / "small-20261120T104151Z"
    (vault / "steps").mkdir(parents=True)
    (vault / "release.json").write_text('{"commitment": "11"}')
    (vault / "steps" / "learn_parameters-00.json").touch()
    draft = StepDraft()
    draft.spent(Guarantee(1.0 if spends else 0.0, 0.0, "basic"), ())
    (vault / "record").mkdir()
    step = draft.finished("learn_parameters", None, mlflow_run="0" * 32, task_run=None)
    (vault / "record" / "learn_parameters.json").write_text(step.model_dump_json())
    assert [proof.commitment for proof in Witnesses(tmp_path).proofs()] == (["11"] if spends else [])


@pytest.mark.parametrize("entry", [None, 7, "entry", {}, {"number": 1}, {"number": 1, "digest": 2}])
def test_a_record_of_a_discovery_without_an_entry_is_no_evidence(tmp_path: Path, entry: Any) -> None:
    place = tmp_path / "discoveries" / "people-1" / RECORD
    place.parent.mkdir(parents=True)
    payload = statement({"discovery.json": "0" * 64}, {"entry": entry}, version=DISCOVERY)
    place.write_text(Envelope(payload=payload, keyid="0" * 64, signature=bytes(64)).to_text())
    (proof,) = Witnesses(tmp_path).proofs()
    assert (proof.release, proof.readable, proof.number) == ("people-1", False, None)


def test_an_old_copy_does_not_become_the_ledger_of_the_stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(LEDGER_VARIABLE, raising=False)
    ledger = opened(tmp_path)
    ledger.set_policy(policy(10))
    ledger.reserve(asks(1))
    here, there = str(ledger_place(tmp_path)), fresh_database()
    whole = kept_lines(here)
    with_entries(here, whole[:2])
    with pytest.raises(LedgerReplaced, match="an older copy"):
        move_ledger(tmp_path, there)
    with_entries(here, whole)
    assert move_ledger(tmp_path, there) == 3
    with pytest.raises(LedgerReplaced, match="one without entries"):
        opened(tmp_path)
    monkeypatch.setenv(LEDGER_VARIABLE, there)
    assert opened(tmp_path).spent("people") == cost(1)


def test_a_scratch_folder_keeps_no_copy(tmp_path: Path) -> None:
    with scratch_folder(tmp_path, "again") as scratch:
        opened(scratch).set_policy(policy(1))
        assert not (scratch / "ledger-anchor.jsonl").exists()
