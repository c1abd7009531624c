"""Moves MLflow's history, with runs, models, registry and all files, from one MLflow database to another.

Every id is kept, because signed records refer to runs, models, versions and experiments by id. A move is one
transaction of the target database, with all files in place before it ends. The source database is only read, and no
other process writes to it during the move. What happens to the source, and who may use the target, does not belong
here.
"""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, MetaData, Table, create_engine, delete, func, insert, select, text, update
from sqlalchemy import event as on
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from deniable.foundation.errors import DeniableError, Refused
from stores.servers.mlflow_database import ready_client
from stores.tracking.run_artifacts import place_in_state
from stores.vault.kept_files import file_digests
from stores.vault.private_files import make_private_folder

_SERVED = "mlflow-artifacts:"
# Columns with addresses of files.
_ADDRESSES = {
    "experiments": "artifact_location",
    "runs": "artifact_uri",
    "logged_models": "artifact_location",
    "model_versions": "storage_location",
}
# The pages that all releases of a dataset share: existing content in the target is newer.
_SHARED = {
    "experiments",
    "experiment_tags",
    "registered_models",
    "registered_model_tags",
    "registered_model_aliases",
}
_VERSION = "alembic_version"
_PARENT = "mlflow.parentRunId"
_ROWS = 1000

Row = dict[str, Any]


class HistoryFailed(DeniableError):
    """MLflow's history cannot be read from the source or written to the target."""


class HistoriesCollide(Refused):
    """Two histories have different items of the same name; one of them would be lost."""


@dataclass(frozen=True)
class History:
    """The location of an MLflow history.

    Attributes:
        place: its name in messages, without a password.
        database: URL of the database, for SQLAlchemy.
        state: the state folder.
        files: folder of all artifacts.
        root: the start of addresses of files; the number of the experiment follows.
    """

    place: str
    database: str
    state: Path
    files: Path
    root: str

    def below(self, address: str) -> tuple[str, ...] | None:
        """The parts of an address below the folder of files; None if the address is elsewhere."""
        if address.startswith(f"{_SERVED}/"):
            path = Path(address.removeprefix(_SERVED).lstrip("/"))
        else:
            found = place_in_state(self.state, address)
            if found is None or not found.is_relative_to(self.files):
                return None
            path = found.relative_to(self.files)
        return path.parts if path.parts and ".." not in path.parts else None


@dataclass(frozen=True)
class Moved:
    """What was moved.

    Attributes:
        releases: number of top-level runs, usually one per release.
        runs: number of runs, including those of steps.
        files: number of files.
        experiments: ids of the experiments now in the target.
        models: names of the registered models now in the target.
    """

    releases: int = 0
    runs: int = 0
    files: int = 0
    experiments: tuple[str, ...] = ()
    models: tuple[str, ...] = ()


def history_in(state: Path) -> History:
    """The history in a state folder."""
    files = state / "mlflow" / "artifacts"
    place = state / "mlflow" / "mlflow.db"
    return History(place=str(place), database=f"sqlite:///{place}", state=state, files=files, root=str(files))


def history_served(state: Path, *, place: str, database: str, files: Path) -> History:
    """The history of a server, which serves all files itself.

    Args:
        state: its state folder.
        place: its name in messages.
        database: URL of its database.
        files: its folder of files.
    """
    return History(place=place, database=database, state=state, files=files, root=_SERVED)


def has_history(state: Path) -> bool:
    """Whether a state folder has runs of its own.

    Raises:
        HistoryFailed: its database cannot be read.
    """
    return has_run(state, None)


def has_run(state: Path, run_id: str | None) -> bool:
    """Whether a state folder has a run of its own; any, if none is named.

    Raises:
        HistoryFailed: its database cannot be read.
    """
    history = history_in(state)
    if not (state / "mlflow" / "mlflow.db").is_file():
        return False
    with _connected(history, "BEGIN") as connection, _clear_failures(history.place):
        tables = _reflected(connection, "runs")
        if "runs" not in tables:
            return False
        ids = tables["runs"].c.run_uuid
        wanted = select(ids).limit(1) if run_id is None else select(ids).where(ids == run_id)
        return connection.execute(wanted).first() is not None


