"""Backs up a state folder, databases included, and restores it elsewhere or after a loss.

The ledger is copied last, and no release may be under way, so the ledger in a backup always covers the releases in the
backup. A restored state folder is verified before it is used: every release against the ledger.
"""

import json
import shutil
import sqlite3
import subprocess
from contextlib import closing
from hashlib import file_digest
from pathlib import Path

from deniable.command_names import command_line
from deniable.foundation.errors import DeniableError, InvalidInput, Refused
from deniable.ledger.verification import records_of, verify
from infra.stack.settings import DATABASES, Stack
from schemas.regular_files import read_regular
from stores.ledger.anchor import ANCHOR, LedgerReplaced
from stores.ledger.evidence import NOTES
from stores.ledger.gate import fault_of_ledger
from stores.ledger.ledger import kept_lines, ledger_place
from stores.lineage.events import LINEAGE
from stores.own_files import require_own
from stores.record.folder_verification import verified_beside, verified_release
from stores.record.record_reader import keys_to_trust, trusted_where
from stores.tracking.history_moving import relocate
from stores.vault.lease import all_leased
from stores.vault.private_files import make_private_folder

MANIFEST = "manifest.json"
_FORMAT = 1
_LARGEST = 1 << 28
_PUBLISHED = ("releases", "discoveries", "surveys")
_FOLDERS = (
    *_PUBLISHED,
    "shelf",
    "comparisons",
    "vault",
    LINEAGE,
    NOTES,
    "keys",
    "mlflow",
    "prefect",
    "ledger",
    "stack/artifacts",
)
# The state folder's anchor is copied before the ledger, which may be ahead of the anchor, but not behind it.
_FILES = ("stack/secrets.json", "deployments.json", ANCHOR)
_DUMPS = "databases"
_PASSING = ("*.log", "*.db-wal", "*.db-shm", "*.db-journal")


class BackupFailed(DeniableError):
    """A backup cannot be made, or is incomplete."""


def back_up(state: Path, place: Path) -> int:
    """Back up a state folder.

    Args:
        state: the state folder; no release of it may be under way.
        place: a folder that does not exist yet; it will contain keys and confidential records, for its owner alone.

    Returns:
        Number of files.

    Raises:
        InvalidInput: the folder exists, or the state folder is not one.
        Refused: a release is under way.
        BackupFailed: a database cannot be copied.
    """
    if not any((state / name).is_dir() for name in _PUBLISHED):
        raise InvalidInput(
            f"a backup must be of a state folder with releases, discoveries or surveys, got {state}; name another "
            "with --state."
        )
    if place.exists():
        raise InvalidInput(f"a backup must go to a folder that does not exist yet, got {place}; name another.")
    waiting = place.with_name(f".{place.name}.partial")
    shutil.rmtree(waiting, ignore_errors=True)
    make_private_folder(waiting)
    try:
        with all_leased(state, "a backup is made"):
            _copy(state, waiting)
            _dump_databases(Stack(state), waiting)
        files = {name: _digest(waiting / name) for name in sorted(_names(waiting))}
        (waiting / MANIFEST).write_text(json.dumps({"format": _FORMAT, "files": files}, indent=1), encoding="utf-8")
        waiting.rename(place)
    except BaseException:
        shutil.rmtree(waiting, ignore_errors=True)
        raise
    return len(files)


def require_whole(place: Path) -> dict[str, str]:
    """Require that no file of a backup is missing, altered or added.

    Returns:
        Digests of its files by their names.

    Raises:
        BackupFailed: it is incomplete or altered.
        InvalidInput: it is not a backup.
    """
    try:
        manifest = json.loads(read_regular(place / MANIFEST, "the list of a backup's files", _LARGEST))
        files: dict[str, str] = manifest["files"]
    except (OSError, ValueError, KeyError):
        msg = f"a backup must be a folder that {command_line('servers backup')} made, got {place}; name another."
        raise InvalidInput(msg) from None
    there = _names(place) - {MANIFEST}
    wrong = sorted(there ^ files.keys()) or [name for name in sorted(there) if _digest(place / name) != files[name]]
    if wrong:
        msg = f"a backup must be whole, and {place} has {len(wrong)} files missing, altered or added: {wrong[0]}"
        raise BackupFailed(msg)
    return files


def put_back(place: Path, state: Path) -> None:
    """Copy a backup's files, but not yet its databases, into a state folder.

    Args:
        place: the backup.
        state: a state folder that does not exist yet, or is empty.

    Raises:
        InvalidInput: the state folder is not empty, or the place is not a backup.
        BackupFailed: the backup is incomplete or altered.
    """
    if any((state / name).exists() for name in (*_PUBLISHED, "vault", "stack")):
        msg = f"a backup must be restored into an empty state folder, got {state}; name another with --state."
        raise InvalidInput(msg)
    files = require_whole(place)
    make_private_folder(state)
    for name in files:
        if not name.startswith(f"{_DUMPS}/"):
            target = state / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(place / name, target)
    if (state / "mlflow" / "mlflow.db").is_file():
        relocate(state)


