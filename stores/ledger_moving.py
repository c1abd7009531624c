"""Moves the ledger of a state folder into another database, entry by entry, once: a dataset has one ledger.

Nothing is entered or altered here; the chain is the same in both places.
"""

from contextlib import ExitStack
from pathlib import Path

from deniable.errors import Refused
from deniable.ledger_verification import records_of, verify
from stores.lease import leased
from stores.ledger import kept_lines
from stores.ledger_anchor import Anchor
from stores.ledger_database import LedgerDatabase, entry_rows, insert_lines

_MOVED = ".moved"


def move_ledger(state: Path, place: str) -> int:
    """Move the ledger that lies in a state folder to a database, if there is one that was not moved yet.

    Args:
        state: the state folder; no release of it may be under way meanwhile.
        place: URL of the database.

    Returns:
        Number of entries that are in the database afterwards and came from the file.

    Raises:
        Refused: a release is under way, the ledger does not hold, or the database has another one.
    """
    file = state / "ledger" / "ledger.db"
    if not file.exists():
        return 0
    with ExitStack() as kept:
        for vault in sorted((state / "vault").glob("*/")):
            if vault.is_dir():
                kept.enter_context(leased(vault))
        lines = kept_lines(file)
        report = verify(records_of(lines)) if lines else None
        if report is not None and not report.holds:
            msg = f"a ledger must hold to be moved, and {file} does not: {report.verdict}"
            raise Refused(msg)
        # Before it becomes the only one: an old copy would take what it lacks with it.
        Anchor(state).require_in(lambda: lines, str(file))
        _copy(lines, place)
        file.rename(file.with_name(file.name + _MOVED))
    return len(lines)


def _copy(lines: list[str], place: str) -> None:
    """Have the database hold these entries first, if it holds none yet."""
    target = LedgerDatabase.at(place)
    target.bring_up_to_date()
    with target.writing() as connection:
        there = entry_rows(connection, 0)
        if there[: len(lines)] == lines:
            return
        if there:
            msg = (
                f"a dataset must have one ledger, and both the state folder and {target.place} have entries of their "
                "own; find out which one counts, and move the other away."
            )
            raise Refused(msg)
        insert_lines(connection, lines)
