"""Recognises an arriving snapshot of a dataset: whether a release of exactly these rows is already published.

Rows are compared by the content of their cells, not by their order or by their storage in a file. The notes are in the
vault; nothing in them is published or recorded elsewhere.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import BaseModel, ValidationError

from deniable.foundation.keys import ReleaseKey
from deniable.record.snapshot_commitment import SnapshotCommitment
from schemas.spec.release_spec import ReleaseSpec
from schemas.table import columns_read
from stores.own_files import read_own
from stores.releases.resumable_releases import ResumableRelease, releases_of
from stores.tables.sources.reading import opened_source
from stores.tables.tables import malformed_rows
from stores.vault.disk import replace_whole

_NOTE = "arrival.json"
_SNAPSHOT = "snapshot.parquet"
_ROWS = 1 << 16
_WHOLE = float(1 << 53)  # beyond this, not every integer is a floating-point number


class _Note(BaseModel):
    """The snapshot of a release, as a commitment under the dataset's key."""

    key: str
    columns: tuple[str, ...]
    commitment: str


@dataclass(frozen=True)
class Snapshots:
    """The known snapshots of a dataset.

    Attributes:
        state: the state folder.
        spec: the release spec; the columns that its schema reads are compared.
        key: the dataset's key.
    """

    state: Path
    spec: ReleaseSpec
    key: ReleaseKey

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are compared, in sorted order."""
        return tuple(sorted(columns_read(self.spec.schema)))

    def arrived(self) -> str:
        """Commit to the current content of the spec's source.

        Raises:
            InvalidInput: the source is missing, incomplete, or lacks columns.
        """
        with opened_source(self.spec, self.state) as source:
            made = SnapshotCommitment(self.key)
            _add(made, source.batches(), self.columns)
            return made.digest(self.columns, source.malformed_rows)

    def published(self) -> dict[str, str]:
        """Commitments to the snapshots of the dataset's published releases, by release, the oldest first.

        A release is left out if its snapshot is no longer in the vault and was not noted before.
        """
        known = {begun.release_id: self.taken(begun) for begun in published_releases(self.state, self.spec)}
        return {release: commitment for release, commitment in known.items() if commitment is not None}

    def taken(self, begun: ResumableRelease) -> str | None:
        """Commit to the snapshot of a release; None if it has no snapshot that can be compared."""
        vault = self.state / "vault" / begun.release_id
        noted = self._noted(vault / _NOTE)
        if noted is not None:
            return noted
        snapshot = vault / _SNAPSHOT
        if not snapshot.is_file() or not set(self.columns) <= set(pq.read_schema(snapshot).names):
            return None
        made = SnapshotCommitment(self.key)
        with pq.ParquetFile(snapshot, pre_buffer=False) as file:
            _add(made, file.iter_batches(_ROWS, columns=list(self.columns), use_threads=False), self.columns)
        commitment = made.digest(self.columns, malformed_rows(snapshot))
        if begun.finished:  # otherwise the rows may be read again
            note = _Note(key=self.key.commitment(), columns=self.columns, commitment=commitment)
            replace_whole(vault / _NOTE, note.model_dump_json())
        return commitment

    def _noted(self, place: Path) -> str | None:
        """The earlier note under the same key for the same columns."""
        try:
            note = _Note.model_validate_json(read_own(place))
        except (FileNotFoundError, ValidationError):
            return None
        return note.commitment if (note.key, note.columns) == (self.key.commitment(), self.columns) else None


def published_releases(state: Path, spec: ReleaseSpec) -> list[ResumableRelease]:
    """The published releases of a spec's dataset, the oldest first.

    Raises:
        Refused: the note of a release that may be one of them cannot be read.
    """
    found = [begun for begun in releases_of(state, spec) if (state / "releases" / begun.release_id).is_dir()]
    return sorted(found, key=lambda begun: begun.release_id.rpartition("-")[2])


def _add(made: SnapshotCommitment, batches: Iterable[pa.RecordBatch], columns: Sequence[str]) -> None:
    """Add the rows of a table, counting equal rows together."""
    for batch in batches:
        for start in range(0, len(batch), _ROWS):
            part = batch.slice(start, _ROWS)
            counted = pc.value_counts(_rows([part.column(name) for name in columns]))
            rows, counts = counted.field("values").to_pylist(), counted.field("counts").to_pylist()
            made.add((row.encode(), count) for row, count in zip(rows, counts, strict=True))


def _rows(columns: Sequence[pa.Array]) -> pa.Array:
    """Each row as an unambiguous text: its cells, each preceded by its kind and its length."""
    cells = []
    for column in columns:
        kind, text = _text(column)
        length = pc.cast(pc.binary_length(text), pa.string())
        cell = pc.binary_join_element_wise(pa.scalar(kind), length, pa.scalar(":"), text, "")
        cells.append(pc.fill_null(cell, "-"))
    return pc.binary_join_element_wise(*cells, "")


def _text(column: pa.Array) -> tuple[str, pa.Array]:
    """A column as text, with its kind; a whole number has the same text whatever type stores it."""
    if pa.types.is_string(column.type):
        return "t", column
    if pa.types.is_boolean(column.type):
        return "b", column.cast(pa.string())
    if pa.types.is_integer(column.type):
        return "n", column.cast(pa.string())
    numbers = column.cast(pa.float64())
    numbers = pc.if_else(pc.is_nan(numbers), pa.scalar(None, pa.float64()), numbers)
    is_whole = pc.and_(pc.less(pc.abs(numbers), _WHOLE), pc.equal(pc.floor(numbers), numbers))
    whole = pc.if_else(is_whole, numbers, pa.scalar(None, pa.float64())).cast(pa.int64()).cast(pa.string())
    return "n", pc.coalesce(whole, numbers.cast(pa.string()))