def has_databases(place: Path) -> bool:
    """Whether a backup has databases of PostgreSQL, which must be running to restore them."""
    return (place / _DUMPS).is_dir()


def restore_databases(stack: Stack, place: Path) -> None:
    """Fill the stack's empty databases from a backup; PostgreSQL must be up.

    Raises:
        BackupFailed: PostgreSQL does not accept them.
    """
    from infra.stack.postgres import owner_of  # noqa: PLC0415 - needs what only the stack needs

    for name in DATABASES:
        dump = place / _DUMPS / f"{name}.dump"
        # The stack sets owners and privileges, whatever they were when the backup was made.
        options = (
            *("--no-owner", "--no-privileges", f"--role={owner_of(name)}"),
            *("--exit-on-error", "--single-transaction"),
        )
        _run_program("pg_restore", stack, name, [*options, str(dump)])


def require_consistent(state: Path) -> int:
    """Require that everything published in a restored state folder matches its records, and that the ledger verifies.

    This covers releases, discoveries and surveys.

    Returns:
        Number of releases.

    Raises:
        Refused: a check fails.
    """
    ledger = kept_lines(ledger_place(state))
    report = verify(records_of(ledger))
    if ledger and not report.holds:
        raise Refused(f"the restored ledger must verify, and does not: {report.verdict}")
    fault = fault_of_ledger(state, lambda: ledger)
    if fault is not None:
        raise LedgerReplaced(
            f"the ledger must hold the charges of the restored releases, and the restored one {fault}; restore another "
            f"backup, or rebuild it with {command_line('budget recover')} --reason ...."
        )
    releases = sorted((state / _PUBLISHED[0]).glob("*/"))
    beside = sorted(folder for name in _PUBLISHED[1:] for folder in (state / name).glob("*/"))
    for folder in (*releases, *beside):
        verified = verified_release if folder in releases else verified_beside
        held = verified(folder, keys_to_trust(state), trusted_where(state), ledger)
        wrong = next((check for check in held.checks if not check.holds), None)
        if wrong is not None:
            raise Refused(f"the restored {folder.name} must verify, and does not: {wrong.line}")
    return len(releases)


def _copy(state: Path, waiting: Path) -> None:
    """Copy files and SQLite databases, the ledger last."""
    for name in _FILES:
        if (state / name).exists():
            (waiting / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(state / name, waiting / name)
    for folder in sorted(_FOLDERS, key=lambda name: name == "ledger"):
        if not (state / folder).is_dir():
            continue
        databases = [path.relative_to(state) for path in (state / folder).rglob("*.db")]
        ignored = shutil.ignore_patterns(*_PASSING, "*.db")
        shutil.copytree(state / folder, waiting / folder, ignore=ignored, symlinks=True)
        for path in databases:
            _copy_sqlite(state / path, waiting / path)


def _copy_sqlite(source: Path, target: Path) -> None:
    """Copy a database in its state between two transactions."""
    require_own(source, sets_mode=True)
    with closing(sqlite3.connect(source)) as there, closing(sqlite3.connect(target)) as here:
        there.backup(here)
    target.chmod(source.stat().st_mode & 0o777)


def _dump_databases(stack: Stack, waiting: Path) -> None:
    """Dump PostgreSQL's databases, each in its state at one moment; the ledger last."""
    if not stack.is_set_up:
        return
    make_private_folder(waiting / _DUMPS)
    for name in sorted(DATABASES, key=lambda name: name == "ledger"):
        _run_program("pg_dump", stack, name, ["--format=custom", f"--file={waiting / _DUMPS / f'{name}.dump'}"])


def _run_program(program: str, stack: Stack, database: str, arguments: list[str]) -> None:
    """Run one of PostgreSQL's programs; the password is in the environment, which others cannot read."""
    from infra.stack.postgres import administration, programs  # noqa: PLC0415 - needs what only the stack needs

    url, _, rest = administration(stack, database).partition("://")
    account, _, address = rest.rpartition("@")
    user, _, password = account.partition(":")
    done = subprocess.run(  # noqa: S603 - our own command
        [programs() / program, f"--dbname={url}://{user}@{address}", *arguments],
        env={"PGPASSWORD": password, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        said = " ".join(done.stderr.split())[-300:]
        raise BackupFailed(f"{program} must copy the database {database}, and does not: {said}; make stack starts it.")


def _names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
