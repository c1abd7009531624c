"""Opens the ledger of a state folder, behind its gate (stores.ledger.gate), which refuses any other ledger."""

from functools import lru_cache, partial
from pathlib import Path

from stores.keys.custodian_key import custodian_key
from stores.ledger.gate import Gate
from stores.ledger.ledger import Ledger, ledger_place
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
    if is_scratch(state):
        # A repeated run in a scratch folder has its own ledger there, without room for any other charge.
        return Ledger.open(place)
    return Ledger.open(place, gate=Gate(state), custodian=partial(custodian_key, state))