@contextmanager
def history_moved(source: History, target: History, *, in_use: bool) -> Iterator[Moved]:
    """Copy a history into another database; until the block ends, no other process writes to the source.

    Content that an earlier, interrupted move has already copied is not copied again.

    Args:
        source: the source.
        target: the target; a server has already created the tables of its database.
        in_use: whether releases are already recorded in the target. If so, its content is kept; otherwise it is an
            earlier copy, which the source replaces.

    Yields:
        What was moved.

    Raises:
        HistoriesCollide: both have different items of the same name; nothing was changed.
        Refused: the databases have different MLflow versions, or the target has runs that the source lacks.
        HistoryFailed: a database cannot be read or written, or a file cannot be copied.
    """
    if target.root != _SERVED:
        ready_client(target.database)
        make_private_folder(target.files)
    with _connected(source, "BEGIN IMMEDIATE") as there:
        with _connected(target, "BEGIN") as here, _clear_failures(target.place):
            moved = _moved(source, target, there, here, in_use=in_use)
        yield moved


def set_aside(state: Path) -> Path:
    """Move the whole MLflow folder of a state folder aside; it is not deleted.

    Returns:
        Its new location.
    """
    folder = state / "mlflow"
    number = 1
    while (place := state / f"mlflow.moved{'' if number == 1 else f'-{number}'}").exists():
        number += 1
    folder.rename(place)
    make_private_folder(folder)
    return place


def relocate(state: Path) -> None:
    """Correct the locations of files in MLflow's database after the state folder was copied or moved.

    Raises:
        HistoryFailed: its database cannot be written.
    """
    history = history_in(state)
    with _connected(history, "BEGIN IMMEDIATE") as connection, _clear_failures(history.place):
        tables = _reflected(connection, *_ADDRESSES)
        for name, column in _ADDRESSES.items():
            if name not in tables:
                continue
            table = tables[name]
            keys = [key.name for key in table.primary_key]
            for row in connection.execute(select(table)).mappings().all():
                below = history.below(row[column]) if row[column] else None
                address = "/".join((history.root, *below)) if below else row[column]
                if address != row[column]:
                    which = [table.c[key] == row[key] for key in keys]
                    connection.execute(update(table).where(*which).values({column: address}))


@dataclass(frozen=True)
class _Tables:
    """The tables of both databases; `keep` states whether the target's content is kept."""

    there: Connection
    here: Connection
    before: Mapping[str, Table]
    after: Mapping[str, Table]
    keep: bool


def _moved(source: History, target: History, there: Connection, here: Connection, *, in_use: bool) -> Moved:
    """Check both histories, and move the source if necessary."""
    before, after = _both(source, target, there, here)
    runs, known = _ids(there, before), _ids(here, after)
    if not runs or (in_use and runs <= known):
        return Moved()
    if not in_use and not known <= runs:
        raise Refused(
            f"{target.place} must have no run that {source.place} lacks to be replaced by it, and has "
            f"{len(known - runs)}; decide which of the two is valid, and move the other away."
        )
    return _move(source, target, _Tables(there, here, before, after, keep=in_use and bool(known)))


