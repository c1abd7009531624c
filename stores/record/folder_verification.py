"""Holds a release folder against its own signed record, as an auditor would who has the package alone.

What is checked is for `deniable.verification.release`; who is trusted is for whoever asks.
"""

from collections.abc import Sequence
from pathlib import Path

from deniable.folder_on_disk import FolderOnDisk
from deniable.foundation.errors import Refused
from deniable.ledger.verification import records_of
from deniable.record.trust import TrustedKeys
from deniable.verification.release import ReleaseReport, Trust, verify_release


def verified_release(
    folder: Path, keys: TrustedKeys, found: str = "of the state folder", ledger: Sequence[str] | None = None
) -> ReleaseReport:
    """Verify a release, published or staged.

    Args:
        folder: the release folder.
        keys: whose signatures count.
        found: where the keys were found, to be read after `trusted keys`.
        ledger: the lines of the whole ledger, where it is at hand.

    Returns:
        What was found; it never raises for what is wrong with the release.
    """
    exported = None if ledger is None else records_of(ledger)
    return verify_release(FolderOnDisk(folder), Trust(keys, found), exported)


def require_verified(report: ReleaseReport) -> None:
    """Refuse a release that does not hold.

    Raises:
        Refused: something does not hold; the message has the first of it.
    """
    wrong = next((check for check in report.checks if not check.holds), None)
    if wrong is not None:
        raise Refused(f"a release must hold against its own record, and does not: {wrong.line}; nothing was published.")
