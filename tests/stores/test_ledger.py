"""The ledger's database: append-only, private, shared safely, and clear about what is wrong with it."""

import json
import sqlite3
import stat
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from deniable.cli.dispatch import main
from deniable.cli.files import HOLDS
from deniable.foundation.errors import InvalidInput, Refused
from deniable.ledger.budget import BudgetExceeded
from deniable.ledger.entries import ALL_ROWS, Charge, canonical
from deniable.ledger.state import LedgerBroken, NoPolicy
from stores.ledger import database as ledger_database
from stores.ledger import migrations
from stores.ledger.database import LedgerDatabase, LedgerUnavailable, LedgerUnreachable
from stores.ledger.ledger import LEDGER_VARIABLE, Ledger, ledger_place
from stores.ledger.migrations import REVISIONS
from stores.servers.patience import PATIENCE_VARIABLE
from tests.charging import charge, cost, policy, yearly
from tests.postgres import PASSWORD, fresh_database, server


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "state" / "ledger" / "ledger.db") if request.param == "sqlite" else fresh_database()


@pytest.fixture
def ledger(place: str) -> Ledger:
    opened = Ledger.open(place)
    opened.set_policy(policy(1))
    return opened


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


def asks(epsilon: str | int, **changes: Any) -> Charge:
    return charge(epsilon, part=ALL_ROWS, **changes)


class Clock:
    """Says what it was last set to."""

    def __init__(self, day: str) -> None:
        self.day = day

    def __call__(self) -> str:
        return f"{self.day}T00:00:00.000000Z"


def test_a_ledger_keeps_what_was_entered(place: str, ledger: Ledger) -> None:
    reserved = ledger.reserve(asks("0.5"))
    ledger.commit(reserved.identity, "digest of the output")
    ledger.publish("people", "r1", "digest of the release")
    again = Ledger.open(place)
    assert [entry.kind for entry in again.entries()] == ["genesis", "policy", "reserved", "committed", "released"]
    assert again.policy("people") == policy(1)
    assert again.reserve(asks("0.5")).output == "digest of the output"
    assert again.published()["r1"].output == "digest of the release"
    assert (again.spent("people"), again.remaining("people")) == (cost("0.5"), cost("0.5", "1e-5"))


def test_the_same_draw_costs_once(ledger: Ledger) -> None:
    first, second = ledger.reserve(asks(1)), ledger.reserve(asks(1, release="a replay"))
    assert (first.fresh, second.fresh) == (True, False)
    assert first.entry == second.entry
    assert ledger.spent("people") == cost(1)


def test_a_refusal_comes_before_anything_is_written(ledger: Ledger) -> None:
    before = ledger.entries()
    with pytest.raises(BudgetExceeded) as refusal:
        ledger.reserve(asks("1.1"))
    assert (refusal.value.asked, refusal.value.left) == (cost("1.1"), cost(1, "1e-5"))
    with pytest.raises(NoPolicy):
        ledger.reserve(asks("0.1", dataset="others"))
    assert ledger.entries() == before


def test_a_plan_is_checked_without_being_charged(ledger: Ledger) -> None:
    ledger.check(asks("0.6"), asks("0.4", step="b"))
    with pytest.raises(BudgetExceeded, match=r"requests epsilon 1.2 .* for learn_structure, b"):
        ledger.check(asks("0.6"), asks("0.6", step="b"))
    assert ledger.charges() == []


def test_a_policy_that_does_not_change_is_not_entered_again(ledger: Ledger) -> None:
    ledger.set_policy(policy(1))
    assert len(ledger.entries()) == 2
    ledger.set_policy(policy(2))
    assert ledger.remaining("people").epsilon == 2


def test_an_output_belongs_to_a_charge_and_never_changes(ledger: Ledger) -> None:
    with pytest.raises(Refused, match="has no charge in the ledger"):
        ledger.commit("never charged", "output")
    identity = ledger.reserve(asks("0.5")).identity
    ledger.commit(identity, "output")
    ledger.commit(identity, "output")
    assert len(ledger.entries()) == 4
    with pytest.raises(Refused, match="must give the same output whenever it is repeated"):
        ledger.commit(identity, "another output")


def test_a_release_is_published_once(ledger: Ledger) -> None:
    ledger.publish("people", "r1", "digest")
    ledger.publish("people", "r1", "digest")
    assert len(ledger.entries()) == 3
    with pytest.raises(Refused, match="must be published once"):
        ledger.publish("people", "r1", "another digest")


