"""Verify the public folder of a release by its own record, as anyone with the folder can."""

from contextlib import suppress

from deniable.foundation.checks import Check
from stores.ledger.database import LedgerUnavailable
from stores.record.audit_target import AuditTarget
from stores.record.folder_verification import verified_release
from tasks.running.check import Checks, as_check


def verify_folder(sealed: AuditTarget) -> Checks:
    """Verify the folder.

    Args:
        sealed: the release.

    Returns:
        The checks.

    Raises:
        InvalidInput: there are no keys to trust.
    """
    if not sealed.folder.is_dir():
        return (Check("the public folder is there", (f"{sealed.folder} was deleted, or moved",)),)
    ledger = None
    # Another check reports a missing ledger.
    with suppress(LedgerUnavailable):
        ledger = sealed.ledger_lines()
    return verified_release(sealed.folder, sealed.trusted(), sealed.trusted_where, ledger).checks


verify_folder_task = as_check(verify_folder, "the public folder and its record")
