"""Databases: a table or a query, read in chunks from DuckDB by its own reader, and from others by SQLAlchemy.

A connection only reads. Credentials come from the environment or from a Prefect block, and messages name neither them
nor what the database says, which may quote both a record and an address. From SQLAlchemy all cells are text.
"""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import quote

import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from deniable.foundation.errors import InvalidInput
from schemas.regular_files import require_regular
from schemas.source_libraries import library_for
from schemas.spec.release_spec import DatabaseSource
from stores.servers.ui_links import is_loopback_host
from stores.tables.sources.contract import TableFile, reading, require_different, require_readable
from stores.vault.scratch import scratch_folder

_CONNECT_S: Final = 10
_IN_FILES: Final = ("sqlite", "duckdb")
_POSTGRESQL: Final = "postgresql"
_EXACT: Final = 2.0**53
# Where libpq takes the place of a server from.
_PLACES: Final = ("host", "hostaddr", "port", "service")
_OF_LIBRARY: Final = ("PGHOST", "PGHOSTADDR", "PGSERVICE")
_ENCRYPTED: Final = ("require", "verify-ca", "verify-full")


@dataclass(frozen=True)
class Place:
    """Where the records of a database are.

    Attributes:
        url: its URL, with credentials; never shown.
        table: a table, or a view.
        query: a query instead.
    """

    url: URL = field(repr=False)
    table: str | None
    query: str | None

    @property
    def is_of_duckdb(self) -> bool:
        """Whether it is a file of DuckDB."""
        return self.url.get_backend_name() == "duckdb"

    @property
    def file(self) -> Path | None:
        """The file of the database; None if it is a server."""
        return Path(self.url.database or "") if self.url.get_backend_name() in _IN_FILES else None

    @property
    def named(self) -> str:
        """Its name in messages, behind `the source`; without host and user."""
        return f"table {self.table}" if self.table else "query"

    def document(self) -> list[str | None]:
        """What identifies the records, without credentials."""
        if self.file is not None:
            return [str(self.file.resolve()), self.table, self.query]
        where = {name: value for name, value in self.url.query.items() if name in _PLACES}
        return [self.url.set(username=None, password=None, query=where).render_as_string(), self.table, self.query]


def place_of(source: DatabaseSource, folder: Path) -> Place:
    """Where the records of a source are.

    Args:
        source: the source.
        folder: the folder of its spec, from which paths of files are counted.

    Raises:
        InvalidInput: there is no URL, or records would be sent over a network without encryption.
    """
    stated = source.url or _connection(source.connection or "")
    try:
        url = make_url(stated)
    except ArgumentError:
        raise InvalidInput(
            "the connection of the source must be a URL such as postgresql://HOST/DATABASE, and is not; correct it."
        ) from None
    if url.get_backend_name() in _IN_FILES:
        kind = url.get_backend_name()
        if not url.database or url.database == ":memory:":
            raise InvalidInput(
                f"the source must be a file of {kind}, such as {kind}:///people.db, and names none; correct its URL."
            )
        return Place(url.set(database=str(folder / url.database)), source.table, source.query)
    if url.drivername == _POSTGRESQL:
        url = url.set(drivername="postgresql+psycopg")
    return Place(_encrypted(url), source.table, source.query)


def _connection(name: str) -> str:
    """The URL in a variable of the environment, or in a Secret block of Prefect."""
    if name.isupper():
        found = os.environ.get(name, "")
        what = f"the environment variable {name}"
    else:
        found, what = _secret(name), f"Prefect's Secret block {name}"
    if not found:
        raise InvalidInput(f"{what} must hold the URL of the source's database, and does not; set it.")
    return found


def _secret(name: str) -> str:
    from httpx import HTTPError  # noqa: PLC0415 - here and below: slow to import, and few sources need it
    from prefect.blocks.system import Secret  # noqa: PLC0415

    try:
        return str(cast("Secret[Any]", Secret.load(name)).get())
    except (ValueError, HTTPError):
        return ""