def test_a_clock_set_back_opens_no_period_again(place: str) -> None:
    clock = Clock("2026-06-01")
    ledger = Ledger.open(place, clock)
    ledger.set_policy(policy(9, period=yearly(1)))
    clock.day = "2027-01-01"
    ledger.reserve(asks(1))
    clock.day = "2026-06-01"
    with pytest.raises(BudgetExceeded, match="cap for 2027"):
        ledger.reserve(asks("0.1", step="b"))
    assert ledger.balances("people")[1].cap == "2027"
    ledger.set_policy(policy(9, period=yearly(2)))
    assert ledger.reserve(asks("0.1", step="b")).entry.time == "2027-01-01T00:00:00.000000Z"


def test_what_was_spent_by_a_time_is_what_was_entered_by_then(place: str) -> None:
    clock = Clock("2026-06-01")
    ledger = Ledger.open(place, clock)
    ledger.set_policy(policy(9, period=yearly(1)))
    ledger.reserve(asks("0.5"))
    clock.day = "2027-06-01"
    ledger.reserve(asks("0.75", step="b"))
    assert ledger.spent("people", at=datetime(2027, 1, 1, tzinfo=UTC)) == cost("0.5")
    assert ledger.spent("people") == cost("1.25")
    assert ledger.remaining("people").epsilon == Fraction(1, 4)
    assert ledger.remaining("people", at=datetime(2028, 1, 1, tzinfo=UTC)).epsilon == 1


def test_its_time_is_that_of_its_machine_in_utc(ledger: Ledger) -> None:
    entered = datetime.fromisoformat(ledger.entries()[-1].time)
    assert abs((datetime.now(UTC) - entered).total_seconds()) < 3600


def test_times_are_whole_minutes_because_entries_are_published(place: str) -> None:
    ledger = Ledger.open(place, lambda: "2026-11-20T07:45:59.987654Z")
    ledger.set_policy(policy(1))
    ledger.reserve(asks("0.5"))
    assert {entry.time for entry in ledger.entries()} == {"2026-11-20T07:45:00.000000Z"}
    by_its_machine = Ledger.open(place)
    assert by_its_machine.reserve(asks("0.25", step="b")).entry.time.endswith(":00.000000Z")


def test_a_ledger_of_version_1_is_refused_and_left_as_it_is(place: str, ledger: Ledger) -> None:
    old = {name: value for name, value in ledger.entries()[0].to_record().items() if name != "salt"}
    _unguarded(ledger, "DELETE FROM deniable_ledger")
    with ledger._database.engine.begin() as connection:
        connection.execute(
            text("INSERT INTO deniable_ledger VALUES (0, :digest, :digest, :entry)"),
            {"digest": old["digest"], "entry": canonical(old)},
        )
    with pytest.raises(LedgerUnavailable, match="must be of version 2 to be read, got 1"):
        Ledger.open(place)


def test_threads_may_share_a_ledger(ledger: Ledger) -> None:
    threads = [Thread(target=ledger.reserve, args=(asks("0.1", inputs=f"{number}"),)) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.spent("people") == cost(1)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE deniable_ledger SET entry = ''",
        "UPDATE deniable_ledger SET number = 7 WHERE number = 1",
        "DELETE FROM deniable_ledger WHERE number = 1",
        "INSERT INTO deniable_ledger (number, previous, digest, entry) VALUES (7, '', '', '')",
        "INSERT INTO deniable_ledger (number, previous, digest, entry) VALUES (2, 'of no entry', '', '')",
    ],
)
def test_the_database_refuses_to_change_entries_or_to_put_them_out_of_order(ledger: Ledger, statement: str) -> None:
    before = ledger.entries()
    with pytest.raises(DBAPIError, match="a ledger is append-only"), ledger._database.engine.begin() as connection:
        connection.execute(text(statement))
    assert ledger.entries() == before


def test_sqlite_refuses_to_replace_an_entry(file: Path) -> None:
    Ledger.open(file)
    with pytest.raises(sqlite3.IntegrityError, match="append-only"), sqlite3.connect(file) as connection:
        connection.execute("INSERT OR REPLACE INTO deniable_ledger VALUES (0, '', '', '')")


def test_postgresql_refuses_to_truncate() -> None:
    ledger = Ledger.open(fresh_database())
    with pytest.raises(DBAPIError, match="append-only"), ledger._database.engine.begin() as connection:
        connection.execute(text("TRUNCATE deniable_ledger"))


