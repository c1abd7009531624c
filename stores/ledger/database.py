"""The database of a ledger: SQLite in the state folder, or PostgreSQL for an agency; locks, schema, clear failures.

The content of entries and the rules for them do not belong here.
"""

import json
import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import (
    URL,
    BigInteger,
    Column,
    Connection,
    Engine,
    MetaData,
    String,
    Table,
    Text,
    create_engine,
    insert,
    inspect,
    select,
    text,
)
from sqlalchemy import event as on
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from deniable.command_names import command_line
from deniable.foundation.errors import DeniableError, InvalidInput
from stores.ledger.migrations import REVISIONS, TABLE, VERSION_TABLE
from stores.own_files import own_descriptor
from stores.servers.patience import ServerDown

ENTRIES = Table(
    TABLE,
    MetaData(),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("previous", String(64), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("entry", Text, nullable=False),
)

_PRIVATE_FOLDER = 0o700
_PRIVATE_FILE = 0o600
_OTHERS = 0o077
_PATIENCE_S = 60
_CONNECT_S = 10
# "deniable" in ASCII: a process that writes to the ledger holds this database lock, which needs no privilege.
_LOCK = 0x64656E6961626C65
_EXCLUSIVE = "deniable_exclusive"
_CREDENTIALS = {"28000", "28P01"}
_BUSY = {"55P03"}
_FORBIDDEN = {"42501"}


class LedgerUnavailable(DeniableError):
    """The ledger cannot be read or written, so nothing may be drawn."""


class LedgerUnreachable(LedgerUnavailable):
    """The ledger cannot be reached at the moment; a later attempt may succeed."""


class LedgerServerDown(LedgerUnreachable, ServerDown):
    """The server of the ledger's database cannot be reached at the moment; it may be restarting."""


@dataclass(frozen=True)
class LedgerDatabase:
    """The database of a ledger's entries.

    Attributes:
        engine: SQLAlchemy's engine; each transaction has its own connection, so none becomes stale or is shared.
        place: path or URL, without a password, for messages.
    """

    engine: Engine
    place: str

    @classmethod
    def at(cls, place: str | Path) -> "LedgerDatabase":
        """Use the path of a SQLite file, which is created if necessary, or a URL.

        Raises:
            InvalidInput: the URL does not name a supported database.
            LedgerUnavailable: the file cannot be created.
        """
        url = _url(place)
        shown = url.database or "" if url.drivername == "sqlite" else url.render_as_string(hide_password=True)
        with _clear_failures(shown):
            if url.drivername == "sqlite":
                _make_private_file(Path(url.database or ""))
                return cls(_sqlite(url), shown)
            return cls(_postgresql(url), shown)

    @classmethod
    def only_read(cls, place: str | Path) -> "LedgerDatabase":
        """Use an existing ledger without a change to its file or its folder, which may be on a read-only disk.

        Raises:
            InvalidInput: the URL does not name a supported database.
        """
        url = _url(place)
        if url.drivername != "sqlite":
            return cls.at(place)
        path = url.database or ""
        address = URL.create("sqlite", database=f"file:{quote(path)}", query={"mode": "ro", "uri": "true"})
        return cls(_sqlite(address), path)

    @property
    def name(self) -> str:
        """A name for a new ledger, from the database and its machine."""
        url = self.engine.url
        host = url.host or socket.gethostname()
        return f"{Path(url.database or '').name or 'ledger'} at {host}"

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection for reading."""
        with _clear_failures(self.place), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Yield a connection while no other process writes; the changes are stored on disk if the block succeeds.

        Either all of them are stored or none, even if the connection, the process or the machine fails.
        """
        with _clear_failures(self.place), self.engine.connect() as connection:
            connection.execution_options(**{_EXCLUSIVE: True})
            with connection.begin():
                yield connection

    def bring_up_to_date(self) -> None:
        """Create the schema, or apply missing revisions, once, even if many processes call this.

        Raises:
            LedgerUnavailable: the schema has a later version, or cannot be created.
        """
        with self.reading() as connection:
            if self._is_current(connection):
                return
        with self.writing() as connection:
            if not self._is_current(connection):
                _migrate(connection)

    def now(self, connection: Connection) -> str:
        """The time of the clock of the database's machine: one clock for all users of a ledger."""
        if connection.dialect.name == "sqlite":
            return written_time(datetime.now(UTC))
        utc = connection.execute(text("SELECT clock_timestamp() AT TIME ZONE 'UTC'")).scalar_one()
        return written_time(utc.replace(tzinfo=UTC))

    def _is_current(self, connection: Connection) -> bool:
        if not inspect(connection).has_table(VERSION_TABLE):
            return False
        found = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalars().all()  # noqa: S608
        if not set(found) <= set(REVISIONS):
            raise LedgerUnavailable(
                f"the ledger must have a schema of version {REVISIONS[-1]} or earlier, got {', '.join(found)} at "
                f"{self.place}; use the version of this program that it was written with, or a later one."
            )
        return found == [REVISIONS[-1]]


def entry_rows(connection: Connection, first: int) -> list[str]:
    """The lines of the entries from a number on, in order."""
    query = select(ENTRIES.c.entry).where(ENTRIES.c.number >= first).order_by(ENTRIES.c.number)
    return list(connection.execute(query).scalars())


def insert_lines(connection: Connection, lines: Sequence[str]) -> None:
    """Append entries unchanged; the caller has checked that they follow from the existing ones."""
    rows = [
        {"number": record["number"], "previous": record["previous"], "digest": record["digest"], "entry": line}
        for record, line in ((json.loads(line), line) for line in lines)
    ]
    if rows:
        connection.execute(insert(ENTRIES), rows)


def written_time(time: datetime) -> str:
    """A time in the format of entries."""
    return f"{time.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"


def _url(place: str | Path) -> URL:
    if isinstance(place, Path) or "://" not in place:
        return URL.create("sqlite", database=str(Path(place).expanduser().absolute()))
    try:
        url = make_url(place)
    except ArgumentError:
        url = None
    if url is not None and url.drivername == "sqlite" and url.database:
        return _url(Path(url.database))
    if url is not None and url.get_backend_name() in {"postgresql", "postgres"}:
        return url.set(drivername="postgresql+psycopg")
    # A URL may contain a password, so it is not quoted.
    raise InvalidInput(
        "the place of a ledger must be a path or a URL like postgresql://user:password@host/database, got another; "
        "correct DENIABLE_LEDGER."
    )


def _make_private_file(path: Path) -> None:
    """Create the file, empty and for its owner alone; SQLite gives its journal the same mode."""
    path.parent.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
    os.close(own_descriptor(path, os.O_RDWR | os.O_CREAT, sets_mode=True))
    if path.stat().st_mode & _OTHERS:
        path.chmod(_PRIVATE_FILE)


def _sqlite(url: URL) -> Engine:
    # The driver must not begin transactions by itself: it would begin them after the read that they must protect.
    engine = create_engine(url, poolclass=NullPool, connect_args={"timeout": _PATIENCE_S, "isolation_level": None})

    @on.listens_for(engine, "connect")
    def _make_durable(connection: Any, _record: object) -> None:
        connection.execute("PRAGMA synchronous = EXTRA")

    @on.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        exclusive = connection.get_execution_options().get(_EXCLUSIVE)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if exclusive else "BEGIN")

    return engine


