"""Opens the ledger of a state folder, and refuses any other ledger.

The folder recognizes its ledger by its own copy of the entries (stores.ledger.anchor), or without a copy by other
evidence (stores.ledger.evidence).
"""

from functools import lru_cache
from pathlib import Path

from stores.ledger.anchor import Anchor, LedgerReplaced
from stores.ledger.evidence import charged_keys, evidence_in
from stores.ledger.ledger import Ledger, kept_lines, ledger_place
from stores.vault.scratch import is_scratch


def state_ledger(state: Path) -> Ledger:
    """The ledger of a state folder, or the one that DENIABLE_LEDGER names.

    Raises:
        LedgerReplaced: it lacks entries of the state folder's copy, or entries that are proved otherwise.
        LedgerBroken: it was altered.
        LedgerUnavailable: it cannot be reached.
    """
    return _opened(state, str(ledger_place(state)))


@lru_cache(maxsize=4)
def _opened(state: Path, place: str) -> Ledger:
    # A repeated run in a scratch folder has its own ledger there.
    anchor = None if is_scratch(state) else Anchor(state)
    if anchor is not None and not anchor.exists:
        require_proven(state, kept_lines(place))
    return Ledger.open(place, anchor=anchor)


def require_proven(state: Path, lines: list[str]) -> None:
    """Refuse a ledger that lacks entries proved by the releases of a state folder.

    Args:
        state: the state folder.
        lines: the ledger's entries.

    Raises:
        LedgerReplaced: it lacks such an entry.
    """
    evidence = evidence_in(state)
    missing = evidence.missing_of_records(lines) or evidence.missing_of_vault(charged_keys(lines))
    if missing:
        raise LedgerReplaced(
            f"the ledger must hold what the releases in {state} were charged, got one that lacks entries of "
            f"{missing[0]}{f' and {len(missing) - 1} others' if len(missing) > 1 else ''}; nothing was read or drawn: "
            "restore the ledger, or name it in DENIABLE_LEDGER. If it cannot be restored, rebuild it with "
            "python -m flows ledger recover --reason ..., from an export with --from FILE, or accept it unchanged "
            "with --accept."
        )
