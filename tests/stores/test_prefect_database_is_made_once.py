"""A database that this version of Prefect has made is not migrated again; any other is."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.isolation import own_state  # noqa: F401 - before Prefect is imported

import prefect  # isort: skip
from prefect import settings  # isort: skip

from infra.servers import prefect_database
from infra.servers.prefect_database import beginning_quickly, make_prefect_database


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of Prefect's, whose migrations leave a database of one revision, and are counted in a file."""

    async def migrated() -> None:
        with (tmp_path / "migrated").open("a") as file:
            file.write("x")
        revise(tmp_path, "one")

    monkeypatch.setattr(prefect_database, "_migrated", migrated)
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path))
    address = f"sqlite+aiosqlite:///{tmp_path / 'prefect.db'}"
    with settings.temporary_settings({settings.PREFECT_API_DATABASE_CONNECTION_URL: address}):
        yield tmp_path


def revise(home: Path, revision: str) -> None:
    with closing(sqlite3.connect(home / "prefect.db")) as database, database:
        database.execute("CREATE TABLE IF NOT EXISTS alembic_version (version_num TEXT)")
        database.execute("DELETE FROM alembic_version")
        database.execute("INSERT INTO alembic_version VALUES (?)", (revision,))


def migrations(home: Path) -> int:
    return len((home / "migrated").read_text())


def test_it_is_migrated_once_and_its_blocks_are_registered_until_prefect_notes_it(home: Path) -> None:
    assert not make_prefect_database()
    assert not make_prefect_database(), "no server has registered kinds of blocks yet"
    (home / "memo_store.toml").touch()
    assert make_prefect_database()
    assert migrations(home) == 1


def test_another_version_or_revision_is_migrated(home: Path) -> None:
    make_prefect_database()
    note = home / "made.json"
    assert json.loads(note.read_text()) == {"prefect": prefect.__version__, "revision": "one"}
    for wrong in ('{"prefect": "2.0", "revision": "one"}', "", "[]"):
        note.write_text(wrong)
        (home / "memo_store.toml").touch()
        assert not make_prefect_database()
        assert not (home / "memo_store.toml").exists(), "kinds of blocks are registered anew"
    assert migrations(home) == 4
    revise(home, "of a restored copy")
    make_prefect_database()
    assert migrations(home) == 5


def test_a_database_that_is_gone_is_made_again(home: Path) -> None:
    make_prefect_database()
    (home / "memo_store.toml").touch()
    (home / "prefect.db").unlink()
    assert not make_prefect_database()
    assert migrations(home) == 2
    (home / "prefect.db").write_bytes(b"no database at all, but a file that is long enough")
    (home / "migrated").write_text("")
    with pytest.raises(sqlite3.DatabaseError):
        make_prefect_database()
    assert not (home / "made.json").exists()


def test_nothing_is_noted_of_a_database_elsewhere(home: Path) -> None:
    address = f"sqlite+aiosqlite:///{home / 'other.db'}"
    with settings.temporary_settings({settings.PREFECT_API_DATABASE_CONNECTION_URL: address}):
        for _ in range(2):
            assert not make_prefect_database()
    assert migrations(home) == 2


@pytest.mark.parametrize("registered", [True, False])
def test_a_server_leaves_out_only_what_was_done(registered: bool) -> None:  # noqa: FBT001 - as pytest passes it
    with beginning_quickly(registered=registered):
        assert not settings.PREFECT_API_DATABASE_MIGRATE_ON_START.value()
        assert settings.PREFECT_API_BLOCKS_REGISTER_ON_START.value() == (not registered)
    assert settings.PREFECT_API_DATABASE_MIGRATE_ON_START.value()
