"""The gate of a state folder's ledger, the one place that decides whether anything may be charged.

All witnesses are heard each time: the ledger's own chain (`Ledger` checks it), the state folder's copy of it
(stores.ledger.anchor), and signed records, notes and vaults (stores.ledger.evidence). The strongest of them says no:
one witness that proves a charge which the ledger lacks is enough, whatever the others say. A ledger that was restored
together with its copy is therefore refused as long as anything shows what was charged since.
"""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from deniable.command_names import command_line
from deniable.foundation.errors import DeniableError
from deniable.ledger.entries import SIGNED, Charge, Entry
from deniable.ledger.state import LedgerState
from stores.ledger.anchor import Anchor, LedgerReplaced, difference
from stores.ledger.database import LedgerUnavailable
from stores.ledger.evidence import NOTES, Proof, Witnesses

_KEPT = {kind.kind for kind in (Charge, *SIGNED)}


class Gate:
    """The gate of one state folder; threads must take turns.

    Args:
        state: the state folder.

    Attributes:
        anchor: the state folder's copy of its ledger.
        witnesses: everything else that shows what was charged.
    """

    def __init__(self, state: Path) -> None:
        self.state = state
        self.anchor = Anchor(state)
        self.witnesses = Witnesses(state)
        self._proofs: Sequence[Proof] = ()

    def hear(self) -> None:
        """Hear all witnesses; call this before the ledger is read, because others may append to it meanwhile."""
        self._proofs = self.witnesses.proofs()

    def require_copy(self, read: Callable[[], Sequence[str]], place: str) -> None:
        """Refuse a ledger that lacks an entry of the state folder's copy, if the copy was changed since the last time.

        Args:
            read: reads the ledger's entries.
            place: location of the ledger, for messages.

        Raises:
            LedgerReplaced: it lacks an entry.
        """
        if self.anchor.changed:
            self.anchor.require_in(read, place)

    def require_proven(self, books: LedgerState, place: str) -> None:
        """Refuse a ledger that lacks anything that a witness proved when they were last heard.

        Args:
            books: the state of the ledger, after its latest entry.
            place: location of the ledger, for messages.

        Raises:
            LedgerReplaced: it lacks an entry or a charge.
        """
        fault = fault_of(books, self._proofs)
        if fault is not None:
            raise LedgerReplaced(
                f"the ledger must hold what was charged in {self.state}, got {place}, which {fault}; nothing was read "
                "or drawn: restore the ledger that holds it, or name it in DENIABLE_LEDGER. If it cannot be restored, "
                f"enter the proven charges again with {command_line('budget recover')} --reason ..., with an export as "
                "--from FILE if there is one, or accept the ledger unchanged with --accept."
            )

    def keep(self, entry: Entry) -> None:
        """Keep a note of an entry that the ledger's next owner must not lose, before anything is drawn under it.

        Raises:
            LedgerUnavailable: it cannot be written, so nothing may be drawn.
        """
        if entry.kind not in _KEPT:
            return
        try:
            self.witnesses.note(entry)
        except OSError as error:
            raise LedgerUnavailable(
                f"the state folder must keep what its ledger was charged, and {self.state / NOTES} cannot be written: "
                f"{error.strerror}; nothing was drawn, and trying again is safe."
            ) from None


def fault_of(books: LedgerState, proofs: Sequence[Proof]) -> str | None:
    """Describe what a ledger lacks of what is proved, and by what; None if nothing."""
    missing = missing_in(books, proofs)
    if not missing:
        return None
    proof, lacking = missing[0]
    shown = "proves" if proof.readable else "proves, although it cannot be read"
    more = f" (one of {len(missing)} proofs)" if len(missing) > 1 else ""
    return f"lacks {lacking} of {proof.release}, as {proof.witness} {shown}{more}"


def missing_in(books: LedgerState, proofs: Sequence[Proof]) -> list[tuple[Proof, str]]:
    """The proofs of which a ledger lacks something, and what it lacks."""
    found = ((proof, proof.missing_in(books)) for proof in proofs)
    return [(proof, lacking) for proof, lacking in found if lacking is not None]


def books_of(lines: Sequence[str]) -> LedgerState:
    """The state that follows from entries, as far as they follow from each other."""
    books = LedgerState()
    with suppress(DeniableError, ValueError):
        for line in lines:
            books.enter(Entry.from_record(json.loads(line)))
    return books


def fault_of_ledger(state: Path, read: Callable[[], Sequence[str]]) -> str | None:
    """Describe how a ledger lacks what a state folder knows of it, as the end of a sentence; None if it lacks nothing.

    Args:
        state: the state folder.
        read: reads the ledger's entries; called after the witnesses are heard, because others may append to both.
    """
    known, proofs = Anchor(state).lines(), Witnesses(state).proofs()
    lines = read()
    lost = difference(known, lines) if known else None
    if lost is not None:
        return f"is {lost.rstrip(',')}, while {state} knows of {len(known)} entries"
    return fault_of(books_of(lines), proofs)
