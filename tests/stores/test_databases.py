"""A database is read in chunks, as the same table in a file is; its credentials are in no message or commitment."""

import json
import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import psycopg
import pytest
from sqlalchemy.exc import OperationalError

from deniable.foundation.errors import InvalidInput
from schemas.spec.release_spec import DatabaseSource, ReleaseSpec, load_spec
from stores.ledger.accounts import source_marks
from stores.tables.sources import databases
from stores.tables.sources.databases import _engine, place_of
from stores.tables.sources.reading import opened_source
from stores.tables.tables import VALID, encode, read_frames, write_snapshot
from tasks.data.ingest import describe_source
from tasks.data.validate import Findings, examine
from tests.postgres import PASSWORD, fresh_database
from tests.watched_folders import watching_folders

SCHEMA = """
from schemas.table import boolean, dates, nominal, numeric, table

schema = table(
    {
        "sex": nominal({1: "male", 2: "female"}),
        "hours": numeric(0.0, 80.0, step=0.1),
        "Home town": nominal(["Ash", "Zürich"]),
        "seen": dates("2020-01-01", "2020-12-31", by="month"),
        "member": boolean(),
    },
    missing_as="missing",
)
"""
COLUMNS = ("sex", "hours", "Home town", "seen", "member", "secret")
ROWS = [
    (1, 37.5, "Ash", "2020-01-01", True, "a"),
    (2, None, "Zürich", None, False, "b"),
    (None, 9.6, None, "2020-03-01", True, "c"),
    (1, 0.1, "Ash", "2020-12-31", None, "d"),
    (2, 80.0, "Ash", "2020-02-29", False, "e"),
]
TYPES = 'sex INTEGER, hours NUMERIC(5,1), "Home town" VARCHAR(20), seen DATE, member BOOLEAN, secret VARCHAR(9)'
ORDERED = 'SELECT sex, hours, "Home town", seen, member FROM people ORDER BY secret'


def sqlite_file(folder: Path) -> str:
    with closing(sqlite3.connect(folder / "people.db")) as connection:
        connection.execute(f"CREATE TABLE people ({TYPES})")
        connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?, ?)", ROWS)
        connection.commit()
    return "sqlite:///people.db"


def duckdb_file(folder: Path) -> str:
    with closing(duckdb.connect(str(folder / "people.duckdb"))) as connection:
        connection.execute(f"CREATE TABLE people ({TYPES})")
        connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?, ?)", ROWS)
    return "duckdb:///people.duckdb"


def postgresql(folder: Path) -> str:
    url = fresh_database()
    with psycopg.connect(url) as connection:
        connection.execute(f"CREATE TABLE people ({TYPES})".encode())
        connection.cursor().executemany("INSERT INTO people VALUES (%s, %s, %s, %s, %s, %s)", ROWS)
    return url


MADE = {"sqlite": sqlite_file, "duckdb": duckdb_file, "postgresql": postgresql}


def spec_of(folder: Path, **source: Any) -> ReleaseSpec:
    (folder / "people.py").write_text(SCHEMA)
    entries = {"name": "people", "dataset": "people.py", "source": {"kind": "database", **source}, "epsilon": 1}
    (folder / "people.yaml").write_text(json.dumps(entries))
    return load_spec(folder / "people.yaml")


def digest_of_codes(spec: ReleaseSpec) -> tuple[int, str]:
    """The number of valid rows, and a digest of their codes."""
    with opened_source(spec, spec.folder) as source:
        write_snapshot(spec.folder / "snapshot.parquet", source)
    frames = [examine(spec.schema, frame, Findings()) for frame in read_frames(spec.folder / "snapshot.parquet")]
    codes = np.concatenate([encode(frame[frame[VALID]], spec.domain) for frame in frames])
    return len(codes), sha256(codes.tobytes()).hexdigest()


