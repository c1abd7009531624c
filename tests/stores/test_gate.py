"""The gate of a state folder's ledger asks all witnesses for every charge, and reads each of them once."""

import json
import signal
from pathlib import Path

import pytest

from deniable.foundation.errors import Refused
from stores.ledger import state_ledger as opening
from stores.ledger.anchor import Anchor, LedgerReplaced
from stores.ledger.evidence import NOTES, Witnesses
from stores.ledger.ledger import LEDGER_VARIABLE, Ledger, kept_lines
from stores.ledger.recovery import recover
from tests.charging import cost, policy
from tests.ledger_users import asks, charge_and_be_killed, restore_old_ledger, with_ledger
from tests.warm.forking import FORKS

HUNDREDS = 400


@pytest.fixture(autouse=True)
def _own_ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(LEDGER_VARIABLE, raising=False)


def opened(state: Path) -> Ledger:
    """The ledger of a state folder, as another process opens it."""
    opening._opened.cache_clear()
    return opening.state_ledger(state)


def lines_of(state: Path) -> list[str]:
    return kept_lines(state / "ledger" / "ledger.db")


def test_every_charge_is_noted_for_its_release_before_its_draw(tmp_path: Path) -> None:
    ledger = opened(tmp_path)
    ledger.set_policy(policy(10))
    first, second = ledger.reserve(asks(1)), ledger.reserve(asks(2, release="r2"))
    ledger.reserve(asks(1))
    for release, reserved in (("r1", first), ("r2", second)):
        place = tmp_path / NOTES / f"{release}.jsonl"
        assert place.read_text() == f"{reserved.entry.to_line()}\n"
        assert place.stat().st_mode & 0o777 == 0o600
    (noted,) = (tmp_path / NOTES / "@policies.jsonl").read_text().splitlines()
    assert noted == lines_of(tmp_path)[1]


def test_a_cap_that_was_lowered_is_not_raised_by_an_old_ledger_and_its_copy(tmp_path: Path) -> None:
    opened(tmp_path).set_policy(policy(100))
    old = lines_of(tmp_path)
    opened(tmp_path).set_policy(policy(1))
    restore_old_ledger(tmp_path, old)
    with pytest.raises(LedgerReplaced, match=r"lacks entry 2 of the dataset people, as ledger-notes/@policies\.jsonl"):
        opened(tmp_path)
    recover(tmp_path, [], by="ada", reason="an old backup", accept=False)


def test_a_running_process_asks_before_each_charge(tmp_path: Path) -> None:
    running = opened(tmp_path)
    running.set_policy(policy(10))
    running.reserve(asks(1))
    forged = json.loads(lines_of(tmp_path)[-1]) | {"digest": "0" * 64, "number": 7}
    (tmp_path / NOTES / "elsewhere.jsonl").write_text(f"{json.dumps(forged)}\n")
    for ask in (running.reserve, running.check):
        with pytest.raises(LedgerReplaced, match="lacks entry 7 of r1"):
            ask(asks(2))  # type: ignore[operator]
    assert len(lines_of(tmp_path)) == 3


def test_a_shelf_of_hundreds_of_releases_is_read_once_and_not_for_each_charge(tmp_path: Path) -> None:
    ledger = opened(tmp_path)
    ledger.set_policy(policy(10_000))
    line = ledger.reserve(asks(1)).entry.to_line()
    for number in range(HUNDREDS):
        (tmp_path / NOTES / f"r-{number}.jsonl").write_text(f"{line}\n")
    first = opened(tmp_path)._gate
    assert first is not None
    assert first.witnesses.files_read == HUNDREDS + 1
    # Another process reads none of them, and every charge only its own note and the one before.
    again = opened(tmp_path)
    assert again._gate is not None
    assert again._gate.witnesses.files_read == 0
    for number in range(5):
        again.reserve(asks(2, release=f"s{number}", inputs=f"{number}"))
    again.check(asks(3))
    assert again._gate.witnesses.files_read == 5
    # What was changed is read again.
    (tmp_path / NOTES / "r-7.jsonl").write_text(f"{line}\n{line}\n")
    again.check(asks(3))
    assert again._gate.witnesses.files_read == 6


