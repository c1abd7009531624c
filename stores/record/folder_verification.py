"""Checks a release folder against its own signed record, as an auditor with only the package would.

The checks are in `deniable.verification.release`; the caller decides which keys to trust.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from deniable.folder_on_disk import FolderOnDisk, record_beside
from deniable.foundation.errors import Refused
from deniable.ledger.verification import records_of
from deniable.record.trust import TrustedKeys
from deniable.verification.discovery import verify_discovery
from deniable.verification.release import RECORD, CheckedContents, ReleaseReport, Trust, kind_of, verify_release
from deniable.verification.survey import KIND as SURVEY_KIND
from deniable.verification.survey import verify_survey

PUBLISHED: Final = CheckedContents()
"""The contents of the release published last: it is verified before its publication, and once more afterwards."""


def verified_release(
    folder: Path,
    keys: TrustedKeys,
    found: str = "of the state folder",
    ledger: Sequence[str] | None = None,
    *,
    known: CheckedContents | None = None,
    releases: Path | None = None,
) -> ReleaseReport:
    """Verify a release, published or staged.

    Args:
        folder: the release folder.
        keys: the trusted keys.
        found: the source of the keys, as a continuation of `trusted keys`.
        ledger: the lines of the whole ledger, if available.
        known: contents that this process has checked already; by default, all are checked.
        releases: the folder of other releases; by default that which contains the release's.

    Returns:
        The results; faults of the release are reported there and never raised.
    """
    exported = None if ledger is None else records_of(ledger)
    place = (releases or folder.parent) / folder.name
    beside = record_beside(place, RECORD)
    return verify_release(FolderOnDisk(folder), Trust(keys, found), exported, known, record_of_other=beside)


def verified_beside(
    folder: Path, keys: TrustedKeys, found: str = "of the state folder", ledger: Sequence[str] | None = None
) -> ReleaseReport:
    """Verify a published folder that is not a release: that of a discovery or of a survey.

    Args:
        folder: the folder.
        keys: the trusted keys.
        found: the source of the keys, as a continuation of `trusted keys`.
        ledger: the lines of the whole ledger, if available; surveys are not charged to it.

    Returns:
        The results; faults are reported there and never raised.
    """
    opened, trust = FolderOnDisk(folder), Trust(keys, found)
    if kind_of(opened) == SURVEY_KIND:
        return verify_survey(opened, trust)
    return verify_discovery(opened, trust, None if ledger is None else records_of(ledger))


def require_verified(report: ReleaseReport) -> None:
    """Refuse a release that fails a check.

    Raises:
        Refused: a check fails; the message names the first one.
    """
    wrong = next((check for check in report.checks if not check.holds), None)
    if wrong is not None:
        raise Refused(f"a release must hold against its own record, and does not: {wrong.line}; nothing was published.")