@pytest.mark.parametrize("kind", MADE)
def test_a_database_has_the_codes_that_the_same_table_in_a_file_has(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [",".join("" if cell is None else str(cell) for cell in row) for row in ROWS]
    (tmp_path / "people.csv").write_text("\n".join([",".join(COLUMNS), *lines]) + "\n")
    (tmp_path / "people.py").write_text(SCHEMA)
    (tmp_path / "file.yaml").write_text("name: people\ndataset: people.py\nsource: people.csv\nepsilon: 1\n")
    expected = digest_of_codes(load_spec(tmp_path / "file.yaml"))
    assert expected[0] == len(ROWS)
    monkeypatch.setenv("PEOPLE_DATABASE", MADE[kind](tmp_path))
    assert digest_of_codes(spec_of(tmp_path, connection="PEOPLE_DATABASE", query=ORDERED)) == expected
    assert digest_of_codes(spec_of(tmp_path, connection="PEOPLE_DATABASE", table="people")) == expected


@pytest.mark.parametrize("kind", MADE)
@pytest.mark.parametrize("rows", [2, 5, 100])
def test_a_database_is_read_in_chunks(tmp_path: Path, kind: str, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PEOPLE_DATABASE", MADE[kind](tmp_path))
    spec = spec_of(tmp_path, connection="PEOPLE_DATABASE", query=ORDERED)
    with opened_source(spec, tmp_path, ["Home town", "sex"]) as source:
        source._rows = 2
        batches = list(source.batches())
    assert max(map(len, batches)) <= 2
    assert [tuple(row.values()) for batch in batches for row in batch.to_pylist()] == [
        (town, None if sex is None else str(sex)) for sex, _, town, *_ in ROWS
    ]


# More than SQLite's or, with its limit below, DuckDB's memory, in an order that they must make.
MUCH = {
    "sqlite": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) "
    "SELECT printf('%0500d', i * 7919 % 20011) AS town FROM n ORDER BY town",
    "duckdb": "SELECT hash(range)::VARCHAR AS town FROM range(1000000) ORDER BY town",
}


def temporary_files_of_sqlite() -> list[str]:
    """What SQLite has open in this process and has removed already, so that no folder shows it."""
    opened = [str(entry.readlink()) for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink()]
    return sorted(place for place in opened if "etilqs_" in place)


@pytest.mark.parametrize("kind", MUCH)
def test_what_a_database_sorts_on_a_disk_lies_in_the_state_folder_alone(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, data = tmp_path / "state", tmp_path / "data"
    for folder in (state, data):
        folder.mkdir()
    monkeypatch.setenv("PEOPLE_DATABASE", MADE[kind](data))
    connected = databases.connected_to_duckdb

    @contextmanager
    def with_little_memory(*place: Any) -> Iterator[Any]:
        with connected(*place) as connection:
            connection.execute("SET memory_limit = '40MB'; SET threads = 1")
            yield connection

    monkeypatch.setattr(databases, "connected_to_duckdb", with_little_memory)
    spec = spec_of(data, connection="PEOPLE_DATABASE", query=MUCH[kind])
    before = temporary_files_of_sqlite()
    with watching_folders(data) as watched, opened_source(spec, state, ["town"]) as source:
        source._rows = 5000
        batches = source.batches()
        first = next(batches)["town"].to_pylist()
        assert first == sorted(first)
        spilled = [path for path in (state / "scratch").glob("*/*") if path.name.startswith("duckdb_temp")]
        assert bool(spilled) == (kind == "duckdb")
        assert all(path.parent.stat().st_mode & 0o077 == 0 for path in spilled)
        assert temporary_files_of_sqlite() == before
        assert watched.made() == set()
        list(batches)
    assert not list((state / "scratch").glob("*"))


@pytest.mark.parametrize("kind", ["duckdb", "postgresql"])
def test_a_connection_only_reads(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    url = MADE[kind](tmp_path)
    monkeypatch.setenv("PEOPLE_DATABASE", url)
    if kind == "duckdb":
        with closing(duckdb.connect(str(tmp_path / "people.duckdb"))) as connection:
            connection.execute("CREATE SEQUENCE visits")
    else:
        with psycopg.connect(url) as connection:
            connection.execute("CREATE SEQUENCE visits")
    spec = spec_of(tmp_path, connection="PEOPLE_DATABASE", query="SELECT nextval('visits') AS sex")
    with (
        pytest.raises(InvalidInput, match="must answer for the source query, and did not"),
        opened_source(spec, tmp_path, ["sex"]) as source,
    ):
        list(source.batches())


def test_a_file_of_sqlite_is_opened_to_read_alone(tmp_path: Path) -> None:
    source = DatabaseSource(kind="database", url=sqlite_file(tmp_path), table="people")
    with (
        _engine(place_of(source, tmp_path)).connect() as connection,
        pytest.raises(OperationalError, match="readonly database"),
    ):
        connection.exec_driver_sql("DELETE FROM people")


@pytest.mark.parametrize("kind", MADE)
def test_what_a_database_lacks_is_said_without_its_message(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PEOPLE_DATABASE", MADE[kind](tmp_path))
    for source in ({"table": "persons"}, {"query": "SELECT sex FROM persons"}, {"query": "SELECT secret / 0 FROM"}):
        with pytest.raises(InvalidInput, match=r"must (answer for the source|have the table persons)") as caught:
            digest_of_codes(spec_of(tmp_path, connection="PEOPLE_DATABASE", **source))
        assert PASSWORD not in str(caught.value)
        assert (caught.value.__cause__, "\n" in str(caught.value)) == (None, False)
    with pytest.raises(
        InvalidInput, match="the source query must have the columns that the schema reads, and lacks hou"
    ):
        digest_of_codes(spec_of(tmp_path, connection="PEOPLE_DATABASE", query="SELECT sex FROM people"))


def test_credentials_are_in_no_message_log_or_commitment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    url = postgresql(tmp_path)
    spec = spec_of(tmp_path, connection="PEOPLE_DATABASE", table="people")
    monkeypatch.setenv("PEOPLE_DATABASE", url)
    with caplog.at_level(logging.DEBUG):
        assert digest_of_codes(spec)[0] == len(ROWS)
    marks = source_marks(tmp_path / "state", spec)
    assert describe_source(spec.source) == {"source": "database"}
    assert isinstance(spec.source, DatabaseSource)
    place = place_of(spec.source, tmp_path)
    # The same database under another password is the same source.
    monkeypatch.setenv("PEOPLE_DATABASE", url.replace(PASSWORD, "another"))
    assert source_marks(tmp_path / "state", spec) == marks
    with pytest.raises(InvalidInput, match="the source's database must answer for the source table people") as caught:
        digest_of_codes(spec)
    said = [str(caught.value), caplog.text, repr(place), json.dumps(place.document()), spec.model_dump_json()]
    said += [path.read_bytes().decode("latin-1") for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(PASSWORD in text for text in said)


def test_two_tables_of_one_file_are_two_sources(tmp_path: Path) -> None:
    url = sqlite_file(tmp_path)
    tables = [spec_of(tmp_path, url=url, table=table) for table in ("people", "staff", "people")]
    first, second, again = (set(source_marks(tmp_path / "state", spec)) for spec in tables)
    assert first == again
    assert not first & second


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ({"url": "postgresql://ann:secret@db/people", "table": "people"}, "must have no password, got one; put the"),
        ({"url": "postgresql://db/people?password=secret", "table": "people"}, "must have no password"),
        ({"url": "sqlite:///p.db"}, "must have either table or query"),
        ({"url": "sqlite:///p.db", "table": "a", "query": "SELECT 1"}, "must have either table or query"),
        ({"table": "people"}, "must have either url or connection"),
        ({"url": "sqlite:///p.db", "query": "DROP TABLE people"}, "source.query: must be one SELECT"),
    ],
)  # fmt: skip
def test_a_source_that_is_wrong_is_refused_before_anything_is_opened(
    tmp_path: Path, source: dict[str, str], said: str
) -> None:
    with pytest.raises(InvalidInput, match=said) as caught:
        spec_of(tmp_path, **source)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("", "the environment variable PEOPLE_DATABASE must hold the URL of the source's database, and does not"),
        ("people.db", "must be a URL such as postgresql://HOST/DATABASE, and is not"),
        ("sqlite://", "must be a file of sqlite, such as sqlite:///people.db, and names none"),
        ("sqlite:///absent.db", "absent.db does not exist; correct its path"),
        ("duckdb:///absent.duckdb", "absent.duckdb does not exist; correct its path"),
        ("mysql://ann:secret@db.example/people", "a database of mysql must be on this machine, because only"),
        ("postgresql://ann:secret@db.example/people?sslmode=prefer", "must be reached with sslmode=require"),
        ("oracle://ann:secret@localhost/people", "the database oracle must have its driver for SQLAlchemy"),
    ],
)
def test_a_connection_that_cannot_be_used_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, said: str
) -> None:
    monkeypatch.setenv("PEOPLE_DATABASE", url)
    with pytest.raises(InvalidInput, match=said) as caught:
        digest_of_codes(spec_of(tmp_path, connection="PEOPLE_DATABASE", table="people"))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "variables", "is_encrypted"),
    [
        ("postgresql://db.example/people", {}, True),
        ("postgresql://localhost,db.example/people", {}, True),
        ("postgresql://localhost/people?hostaddr=192.0.2.1", {}, True),
        ("postgresql:///people", {"PGHOST": "db.example"}, True),
        ("postgresql://localhost/people", {"PGHOSTADDR": "192.0.2.1"}, True),
        ("postgresql:///people?service=agency", {}, True),
        ("postgresql://localhost/people", {"PGHOST": "db.example"}, False),
        ("postgresql:///people?host=/run/postgresql", {}, False),
        ("postgresql://127.0.0.1:5432/people", {}, False),
    ],
)
def test_postgresql_on_another_machine_is_reached_with_encryption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, variables: dict[str, str], *, is_encrypted: bool
) -> None:
    for name in ("PGHOST", "PGHOSTADDR", "PGSERVICE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    found = place_of(DatabaseSource(kind="database", url=url, table="people"), tmp_path).url.query.get("sslmode")
    assert found == ("require" if is_encrypted else None)


def test_a_file_that_is_no_database_is_refused_without_quoting_it(tmp_path: Path) -> None:
    for kind in ("sqlite", "duckdb"):
        (tmp_path / "people.db").write_bytes(b"Ann Smith, 12\n" * 2000)
        with pytest.raises(
            InvalidInput, match=r"people\.db must answer for the source table people, and did"
        ) as caught:
            digest_of_codes(spec_of(tmp_path, url=f"{kind}:///people.db", table="people"))
        assert "Ann" not in str(caught.value)


def test_columns_of_bytes_are_refused(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "people.db")) as connection:
        connection.execute("CREATE TABLE people (sex BLOB)")
        connection.execute("INSERT INTO people VALUES (x'00ff')")
        connection.commit()
    spec = spec_of(tmp_path, url="sqlite:///people.db", table="people")
    with (
        pytest.raises(InvalidInput, match="must hold numbers or text, and one has bytes"),
        opened_source(spec, tmp_path, ["sex"]) as source,
    ):
        list(source.batches())
