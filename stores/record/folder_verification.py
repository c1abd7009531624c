"""Holds a release folder against its own signed record, as an auditor would who has the package alone.

What is checked is for `deniable.verification.release`; who is trusted is for whoever asks.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO

from deniable.foundation.errors import Refused
from deniable.ledger.verification import records_of
from deniable.record.trust import TrustedKeys
from deniable.verification.release import FILE, ReleaseReport, Trust, verify_release
from schemas.regular_files import opened_regular


class FolderOnDisk:
    """A folder, as `release_verification` looks at one.

    Args:
        path: the folder.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def members(self) -> Mapping[str, str]:
        """What is in it, by name."""
        return {path.name: _kind(path) for path in self._path.iterdir()}

    def open(self, name: str) -> AbstractContextManager[BinaryIO]:
        """Open a file to be read."""
        return opened_regular(self._path / name, "a file of a release")


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


def _kind(path: Path) -> str:
    if path.is_symlink():
        return "link"
    if path.is_dir():
        return "folder"
    return FILE if path.is_file() else "thing of another kind"
