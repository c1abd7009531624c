"""Changes everything that is kept of a release, one thing at a time, and counts what an audit names.

`python -m tests.audit_attacks` makes a release, carries out every attack, and prints the score. The attacks are
generated: one for each column of each table of MLflow's database and of the ledger's that has a row of the release, by
reflection, and two for each file. What an audit does not compare is in two lists with reasons, `NOT_COMPARED` of
`stores.servers.mlflow_rows` and `NOT_AUDITED` of `stores.record.audit_target`; an attack that is neither named nor
listed fails a test.
"""

import fnmatch
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mlflow import MlflowClient
from sqlalchemy import Boolean, Column, Float, Integer, MetaData, String, Table, create_engine
from sqlalchemy.pool import NullPool

from flows.audit import Audited, audit_here
from infra.environment import prepare_environment
from stores.record.audit_target import NOT_AUDITED, find_sealed
from stores.servers.mlflow_rows import why_not_compared
from tasks.audit.compare_records import compare_records_task
from tasks.audit.compare_runs import compare_runs_task
from tests.small_release import QUICK, write_small_release

# Other values that MLflow accepts where it accepts only some.
_OTHER = {
    "FINISHED": "FAILED",
    "READY": "FAILED_REGISTRATION",
    "active": "deleted",
    "UNKNOWN": "LOCAL",
    "None": "Archived",
    "DATASET": "CODE",
    "RUN": "EXPERIMENT",
}
_ROWS = 3
_FILES = (
    "releases/{name}",
    "shelf/{name}",
    "vault/{name}",
    "mlflow/artifacts",
    "ledger",
    "ledger-anchor.jsonl",
    "keys",
)


@dataclass(frozen=True)
class Attack:
    """One change.

    Attributes:
        what: what is changed, in words.
        place: its table and column, or its path in the state folder.
        reason: why an audit does not compare it; empty if it does.
        file: the file that is changed.
        made: makes the change, and takes it back at the end of the block.
    """

    what: str
    place: str
    reason: str
    file: Path
    made: Callable[[], Any] = field(compare=False)


