"""A sealed release as an auditor finds it: where its folder, its records and its keys lie; none of it is believed yet.

What an audit compares is for `tasks`; how a record's signature is judged, for `stores.recorded`.
"""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from deniable.errors import DeniableError, InvalidInput
from deniable.trust import TrustedKeys
from schemas.provenance import RECORD, Internal
from stores.ledger import ledger_place
from stores.ledger_database import LedgerDatabase, LedgerUnavailable, entry_rows
from stores.recorded import keys_to_trust, trusted_record, trusted_where
from stores.run_tree import record_in_mlflow
from stores.signed_record import SignedRecord, read_signed


@dataclass(frozen=True)
class SealedRelease:
    """Where a release is found; small, and safe to hand to a task.

    Attributes:
        state: the state folder that it was made in.
        release_id: its name.
        folder: its public folder.
        keys: the trust file, where one is named.
    """

    state: Path
    release_id: str
    folder: Path
    keys: Path | None = None

    @property
    def shelf(self) -> Path:
        """Folder of its internal things."""
        return self.state / "shelf" / self.release_id

    def trusted(self) -> TrustedKeys:
        """Whose signatures count.

        Raises:
            InvalidInput: there is no trust file, or it is none.
        """
        return keys_to_trust(self.state, self.keys)

    @property
    def trusted_where(self) -> str:
        """Where the trust file was found, to be read after `trusted keys`."""
        return trusted_where(self.state, self.keys)

    def public(self) -> SignedRecord:
        """The public record, whoever signed it.

        Raises:
            InvalidInput: there is none, or it is not of the form that records have.
        """
        return read_signed(self.folder / RECORD)

    def internal(self) -> SignedRecord:
        """The internal record that a trusted key signed: from the shelf, or where that one is lost, from MLflow.

        Raises:
            DeniableError: there is none whose signature counts.
        """
        trusted = self.trusted()
        try:
            return self._of_this(trusted_record(self.shelf / RECORD, trusted))
        except DeniableError as error:
            failure = error
        with suppress(DeniableError), TemporaryDirectory(dir=self.state) as folder:
            kept = record_in_mlflow(self.state, self.public().record.runs.mlflow_run).content
            if kept is not None:
                copy = Path(folder) / RECORD
                copy.write_bytes(kept)
                return self._of_this(trusted_record(copy, trusted))
        raise failure

    def ledger_lines(self) -> list[str]:
        """All entries of the ledger as they are kept, a line each, in whatever state they are; nothing is made.

        Raises:
            LedgerUnavailable: there is no ledger, or it cannot be read.
        """
        place = ledger_place(self.state)
        file = _file_of(place)
        if file is not None and not file.is_file():
            raise LedgerUnavailable(f"the ledger must be at {file}, and is gone; bring it back, or say where it is.")
        with LedgerDatabase.at(place).reading() as connection:
            return entry_rows(connection, 0)

    def _of_this(self, signed: SignedRecord) -> SignedRecord:
        """Refuse the record of another release, and the public one."""
        internal_part(signed)
        if signed.record.release.id != self.release_id:
            raise InvalidInput(
                f"the internal record must be that of {self.release_id}, got that of {signed.record.release.id}."
            )
        return signed


def _file_of(place: str | Path) -> Path | None:
    """The file of a ledger; None where it is in the database of a server."""
    if isinstance(place, Path) or "://" not in place:
        return Path(place).expanduser()
    with suppress(ArgumentError):
        url = make_url(place)
        return Path(url.database) if url.drivername == "sqlite" and url.database else None
    return None


def internal_part(signed: SignedRecord) -> Internal:
    """What only the internal record says.

    Raises:
        InvalidInput: the record is the public one.
    """
    if signed.record.internal is None:
        raise InvalidInput("the internal record must be the internal rendering, got the public one.")
    return signed.record.internal


def find_sealed(release: str, state: Path, keys: Path | None = None) -> SealedRelease:
    """Find a release by its name or by its folder; what is left of it, where something is gone.

    Args:
        release: its name in the state folder, or the path of its public folder, wherever that is.
        state: the state folder that it was made in.
        keys: the trust file; by default as for `keys_to_trust`.

    Raises:
        InvalidInput: the state folder knows no such release.
    """
    path = Path(release).expanduser()
    names = [path.resolve().name]
    with suppress(DeniableError, OSError):
        names.append(read_signed(path / RECORD).record.release.id)
    for name in names:
        here = state / "releases" / name
        if name and (here.is_dir() or (state / "shelf" / name).is_dir()):
            elsewhere = path.is_dir() and not (here.is_dir() and release == name)
            return SealedRelease(state, name, path.resolve() if elsewhere else here, keys)
    raise InvalidInput(
        f"the release must be one that was made in {state}, got {release}; give its name or the path of its folder, "
        "and name its state folder by --state."
    )
