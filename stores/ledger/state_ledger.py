"""Opens the ledger of a state folder: the one that the folder knows, and no other.

What the folder knows is its own copy of the entries (stores.ledger.anchor); where it has none, what else it proves
(stores.ledger.evidence).
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
        LedgerReplaced: it lacks entries that the state folder knows of, or that it proves.
        LedgerBroken: it was altered.
        LedgerUnavailable: it cannot be reached.
    """
    return _opened(state, str(ledger_place(state)))


@lru_cache(maxsize=4)
def _opened(state: Path, place: str) -> Ledger:
    # What is done again in a scratch folder has a ledger of its own there.
    anchor = None if is_scratch(state) else Anchor(state)
    if anchor is not None and not anchor.exists:
        require_proven(state, kept_lines(place))
    return Ledger.open(place, anchor=anchor)


def require_proven(state: Path, lines: list[str]) -> None:
    """Refuse a ledger that lacks what the releases of a state folder prove.

    Args:
        state: the state folder.
        lines: the ledger's entries.

    Raises:
        LedgerReplaced: it lacks something.
    """
    evidence = evidence_in(state)
    missing = evidence.missing_of_records(lines) or evidence.missing_of_vault(charged_keys(lines))
    if missing:
        raise LedgerReplaced(
            f"the ledger must hold what the releases in {state} were charged, got one that lacks entries of "
            f"{missing[0]}{f' and {len(missing) - 1} others' if len(missing) > 1 else ''}; nothing was read or drawn: "
            "bring the ledger back, or name it by DENIABLE_LEDGER. One that cannot be brought back is rebuilt by "
            "python -m flows ledger recover --reason ..., from an export by --from FILE, and with --accept is taken "
            "as it is."
        )