def _postgresql(url: URL) -> Engine:
    # REPEATABLE READ takes its snapshot before the lock, so the latest entries of others would be missed.
    engine = create_engine(
        url,
        poolclass=NullPool,
        isolation_level="READ COMMITTED",
        connect_args={"connect_timeout": _CONNECT_S, "application_name": "deniable ledger"},
    )

    @on.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        if connection.get_execution_options().get(_EXCLUSIVE):
            connection.exec_driver_sql("SET LOCAL synchronous_commit = on")
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{_PATIENCE_S}s'")
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")

    return engine


def _migrate(connection: Connection) -> None:
    """Apply the revisions that are missing, within the connection's transaction."""
    # Slow to import, and needed only once per ledger.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


@contextmanager
def _clear_failures(place: str) -> Iterator[None]:
    """Turn every failure of the database into one clear sentence."""
    try:
        yield
    except (SQLAlchemyError, OSError, ImportError) as error:
        raise _failure(place, error) from None


def _failure(place: str, error: Exception) -> LedgerUnavailable:
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    reason = " ".join(str(cause).split()) or type(cause).__name__
    state = getattr(cause, "sqlstate", None)
    if isinstance(error, ImportError):
        return LedgerUnavailable(
            f"a ledger at {place} must have the driver of its database, got no {error.name}; install psycopg[binary]."
        )
    if state in _CREDENTIALS or "authentication failed" in reason:
        return LedgerUnavailable(
            f"the ledger at {place} must accept its user, got a refusal; correct the user and the password in "
            "DENIABLE_LEDGER."
        )
    if state in _FORBIDDEN:
        return LedgerUnavailable(
            f"the user of the ledger at {place} must be allowed to read and to append, got: {reason}; its owner "
            f"must update it and grant these rights: make stack does so, and elsewhere "
            f"{command_line('budget prepare')}."
        )
    if state in _BUSY or "database is locked" in reason:
        return LedgerUnavailable(
            f"the ledger at {place} must be free within {_PATIENCE_S} seconds, got another process "
            "that uses it; find out which one hangs, then try again, which is safe."
        )
    if "not a database" in reason or "malformed" in reason:
        return LedgerUnavailable(
            f"the ledger must be an undamaged database, got {place}, which is not one; restore it from a copy, and "
            "compare that with the last export."
        )
    unreachable = LedgerServerDown if "://" in place else LedgerUnreachable
    return unreachable(
        f"the ledger must be reachable and writable, got {place}, which is not: {reason.rstrip('.')}; check that "
        "its server runs, that its disk is neither full nor read-only, and what DENIABLE_LEDGER names; trying again is "
        "safe."
    )
