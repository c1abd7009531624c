"""The rows of a release in MLflow's database: the columns that MLflow's interface does not return.

Tables and columns are those of the database itself: one that a later version of MLflow adds is listed without being
named here, and `NOT_COMPARED` gives the reason for each that is left out. What the interface returns does not belong
here (stores.tracking.run_tree).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from sqlalchemy import (
    Column,
    Connection,
    MetaData,
    PrimaryKeyConstraint,
    RowMapping,
    String,
    Table,
    and_,
    literal,
    select,
    text,
)
from sqlalchemy.dialects.sqlite.base import SQLiteDialect
from sqlalchemy.types import NullType

from deniable.ledger.entries import digest_of

INTERFACE: Mapping[str, frozenset[str]] = {
    table: frozenset(columns.split())
    for table, columns in {
        "runs": "run_uuid name user_id status start_time end_time lifecycle_stage artifact_uri experiment_id",
        "tags": "run_uuid key value",
        "params": "run_uuid key value",
        "metrics": "run_uuid key timestamp step value is_nan",
        "latest_metrics": "run_uuid key value is_nan",
        "datasets": "name digest dataset_source_type dataset_source dataset_schema dataset_profile",
        "inputs": "",
        "input_tags": "input_uuid name value",
        "logged_models": "model_id experiment_id name artifact_location creation_timestamp_ms status model_type "
        "source_run_id",
        "logged_model_params": "model_id param_key param_value",
        "logged_model_tags": "model_id tag_key tag_value",
        "logged_model_metrics": "model_id metric_name metric_timestamp_ms metric_step metric_value run_id "
        "dataset_name dataset_digest",
        "model_versions": "name version creation_time description user_id current_stage source storage_location "
        "run_id run_link status_message status",
        "model_version_tags": "name version key value",
        "registered_models": "name creation_time description",
        "registered_model_tags": "name key value",
        "experiments": "experiment_id name creation_time lifecycle_stage",
    }.items()
}
"""The tables that a release uses, and their columns whose values MLflow's interface returns."""

NOT_COMPARED: Mapping[str, str] = {
    "alembic_version": "the version of MLflow's tables, which changes with an upgrade and belongs to no release",
    "experiment_tags": "the page that all releases of a dataset share, which the next one rewrites",
    "experiments.artifact_location": "the place of files of later runs; each run names the place of its own",
    "experiments.last_update_time": "changes with the next release of the dataset",
    "registered_model_aliases": "the alias `current` moves with the next release of the dataset",
    "registered_models.last_updated_time": "changes with the next release of the dataset",
    "runs.deleted_time": "when a run was deleted; whether it is deleted is compared",
    "runs.end_time": "of the release's run and the step that signs: both end after the record is signed",
    "workspaces": "a setting of the whole of MLflow",
    "*.workspace": "there is one workspace, since MLflow's workspaces are not used",
}
"""The tables and columns that are not compared, each with the reason."""

_AT_ONCE = 500

_COLUMNS_IN_SQLITE = text(
    "SELECT here.name, col.name, col.type, col.pk FROM sqlite_master AS here, pragma_table_xinfo(here.name) AS col "
    "WHERE here.type = 'table' AND here.name NOT LIKE 'sqlite~_%' ESCAPE '~' AND col.hidden != 1 "
    "ORDER BY here.name, col.cid"
)

Row: TypeAlias = Mapping[str, str]


@dataclass(frozen=True)
class ReleaseRows:
    """The rows of a release.

    Attributes:
        rows: digest of each value that the interface does not return, by its owner, its row and its column.
        columns: the columns that are listed, by their table.
    """

    rows: Mapping[str, Mapping[str, Row]]
    columns: Mapping[str, Sequence[str]]


def rows_of(connection: Connection, runs: Sequence[str]) -> ReleaseRows:
    """List the rows of a release.

    A row belongs to the run, model, version, registered model or experiment that it names. Tables that a release does
    not use are searched in all their texts for the ids of its runs and models.

    Args:
        connection: to MLflow's database.
        runs: ids of the release's run and of the runs below it, in this order.
    """
    return _Search(connection, tables_of(connection)).found(runs)


def tables_of(connection: Connection) -> Mapping[str, Table]:
    """Return the tables of a database with their columns and primary keys.

    SQLAlchemy asks SQLite about each table a dozen times, with indexes and foreign keys; one statement is enough.
    """
    there = MetaData()
    if connection.dialect.name != "sqlite":
        there.reflect(connection)
        return there.tables
    types = SQLiteDialect.ischema_names
    columns: dict[str, list[Column[Any]]] = {}
    keys: dict[str, dict[int, str]] = {}
    for table, name, declared, place in connection.execute(_COLUMNS_IN_SQLITE):
        kind = types.get(declared.partition("(")[0].strip().upper(), NullType)
        columns.setdefault(table, []).append(Column(name, kind))
        keys.setdefault(table, {}).update({place: name} if place else {})
    return {
        table: Table(table, there, *each, PrimaryKeyConstraint(*(name for _, name in sorted(keys[table].items()))))
        for table, each in columns.items()
    }


