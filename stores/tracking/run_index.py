"""Asks MLflow's database, in a few statements, what its interface tells only piece by piece: runs below, histories.

Our own MLflow server asks it for whoever may read its runs (infra.stack.mlflow_server), at `RUN_INDEX`; another server
has no such page, and is asked piece by piece (run_tree).
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any, TypeAlias

from sqlalchemy import Connection, column, create_engine, select, table
from sqlalchemy.pool import NullPool

RUN_INDEX = "/api/2.0/mlflow/deniable/run-index"
"""Where our server answers it, for the parameter `run_id`."""

PARENT, RELEASE = "mlflow.parentRunId", "release"

_AT_ONCE = 500
_TAGS = table("tags", column("run_uuid"), column("key"), column("value"))
_METRICS = table("metrics", *map(column, ("run_uuid", "key", "timestamp", "step", "value", "is_nan")))

Entry: TypeAlias = tuple[int, int, str]


@dataclass(frozen=True)
class RunIndex:
    """What MLflow's database knows of a run and of those below it.

    Attributes:
        runs: ids of the run and of all below it, or that say they are of the same release.
        entries: timestamp, step and value of every entry of each metric of each of them.
    """

    runs: Sequence[str]
    entries: Mapping[str, Mapping[str, Sequence[Entry]]]

    def to_json(self) -> dict[str, Any]:
        """As JSON has it."""
        return {"runs": list(self.runs), "entries": self.entries}

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> "RunIndex":
        """The reverse of `to_json`.

        Raises:
            KeyError, TypeError, ValueError: it is none.
        """
        entries = {
            run: {
                name: tuple((int(timestamp), int(step), str(value)) for timestamp, step, value in each)
                for name, each in metrics.items()
            }
            for run, metrics in said["entries"].items()
        }
        return cls(tuple(map(str, said["runs"])), entries)


def index_of(uri: str, run_id: str) -> RunIndex:
    """Ask the database.

    Args:
        uri: URL of MLflow's database.
        run_id: the run of a release.

    Raises:
        SQLAlchemyError: the database does not answer, or is none of MLflow's.
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
    return RunIndex(runs, {run: {name: sorted(each) for name, each in found.items()} for run, found in entries.items()})


def portions(values: Sequence[str], most: int = _AT_ONCE) -> Iterator[Sequence[str]]:
    """Some at a time: a question takes only so many."""
    for first in range(0, len(values), most):
        yield values[first : first + most]


def _below(connection: Connection, run_id: str) -> list[str]:
    """A run, all runs below it, and all that carry the name of its release."""
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