def _unguarded(ledger: Ledger, *statements: str) -> None:
    """What someone can do who owns the database."""
    engine = ledger._database.engine
    on = "" if engine.dialect.name == "sqlite" else " ON deniable_ledger"
    triggers = ["keeps_rows", "keeps_order"] + (["keeps_values"] if engine.dialect.name == "sqlite" else [])
    with engine.begin() as connection:
        for statement in (*(f"DROP TRIGGER deniable_ledger_{name}{on}" for name in triggers), *statements):
            connection.exec_driver_sql(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE deniable_ledger SET entry = replace(entry, '0.5', '0.1') WHERE number = 2",
        "UPDATE deniable_ledger SET entry = 'nothing' WHERE number = 3",
        "DELETE FROM deniable_ledger WHERE number = 2",
        "DELETE FROM deniable_ledger WHERE number = 0",
    ],
)
def test_nothing_is_spent_from_a_ledger_that_its_owner_altered(place: str, ledger: Ledger, statement: str) -> None:
    ledger.reserve(asks("0.5"))
    ledger.reserve(asks("0.25", step="b"))
    _unguarded(ledger, statement)
    with pytest.raises(LedgerBroken, match="spend nothing more, leave the ledger unchanged"):
        Ledger.open(place)


@pytest.mark.parametrize("statement", ["DELETE FROM deniable_ledger WHERE number > 1", "DELETE FROM deniable_ledger"])
def test_who_has_a_ledger_open_notices_when_its_end_is_cut_off(ledger: Ledger, statement: str) -> None:
    ledger.reserve(asks("0.5"))
    _unguarded(ledger, statement)
    for _ in range(2):
        with pytest.raises(LedgerBroken, match="entry 2: it is not what it was, or is gone"):
            ledger.reserve(asks("0.25", step="b"))