@dataclass(frozen=True)
class Target:
    """A release in a state folder.

    Attributes:
        state: the state folder, with its own MLflow database and ledger.
        name: the release.
        run: its run in MLflow.
    """

    state: Path
    name: str
    run: str

    @property
    def mlflow(self) -> Path:
        """The file of MLflow's database."""
        return self.state / "mlflow" / "mlflow.db"

    @property
    def ledger(self) -> Path:
        """The file of the ledger."""
        return self.state / "ledger" / "ledger.db"

    def attacks(self) -> list[Attack]:
        """Every attack, in an order in which neighbours resemble each other."""
        return [*self._on_columns(), *self._with_new_rows(), *self._on_files()]

    def columns(self) -> list[str]:
        """All columns of MLflow's database."""
        return [f"{table.name}.{column.name}" for table in _tables(self.mlflow) for column in table.columns]

    def unused(self) -> set[str]:
        """The tables of MLflow's database that have no row."""
        return {table.name for table in _tables(self.mlflow) if not _all_rows(self.mlflow, table)}

    def audited(self) -> Audited:
        """Audit the release."""
        return audit_here(self.name, self.state)

    def faults(self, attack: "Attack") -> list[str]:
        """Return what an audit finds after an attack; of one on MLflow's database, what is compared with that."""
        sealed = find_sealed(self.name, self.state)
        if attack.file == self.mlflow:
            checks = (*compare_runs_task.fn(sealed), *compare_records_task.fn(sealed))
        else:
            checks = self.audited().checks
        return [fault for check in checks for fault in check.faults]

    def _on_columns(self) -> Iterator[Attack]:
        ids = self._ids()
        for table in _tables(self.mlflow):
            for row in self._rows(table, ids):
                for column in _stored(table):
                    yield self._on_column(self.mlflow, table, column, row, why_not_compared(table.name, column.name))
        for table in _tables(self.ledger):
            for row in _spread(_all_rows(self.ledger, table)):
                for column in _stored(table):
                    reason = _listed(f"ledger/ledger.db/{table.name}.{column.name}")
                    yield self._on_column(self.ledger, table, column, row, reason)

    def _with_new_rows(self) -> Iterator[Attack]:
        """A row that names the release's run, in each table of MLflow's that a release does not use."""
        for table in _tables(self.mlflow):
            if table.name in self.unused() and any(isinstance(column.type, String) for column in table.columns):
                values = {column.name: self.run if isinstance(column.type, String) else 1 for column in _stored(table)}
                made = partial(_inserted, self.mlflow, table, values)
                yield Attack(f"a row of {table.name}", table.name, why_not_compared(table.name, ""), self.mlflow, made)

    def _on_column(self, file: Path, table: Table, column: Column[Any], row: dict[str, Any], reason: str) -> Attack:
        keys = " ".join(str(row[key.name])[:40] for key in table.primary_key)
        place = f"{table.name}.{column.name}"

        return Attack(f"{place} of {keys}", place, reason, file, partial(_changed, file, table, column, row))

    def _ids(self) -> set[Any]:
        """Ids of the release's runs, except that of the signing step, and of what they refer to."""
        with closing(sqlite3.connect(self.mlflow)) as connection:
            asked = connection.execute(
                "SELECT run_uuid FROM tags WHERE key = 'mlflow.parentRunId' AND value = ?", [self.run]
            )
            steps = {run for (run,) in asked}
            asked = connection.execute("SELECT run_uuid FROM tags WHERE key = 'step' AND value = 'seal'")
            runs = {self.run, *steps} - {run for (run,) in asked}
            found: set[Any] = set(runs)
            for query in (
                "SELECT model_id FROM logged_models WHERE source_run_id = ?",
                "SELECT input_uuid FROM inputs WHERE destination_id = ?",
                "SELECT source_id FROM inputs WHERE destination_id = ?",
                "SELECT experiment_id FROM runs WHERE run_uuid = ?",
                "SELECT name FROM model_versions WHERE run_id = ?",
            ):
                for run in runs:
                    found |= {value for (value,) in connection.execute(query, [run])}
        return found

    def _rows(self, table: Table, ids: set[Any]) -> list[dict[str, Any]]:
        """Rows of a table that belong to the release: the first, one in the middle, and the last."""
        keys = (
            "run_uuid",
            "destination_id",
            "dataset_uuid",
            "input_uuid",
            "model_id",
            "run_id",
            "name",
            "experiment_id",
        )
        key = next((key for key in keys if key in table.columns), None)
        rows = [row for row in _all_rows(self.mlflow, table) if key is None or row[key] in ids]
        if "version" in table.columns:
            rows = rows[: len(rows) // 2] or rows
        return _spread(rows)

    def _on_files(self) -> Iterator[Attack]:
        for pattern in _FILES:
            top = self.state / pattern.format(name=self.name)
            for path in sorted([top] if top.is_file() else [each for each in top.rglob("*") if each.is_file()]):
                place = str(path.relative_to(self.state)).replace(self.name, "RELEASE")
                if path.suffix == ".db" or (pattern.startswith("mlflow") and not self._has(path)):
                    continue
                for deed in (_altered, _removed):
                    yield Attack(
                        f"{place} {deed.__name__.strip('_')}", place, _listed(place), path, partial(deed, path)
                    )

    def _has(self, path: Path) -> bool:
        """Whether a file in MLflow's folder belongs to the release."""
        _experiment, *below = path.relative_to(self.state / "mlflow" / "artifacts").parts
        ids = self._ids()
        return any(part in ids for part in below)


def score(target: Target, attacks: Sequence[Attack]) -> tuple[Counter[str], list[str]]:
    """Carry out attacks, and count those that are named, that are listed, and that are neither.

    Returns:
        The counts, and what was neither named nor listed, or is listed although it is named.
    """
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    for attack in attacks:
        with attack.made():
            holds = not target.faults(attack)
        outcome = "missed" if holds and not attack.reason else "listed" if holds else "named"
        counts[outcome] += 1
        if outcome == "missed":
            wrong.append(attack.what)
    assert target.audited().holds, "every change was taken back"
    return counts, wrong


def _listed(place: str) -> str:
    return next((reason for pattern, reason in NOT_AUDITED.items() if fnmatch.fnmatch(place, pattern)), "")


def _tables(file: Path) -> list[Table]:
    engine = create_engine(f"sqlite:///{file}", poolclass=NullPool)
    there = MetaData()
    there.reflect(engine)
    return [there.tables[name] for name in sorted(there.tables)]


def _stored(table: Table) -> list[Column[Any]]:
    """The columns whose values are kept; those that the database computes from others cannot be changed."""
    return [column for column in table.columns if column.computed is None]


def _all_rows(file: Path, table: Table) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(file)) as connection:
        connection.row_factory = sqlite3.Row
        asked = f"SELECT rowid AS place, * FROM {table.name} ORDER BY rowid"  # noqa: S608 - names of the database
        return [dict(row) for row in connection.execute(asked)]