def test_an_index_that_is_lost_or_nonsense_is_written_again(tmp_path: Path) -> None:
    opened(tmp_path).set_policy(policy(10))
    opened(tmp_path).reserve(asks(1))
    proofs = Witnesses(tmp_path).proofs()
    for nonsense in ("", "[]", '{"format": 1}', '{"format": 1, "files": {"a": {}}}', '{"format": 2, "files": {}}'):
        (tmp_path / "cache" / "evidence.json").write_text(nonsense)
        assert Witnesses(tmp_path).proofs() == proofs
    assert Witnesses(tmp_path).files_read == 0 or Witnesses(tmp_path).proofs() == proofs


@pytest.mark.parametrize("moment", ["before", "torn", "kept"])
def test_a_process_killed_before_its_note_leaves_a_charge_that_counts_once(tmp_path: Path, moment: str) -> None:
    opened(tmp_path).set_policy(policy(10))
    process = FORKS.Process(
        target=with_ledger, args=(str(tmp_path / "ledger" / "ledger.db"), charge_and_be_killed, tmp_path, moment)
    )
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert not (tmp_path / NOTES / "r1.jsonl").exists()
    assert not opened(tmp_path).reserve(asks(3)).fresh
    assert (tmp_path / NOTES / "r1.jsonl").read_text() == f"{lines_of(tmp_path)[-1]}\n"
    assert opened(tmp_path).spent("people") == cost(3)
    assert Anchor(tmp_path).lines() == lines_of(tmp_path)


def test_a_note_torn_by_a_kill_spoils_no_later_one(tmp_path: Path) -> None:
    ledger = opened(tmp_path)
    ledger.set_policy(policy(10))
    place = tmp_path / NOTES / "r1.jsonl"
    place.write_text('{"number": 2, "kin')
    ledger.reserve(asks(1))
    assert place.read_text().splitlines()[1] == lines_of(tmp_path)[-1]
    proofs = [proof for proof in Witnesses(tmp_path).proofs() if proof.release == "r1"]
    assert [proof.number for proof in proofs] == [2]


def test_charges_that_nothing_shows_are_given_up_by_a_person_alone(tmp_path: Path) -> None:
    folder = tmp_path / "releases" / "people-1"
    folder.mkdir(parents=True)
    with pytest.raises(LedgerReplaced, match=r"the charges of people-1, as releases/people-1/.*, although it can"):
        opened(tmp_path)
    with pytest.raises(Refused, match="the charges of people-1 are in no copy and in no record"):
        recover(tmp_path, [], by="ada", reason="lost", accept=False)
    recover(tmp_path, [], by="ada", reason="lost", accept=True)
    (noted,) = opened(tmp_path).recoveries()
    assert noted.content["given_up"] == ["people-1"]


def test_a_recovery_excuses_no_charge_that_is_still_missing(tmp_path: Path) -> None:
    opened(tmp_path).set_policy(policy(9))
    opened(tmp_path).reserve(asks(1))
    restore_old_ledger(tmp_path, lines_of(tmp_path)[:1])
    recover(tmp_path, [], by="ada", reason="lost", accept=True)
    recovered = lines_of(tmp_path)
    opened(tmp_path).reserve(asks(2))
    restore_old_ledger(tmp_path, recovered)
    with pytest.raises(LedgerReplaced, match=r"lacks entry 4 of r1, as ledger-notes/r1\.jsonl"):
        opened(tmp_path)


def test_another_ledger_of_as_many_entries_is_not_the_proved_one(tmp_path: Path) -> None:
    opened(tmp_path).set_policy(policy(9))
    before = lines_of(tmp_path)
    opened(tmp_path).reserve(asks(2))
    restore_old_ledger(tmp_path, before)
    Ledger.open(tmp_path / "ledger" / "ledger.db").reserve(asks(1))
    assert len(lines_of(tmp_path)) == len(before) + 1
    with pytest.raises(LedgerReplaced, match=r"lacks entry 2 of r1, as ledger-notes/r1\.jsonl"):
        opened(tmp_path)
