"""The key with which Prefect's server on the state folder encrypts its secret blocks: a file next to the signing key.

Prefect itself would keep it in the same database as the blocks, so anyone with a copy of the database would have the
release keys. A key that Prefect has kept there is moved to the file, because blocks are encrypted with it.
"""

import base64
import json
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from cryptography.fernet import Fernet

from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import new_secret
from stores.keys.secret_file import make_once
from stores.keys.trust_file import make_keys_folder
from stores.own_files import read_own, require_own

_OTHERS = 0o077
_PATIENCE_S = 30.0
_KEPT = "FROM configuration WHERE key = 'ENCRYPTION_KEY'"


def encryption_key(state: Path) -> str:
    """The key in Prefect's format; it is created at the first use.

    Raises:
        InvalidInput: it cannot be read or created, or other accounts may read it.
    """
    place, database = state / "keys" / "prefect-blocks.key", state / "prefect" / "prefect.db"
    make_keys_folder(place.parent)
    kept = _kept_by_prefect(database)
    if not place.exists():
        try:
            make_once(place, kept or base64.urlsafe_b64encode(new_secret()))
        except OSError as error:
            raise InvalidInput(
                f"the key of Prefect's secret blocks must be in a folder that can be written to, got {place.parent}: "
                f"{error.strerror}."
            ) from None
    key = _read(place)
    if kept == key:
        with _opened(database) as connection:
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute(f"DELETE {_KEPT}")
    return key.decode("ascii")


def _read(place: Path) -> bytes:
    try:
        mode, held = stat.S_IMODE(place.stat().st_mode), read_own(place)
    except OSError as error:
        raise InvalidInput(
            f"the key of Prefect's secret blocks must be readable, got {place}: {error.strerror}."
        ) from None
    if mode & _OTHERS:
        raise InvalidInput(
            f"the key of Prefect's secret blocks must be readable by its owner alone, got mode {mode:04o} of {place}; "
            "run chmod 600 on it."
        )
    try:
        Fernet(held)
    except ValueError:
        raise InvalidInput(
            f"the key of Prefect's secret blocks must be as it was made, got {place}, which holds something else; "
            "restore it from a backup."
        ) from None
    return held


def _kept_by_prefect(database: Path) -> bytes | None:
    """The key in Prefect's database, if there is one."""
    if not database.exists():
        return None
    with _opened(database) as connection:
        made = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'configuration'").fetchone()
        found = connection.execute(f"SELECT value {_KEPT}").fetchone() if made else None
    return json.loads(found[0])["fernet_key"].encode() if found else None


@contextmanager
def _opened(database: Path) -> Iterator[sqlite3.Connection]:
    """Prefect's database, in one transaction.

    Raises:
        InvalidInput: it cannot be read or written.
    """
    require_own(database, sets_mode=True)
    try:
        with closing(sqlite3.connect(database, timeout=_PATIENCE_S)) as connection, connection:
            yield connection
    except sqlite3.Error as error:
        raise InvalidInput(f"Prefect's database must be readable and writable, got {database}: {error}.") from None
