"""A sealed release before its audit: locations of its folder, its records and its keys; nothing is trusted yet.

An external auditor has the public folder, a trust file, and perhaps access to MLflow's server and an export of the
ledger; their own state folder contains nothing of the release.

The comparisons of an audit belong to `tasks`, the check of a record's signature to `stores.record.record_reader`.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from deniable.foundation.errors import DeniableError, InvalidInput, Refused
from deniable.record.trust import TrustedKeys
from schemas.provenance import RECORD, Internal
from schemas.regular_files import read_regular
from stores.keys.signed_record import SignedRecord, read_signed
from stores.ledger.database import LedgerDatabase, LedgerUnavailable, entry_rows
from stores.ledger.ledger import LEDGER_VARIABLE, ledger_place
from stores.record.discovery_record import DISCOVERY_NOTE, discovery_place, has_discovery, read_discovery
from stores.record.record_reader import keys_to_trust, trusted_content, trusted_record, trusted_where
from stores.tracking.client import tracking_uri
from stores.tracking.run_tree import RECORD_ARTIFACT, record_in_mlflow

NO_SHELF = "the shelf is in the state folder that made the release, which is not this one"
NO_MLFLOW = "name MLflow's server in DENIABLE_MLFLOW_TRACKING_URI"
NO_LEDGER = "give an export of the ledger with --ledger, or name the ledger in DENIABLE_LEDGER"

NOT_AUDITED: Mapping[str, str] = {
    "vault/*": "confidential material of the release, which an audit does not read; the record commits to it by keys",
    "keys/*": "the keys of the state folder: without the trust file nothing is audited, and a private key is not read",
    "ledger-anchor.jsonl": "the state folder's copy of the ledger, with which each charge compares the ledger itself",
    "ledger/ledger.db/deniable_ledger.number": "repeats what the entry states, which is compared",
    "ledger/ledger.db/deniable_ledger.previous": "repeats what the entry states, which is compared",
    "ledger/ledger.db/deniable_ledger.digest": "repeats what the entry states, which is compared",
    "ledger/ledger.db/*.version_num": "the version of the ledger's tables, which changes with an upgrade",
}
"""What an audit does not compare in a state folder, by patterns of paths (and of columns in the ledger's database)."""

_KEPT_IN = ("releases", "shelf", "vault")
_SERVERS = ("http://", "https://")
_LONGEST_EXPORT = 1 << 30


@dataclass(frozen=True)
class AuditTarget:
    """The locations of a release; small, and safe to pass to a task.

    Attributes:
        state: the state folder in which it was made.
        release_id: its name.
        folder: its public folder.
        keys: the trust file, if one is named.
        ledger: an export of the ledger, if one is given.
        elsewhere: whether the state folder is not the one in which it was made.
        is_discovery: whether it is a discovery, which has one record, public.
    """

    state: Path
    release_id: str
    folder: Path
    keys: Path | None = None
    ledger: Path | None = None
    elsewhere: bool = False
    is_discovery: bool = False

    @property
    def shelf(self) -> Path:
        """Folder of its internal files."""
        return self.state / "shelf" / self.release_id

    def trusted(self) -> TrustedKeys:
        """The trusted keys.

        Raises:
            InvalidInput: there is no trust file, or the file is not one.
        """
        return keys_to_trust(self.state, self.keys)

    @property
    def trusted_where(self) -> str:
        """The source of the trust file, as a continuation of `trusted keys`."""
        return trusted_where(self.state, self.keys)

    def public(self) -> SignedRecord:
        """The public record, without a check of its signature.

        Raises:
            InvalidInput: there is none, or it does not have the form of records.
        """
        return read_signed(self.folder / RECORD)

    @property
    def mlflow_is_out_of_reach(self) -> bool:
        """Whether the location of MLflow's server is unknown: an external auditor's own store has other releases."""
        return self.elsewhere and not tracking_uri(self.state).startswith(_SERVERS)

    @property
    def ledger_is_out_of_reach(self) -> bool:
        """Whether the location of the ledger is unknown: an external auditor's own ledger has other charges."""
        return self.elsewhere and self.ledger is None and not os.environ.get(LEDGER_VARIABLE)

    def internal(self) -> SignedRecord:
        """The internal record signed by a trusted key: from the shelf, or from MLflow if that one is lost.

        Raises:
            DeniableError: there is no record with a trusted signature.
        """
        trusted = self.trusted()
        if self.elsewhere:
            return self._internal_in_mlflow(trusted)
        try:
            return self._of_this(trusted_record(self.shelf / RECORD, trusted))
        except DeniableError as error:
            failure = error
        with suppress(DeniableError):
            kept = record_in_mlflow(self.state, self.public().record.runs.mlflow_run).content
            if kept is not None:
                return self._of_this(trusted_content(kept, RECORD_ARTIFACT, trusted))
        raise failure

    def most_said(self) -> SignedRecord:
        """The internal record, or the public one if MLflow is out of reach; a trusted key signed either.

        Raises:
            DeniableError: there is no record with a trusted signature.
        """
        if self.mlflow_is_out_of_reach:
            return trusted_record(self.folder / RECORD, self.trusted(), self.trusted_where)
        return self.internal()

    def ledger_lines(self) -> list[str]:
        """All stored entries of the ledger, one line each, in any state; nothing is created.

        Raises:
            LedgerUnavailable: there is no ledger, or it cannot be read.
        """
        if self.ledger is not None:
            return exported_lines(self.ledger)
        if self.ledger_is_out_of_reach:
            raise LedgerUnavailable(f"the ledger must be named for an audit elsewhere, got none; {NO_LEDGER}.")
        place = ledger_place(self.state)
        file = _file_of(place)
        if file is not None and not file.is_file():
            raise LedgerUnavailable(f"the ledger must be at {file}, and is missing; restore it, or give its location.")
        with LedgerDatabase.only_read(place).reading() as connection:
            return entry_rows(connection, 0)

    def _internal_in_mlflow(self, trusted: TrustedKeys) -> SignedRecord:
        """The internal record, if MLflow has the only copy within reach."""
        kept = record_in_mlflow(self.state, self.public().record.runs.mlflow_run).content
        if kept is None:
            raise Refused(
                f"MLflow must have the internal record of {self.release_id}, but the artifact {RECORD_ARTIFACT} of its "
                "run, or the run itself, was deleted."
            )
        with suppress(DeniableError):
            return self._of_this(trusted_content(kept, RECORD_ARTIFACT, trusted))
        raise Refused(
            f"the artifact {RECORD_ARTIFACT} of {self.release_id} must be what a trusted key signed for it, and is "
            "not: it was changed."
        )

    def _of_this(self, signed: SignedRecord) -> SignedRecord:
        """Refuse the record of another release, and the public record."""
        internal_part(signed)
        if signed.record.release.id != self.release_id:
            raise InvalidInput(
                f"the internal record must be that of {self.release_id}, got that of {signed.record.release.id}."
            )
        return signed


def _file_of(place: str | Path) -> Path | None:
    """The file of a ledger; None if it is in the database of a server."""
    if isinstance(place, Path) or "://" not in place:
        return Path(place).expanduser()
    with suppress(ArgumentError):
        url = make_url(place)
        return Path(url.database) if url.drivername == "sqlite" and url.database else None
    return None


def internal_part(signed: SignedRecord) -> Internal:
    """The part that only the internal record has.

    Raises:
        InvalidInput: the record is the public one.
    """
    if signed.record.internal is None:
        raise InvalidInput("the internal record must be the internal rendering, got the public one.")
    return signed.record.internal


def _discovery(release: str, path: Path, state: Path) -> tuple[Path, bool] | None:
    """The folder of a discovery, and whether it was made elsewhere; None if it is a release, or nothing."""
    here = discovery_place(state, path.resolve().name)
    begun = (state / "vault" / here.name / DISCOVERY_NOTE).is_file()
    if release == here.name and (here.is_dir() or begun):
        return here, False
    if not path.is_dir() or not has_discovery(path):
        return None
    return path.resolve(), not (here.is_dir() or begun)


def exported_lines(file: Path) -> list[str]:
    """The entries of an exported ledger, one line each.

    Raises:
        InvalidInput: the file cannot be read.
    """
    try:
        # Only a line feed ends an entry: text in an entry may contain other line separators.
        lines = read_regular(file, "the export", _LONGEST_EXPORT).decode().removesuffix("\n").split("\n")
    except (OSError, UnicodeDecodeError):
        raise InvalidInput(f"an export of the ledger must be a readable file, got {file}; name another.") from None
    return lines if lines != [""] else []


def find_sealed(release: str, state: Path, keys: Path | None = None, ledger: Path | None = None) -> AuditTarget:
    """Find a release by its name or by its folder, even if parts of it are missing.

    Args:
        release: its name in the state folder, or the path of its public folder anywhere.
        state: the state folder in which it was made, or that of an external auditor.
        keys: the trust file; by default as for `keys_to_trust`.
        ledger: an export of the ledger, used instead of the ledger.

    Raises:
        InvalidInput: there is no such release.
    """
    path = Path(release).expanduser()
    if (discovery := _discovery(release, path, state)) is not None:
        folder, elsewhere = discovery
        name = path.resolve().name
        with suppress(DeniableError, OSError):
            name = read_discovery(folder)["discovery"]["id"] if elsewhere else folder.name
        return AuditTarget(state, name, folder, keys, ledger, elsewhere=elsewhere, is_discovery=True)
    names = [path.resolve().name]
    with suppress(DeniableError, OSError):
        names.append(read_signed(path / RECORD).record.release.id)
    for name in names:
        here = state / "releases" / name
        if name and any((state / kind / name).is_dir() for kind in _KEPT_IN):
            is_copy = path.is_dir() and not (here.is_dir() and release == name)
            return AuditTarget(state, name, path.resolve() if is_copy else here, keys, ledger)
    if (path / RECORD).is_file():
        return AuditTarget(state, names[-1], path.resolve(), keys, ledger, elsewhere=True)
    raise InvalidInput(
        f"the release must be one that was made in {state}, got {release}; give its name or the path of its folder, "
        "and give its state folder with --state. For an audit elsewhere, give the path of its public folder."
    )
