"""Reads the rows of a public table for a step that counts them, and refuses a table that is not the stated one.

A public table is read with the schema of the confidential one. Rows that are out of scope, incomplete or invalid are
left out. The release engineer asserts that a file is public. This module checks that it is not the source itself:
neither the same file, nor the same records in another encoding or order. The check has no effect other than a refusal.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import file_digest
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from deniable.foundation.domain import Codes
from deniable.foundation.errors import InvalidInput, Refused
from deniable.foundation.tables import Tally
from deniable.mechanisms import PublicTable
from deniable.record.exact_stops import COPY_OF_SOURCE, decided_exactly
from schemas.regular_files import require_regular
from schemas.spec.release_spec import FileSource, PublicComparison, ReleaseSpec
from stores.tables.sources import locate, opened_source
from stores.tables.tables import VALID, encode, frame_of
from tasks.data.validate import Findings, examine

T = TypeVar("T", bound=Tally)


@dataclass(frozen=True)
class PublicCounter:
    """Counts the rows of a public table; see `deniable.mechanisms.Counter`.

    Attributes:
        spec: the release.
        table: the table.
        cache: folder for downloads that anyone may read.
    """

    spec: ReleaseSpec
    table: PublicTable
    cache: Path

    def count(self, empty: Callable[[], T], _: str) -> T:
        """Count all valid rows.

        Raises:
            InvalidInput: the file is missing, or has another digest.
            Refused: it is the confidential source, or has no valid row.
        """
        table, lines = self.table, "add the lines that `python -m flows select SPEC` prints"
        path = _stated_file(self.spec, table.path, table.sha256, lines)
        return counted_publicly(self.spec, path, empty, self.cache, self._source)

    @cached_property
    def _source(self) -> "SourceRecords":
        """Return the source's records, which are read once, however often public rows are counted."""
        return SourceRecords(self.spec, self.cache)

    def advance(self, amount: int) -> None:
        """Report nothing: a step that reads only public rows takes little time."""


def digest_of(spec: ReleaseSpec, path: Path) -> str:
    """Return the SHA-256 of a public file.

    Args:
        spec: the release.
        path: the file.

    Raises:
        InvalidInput: there is no such file.
        Refused: it is the confidential source.
    """
    require_regular(path, "the public file")
    if not path.is_file():
        raise InvalidInput(f"the public file must exist, and {path} does not; put it there, or name another.")
    digest = _sha256(path)
    if any(path.samefile(other) or _sha256(other) == digest for other in _files_of_source(spec)):
        msg = (
            "a public file must not be the source of the release, which is confidential, and it is; name a file that "
            "anyone may read, or a learner that pays for its choices."
        )
        raise decided_exactly(COPY_OF_SOURCE, Refused(msg))
    return digest


def counted_publicly(
    spec: ReleaseSpec, path: Path, empty: Callable[[], T], cache: Path, source: "SourceRecords | None" = None
) -> T:
    """Count the valid rows of a public file.

    Args:
        spec: the release, for its schema.
        path: the file.
        empty: makes an empty tally.
        cache: folder for downloads.
        source: the source's records, so that they are read once for several tallies.

    Raises:
        Refused: the file has no valid row, or its valid rows are those of the confidential source.
    """
    tally, records = empty(), Records()
    for codes in _codes(spec, path, cache):
        tally.add(codes)
        records.add(codes)
    if not records.rows:
        raise Refused(f"the public file {path.name} must have valid rows, got none; see the dataset's schema.")
    if records == (source or SourceRecords(spec, cache)).records:
        msg = (
            f"the public file {path.name} must not be a copy of the source of the release, which is confidential, and "
            "its valid rows are the same; name a file that anyone may read, or a learner that pays for its choices."
        )
        raise decided_exactly(COPY_OF_SOURCE, Refused(msg))
    return tally


def require_public_table(spec: ReleaseSpec) -> None:
    """Refuse a table for comparison that is missing, differs from the one that the spec states, or is the source.

    Args:
        spec: the release; a release without such a table passes.

    Raises:
        InvalidInput: there is no such file, or it has another digest.
        Refused: it is the confidential source.
    """
    public = spec.evaluation.public
    if public is None:
        return
    _stated_file(spec, public.file, public.sha256, "correct evaluation.public")