def _move(source: History, target: History, tables: _Tables) -> Moved:
    """Copy all rows, and then all files that they refer to."""
    readdressed = _readdressing(source, target, tables)
    folders: dict[tuple[str, ...], tuple[str, ...]] = {}
    if not tables.keep:
        for table in reversed(_in_order(tables.after)):
            tables.here.execute(delete(table))
    for table in _in_order(tables.after):
        known = _known_rows(tables, table)
        for rows in _rows(tables.there, tables.before[table.name]):
            for row in rows:
                folders |= readdressed(table.name, row)
            if new := [row for row in rows if _is_new(table, row, known)]:
                tables.here.execute(insert(table), new)
    _set_sequences(tables.here, tables.after)
    files = sum(
        _copy_folder(source.files.joinpath(*old), target.files.joinpath(*new), keep=tables.keep)
        for old, new in folders.items()
    )
    os.sync()
    runs, tags = tables.before["runs"], tables.before["tags"]
    below = select(tags.c.run_uuid).where(tags.c.key == _PARENT)
    counted = select(func.count()).select_from(runs)
    return Moved(
        releases=tables.there.execute(counted.where(runs.c.run_uuid.not_in(below))).scalar_one(),
        runs=tables.there.execute(counted).scalar_one(),
        files=files,
        experiments=tuple(map(str, tables.here.execute(select(tables.after["experiments"].c.experiment_id)).scalars())),
        models=tuple(tables.here.execute(select(tables.after["registered_models"].c.name)).scalars()),
    )


def _readdressing(
    source: History, target: History, tables: _Tables
) -> Callable[[str, Row], dict[tuple[str, ...], tuple[str, ...]]]:
    """Return a function that rewrites the addresses in a row for the target, and reports which folders move where."""
    experiments = tables.before["experiments"].c
    numbers = {
        below[0]: str(number)
        for number, address in tables.there.execute(
            select(experiments.experiment_id, experiments.artifact_location)
        ).all()
        if (below := source.below(address or ""))
    }

    def readdress(table: str, row: Row) -> dict[tuple[str, ...], tuple[str, ...]]:
        column = _ADDRESSES.get(table)
        address = row[column] if column else None
        if column is None or not address:
            return {}
        if table == "experiments":
            row[column] = f"{target.root}/{row['experiment_id']}"
            return {}
        below = source.below(address)
        if below is None or below[0] not in numbers:
            return {}  # It stays where it is, and an audit gives the same result as before.
        moved = (numbers[below[0]], *below[1:])
        row[column] = "/".join((target.root, *moved))
        return {below: moved}

    return readdress


def _known_rows(tables: _Tables, table: Table) -> dict[tuple[Any, ...], Row]:
    """The rows that the target has and keeps, by their keys."""
    if not tables.keep:
        return {}
    return {_key(table, row): row for rows in _rows(tables.here, table) for row in rows}


def _is_new(table: Table, row: Row, known: Mapping[tuple[Any, ...], Row]) -> bool:
    """Whether the target lacks a row.

    Raises:
        HistoriesCollide: the target has a different row with the same key.
    """
    there = known.get(_key(table, row))
    if table.name == "experiments":
        _require_same_experiment(row, there, {each["name"]: each["experiment_id"] for each in known.values()})
    if there is None:
        return True
    if table.name in _SHARED or there == row:
        return False
    what = f"version {row['version']} of the model {row['name']}" if table.name == "model_versions" else table.name
    raise HistoriesCollide(f"each has its own {what}")


def _require_same_experiment(row: Row, there: Row | None, numbers: Mapping[str, int]) -> None:
    """Refuse an experiment whose number is already used, because signed records contain the number."""
    number, name = row["experiment_id"], row["name"]
    if numbers.get(name, number) != number or (there is not None and there["name"] != name):
        raise HistoriesCollide(
            f"the experiment of {name} has another number in each, or another experiment has its number"
        )


def _key(table: Table, row: Row) -> tuple[Any, ...]:
    return tuple(row[column.name] for column in table.primary_key)


def _rows(connection: Connection, table: Table) -> Iterator[list[Row]]:
    """All rows of a table, in portions."""
    for rows in connection.execute(select(table)).mappings().partitions(_ROWS):
        yield [dict(row) for row in rows]


def _set_sequences(connection: Connection, tables: Mapping[str, Table]) -> None:
    """Make PostgreSQL number new rows after the copied ones."""
    if connection.dialect.name != "postgresql":
        return
    for table in tables.values():
        for column in table.primary_key:
            asked = text("SELECT pg_get_serial_sequence(:table, :column)")
            sequence = connection.execute(asked, {"table": table.name, "column": column.name}).scalar_one()
            last = connection.execute(select(func.max(column))).scalar_one() if sequence else None
            if last is not None and last > 0:
                connection.execute(
                    text("SELECT setval(CAST(:name AS regclass), GREATEST(nextval(CAST(:name AS regclass)), :last))"),
                    {"name": sequence, "last": last},
                )