def _encrypted(url: URL) -> URL:
    """The URL of a server, with encryption if it is on another machine."""
    if all(map(_is_here, _hosts(url))):
        return url
    if url.get_backend_name() != _POSTGRESQL:
        raise InvalidInput(
            f"a database of {url.get_backend_name()} must be on this machine, because only of PostgreSQL is it known "
            "that records are encrypted on their way; use a tunnel to it."
        )
    if url.query.get("sslmode", "require") not in _ENCRYPTED:
        raise InvalidInput(
            "a database on another machine must be reached with sslmode=require, verify-ca or verify-full, got another "
            "sslmode: anyone on the network could read the records; correct its URL."
        )
    return url if "sslmode" in url.query else url.update_query_dict({"sslmode": "require"})


def _hosts(url: URL) -> Iterator[str]:
    """The machines that a URL names; of PostgreSQL also those that its library takes from elsewhere."""
    if url.host:
        yield url.host
    for name in ("host", "hostaddr", "service"):
        stated = url.query.get(name, ())
        yield from (stated,) if isinstance(stated, str) else stated
    if url.get_backend_name() == _POSTGRESQL:
        of_library = ("PGHOSTADDR", "PGSERVICE") if url.host or "host" in url.query else _OF_LIBRARY
        yield from (os.environ[name] for name in of_library if os.environ.get(name))


def _is_here(host: str) -> bool:
    return host.startswith("/") or is_loopback_host(host)


def require_there(place: Place) -> None:
    """Refuse a file of a database that is not there, or that this user may not read."""
    if place.file is not None:
        require_regular(place.file, "the source")
        require_readable(place.file, str(place.file))


@contextmanager
def open_database(place: Place, state: Path) -> Iterator[TableFile]:
    """Open a database and find the columns.

    Args:
        place: where it is.
        state: the state folder, in which DuckDB sorts what does not fit in memory.

    Yields:
        The table, which can be read until the block ends.

    Raises:
        InvalidInput: it does not answer, or has no such table.
    """
    require_there(place)
    if not place.is_of_duckdb:
        yield _SqlTable(place)
        return
    with scratch_folder(state, "sorted") as folder:
        yield _DuckDbTable(place, folder)


@contextmanager
def connected(place: Place) -> Iterator[sa.Connection]:
    """Connect to a database of SQLAlchemy's, to read alone; what it says is never shown."""
    with _answering(place), _engine(place).connect() as connection:
        yield connection


@contextmanager
def connected_to_duckdb(place: Place, scratch: Path | None = None) -> Iterator[Any]:
    """Connect to a file of DuckDB, to read alone; what it says is never shown.

    Args:
        place: where it is.
        scratch: folder for what DuckDB puts on a disk, which by default is beside the file; None if it sorts nothing.
    """
    library = library_for("the source", "duckdb")
    # Nothing is fetched from a network, whatever a query names.
    settings = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
    settings["temp_directory"] = "" if scratch is None else str(scratch)
    with (
        _answering(place, library.Error),
        closing(library.connect(str(place.file), read_only=True, config=settings)) as connection,
    ):
        yield connection