def _spread(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    places = sorted({round(part * (len(rows) - 1) / (_ROWS - 1)) for part in range(_ROWS)}) if rows else []
    return [rows[place] for place in places]


def _other(column: Column[Any], value: Any) -> Any:
    """Another value of the same kind."""
    if isinstance(column.type, Boolean):
        return 0 if value else 1
    if isinstance(column.type, Integer):
        return (value or 0) + 1000
    if isinstance(column.type, Float):
        return (value or 0.0) + 0.125
    return _OTHER.get(str(value), f"{value or ''}x")


@contextmanager
def _changed(file: Path, table: Table, column: Column[Any], row: dict[str, Any]) -> Iterator[None]:
    """Change a value in a database, as its owner can, and change it back."""
    statement = f"UPDATE {table.name} SET {column.name} = ? WHERE rowid = ?"  # noqa: S608 - names of the database
    moved = column.primary_key and isinstance(column.type, Integer) and len(table.primary_key) == 1
    other = _other(column, row[column.name])
    with closing(sqlite3.connect(file)) as connection, closing(sqlite3.connect(":memory:")) as before:
        connection.backup(before)
        connection.execute("PRAGMA ignore_check_constraints = ON")
        try:
            with connection:
                for (trigger,) in connection.execute(
                    "SELECT name FROM sqlite_master WHERE type = 'trigger'"
                ).fetchall():
                    connection.execute(f"DROP TRIGGER {trigger}")
                if moved:
                    other = max(each["place"] for each in _all_rows(file, table)) + 1
                assert connection.execute(statement, [other, row["place"]]).rowcount == 1
            yield
        finally:
            before.backup(connection)


@contextmanager
def _inserted(file: Path, table: Table, values: dict[str, Any]) -> Iterator[None]:
    """Add a row to a table without rows, and remove it again."""
    names, places = ", ".join(f'"{name}"' for name in values), ", ".join("?" for _ in values)
    statement = f"INSERT INTO {table.name} ({names}) VALUES ({places})"  # noqa: S608 - names of the database
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        with connection:
            connection.execute(statement, list(values.values()))
        try:
            yield
        finally:
            with connection:
                connection.execute(f"DELETE FROM {table.name}")  # noqa: S608 - as above


@contextmanager
def _altered(path: Path) -> Iterator[None]:
    content = path.read_bytes()
    path.write_bytes(bytes([*content[:-1], content[-1] ^ 1]) if content else b"x")
    try:
        yield
    finally:
        path.write_bytes(content)


@contextmanager
def _removed(path: Path) -> Iterator[None]:
    content, mode = path.read_bytes(), path.stat().st_mode
    path.unlink()
    try:
        yield
    finally:
        path.write_bytes(content)
        path.chmod(mode)


def _main() -> int:
    """Make a release, carry out every attack on it, and print the score."""
    with TemporaryDirectory() as folder:
        state = prepare_environment(Path(folder) / "state")
        spec = write_small_release(Path(folder) / "spec", **QUICK)
        subprocess.run([sys.executable, "-m", "flows", "release", "make", spec, "--state", state], check=True)
        [made] = (state / "releases").iterdir()
        [run] = MlflowClient().search_runs(["1"], f"attributes.run_name = '{made.name}'")
        target = Target(state, made.name, run.info.run_id)
        attacks = target.attacks()
        counts, missed = score(target, attacks)
    said = [f"missed: {what}\n" for what in missed]
    said += f"{len(attacks)} attacks: {counts['named']} named, {counts['listed']} listed, {len(missed)} missed.\n"
    sys.stdout.write("".join(said))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(_main())
