"""Reads the rows of a public table for a step that counts them, and refuses a table that is not the stated one.

A public table is read with the schema of the confidential one. Rows that are out of scope, incomplete or invalid are
left out. The release engineer asserts that a file is public. This module checks that it is not made from the source:
neither the same file, nor the same people, be they fewer, in another encoding or order, or with an altered column. The
check reads the source and has no effect other than a refusal, which reveals one bit about it, outside epsilon: that the
file is too like the source. Its message has no figure.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import file_digest
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
from numpy.typing import NDArray

from deniable.command_names import command_line
from deniable.evaluation.overlap import RecordCounts
from deniable.foundation.domain import Codes
from deniable.foundation.errors import InvalidInput, Refused
from deniable.foundation.tables import Tally
from deniable.mechanisms import PublicTable
from deniable.record.exact_stops import COPY_OF_SOURCE, decided_exactly
from schemas.regular_files import require_regular
from schemas.spec.release_spec import FileSource, PublicComparison, ReleaseSpec
from stores.tables.sources.reading import locate, opened_source
from stores.tables.tables import VALID, encode, frame_of
from tasks.data.validate import Findings, examine

T = TypeVar("T", bound=Tally)


@dataclass(frozen=True)
class PublicCounter:
    """Counts the rows of a public table; see `deniable.mechanisms.Counter`.

    Attributes:
        spec: the release.
        table: the table.
        state: the state folder.
    """

    spec: ReleaseSpec
    table: PublicTable
    state: Path

    def count(self, empty: Callable[[], T], _: str) -> T:
        """Count all valid rows.

        Raises:
            InvalidInput: the file is missing, or has another digest.
            Refused: it is the confidential source, or has no valid row.
        """
        table, lines = self.table, f"add the lines that `{command_line('mechanisms select')} SPEC` prints"
        path = _stated_file(self.spec, table.path, table.sha256, lines)
        return counted_publicly(self.spec, path, empty, self.state, self._source)

    @cached_property
    def _source(self) -> "SourceRecords":
        """Return the source's records, which are read once, however often public rows are counted."""
        return SourceRecords(self.spec, self.state)

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
    spec: ReleaseSpec, path: Path, empty: Callable[[], T], state: Path, source: "SourceRecords | None" = None
) -> T:
    """Count the valid rows of a public file.

    Args:
        spec: the release, for its schema.
        path: the file.
        empty: makes an empty tally.
        state: the state folder.
        source: the source's records, so that they are read once for several tallies.

    Raises:
        Refused: the file has no valid row, or one of the two was made from the other (deniable.evaluation.overlap).
    """
    tally, records = empty(), RecordCounts()
    for codes in _codes(spec, path, state):
        tally.add(codes)
        records.add(codes)
    if not records.rows:
        raise Refused(f"the public file {path.name} must have valid rows, got none; see the dataset's schema.")
    confidential = (source or SourceRecords(spec, state)).records
    if confidential is not None and records.is_made_from(confidential):
        msg = (
            f"the public file {path.name} must be about other people than the source of the release, which is "
            "confidential, and shares more records with it than distinct samples of one population would; name a file "
            "of other people that anyone may read, or a learner that pays for its choices."
        )
        raise decided_exactly(COPY_OF_SOURCE, Refused(msg))
    return tally


def require_public_table(spec: ReleaseSpec, state: Path) -> None:
    """Refuse a table for comparison that is missing, differs from the one that the spec states, or is of the source.

    Both tables are read now, before anything is charged, and the source is not read for the comparison later.

    Args:
        spec: the release; a release without such a table passes.
        state: the state folder.

    Raises:
        InvalidInput: there is no such file, or it has another digest.
        Refused: it is the confidential source or was made from it, or has no valid row.
    """
    public = spec.evaluation.public
    if public is None:
        return
    path = _stated_file(spec, public.file, public.sha256, "correct evaluation.public")
    counted_publicly(spec, path, _Nothing, state)


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


def public_codes(spec: ReleaseSpec, public: PublicComparison, state: Path) -> list[Codes]:
    """Return codes of the valid rows of the public table with which a release is compared.

    Args:
        spec: the release.
        public: the table.
        state: the state folder.

    Raises:
        InvalidInput: the file is missing, or has another digest than the one that `require_public_table` compared.
    """
    path = _stated_file(spec, public.file, public.sha256, "correct evaluation.public")
    return list(_codes(spec, path, state))


class _Nothing:
    """A tally of nothing, for rows that are only compared."""

    def add(self, codes: Codes) -> None:
        """Count nothing."""

    def merge(self, other: "_Nothing") -> None:
        """Count nothing."""

    @property
    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """Return nothing."""
        return {}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore nothing."""


@dataclass(frozen=True)
class SourceRecords:
    """The records of the confidential source, read at most once.

    Attributes:
        spec: the release.
        state: the state folder.
    """

    spec: ReleaseSpec
    state: Path

    @cached_property
    def records(self) -> RecordCounts | None:
        """Return the source's valid records; None if there is no source, in which case nothing is released."""
        return _records_of_source(self.spec, self.state)


def _records_of_source(spec: ReleaseSpec, state: Path) -> RecordCounts | None:
    """Return the confidential source's valid records; None if there is no source, in which case nothing is released."""
    records = RecordCounts()
    try:
        for codes in _codes(spec, None, state):
            records.add(codes)
    except InvalidInput:
        return None
    return records


def _codes(spec: ReleaseSpec, path: Path | None, state: Path) -> Iterator[Codes]:
    """Yield codes of the valid rows of a file, or of the source."""
    schema, domain, findings = spec.schema, spec.domain, Findings()
    with opened_source(spec.reading(path), state) as source:
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
