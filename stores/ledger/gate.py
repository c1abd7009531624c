"""The gate of a state folder's ledger, the one place that decides whether anything may be charged.

All witnesses are heard each time: the ledger's own chain (`Ledger` checks it), the state folder's copy of it
(stores.ledger.anchor), signed records, notes and vaults (stores.ledger.evidence), and the last checkpoint that a
witness elsewhere has cosigned (deniable.ledger.checkpoint). The strongest of them says no:
one witness that proves a charge which the ledger lacks is enough, whatever the others say. A ledger that was restored
together with its copy is therefore refused as long as anything shows what was charged since.
"""

import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from deniable.command_names import command_line
from deniable.foundation.errors import DeniableError, InvalidInput, Refused
from deniable.ledger.checkpoint import Checkpoint, read_checkpoint, read_verifier_key
from deniable.ledger.entries import SIGNED, Charge, Entry
from deniable.ledger.state import LedgerState
from schemas.regular_files import read_regular
from stores.ledger.anchor import Anchor, LedgerReplaced, difference
from stores.ledger.database import LedgerUnavailable
from stores.ledger.evidence import NOTES, Proof, Witnesses
from stores.vault.scratch import is_scratch

_KEPT = {kind.kind for kind in (Charge, *SIGNED)}


CHECKPOINT_VARIABLE = "DENIABLE_CHECKPOINT"
"""Names the last checkpoint that a witness has cosigned; it is read before each charge."""
WITNESS_VARIABLE = "DENIABLE_WITNESS_KEY"
"""The key of this witness, as `audit witness` printed it: without his signature nothing is charged."""
UNWITNESSED_VARIABLE = "DENIABLE_UNWITNESSED"
"""The most entries that the ledger may have beyond this checkpoint."""

_LARGEST_CHECKPOINT = 1 << 20


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
        self._checkpoint: Checkpoint | None = None
        self._continued: tuple[Checkpoint, str] | None = None

    def hear(self) -> None:
        """Hear all witnesses; call this before the ledger is read, because others may append to it meanwhile."""
        self._proofs = self.witnesses.proofs()
        self._checkpoint = cosigned_checkpoint()

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
        self._require_continued(books, place)
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

    def _require_continued(self, books: LedgerState, place: str) -> None:
        """Refuse a ledger that does not continue the last cosigned checkpoint."""
        checkpoint = self._checkpoint
        if checkpoint is None:
            return
        last = books.digest_at(checkpoint.size - 1) or ""
        if self._continued != (checkpoint, last):
            require_continues(checkpoint, books.digests, place)
            # The digest of an entry fixes all before it, so that the same one needs no second look.
            self._continued = (checkpoint, last)

    def require_witnessed(self, books: LedgerState, begun: Charge | None = None) -> None:
        """Refuse to begin to charge a release if a witness has not seen the ledger for too long.

        Args:
            books: the state of the ledger, after its latest entry.
            begun: a charge that is about to be entered; of a release that was charged before, it is never refused.

        Raises:
            InvalidInput: the environment does not state a number.
            Refused: there are more entries beyond the last cosigned checkpoint, or there is none.
        """
        most = _most_unwitnessed()
        if most is None or (begun is not None and _is_charged(books, begun)):
            return
        beyond = len(books.digests) - (0 if self._checkpoint is None else self._checkpoint.size)
        if beyond > most:
            raise Refused(
                f"the ledger must have at most {most:,} entries beyond the last cosigned checkpoint "
                f"({UNWITNESSED_VARIABLE}), got {beyond:,}; nothing was charged. Have one cosigned: "
                f"{command_line('budget checkpoint')} FILE --after CHECKPOINT, then audit witness."
            )


def cosigned_checkpoint() -> Checkpoint | None:
    """The checkpoint that the environment names; None if it names none.

    Raises:
        InvalidInput: it is none, or the named key is none.
        Refused: it is not there, or was not cosigned with the named key.
    """
    named, key = os.environ.get(CHECKPOINT_VARIABLE), os.environ.get(WITNESS_VARIABLE)
    if not named:
        return None
    checkpoint = read_checkpoint_file(Path(named))
    if key and checkpoint.cosigned_at(read_verifier_key(key)) is None:
        raise Refused(
            f"the checkpoint must be cosigned with the key in {WITNESS_VARIABLE}, got {named}, which is not; nothing "
            "was charged. Get the file from the witness himself."
        )
    return checkpoint


def read_checkpoint_file(path: Path) -> Checkpoint:
    """Read the last checkpoint that a witness has cosigned.

    Raises:
        InvalidInput: it is no checkpoint.
        Refused: it cannot be read.
    """
    try:
        text = read_regular(path, "the checkpoint", _LARGEST_CHECKPOINT).decode()
    except (OSError, UnicodeDecodeError):
        raise Refused(
            f"the last cosigned checkpoint must be a readable file, got {path}, which is none; nothing was charged. "
            "Get the file from the witness."
        ) from None
    return read_checkpoint(text)


def require_continues(checkpoint: Checkpoint, digests: Sequence[str], place: str) -> None:
    """Refuse a ledger that does not continue a checkpoint.

    Args:
        checkpoint: the checkpoint.
        digests: the digest of each of the ledger's entries, in order.
        place: location of the ledger, for messages.

    Raises:
        LedgerReplaced: it does not.
    """
    fault = checkpoint.fault_in(digests)
    if fault is not None:
        raise LedgerReplaced(
            f"the ledger must continue its last cosigned checkpoint, got {place}, which {fault}; nothing was read or "
            "drawn: restore the ledger that continues it. It was put back to an earlier state, or two copies of it "
            "were used; both could spend the same budget twice."
        )


def digests_of(lines: Sequence[str], place: str) -> tuple[str, ...]:
    """The digest of each entry of a ledger.

    Raises:
        Refused: its entries do not follow from each other, or there are none.
    """
    digests = books_of(lines).digests
    if not lines or len(digests) != len(lines):
        raise Refused(f"a ledger must hold to be cosigned, and {place} does not; see {command_line('budget verify')}.")
    return digests


def _is_charged(books: LedgerState, begun: Charge) -> bool:
    return any(known.charge.release == begun.release for known in books.charges(begun.dataset))


def _most_unwitnessed() -> int | None:
    """How many entries the ledger may have beyond the last cosigned checkpoint; None for any number."""
    text = os.environ.get(UNWITNESSED_VARIABLE, "")
    if not text:
        return None
    if not (text.isascii() and text.isdecimal()):
        raise InvalidInput(f"{UNWITNESSED_VARIABLE} must be a number of entries, got {text}; correct it.")
    return int(text)


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
    books = books_of(lines)
    checkpoint = None if is_scratch(state) else cosigned_checkpoint()
    if checkpoint is not None and (fault := checkpoint.fault_in(books.digests)):
        return f"{fault}, as the checkpoint in {CHECKPOINT_VARIABLE} shows"
    return fault_of(books, proofs)
