"""Moves the ledger of a state folder to another database and back, entry by entry: a dataset has one ledger.

Nothing is entered or altered here; the chain is the same in both places. The caller must make sure that no release is
in progress.
"""

from pathlib import Path

from deniable.foundation.errors import Refused
from deniable.ledger.verification import records_of, verify
from stores.ledger.anchor import Anchor
from stores.ledger.database import LedgerDatabase, entry_rows, insert_lines
from stores.ledger.ledger import kept_lines

_MOVED = ".moved"


def move_ledger(state: Path, place: str) -> int:
    """Move the ledger in a state folder to a database, if there is one that was not moved yet.

    Args:
        state: the state folder.
        place: URL of the database.

    Returns:
        Number of entries from the file that are now in the database.

    Raises:
        Refused: the ledger fails verification, or the database has a different one.
    """
    file = ledger_file(state)
    if not file.exists():
        return 0
    entries = _move(state, str(file), place)
    file.rename(file.with_name(file.name + _MOVED))
    return entries


def move_ledger_back(state: Path, place: str) -> int:
    """Copy a ledger from a database to its state folder.

    Args:
        state: the state folder.
        place: URL of the database, which keeps its copy; later charges there are refused (stores.ledger.anchor).

    Returns:
        Number of entries.

    Raises:
        Refused: the ledger fails verification, or the state folder has a different one.
    """
    return _move(state, place, str(ledger_file(state)))


def ledger_file(state: Path) -> Path:
    """The ledger file of a state folder."""
    return state / "ledger" / "ledger.db"


def _move(state: Path, source: str, target: str) -> int:
    shown = LedgerDatabase.at(source).place
    lines = kept_lines(source)
    report = verify(records_of(lines)) if lines else None
    if report is not None and not report.holds:
        msg = f"a ledger must hold to be moved, and {shown} does not: {report.verdict}"
        raise Refused(msg)
    goal = LedgerDatabase.at(target)
    goal.bring_up_to_date()
    with goal.writing() as connection:
        there = entry_rows(connection, 0)
        if there[: len(lines)] == lines:
            return len(lines)
        if lines[: len(there)] != there:
            msg = (
                f"a dataset must have one ledger, and both {shown} and {goal.place} have entries of their own; "
                "decide which one is valid, and move the other away."
            )
            raise Refused(msg)
        # Before it becomes the only one: an old copy would lose the entries that it lacks.
        Anchor(state).require_in(lambda: lines, shown)
        insert_lines(connection, lines[len(there) :])
    return len(lines)
