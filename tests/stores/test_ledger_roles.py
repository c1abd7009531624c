"""The user of a ledger in PostgreSQL can read and append, but can neither alter nor delete entries."""

from dataclasses import dataclass

import psycopg
import pytest

from deniable.foundation.errors import InvalidInput, Refused
from deniable.ledger.entries import ALL_ROWS
from stores.ledger.database import LedgerUnavailable
from stores.ledger.ledger import LEDGER_VARIABLE, Ledger
from stores.ledger.roles import OWNER_VARIABLE, prepare_ledger
from tests.charging import charge, policy
from tests.commands import carry_out
from tests.isolation import own_state
from tests.postgres import PASSWORD, fresh_database, server

FORBIDDEN = {
    "an entry is changed": "UPDATE deniable_ledger SET entry = '{}'",
    "an entry is removed": "DELETE FROM deniable_ledger",
    "all entries are removed": "TRUNCATE deniable_ledger",
    "a trigger is dropped": "DROP TRIGGER deniable_ledger_keeps_rows ON deniable_ledger",
    "a trigger is switched off": "ALTER TABLE deniable_ledger DISABLE TRIGGER ALL",
    "triggers are switched off for a session": "SET session_replication_role = replica",
    "a trigger does something else": (
        "CREATE OR REPLACE FUNCTION deniable_ledger_keep_rows() RETURNS trigger LANGUAGE plpgsql AS "
        "'BEGIN RETURN NEW; END'"
    ),
    "a trigger is added": (
        "CREATE TRIGGER quiet BEFORE INSERT ON deniable_ledger EXECUTE FUNCTION deniable_ledger_keep_rows()"
    ),
    "a column is changed": "ALTER TABLE deniable_ledger ALTER COLUMN entry TYPE varchar",
    "the table is dropped": "DROP TABLE deniable_ledger",
    "the table is taken over": "ALTER TABLE deniable_ledger OWNER TO CURRENT_USER",
    "another table stands before it": "CREATE TEMPORARY TABLE deniable_ledger (number bigint, digest text)",
    "another table is made": "CREATE TABLE other (number bigint)",
    "another schema is made": "CREATE SCHEMA other",
    "the version is changed": "UPDATE deniable_ledger_version SET version_num = '9999'",
    "the owner is played": "SET ROLE {owner}",
}


@dataclass(frozen=True)
class Roles:
    database: str
    url: str

    @property
    def owner(self) -> str:
        return f"owner_{self.database}"

    @property
    def user(self) -> str:
        return f"user_{self.database}"

    def of(self, role: str) -> str:
        return self.url.replace("//tests:", f"//{role}:")

    def tried(self, statement: str) -> None:
        """Do something as the user."""
        with psycopg.connect(self.of(self.user), autocommit=True) as connection:
            connection.execute(statement.replace("{owner}", self.owner).encode())


def fresh_roles() -> Roles:
    """A database, its owner, and somebody who is not."""
    url = fresh_database()
    made = Roles(url.split("?")[0].rpartition("/")[2], url)
    for role in (made.owner, made.user):
        server().execute(f"CREATE ROLE {role} LOGIN PASSWORD '{PASSWORD}'")
    server().execute(f"ALTER DATABASE {made.database} OWNER TO {made.owner}")
    return made


@pytest.fixture
def roles() -> Roles:
    return fresh_roles()


@pytest.fixture(scope="module")
def prepared() -> Roles:
    made = fresh_roles()
    prepare_ledger(made.of(made.owner), made.user)
    Ledger.open(made.of(made.user)).set_policy(policy(100))
    return made


@pytest.mark.parametrize("what", FORBIDDEN)
def test_its_user_is_refused_where(prepared: Roles, what: str) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match=r"permission denied|must be owner"):
        prepared.tried(FORBIDDEN[what])


def test_a_right_that_is_not_had_cannot_be_given(prepared: Roles) -> None:
    """PostgreSQL answers with a warning alone; what counts is that nothing comes of it."""
    prepared.tried(f"GRANT ALL ON DATABASE {prepared.database} TO PUBLIC")
    prepared.tried("GRANT ALL ON deniable_ledger TO CURRENT_USER")
    for what in ("an entry is changed", "another table stands before it"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            prepared.tried(FORBIDDEN[what])


def test_its_user_charges_and_publishes_as_before(prepared: Roles) -> None:
    ledger = Ledger.open(prepared.of(prepared.user))
    reserved = ledger.reserve(charge(1, part=ALL_ROWS))
    assert reserved.fresh
    assert not Ledger.open(prepared.of(prepared.user)).reserve(charge(1, part=ALL_ROWS)).fresh


def test_what_its_user_owned_is_refused_until_it_was_taken_over(roles: Roles) -> None:
    server().execute(f"ALTER DATABASE {roles.database} OWNER TO {roles.user}")
    Ledger.open(roles.of(roles.user)).set_policy(policy(1))
    with pytest.raises(Refused, match=f"must not be its owner, got {roles.user}"):
        prepare_ledger(roles.url, roles.user)
    server().execute(f"REASSIGN OWNED BY {roles.user} TO {roles.owner}", roles.database)
    prepare_ledger(roles.of(roles.owner), roles.user)
    assert Ledger.open(roles.of(roles.user)).datasets() == ["people"]
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        roles.tried(FORBIDDEN["a trigger is switched off"])


def test_who_may_play_the_owner_or_is_above_all_rights_is_no_user(roles: Roles) -> None:
    server().execute(f"GRANT {roles.owner} TO {roles.user}")
    with pytest.raises(Refused, match="must not be its owner"):
        prepare_ledger(roles.of(roles.owner), roles.user)
    with pytest.raises(Refused, match="must not be its owner"):
        prepare_ledger(roles.of(roles.owner), "tests")
    with pytest.raises(Refused, match="must be a role of its database, got nobody"):
        prepare_ledger(roles.of(roles.owner), "nobody")


def test_a_user_alone_cannot_make_a_ledger_and_is_told_who_can(roles: Roles) -> None:
    with pytest.raises(LedgerUnavailable, match="deniable budget prepare"):
        Ledger.open(roles.of(roles.user))


def prepare() -> int:
    return carry_out("budget prepare", [], own_state())


def test_the_command_prepares_the_ledger_that_is_named_by_its_owner_and_its_user(
    roles: Roles, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(LEDGER_VARIABLE, roles.of(roles.user))
    monkeypatch.delenv(OWNER_VARIABLE, raising=False)
    with pytest.raises(InvalidInput, match=f"{OWNER_VARIABLE} must be a URL"):
        prepare()
    monkeypatch.setenv(OWNER_VARIABLE, roles.of(roles.owner))
    assert prepare() == 0
    said = capsys.readouterr().out
    assert f"{roles.user} may read and append, and nothing else" in said
    assert PASSWORD not in said
    assert Ledger.open(roles.of(roles.user)).datasets() == []
    monkeypatch.setenv(OWNER_VARIABLE, fresh_database())
    with pytest.raises(InvalidInput, match="must name the same database"):
        prepare()
