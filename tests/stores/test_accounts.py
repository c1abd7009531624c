"""An account belongs to people: no other name opens another one for them, and only the custodian's key opens any."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deniable.foundation.errors import InvalidInput, Refused
from deniable.foundation.keys import fresh_salt
from deniable.ledger.entries import Charge, Custodian, Entry, Opening, Policy, Recovery
from deniable.ledger.signatures import key_name
from deniable.ledger.state import LedgerBroken, LedgerState, account_name
from deniable.ledger.verification import records_of, verify
from schemas.spec.release_spec import ReleaseSpec, load_spec
from stores.keys.custodian_key import CUSTODIAN_KEY_VARIABLE, custodian_key
from stores.ledger import state_ledger as opening
from stores.ledger.accounts import FIRST, admit, declared, require_account, source_marks
from stores.ledger.charging import policy_of
from stores.ledger.ledger import LEDGER_VARIABLE, Ledger, kept_lines
from stores.ledger.recovery import recover
from tests.charging import TIME, policy
from tests.ledger_users import asks, restore_old_ledger
from tests.small_release import write_small_release


@pytest.fixture(autouse=True)
def _own_ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in (LEDGER_VARIABLE, CUSTODIAN_KEY_VARIABLE):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A state folder with an account of people."""
    state = tmp_path / "state"
    admitted(state, spec_of(tmp_path / "spec"))
    return state


def spec_of(folder: Path, dataset: str | None = None, **changes: Any) -> ReleaseSpec:
    budget = {"epsilon": 3, "delta": 0.1} | ({} if dataset is None else {"dataset": dataset})
    return load_spec(write_small_release(folder, budget=budget, **changes))


def opened(state: Path) -> Ledger:
    opening._opened.cache_clear()
    return opening.state_ledger(state)


def admitted(state: Path, spec: ReleaseSpec) -> None:
    assert spec.budget is not None
    admit(state, spec, opened(state), policy_of(spec, spec.budget))


def lines_of(state: Path) -> list[str]:
    return kept_lines(state / "ledger" / "ledger.db")


def test_the_first_account_is_opened_and_signed_by_a_key_made_at_first_use(state: Path) -> None:
    place = state / "keys" / "custodian.key"
    assert place.stat().st_mode & 0o777 == 0o600
    first, account = (json.loads(line)["content"] for line in lines_of(state))
    assert first["custodian"] == custodian_key(state, "").public
    assert (account["people"], len(account["sources"])) == (FIRST, 2)
    assert verify(records_of(lines_of(state))).holds


