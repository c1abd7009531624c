"""The key with which Prefect encrypts secret blocks is in a file of its owner, and in no database."""

import json
import sqlite3
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from deniable.foundation.errors import InvalidInput
from stores.keys.prefect_encryption import encryption_key

EARLIER = Fernet.generate_key().decode()


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A database in which Prefect keeps the key itself, as it does where it is given none."""
    place = tmp_path / "prefect" / "prefect.db"
    place.parent.mkdir()
    with sqlite3.connect(place) as connection:
        connection.execute("CREATE TABLE configuration (key VARCHAR, value JSON)")
        keep(connection, "ENCRYPTION_KEY", {"fernet_key": EARLIER})
        keep(connection, "another", {"fernet_key": "?"})
    connection.close()
    return place


def keep(connection: sqlite3.Connection, key: str, value: object) -> None:
    connection.execute("INSERT INTO configuration VALUES (?, ?)", [key, json.dumps(value)])


def test_the_key_is_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    key = encryption_key(tmp_path)
    assert Fernet(key).decrypt(Fernet(key).encrypt(b"x")) == b"x"
    assert encryption_key(tmp_path) == key
    [place] = (tmp_path / "keys").iterdir()
    assert place.stat().st_mode & 0o777 == 0o600
    assert encryption_key(tmp_path / "another") != key


def test_a_key_that_prefect_kept_in_its_database_is_taken_over_and_out(tmp_path: Path, database: Path) -> None:
    assert encryption_key(tmp_path) == EARLIER
    assert EARLIER.encode() not in database.read_bytes()
    with sqlite3.connect(database) as connection:
        assert connection.execute("SELECT key FROM configuration").fetchall() == [("another",)]
    connection.close()
    assert encryption_key(tmp_path) == EARLIER


def test_another_key_in_the_database_stays_for_blocks_may_be_encrypted_with_it(tmp_path: Path, database: Path) -> None:
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "prefect-blocks.key").write_bytes(Fernet.generate_key())
    (tmp_path / "keys" / "prefect-blocks.key").chmod(0o600)
    assert encryption_key(tmp_path) != EARLIER
    assert EARLIER.encode() in database.read_bytes()


def test_a_database_that_cannot_be_read_is_not_taken_for_one_without_a_key(tmp_path: Path, database: Path) -> None:
    database.write_bytes(b"no database, whatever its name says" * 100)
    with pytest.raises(InvalidInput, match="must be readable and writable"):
        encryption_key(tmp_path)
    assert not list((tmp_path / "keys").iterdir())


@pytest.mark.parametrize(
    ("held", "mode", "said"),
    [
        (EARLIER.encode(), 0o640, "by its owner alone, got mode 0640"),
        (b"too short", 0o600, "must be as it was made"),
    ],
    ids=["of others", "none"],
)
def test_a_key_that_others_may_read_or_that_is_none_is_refused(
    tmp_path: Path, held: bytes, mode: int, said: str
) -> None:
    place = tmp_path / "keys" / "prefect-blocks.key"
    encryption_key(tmp_path)
    place.write_bytes(held)
    place.chmod(mode)
    with pytest.raises(InvalidInput, match=said) as refused:
        encryption_key(tmp_path)
    assert held.decode() not in str(refused.value)