class _SqlTable:
    """A table or a query of a database that SQLAlchemy knows. All cells are text.

    Args:
        place: where it is.
    """

    malformed_rows = empty_rows = 0

    def __init__(self, place: Place) -> None:
        self.name = place.named
        self._place = place
        self._engine = _engine(place)
        with _answering(place), self._engine.connect() as connection:
            if place.table is not None:
                schema, _, table = place.table.rpartition(".")
                if not sa.inspect(connection).has_table(table, schema or None):
                    raise InvalidInput(
                        f"the source's database must have the table {place.table}, and this user sees none; correct it."
                    )
                names = [str(each["name"]) for each in sa.inspect(connection).get_columns(table, schema or None)]
            else:
                with connection.execution_options(stream_results=True).exec_driver_sql(place.query or "") as result:
                    names = list(result.keys())
        require_different(self.name, names)
        self.types = dict.fromkeys(names, pa.string())

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Read some columns, so many rows at a time."""
        with _answering(self._place), self._engine.connect() as connection:
            reader = connection.execution_options(stream_results=True, max_row_buffer=rows)
            if self._place.table is None:
                result = reader.exec_driver_sql(self._place.query or "")
            else:
                schema, _, name = self._place.table.rpartition(".")
                wanted = list(columns) or list(self.types)[:1]
                table = sa.table(name, *map(sa.column, wanted), schema=schema or None)
                result = reader.execute(sa.select(*table.columns))
            places = [list(result.keys()).index(name) for name in columns]
            for chunk in result.partitions(rows):
                arrays = [pa.array([_text(row[place]) for row in chunk], pa.string()) for place in places]
                yield pa.RecordBatch.from_arrays(arrays, names=list(columns))


def _engine(place: Place) -> sa.Engine:
    """What connects to a database, to read alone."""
    try:
        if place.file is not None:
            creator = partial(_read_sqlite, place.file)
            return sa.create_engine("sqlite://", creator=creator, poolclass=sa.NullPool)
        if place.url.get_backend_name() == _POSTGRESQL:
            options = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
            waiting = {"connect_timeout": _CONNECT_S, "application_name": "deniable source"}
            return sa.create_engine(
                place.url, poolclass=sa.NullPool, connect_args=waiting, execution_options=options, hide_parameters=True
            )
        return sa.create_engine(place.url, poolclass=sa.NullPool, hide_parameters=True)
    except (ImportError, SQLAlchemyError):
        raise InvalidInput(
            f"the database {place.url.get_backend_name()} must have its driver for SQLAlchemy, and it is not "
            "installed; install it."
        ) from None


def _read_sqlite(file: Path) -> sqlite3.Connection:
    """Connect to a file of SQLite, to read alone."""
    connection = sqlite3.connect(f"file:{quote(str(file))}?mode=ro", uri=True, check_same_thread=False)
    # What it sorts would else be among the system's temporary files.
    connection.execute("PRAGMA temp_store = MEMORY")
    return connection


class _DuckDbTable:
    """A table or a query of a file of DuckDB.

    Args:
        place: where it is.
        scratch: folder for what DuckDB puts on a disk; by default it would be beside the file.
    """

    malformed_rows = empty_rows = 0

    def __init__(self, place: Place, scratch: Path) -> None:
        self.name = place.named
        self._place, self._scratch = place, scratch
        with connected_to_duckdb(place, scratch) as connection:
            schema = connection.sql(self._statement("*")).limit(0).to_arrow_table().schema
        require_different(self.name, schema.names)
        self.types = {column.name: column.type for column in schema}

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Read some columns, so many rows at a time."""
        wanted = list(columns) or list(self.types)[:1]
        listed = ", ".join(map(_quoted, wanted))
        with connected_to_duckdb(self._place, self._scratch) as connection:
            for batch in connection.sql(self._statement(listed)).to_arrow_reader(rows):
                yield batch.select(list(columns))

    def _statement(self, columns: str) -> str:
        if self._place.table is not None:
            return f"SELECT {columns} FROM {'.'.join(map(_quoted, self._place.table.split('.')))}"  # noqa: S608 - quoted
        return f"SELECT {columns} FROM ({(self._place.query or '').rstrip().rstrip(';')}) AS records"  # noqa: S608 - the engineer's


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@contextmanager
def _answering(place: Place, *errors: type[Exception]) -> Iterator[None]:
    """Describe a fault of a database without what it says, which may quote a record, a user or an address."""
    try:
        with reading(place.named):
            yield
    except InvalidInput:
        raise
    except Exception as error:
        if not isinstance(error, (SQLAlchemyError, sqlite3.Error, *errors)):
            raise
        where = f"{place.file}" if place.file is not None else "the source's database"
        raise InvalidInput(
            f"{where} must answer for the source {place.named}, and did not ({type(error).__name__}); check that it is "
            "the right database, that it runs, that its user may read, and the names in the spec."
        ) from None


def _text(value: Any) -> str | None:
    """A value as text; whole numbers without a decimal point, days and moments as ISO 8601 writes them."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float | Decimal):
        number = float(value)
        return str(int(number)) if number.is_integer() and abs(number) < _EXACT else str(value)
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat()
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, bytes | memoryview):
        raise InvalidInput("the columns of the source must hold numbers or text, and one has bytes; leave it out.")
    return str(value)
