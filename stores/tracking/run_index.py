"""Queries MLflow's database, in a few statements, for what its interface returns singly or not at all.

These are nested runs, histories of metrics, and the columns that only the database has (stores.servers.mlflow_rows).
Our own MLflow server provides the result at `RUN_INDEX` to anyone who may read its runs (infra.stack.mlflow_server).
Other servers have no such page and are queried run by run (run_tree).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import nan
from typing import Any, TypeAlias

from sqlalchemy import Connection, column, create_engine, select, table
from sqlalchemy.pool import NullPool

from stores.servers.mlflow_rows import Row, portions, rows_of

RUN_INDEX = "/api/2.0/mlflow/deniable/run-index"
"""The path of the query on our server, with the parameter `run_id`."""

PARENT, RELEASE = "mlflow.parentRunId", "release"

_TAGS = table("tags", column("run_uuid"), column("key"), column("value"))
_METRICS = table("metrics", *map(column, ("run_uuid", "key", "timestamp", "step", "value", "is_nan")))

Entry: TypeAlias = tuple[int, int, str]


@dataclass(frozen=True)
class RunIndex:
    """The content of MLflow's database for a run and its nested runs.

    Attributes:
        runs: ids of the run, of all runs below it, and of runs tagged with the same release.
        entries: timestamp, step and value of every entry of each metric of each run.
        rows: digest of each value that only the database has, by its owner, its row and its column.
        columns: the columns in `rows`, by their table.
    """

    runs: Sequence[str]
    entries: Mapping[str, Mapping[str, Sequence[Entry]]]
    rows: Mapping[str, Mapping[str, Row]] = field(default_factory=dict)
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The index as a JSON document."""
        return {"runs": list(self.runs), "entries": self.entries, "rows": self.rows, "columns": self.columns}

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> "RunIndex":
        """The reverse of `to_json`.

        Raises:
            KeyError, TypeError, ValueError: it is not an index.
        """
        entries = {
            run: {
                name: tuple((int(timestamp), int(step), str(value)) for timestamp, step, value in each)
                for name, each in metrics.items()
            }
            for run, metrics in said["entries"].items()
        }
        rows = {
            owner: {row: {column: str(digest) for column, digest in each.items()} for row, each in found.items()}
            for owner, found in said["rows"].items()
        }
        columns = {table: tuple(map(str, each)) for table, each in said["columns"].items()}
        return cls(tuple(map(str, said["runs"])), entries, rows, columns)


def index_of(uri: str, run_id: str) -> RunIndex:
    """Query the database.

    Args:
        uri: URL of MLflow's database.
        run_id: the run of a release.

    Raises:
        SQLAlchemyError: the database does not answer, or is not an MLflow database.
    """
    engine = create_engine(uri, poolclass=NullPool)
    with engine.connect() as connection:
        runs = _below(connection, run_id)
        entries: dict[str, dict[str, list[Entry]]] = {}
        for some in portions(runs):
            asked = select(_METRICS).where(_METRICS.c.run_uuid.in_(some))
            for run, name, timestamp, step, value, is_nan in connection.execute(asked):
                entry = (timestamp, step, repr(nan if is_nan else float(value)))
                entries.setdefault(run, {}).setdefault(name, []).append(entry)
        only_here = rows_of(connection, runs)
    return RunIndex(
        runs=runs,
        entries={run: {name: sorted(each) for name, each in found.items()} for run, found in entries.items()},
        rows=only_here.rows,
        columns=only_here.columns,
    )


def _below(connection: Connection, run_id: str) -> list[str]:
    """A run, all runs below it, and all runs tagged with the name of its release."""
    named = connection.execute(
        select(_TAGS.c.value).where(_TAGS.c.run_uuid == run_id, _TAGS.c.key == RELEASE)
    ).scalar_one_or_none()
    known = {run_id: None}
    waiting = [run_id]
    if named:
        waiting += _runs_tagged(connection, RELEASE, [named])
    while waiting:
        known |= dict.fromkeys(waiting)
        waiting = [run for run in _runs_tagged(connection, PARENT, waiting) if run not in known]
    return list(known)


def _runs_tagged(connection: Connection, key: str, values: Collection[str]) -> list[str]:
    return [
        run
        for some in portions(list(values))
        for run in connection.execute(
            select(_TAGS.c.run_uuid).where(_TAGS.c.key == key, _TAGS.c.value.in_(some))
        ).scalars()
    ]
