"""Verify the public folder of a discovery by its own record, and compare its charges with the ledger."""

from collections.abc import Iterator
from contextlib import suppress

from deniable.foundation.checks import Check
from deniable.foundation.errors import DeniableError, InvalidInput
from deniable.ledger.entries import Charge, Entry
from deniable.ledger.verification import records_of
from stores.record.audit_target import NO_LEDGER, AuditTarget
from stores.record.discovery_record import read_discovery
from stores.record.folder_verification import verified_beside
from tasks.running.check import Checks, as_check, out_of_reach

_CHARGES = "the discovery was charged only what the record shows"


def verify_discovery(sealed: AuditTarget) -> Checks:
    """Verify the folder, and search the ledger for other charges of the discovery.

    Args:
        sealed: the discovery.

    Returns:
        The checks.

    Raises:
        InvalidInput: there are no keys to trust.
        LedgerUnavailable: the ledger of this state folder cannot be read.
    """
    if not sealed.folder.is_dir():
        return (Check("the public folder is there", (f"{sealed.folder} was deleted, or moved",)),)
    ledger = None
    # A ledger elsewhere may be out of reach.
    if not sealed.ledger_is_out_of_reach:
        ledger = sealed.ledger_lines()
    report = verified_beside(sealed.folder, sealed.trusted(), sealed.trusted_where, ledger)
    if ledger is None:
        return (*report.checks, out_of_reach(_CHARGES, NO_LEDGER))
    return (*report.checks, Check(_CHARGES, tuple(_others(sealed, ledger))))


def _others(sealed: AuditTarget, ledger: list[str]) -> Iterator[str]:
    """Yield charges of the discovery that its record does not show."""
    shown = None
    with suppress(DeniableError):
        shown = read_discovery(sealed.folder)["entry"]["number"]
    for kept in records_of(ledger):
        try:
            entry = Entry.from_record(kept)
            fact = entry.fact()
        except InvalidInput:
            continue
        if isinstance(fact, Charge) and fact.release == sealed.release_id and entry.number != shown:
            yield f"entry {entry.number} charges it for step {fact.step}"


verify_discovery_task = as_check(verify_discovery, "the public folder and its record")
