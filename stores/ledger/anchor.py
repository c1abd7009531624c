"""A state folder's copy of its ledger: the entries, kept outside the ledger's database.

An entry is stored first in the database and then in this copy, on disk; only then may the draw that it pays for be
made. A process that is killed in between leaves a ledger ahead of the copy, which is harmless: nothing was drawn under
an entry that the copy lacks. A ledger behind the copy, or different from it, was lost or replaced: the missing charges
were spent and could be spent again.

Other evidence of charges belongs to stores.ledger.evidence, the recovery of a ledger to stores.ledger.recovery.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from deniable.command_names import command_line
from deniable.ledger.state import LedgerBroken
from stores.ledger.database import LedgerUnavailable
from stores.locks import lock
from stores.own_files import NotOurFile, own_descriptor, read_own
from stores.vault.disk import flush_to_disk

ANCHOR = "ledger-anchor.jsonl"
"""Name of the copy in the state folder; it is not next to the database, so it is not lost together with it."""


class LedgerReplaced(LedgerBroken):
    """A ledger lacks entries of its state folder's copy."""


class Anchor:
    """A state folder's copy of its ledger's entries; threads must take turns, while processes use a lock.

    Args:
        state: the state folder.
    """

    def __init__(self, state: Path) -> None:
        self.state = state
        self.place = state / ANCHOR
        self._seen = (0, 0)

    @property
    def exists(self) -> bool:
        """Whether the copy has any entry."""
        return bool(self.lines())

    @property
    def changed(self) -> bool:
        """Whether the copy may have changed since it was last read."""
        return self._size() != self._seen[0]

    def lines(self) -> list[str]:
        """The entries in order, one line each; an incomplete last line is ignored."""
        try:
            whole, _, _ = read_own(self.place).rpartition(b"\n")
        except FileNotFoundError:
            return []
        except (NotOurFile, OSError) as error:
            raise self._unavailable(error) from None
        return whole.decode().split("\n") if whole else []

    def require_in(self, read: Callable[[], Sequence[str]], place: str) -> None:
        """Refuse a ledger that lacks an entry of this copy.

        Args:
            read: reads the ledger's entries; called after this copy is read, because others may append to both.
            place: location of the ledger, for messages.

        Raises:
            LedgerReplaced: it lacks an entry.
        """
        known = self.lines()
        fault = difference(known, read()) if known else None
        if fault is not None:
            raise LedgerReplaced(
                f"the ledger must hold the {len(known)} entries that {self.state} knows of, got {fault} at {place}; "
                "nothing was read or drawn: restore that ledger, or name it in DENIABLE_LEDGER. If it cannot be "
                f"restored, rebuild it with {command_line('budget recover')} --reason ..., from this folder's own copy "
                "or from an export with --from FILE, or accept it unchanged with --accept."
            )
        self._seen = (sum(len(line.encode()) + 1 for line in known), len(known))

    def extend(self, first: int, lines: Sequence[str]) -> bool:
        """Store entries of the ledger on disk; existing ones are left unchanged.

        Args:
            first: number of the first of them.
            lines: the entries.

        Returns:
            Whether they were stored; they are not if entries before them are missing here.

        Raises:
            LedgerUnavailable: they cannot be stored, so nothing may be drawn.
        """
        try:
            fresh = not self.place.exists()
            descriptor = own_descriptor(self.place, os.O_RDWR | os.O_CREAT)
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
        except (NotOurFile, OSError) as error:
            raise self._unavailable(error) from None
        return True

    def replace(self, lines: Sequence[str]) -> None:
        """Replace the entries; if the previous ones contradict them, they are kept in another file.

        Raises:
            LedgerUnavailable: they cannot be stored.
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

    def _unavailable(self, error: NotOurFile | OSError) -> LedgerUnavailable:
        why = error.strerror if isinstance(error, OSError) else str(error).rstrip(".")
        return LedgerUnavailable(
            f"the state folder must keep what its ledger was charged, and {self.place} cannot be read or written: "
            f"{why}; nothing was drawn, and trying again is safe."
        )


def difference(known: Sequence[str], lines: Sequence[str]) -> str | None:
    """Describe how a ledger lacks known entries; None if it lacks none.

    Args:
        known: the known entries in order, one line each.
        lines: the ledger's entries.
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
    """Size and number of the complete lines."""
    end = content.rfind(b"\n") + 1
    return end, content.count(b"\n")