@pytest.mark.parametrize("name", ["People", "PEOPLE", "peo-ple", "people_", "people."])
def test_a_name_that_is_written_otherwise_opens_no_account(state: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(Refused, match="the one of small is that of dataset people"):
        admitted(state, spec_of(tmp_path / "spec", name))
    other = spec_of(tmp_path / "other", name, people=[["20", "f", "some", "no"]])
    with pytest.raises(Refused, match=rf"must be named as it was opened, got {name}, while the ledger has people"):
        admitted(state, other)
    with pytest.raises(Refused, match="must be named as it was opened"):
        opened(state).set_policy(policy(dataset=name))
    assert opened(state).datasets() == ["people"]


def test_names_are_the_same_in_all_writings() -> None:
    for name in ("Stra\u00dfe", "STRASSE", "stra\u017f\u017fe", "\uff53trasse", "stras-se"):
        assert account_name(name) == "strasse"
    assert account_name("people") != account_name("people2")


@pytest.mark.parametrize("how", ["the same file", "a copy", "a link", "another spec of it"])
def test_the_same_source_under_another_name_is_refused(state: Path, tmp_path: Path, how: str) -> None:
    folder = tmp_path / "spec"
    if how != "the same file":
        folder = tmp_path / "again"
        shutil.copytree(tmp_path / "spec", folder)
        source = folder / "people.csv"
        if how in ("a link", "another spec of it"):
            source.unlink()
            source.symlink_to(tmp_path / "spec" / "people.csv")
    spec = load_spec(folder / "spec.yaml")
    assert spec.budget is not None
    other = spec.model_copy(update={"budget": spec.budget.model_copy(update={"dataset": "village2"})})
    with pytest.raises(Refused, match=r"is that of dataset people, not of village2; state `budget: {dataset: people}`"):
        admitted(state, other)
    with pytest.raises(Refused, match="is that of dataset people"):
        require_account(state, other, opened(state), opened=how == "a copy")
    assert opened(state).datasets() == ["people"]


def test_a_second_account_needs_the_custodians_declaration(state: Path, tmp_path: Path) -> None:
    other = spec_of(tmp_path / "other", "patients", people=[["20", "f", "some", "no"]])
    with pytest.raises(Refused, match="must be declared by the custodian of the data, and patients has none yet"):
        admitted(state, other)
    ledger = opened(state)
    with pytest.raises(Refused, match="say with --people whose records these are"):
        declared(policy(dataset="patients"), ledger, None, ())
    ledger.set_policy(declared(policy(dataset="patients"), ledger, "patients, none of the others", ()))
    admitted(state, other)
    assert opened(state).policy("patients").people == "patients, none of the others"
    # From now on their file is known to be theirs, and a lower cap keeps the declaration.
    with pytest.raises(Refused, match="is that of dataset patients, not of people"):
        admitted(state, spec_of(tmp_path / "other", "people", people=[["20", "f", "some", "no"]]))
    ledger.set_policy(declared(policy("0.5", dataset="patients"), ledger, None, ()))
    assert opened(state).policy("patients").people == "patients, none of the others"


def test_the_custodian_may_declare_that_a_known_source_is_of_others(state: Path, tmp_path: Path) -> None:
    other, ledger = spec_of(tmp_path / "spec", "later"), opened(state)
    marks = source_marks(state, other)
    ledger.set_policy(declared(policy(dataset="later"), ledger, "people of the next year, in the same place", marks))
    admitted(state, other)
    admitted(state, spec_of(tmp_path / "spec"))


def test_a_source_of_another_night_is_charged_to_its_account(state: Path, tmp_path: Path) -> None:
    people = [["20", "f", "some", "no"], ["21", "m", "none", "no"]]
    admitted(state, spec_of(tmp_path / "spec", people=people))
    admitted(state, spec_of(tmp_path / "elsewhere", people=people[::-1]))
    with pytest.raises(Refused, match="is that of dataset people"):
        admitted(state, spec_of(tmp_path / "elsewhere", "others", people=people[::-1]))


def test_commitments_confirm_no_guess_without_the_key(state: Path, tmp_path: Path) -> None:
    spec = spec_of(tmp_path / "spec")
    assert source_marks(state, spec) == source_marks(state, spec)
    assert set(source_marks(state, spec)).isdisjoint(source_marks(tmp_path / "elsewhere", spec))
    assert (state / "keys" / "sources.key").stat().st_mode & 0o777 == 0o600


def test_without_the_custodians_key_no_budget_is_set(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = (state / "keys" / "custodian.key").rename(tmp_path / "custodian.key")
    before, running = lines_of(state), opened(state)
    with pytest.raises(Refused, match=r"which the ledger names, and .* cannot be read"):
        running.set_policy(policy(100))
    with pytest.raises(Refused, match=r"which the ledger names, and .* cannot be read"):
        running.recover(
            Recovery(
                set_by="ada",
                reason="?",
                known=0,
                known_head="",
                found=0,
                found_head="",
                restored=0,
                accepted=True,
            )
        )
    assert lines_of(state) == before
    # What is charged needs no custodian.
    running.reserve(asks(1))
    monkeypatch.setenv(CUSTODIAN_KEY_VARIABLE, str(kept))
    opened(state).set_policy(policy(100))
    assert opened(state).policy("people").limit.epsilon == 100
    (tmp_path / "another.key").write_bytes(b"k" * 32)
    (tmp_path / "another.key").chmod(0o600)
    monkeypatch.setenv(CUSTODIAN_KEY_VARIABLE, str(tmp_path / "another.key"))
    with pytest.raises(Refused, match=r"must be set with the custodian's key .*, which the ledger names, got"):
        opened(state).set_policy(policy(200))
    kept.chmod(0o644)
    monkeypatch.setenv(CUSTODIAN_KEY_VARIABLE, str(kept))
    with pytest.raises(InvalidInput, match="readable by its owner alone"):
        opened(state).set_policy(policy(200))


def books_of(state: Path) -> LedgerState:
    books = LedgerState()
    for line in lines_of(state):
        books.enter(Entry.from_record(json.loads(line)))
    return books


def test_a_ledger_with_a_budget_that_the_custodian_did_not_sign_is_broken(state: Path) -> None:
    books = books_of(state)
    signed = books.policies["people"]
    public = key_name(books.custodian)
    forged = {
        f"not signed by the custodian's key {public}": replace(signed, signature=""),
        f"not one of the custodian's key {public} in this place": replace(signed, limit=policy(99).limit),
        "in this place": signed,  # an old entry, entered again
        "signed by": Custodian(public="22" * 32, owner="eve"),
    }
    for fault, fact in forged.items():
        entry = books.next_entry(fact, TIME, fresh_salt())
        with pytest.raises(LedgerBroken, match=fault):
            books.enter(entry)
        report = verify([*records_of(lines_of(state)), entry.to_record()])
        assert not report.holds
    assert [each.to_record() for each in opened(state).entries()] == records_of(lines_of(state))


def test_a_ledger_of_an_earlier_version_is_read_and_names_a_custodian_when_a_budget_is_set(tmp_path: Path) -> None:
    Ledger.open(tmp_path / "ledger" / "ledger.db").set_policy(policy(3))
    old = lines_of(tmp_path)
    assert "custodian" not in old[0]
    ledger = opened(tmp_path)
    ledger.reserve(asks(1))
    assert len(lines_of(tmp_path)) == 3
    ledger.set_policy(policy(4))
    kinds = [json.loads(line)["kind"] for line in lines_of(tmp_path)]
    assert kinds == [Opening.kind, Policy.kind, Charge.kind, Custodian.kind, Policy.kind]
    assert lines_of(tmp_path)[:2] == old
    assert verify(records_of(lines_of(tmp_path))).holds
    with pytest.raises(LedgerBroken):
        Ledger.open(tmp_path / "ledger" / "ledger.db").set_policy(policy(5))


def test_a_recovery_is_signed_and_signs_the_budget_again(state: Path) -> None:
    old = lines_of(state)
    opened(state).set_policy(replace(policy(9), people=FIRST))
    opened(state).reserve(asks(2))
    restore_old_ledger(state, old[:1])
    recover(state, [], by="ada", reason="an old backup", accept=False)
    assert verify(records_of(lines_of(state))).holds
    assert opened(state).policy("people").limit.epsilon == 9
    assert [json.loads(line)["kind"] for line in lines_of(state)] == ["genesis", "recovered", "policy", "reserved"]
