"""What a state folder knows of its ledger: a copy of the entries, kept outside the ledger's database.

The database keeps an entry first, then this copy does, on disk; only then may anything be drawn that the entry pays
for. So a process that was killed in between leaves a ledger that is ahead of the copy, which is in order, and nothing
was drawn from what the copy lacks. A ledger that is behind the copy, or that goes otherwise, was lost or replaced: what
it lacks was paid for, and would be paid out again.

What else proves charges is for stores.ledger.evidence, how a ledger is brought back for stores.ledger.recovery.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from deniable.ledger.state import LedgerBroken
from stores.ledger.database import LedgerUnavailable
from stores.locks import lock
from stores.vault.disk import flush_to_disk

ANCHOR = "ledger-anchor.jsonl"
"""Name of the copy in the state folder: not beside the database, so that it does not go where that goes."""

_PRIVATE_FILE = 0o600


class LedgerReplaced(LedgerBroken):
    """A ledger lacks entries that its state folder knows of."""


class Anchor:
    """A state folder's copy of its ledger's entries; threads must take turns, processes do by themselves.

    Args:
        state: the state folder.
    """

    def __init__(self, state: Path) -> None:
        self.state = state
        self.place = state / ANCHOR
        self._seen = (0, 0)

    @property
    def exists(self) -> bool:
        """Whether the state folder knows of any entry."""
        return bool(self.lines())

    @property
    def changed(self) -> bool:
        """Whether there may be more in it than was seen last."""
        return self._size() != self._seen[0]

    def lines(self) -> list[str]:
        """The entries, a line each, in order; of the last one only a part may be there, which does not count."""
        try:
            whole, _, _ = self.place.read_bytes().rpartition(b"\n")
        except FileNotFoundError:
            return []
        except OSError as error:
            raise self._unavailable(error) from None
        return whole.decode().split("\n") if whole else []

    def require_in(self, read: Callable[[], Sequence[str]], place: str) -> None:
        """Refuse a ledger that lacks an entry that the state folder knows of.

        Args:
            read: reads the ledger's entries; after this copy is read, for others may append to both meanwhile.
            place: where the ledger is, for people.

        Raises:
            LedgerReplaced: it lacks one.
        """
        known = self.lines()
        fault = difference(known, read()) if known else None
        if fault is not None:
            raise LedgerReplaced(
                f"the ledger must hold the {len(known)} entries that {self.state} knows of, got {fault} at {place}; "
                "nothing was read or drawn: bring that ledger back, or name it by DENIABLE_LEDGER. One that cannot be "
                "brought back is rebuilt by python -m flows ledger recover --reason ..., from this folder's own copy "
                "or from an export by --from FILE, and with --accept is taken as it is."
            )
        self._seen = (sum(len(line.encode()) + 1 for line in known), len(known))

    def extend(self, first: int, lines: Sequence[str]) -> bool:
        """Keep entries that the ledger holds, on disk; those that are here already are left as they are.

        Args:
            first: number of the first of them.
            lines: the entries.

        Returns:
            Whether they are kept; they are not where entries before them are missing here.

        Raises:
            LedgerUnavailable: they cannot be kept here, so that nothing may be drawn.
        """
        try:
            fresh = not self.place.exists()
            descriptor = os.open(self.place, os.O_RDWR | os.O_CREAT, _PRIVATE_FILE)
            with os.fdopen(descriptor, "r+b") as file:
                lock(descriptor, wait=True)
                size = os.fstat(file.fileno()).st_size
                if self._seen[0] != size:
                    self._seen = _whole(file.read())
                end, count = self._seen
                if count < first:
                    return False
                file.truncate(end)
                file.seek(end)
                more = "".join(f"{line}\n" for line in lines[count - first :]).encode()
                file.write(more)
                file.flush()
                os.fsync(file.fileno())
                self._seen = (end + len(more), max(count, first + len(lines)))
            if fresh:
                flush_to_disk(self.state)
        except OSError as error:
            raise self._unavailable(error) from None
        return True

    def replace(self, lines: Sequence[str]) -> None:
        """Keep other entries from now on; what was known before, if it goes otherwise, is kept beside.

        Raises:
            LedgerUnavailable: they cannot be kept here.
        """
        known = self.lines()
        try:
            if difference(known, lines) is not None:
                number = 1
                while (kept := self.place.with_name(f"{ANCHOR}.before-{number}")).exists():
                    number += 1
                self.place.rename(kept)
                flush_to_disk(self.state)
        except OSError as error:
            raise self._unavailable(error) from None
        self._seen = (0, 0)
        self.extend(0, lines)

    def _size(self) -> int:
        try:
            return self.place.stat().st_size
        except FileNotFoundError:
            return 0
        except OSError as error:
            raise self._unavailable(error) from None

    def _unavailable(self, error: OSError) -> LedgerUnavailable:
        return LedgerUnavailable(
            f"the state folder must keep what its ledger was charged, and {self.place} cannot be read or written: "
            f"{error.strerror}; nothing was drawn, and trying again is safe."
        )


def difference(known: Sequence[str], lines: Sequence[str]) -> str | None:
    """Say how a ledger lacks what is known of it; None where it does not.

    Args:
        known: entries that are known, a line each, in order.
        lines: the ledger's.
    """
    if list(known) == list(lines[: len(known)]):
        return None
    if not lines:
        return "one without entries"
    if lines[0] != known[0]:
        return "another one"
    if list(lines) == list(known[: len(lines)]):
        return f"an older copy, which ends with entry {len(lines) - 1},"
    other = next(number for number, (one, two) in enumerate(zip(known, lines, strict=False)) if one != two)
    return f"one whose entry {other} is another"


def _whole(content: bytes) -> tuple[int, int]:
    """Size and number of the lines that are whole."""
    end = content.rfind(b"\n") + 1
    return end, content.count(b"\n")