def _copy_folder(source: Path, target: Path, *, keep: bool) -> int:
    """Copy a folder of files, completely or not at all, unless it is already there.

    Returns:
        Its number of files.

    Raises:
        HistoriesCollide: a different folder is there and must be kept.
        HistoryFailed: the copy is not the same.
    """
    if not source.is_dir():
        return 0
    wanted = file_digests(source)
    if target.is_dir():
        if file_digests(target) == wanted:
            return len(wanted)
        if keep:
            raise HistoriesCollide(f"the folder {target} already exists with other files")
        shutil.rmtree(target)
    waiting = target.with_name(f".{target.name}.partial")
    shutil.rmtree(waiting, ignore_errors=True)
    shutil.copytree(source, waiting, symlinks=True)
    if file_digests(waiting) != wanted:
        raise HistoryFailed(
            f"{source} must stay unchanged while it is copied, but it changed; run the same command again."
        )
    waiting.rename(target)
    return len(wanted)


def _both(
    source: History, target: History, there: Connection, here: Connection
) -> tuple[dict[str, Table], dict[str, Table]]:
    """The tables of two databases, which must have the same MLflow version."""
    before, after = _reflected(there), _reflected(here)
    versions = [_version(connection) for connection in (there, here)]
    columns = [{name: {*table.columns.keys()} for name, table in tables.items()} for tables in (before, after)]
    if versions[0] != versions[1] or columns[0] != columns[1]:
        raise Refused(
            f"{source.place} and {target.place} must have the same MLflow version, got {versions[0]} and "
            f"{versions[1]}; after a backup, upgrade the older one with python -m mlflow db upgrade and its address."
        )
    return before, after


def _reflected(connection: Connection, *names: str) -> dict[str, Table]:
    """The tables of a database; all except the version table, unless names are given."""
    there = MetaData()
    there.reflect(connection, only=(lambda name, _: name in names) if names else None)
    return {name: table for name, table in there.tables.items() if name != _VERSION}


def _version(connection: Connection) -> str:
    return str(connection.execute(text(f"SELECT version_num FROM {_VERSION}")).scalar_one())  # noqa: S608 - our own


def _in_order(tables: Mapping[str, Table]) -> Sequence[Table]:
    """Tables in an order in which each one comes after those that it refers to."""
    (metadata,) = {table.metadata for table in tables.values()}
    return [table for table in metadata.sorted_tables if table.name in tables]


def _ids(connection: Connection, tables: Mapping[str, Table]) -> set[str]:
    return set(connection.execute(select(tables["runs"].c.run_uuid)).scalars())


@contextmanager
def _connected(history: History, begin: str) -> Iterator[Connection]:
    """A connection in one transaction; BEGIN IMMEDIATE prevents all other processes from writing to the file."""
    if history.database.startswith("sqlite"):
        # The driver must neither begin nor end transactions by itself.
        engine = create_engine(history.database, poolclass=NullPool, connect_args={"isolation_level": None})
        on.listen(engine, "begin", lambda connection: connection.exec_driver_sql(begin))
    else:
        engine = create_engine(history.database, poolclass=NullPool, isolation_level="REPEATABLE READ")
    with ExitStack() as opened:
        with _clear_failures(history.place):
            connection = opened.enter_context(engine.begin())
        yield connection


@contextmanager
def _clear_failures(place: str) -> Iterator[None]:
    """Turn every failure of a database or a file into one clear sentence."""
    try:
        yield
    except (SQLAlchemyError, OSError) as error:
        reason = " ".join(str(getattr(error, "orig", None) or error).split())
        raise HistoryFailed(
            f"MLflow's history must be readable and writable at {place}, and is not: {reason}; nothing was moved, and "
            "it is safe to run the same command again."
        ) from None