def test_a_database_that_lost_entries_while_it_was_away_is_noticed(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.reserve(asks("0.5"))
    with monkeypatch.context() as failing:
        failing.setattr("stores.ledger.ledger._WAITS_S", ())
        failing.setenv("DENIABLE_PATIENCE_S", "0")
        failing.setattr("stores.ledger.ledger.insert", lambda _: SimpleNamespace(values=lambda **_: text("no SQL")))
        with pytest.raises(LedgerUnavailable):
            ledger.reserve(asks("0.25", step="b"))
    _unguarded(ledger, "DELETE FROM deniable_ledger WHERE number > 1")
    with pytest.raises(LedgerBroken, match="entry 2: it is not what it was, or is gone"):
        ledger.reserve(asks("0.25", step="b"))


def test_a_ledger_that_is_emptied_has_no_policy_to_spend_by(place: str, ledger: Ledger) -> None:
    ledger.reserve(asks(1))
    _unguarded(ledger, "DELETE FROM deniable_ledger")
    with pytest.raises(NoPolicy):
        Ledger.open(place).reserve(asks("0.1"))


def test_the_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "state" / "ledger" / "ledger.db"
    Ledger.open(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    path.chmod(0o644)
    Ledger.open(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_is_exported_is_verified_offline(
    ledger: Ledger, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger.reserve(asks("0.5", dataset="people"))
    path = tmp_path / "exported.jsonl"
    head = ledger.export(path)
    assert main(["audit", "ledger", str(path), "--head", head.digest, "--count", "3"]) == HOLDS
    assert "people, lifetime: epsilon 0.5 of 1" in capsys.readouterr().out
    assert [json.loads(line)["number"] for line in path.read_text(encoding="utf-8").splitlines()] == [0, 1, 2]
    assert list(tmp_path.glob(".exported*")) == []


def test_an_export_that_cannot_be_written_says_so(ledger: Ledger, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="the export must go to a file that can be written"):
        ledger.export(tmp_path / "absent" / "exported.jsonl")


def test_the_schema_is_known_by_its_last_revision() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    script = ScriptDirectory.from_config(config)
    assert tuple(reversed([revision.revision for revision in script.walk_revisions()])) == REVISIONS
    assert script.get_current_head() == REVISIONS[-1]


def test_a_ledger_of_a_later_version_is_not_touched(ledger: Ledger, place: str) -> None:
    with ledger._database.engine.begin() as connection:
        connection.execute(text("UPDATE deniable_ledger_version SET version_num = '9999'"))
    with pytest.raises(LedgerUnavailable, match="schema of version 0001 or earlier, got 9999 at"):
        Ledger.open(place)


def test_it_shares_a_database_with_others_who_use_alembic() -> None:
    url = fresh_database()
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE alembic_version (version_num VARCHAR(32))")
        connection.execute("INSERT INTO alembic_version VALUES ('of MLflow')")
    Ledger.open(url)
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT * FROM alembic_version").fetchall() == [("of MLflow",)]


def test_a_migration_that_fails_leaves_nothing(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(connection: object) -> None:
        connection.execute(text("CREATE TABLE deniable_ledger (number INTEGER)"))
        raise OSError("the disk is full")

    with monkeypatch.context() as broken:
        broken.setattr(ledger_database, "_migrate", fail)
        broken.setenv(PATIENCE_VARIABLE, "1")
        with pytest.raises(LedgerUnavailable, match="the disk is full"):
            Ledger.open(place)
    assert len(Ledger.open(place).entries()) == 1


def test_who_may_only_read_and_append_can_reserve() -> None:
    url = fresh_database()
    Ledger.open(url).set_policy(policy(1))
    database = url.split("?")[0].rpartition("/")[2]
    server().execute(f"CREATE ROLE worker_{database} LOGIN PASSWORD '{PASSWORD}'")
    server().execute(f"GRANT SELECT, INSERT ON deniable_ledger TO worker_{database}", database)
    server().execute(f"GRANT SELECT ON deniable_ledger_version TO worker_{database}", database)
    worker = Ledger.open(url.replace("//tests:", f"//worker_{database}:"))
    assert worker.reserve(asks(1)).fresh
    with pytest.raises(DBAPIError, match="permission denied"), worker._database.engine.begin() as connection:
        connection.execute(text("DELETE FROM deniable_ledger"))


def test_who_may_not_even_that_is_told_so() -> None:
    url = fresh_database()
    Ledger.open(url)
    database = url.split("?")[0].rpartition("/")[2]
    server().execute(f"CREATE ROLE stranger_{database} LOGIN PASSWORD '{PASSWORD}'")
    with pytest.raises(LedgerUnavailable, match="must be allowed to read and to append"):
        Ledger.open(url.replace("//tests:", f"//stranger_{database}:"))


def test_wrong_credentials_are_said_in_one_sentence_without_the_password() -> None:
    with pytest.raises(LedgerUnavailable) as failure:
        Ledger.open(fresh_database().replace(PASSWORD, "wrong-password"))
    assert "must accept its user, got a refusal; correct the user and the password" in str(failure.value)
    assert "wrong-password" not in str(failure.value)
    assert failure.value.__suppress_context__


def test_a_database_that_is_gone_is_said_in_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DENIABLE_PATIENCE_S", "0")
    with pytest.raises(
        LedgerUnreachable, match=r"must be reachable and writable, got postgresql.*trying again is safe"
    ):
        Ledger.open(f"postgresql://someone:secret@/ledger?host={tmp_path}")
    with pytest.raises(LedgerUnreachable, match="does not exist"):
        Ledger.open(server().url("absent"))


def test_a_file_that_is_no_database_is_said_to_be_none(file: Path) -> None:
    file.write_bytes(b"something else entirely" * 100)
    with pytest.raises(LedgerUnavailable, match="must be an undamaged database"):
        Ledger.open(file)


def test_a_ledger_that_another_process_keeps_is_said_to_be_busy(
    place: str, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_database, "_PATIENCE_S", 1)
    impatient = Ledger.open(place)
    with ledger._database.writing(), pytest.raises(LedgerUnavailable, match="must be free within 1 seconds"):
        impatient.reserve(asks("0.1"))
    assert impatient.reserve(asks("0.1")).fresh


def test_a_place_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(LedgerUnavailable, match="must be reachable and writable"):
        Ledger.open(tmp_path / "file" / "ledger.db")


@pytest.mark.parametrize("url", ["mysql://user:secret@host/db", "://secret", "sqlite://", "postgresql:/secret://"])
def test_a_url_of_something_else_is_refused_without_being_quoted(url: str) -> None:
    with pytest.raises(InvalidInput, match="must be a path or a URL like postgresql://") as refusal:
        Ledger.open(url)
    assert "secret" not in str(refusal.value)


def test_a_sqlite_file_may_be_named_by_a_url(file: Path) -> None:
    Ledger.open(f"sqlite:///{file}").set_policy(policy(1))
    assert Ledger.open(file).datasets() == ["people"]


def test_the_variable_says_where_the_ledger_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(LEDGER_VARIABLE, raising=False)
    assert ledger_place(tmp_path) == tmp_path / "ledger" / "ledger.db"
    monkeypatch.setenv(LEDGER_VARIABLE, "postgresql://host/ledger")
    assert ledger_place(tmp_path) == "postgresql://host/ledger"


def test_a_new_ledger_has_a_name_without_a_path_or_a_password(place: str) -> None:
    opened = Ledger.open(place)
    name = opened.entries()[0].content["ledger"]
    assert PASSWORD not in name + opened.place
    assert "/" not in name
    assert LedgerDatabase.at(place).name == name
