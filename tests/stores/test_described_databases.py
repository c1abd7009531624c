"""What a database says about the columns of a table becomes a schema; what only its records say does not."""

import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import psycopg
import pytest

from deniable.foundation.errors import InvalidInput
from flows.cli.table.drafting import described_in_database
from schemas.codebooks.codebook import Entry, Variable
from schemas.codebooks.drafting import draft_of, schema_text, spec_text
from schemas.spec.release_spec import DatabaseSource, load_spec
from stores.tables.described_databases import description_of
from stores.tables.sources.databases import place_of
from stores.tables.sources.reading import opened_source
from tests.postgres import fresh_database

TABLE = """
CREATE TABLE people (
    id INTEGER PRIMARY KEY,
    sex VARCHAR(6) CHECK (sex IN ('f', 'm', 'o''n (')),
    age SMALLINT CHECK (age BETWEEN 0 AND 120),
    pay NUMERIC(8, 2) CHECK (pay >= -10 AND pay <= 500.5),
    debt NUMERIC(8, 2) CHECK (pay <= 100 OR debt >= 0),
    hours REAL,
    member BOOLEAN,
    seen DATE CHECK (seen BETWEEN '2020-01-01' AND '2020-12-31'),
    begun TIME,
    grade INTEGER CHECK (grade IN (1, 2, 3)),
    "Home town" TEXT CHECK ("Home town" >= 'A' AND "Home town" <= 'Z')
)
"""
RECORD = "INSERT INTO people VALUES (1, 'f', 30, 4.5, 0, 7.5, true, '2020-02-01', '14:30:00', 2, 'Quuxville')"
COMMENT = "COMMENT ON COLUMN people.age IS 'age in  years'"


def sqlite_file(folder: Path) -> str:
    with closing(sqlite3.connect(folder / "people.db")) as connection:
        connection.execute(TABLE)
        connection.execute(RECORD)
        connection.commit()
    return f"sqlite:///{folder}/people.db"


def duckdb_file(folder: Path) -> str:
    with closing(duckdb.connect(str(folder / "people.duckdb"))) as connection:
        for statement in (TABLE, RECORD, COMMENT):
            connection.execute(statement)
    return f"duckdb:///{folder}/people.duckdb"


def postgresql(_: Path) -> str:
    url = fresh_database()
    with psycopg.connect(url) as connection:
        for statement in (TABLE, RECORD, COMMENT):
            connection.execute(statement.encode())
    return url


MADE = {"sqlite": sqlite_file, "duckdb": duckdb_file, "postgresql": postgresql}


def described(url: str, monkeypatch: pytest.MonkeyPatch, table: str = "people") -> dict[str, Variable]:
    monkeypatch.setenv("PEOPLE_DATABASE", url)
    source = DatabaseSource(kind="database", connection="PEOPLE_DATABASE", table=table)
    return description_of(place_of(source, Path())).variables


@pytest.mark.parametrize("kind", MADE)
def test_types_comments_and_constraints_describe_columns(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = described(MADE[kind](tmp_path), monkeypatch)
    assert {name: variable.kind for name, variable in found.items()} == {
        "id": "identifier", "sex": "nominal", "age": "numeric", "pay": "numeric", "debt": "numeric", "hours": "numeric",
        "member": "boolean", "seen": "date", "begun": "time", "grade": "nominal", "Home town": None,
    }  # fmt: skip
    entries = {name: [(each.value, each.high) for each in own.entries] for name, own in found.items() if own.entries}
    assert entries == {
        "sex": [("f", None), ("m", None), ("o'n (", None)],
        "age": [("0", "120")],
        "pay": [("-10", "500.5")],
        "seen": [("2020-01-01", "2020-12-31")],
        "grade": [("1", None), ("2", None), ("3", None)],
    }
    assert (str(found["pay"].step), found["pay"].whole, found["age"].whole, found["hours"].whole) == (
        "0.01", False, True, False,
    )  # fmt: skip
    assert found["age"].label == ("" if kind == "sqlite" else "age in years")


def test_the_values_of_an_enumeration_are_those_of_the_column(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = fresh_database()
    with psycopg.connect(url) as connection:
        connection.execute("CREATE SCHEMA survey")
        connection.execute("CREATE TYPE survey.town AS ENUM ('Ash', 'O''Neil')")
        connection.execute("CREATE TABLE survey.people (town survey.town, n bigint)")
    with closing(duckdb.connect(str(tmp_path / "p.duckdb"))) as connected:
        connected.execute("CREATE SCHEMA survey; CREATE TYPE town AS ENUM ('Ash', 'O''Neil')")
        connected.execute("CREATE TABLE survey.people (town town, n bigint)")
    for place in (url, f"duckdb:///{tmp_path}/p.duckdb"):
        town = described(place, monkeypatch, "survey.people")["town"]
        assert (town.kind, town.entries) == ("nominal", (Entry(value="Ash"), Entry(value="O'Neil")))


@pytest.mark.parametrize("kind", MADE)
def test_a_table_that_is_not_there_is_refused(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput, match="must have the table visits, and this user sees none"):
        described(MADE[kind](tmp_path), monkeypatch, "visits")


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_draft_reads_the_table_that_it_was_drafted_from(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    MADE[kind](tmp_path)
    monkeypatch.chdir(tmp_path)
    stated = "sqlite:///people.db" if kind == "sqlite" else "duckdb:///people.duckdb"
    (tmp_path / "mine").mkdir()
    book, entries = described_in_database(stated, "people", Path("mine"))
    draft = draft_of(book, "the table people")
    text = schema_text(draft, sources=["the table people"], missing_as="missing")
    assert "Quuxville" not in text
    (tmp_path / "mine" / "people.py").write_text(text)
    spec = spec_text("people", schema="people.py", source="", epsilon="1", database=entries)
    (tmp_path / "mine" / "people.yaml").write_text(spec)
    loaded = load_spec(tmp_path / "mine" / "people.yaml")
    with opened_source(loaded, tmp_path / "state") as source:
        assert [row["age"] for batch in source.batches() for row in batch.to_pylist()] in ([30], ["30"])
    with pytest.raises(InvalidInput, match="must have no password, got one"):
        described_in_database("postgresql://ann:secret@localhost/people", "people", Path())