def why_not_compared(table: str, column: str) -> str:
    """Why a column is not compared; empty if it is."""
    places = (table, f"{table}.{column}", f"*.{column}")
    return next((NOT_COMPARED[place] for place in places if place in NOT_COMPARED), "")


def portions(values: Sequence[str], most: int = _AT_ONCE) -> Iterator[Sequence[str]]:
    """Split values into portions, because a query accepts only a limited number."""
    for first in range(0, len(values), most):
        yield values[first : first + most]


@dataclass(frozen=True)
class _Search:
    """A search in the tables of a database."""

    connection: Connection
    tables: Mapping[str, Table]
    rows: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)

    def found(self, runs: Sequence[str]) -> ReleaseRows:
        """List the rows of a release's runs, of their models, and of what these refer to."""
        owners = {run: f"run {run}" for run in runs}
        own = self._list("runs", "run_uuid", owners)
        for table in ("tags", "params", "metrics", "latest_metrics"):
            self._list(table, "run_uuid", owners)
        read = self._list("inputs", "destination_id", owners)
        for table, key, of in (("datasets", "dataset_uuid", "source_id"), ("input_tags", "input_uuid", "input_uuid")):
            for row in self._select(table, key, list(dict.fromkeys(each[of] for each in read))):
                for run in {each["destination_id"] for each in read if each[of] == row[key]}:
                    self._add(table, owners[run], row, but=key)
        homes = [row["experiment_id"] for row in own if row["run_uuid"] == runs[0]]
        self._list("experiments", "experiment_id", {home: f"experiment {home}" for home in homes})

        learnt = [row["model_id"] for row in self._select("logged_models", "source_run_id", runs)]
        linked = [row["destination_id"] for row in self._list("inputs", "source_id", owners)]
        models = {model: f"model {model}" for model in (*learnt, *linked)}
        for table in ("logged_models", "logged_model_params", "logged_model_tags", "logged_model_metrics"):
            self._list(table, "model_id", models)

        versions = self._select("model_versions", "run_id", runs)
        for row in versions:
            for table in ("model_versions", "model_version_tags"):
                self._list_version(table, row["name"], row["version"])
        registered = {row["name"]: f"registered model {row['name']}" for row in versions}
        for table in ("registered_models", "registered_model_tags"):
            self._list(table, "name", registered)

        for table in self._used(sorted(self.tables.keys() - INTERFACE.keys() - NOT_COMPARED.keys())):
            self._list_mentions(table, owners | models)
        columns = {name: [each.name for each in self._listed(name)] for name in sorted(self.tables)}
        return ReleaseRows(self.rows, {name: listed for name, listed in columns.items() if listed})

    def _list(self, name: str, key: str, owners: Mapping[Any, str]) -> list[RowMapping]:
        """List the rows of a table that have one of some ids in a column, and return them."""
        rows = self._select(name, key, list(owners))
        for row in rows:
            self._add(name, owners[row[key]], row, but=key)
        return rows

    def _list_version(self, name: str, model: str, version: Any) -> None:
        """List the rows of a table about a version of a registered model."""
        table = self.tables[name]
        named = and_(table.c.name == model, table.c.version == version)
        for row in self.connection.execute(select(table).where(named)).mappings():
            self._add(name, f"version {model} {version}", row, but="version")

    def _used(self, names: Sequence[str]) -> list[str]:
        """Those of some tables that have rows."""
        asked = [select(literal(1)).select_from(self.tables[name]).exists().label(name) for name in names]
        answer = self.connection.execute(select(*asked)).mappings().one() if asked else {}
        return [name for name in names if answer[name]]

    def _list_mentions(self, name: str, owners: Mapping[str, str]) -> None:
        """List the rows of a table that have one of some ids in any text."""
        for column in self.tables[name].columns:
            if isinstance(column.type, String | NullType):
                self._list(name, column.name, owners)

    def _select(self, name: str, key: str, ids: Sequence[Any]) -> list[RowMapping]:
        """The rows of a table that have one of some ids in a column."""
        table = self.tables.get(name)
        if table is None or key not in table.columns:
            return []
        return [
            row
            for some in portions(ids)
            for row in self.connection.execute(select(table).where(table.c[key].in_(some))).mappings()
        ]

    def _add(self, name: str, owner: str, row: RowMapping, *, but: str) -> None:
        """Add a row to the list, named by its table and by its primary key, except the column of its owner."""
        listed = self._listed(name)
        if listed:
            keys = [str(row[column.name]) for column in self.tables[name].primary_key if column.name != but]
            place = " ".join(("row of", name, *keys))
            digests = {column.name: digest_of(_plain(row[column.name])) for column in listed}
            self.rows.setdefault(owner, {})[place] = digests

    def _listed(self, name: str) -> list[Column[Any]]:
        """The columns of a table that are compared and that the interface does not return."""
        seen = INTERFACE.get(name, frozenset())
        return [
            column
            for column in self.tables[name].columns
            if column.name not in seen and not why_not_compared(name, column.name)
        ]


def _plain(value: Any) -> str | int | None:
    """A value in the same form from every database."""
    if value is None or isinstance(value, bool | int):
        return None if value is None else int(value)
    return repr(value) if isinstance(value, float) else str(value)