def _stated_file(spec: ReleaseSpec, file: str, sha256: str, correct: str) -> Path:
    """Return the public file that a spec names, which must have the stated digest; `correct` says what to change."""
    path = spec.folder / file
    digest = digest_of(spec, path)
    if digest != sha256:
        raise InvalidInput(
            f"the public file {file} must have the SHA-256 {sha256}, got {digest}; find out which of the two is "
            f"right, and {correct}."
        )
    return path


def public_codes(spec: ReleaseSpec, public: PublicComparison, cache: Path) -> list[Codes]:
    """Return codes of the valid rows of the public table with which a release is compared.

    Args:
        spec: the release.
        public: the table.
        cache: folder for downloads.

    Raises:
        InvalidInput: the file is missing, or has another digest.
        Refused: it is the confidential source or a copy of it, or has no valid row.
    """
    path = _stated_file(spec, public.file, public.sha256, "correct evaluation.public")
    return counted_publicly(spec, path, _Rows, cache).chunks


class _Rows:
    """A tally that keeps the rows themselves, which are public."""

    def __init__(self) -> None:
        self.chunks: list[Codes] = []

    def add(self, codes: Codes) -> None:
        """Keep more rows."""
        self.chunks.append(codes)

    def merge(self, other: "_Rows") -> None:
        """Keep the rows of another."""
        self.chunks += other.chunks

    @property
    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """Return the rows by the number of their chunk."""
        return {str(number): codes for number, codes in enumerate(self.chunks)}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore stored rows."""
        self.chunks = list(arrays.values())


@dataclass
class Records:
    """A table's records regardless of order: their number, and a sum of 128-bit hashes of their codes.

    Attributes:
        rows: number of records.
        sums: sums of two hashes of each record, modulo 2^64, shape (2,).
    """

    rows: int = 0
    sums: tuple[int, int] = (0, 0)

    def add(self, codes: Codes) -> None:
        """Add more records, value codes of shape (rows, m)."""
        self.rows += len(codes)
        first, second = (
            (before + int(_hashes(codes, start).sum(dtype=np.uint64))) % _WORD
            for before, start in zip(self.sums, _STARTS, strict=True)
        )
        self.sums = (first, second)


@dataclass(frozen=True)
class SourceRecords:
    """The records of the confidential source, read at most once.

    Attributes:
        spec: the release.
        cache: folder for downloads.
    """

    spec: ReleaseSpec
    cache: Path

    @cached_property
    def records(self) -> Records | None:
        """Return the source's valid records; None if there is no source, in which case nothing is released."""
        return _records_of_source(self.spec, self.cache)


_WORD = 1 << 64
_STARTS = (0x243F6A8885A308D3, 0x13198A2E03707344)
_ODD, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def _hashes(codes: Codes, start: int) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each record, computed column by column (SplitMix64)."""
    found = np.full(len(codes), start, np.uint64)
    for column in codes.T:
        found = (found ^ column.astype(np.uint64)) + np.uint64(_ODD)
        found = (found ^ (found >> np.uint64(30))) * np.uint64(_FIRST)
        found = (found ^ (found >> np.uint64(27))) * np.uint64(_SECOND)
        found ^= found >> np.uint64(31)
    return found


def _records_of_source(spec: ReleaseSpec, cache: Path) -> Records | None:
    """Return the confidential source's valid records; None if there is no source, in which case nothing is released."""
    records = Records()
    try:
        for codes in _codes(spec, None, cache):
            records.add(codes)
    except InvalidInput:
        return None
    return records


def _codes(spec: ReleaseSpec, path: Path | None, cache: Path) -> Iterator[Codes]:
    """Yield codes of the valid rows of a file, or of the source."""
    schema, domain, findings = spec.schema, spec.domain, Findings()
    with opened_source(spec.reading(path), cache) as source:
        for batch in source.batches():
            recoded = examine(schema, frame_of(pa.Table.from_batches([batch])), findings)
            yield encode(recoded[recoded[VALID]], domain)


def _files_of_source(spec: ReleaseSpec) -> list[Path]:
    """Return the local files of the source."""
    if not isinstance(spec.source, FileSource):
        return []
    place = locate(spec.source, spec.folder)
    if isinstance(place, str):
        return []
    found = sorted(place.rglob("*")) if place.is_dir() else [place]
    return [path for path in found if path.is_file()]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
