"""Tables on disk, as Parquet in the vault: unchanged snapshots, recoded rows, and codes.

Nothing is validated or drawn here.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from deniable.foundation.domain import FALSE, TRUE, Attribute, Codes, Domain
from deniable.foundation.errors import InvalidInput
from stores.tables.overlapped import ParquetBehind, ahead
from stores.tables.sources.reading import Source

VALID = "row is valid"
"""Name of the column that marks valid recoded rows; no attribute has this name."""

PERSON = "first row of the person"
"""Name of the column with the place of the first row of each row's person; no attribute has this name."""

_MALFORMED, _EMPTY = b"malformed_rows", b"empty_rows"
_LARGEST_FLOAT = 1 << 53


def write_snapshot(path: Path, source: Source) -> int:
    """Copy the required columns from a source.

    Args:
        path: path of the snapshot.
        source: the source, which is read once.

    Returns:
        Number of rows.
    """
    rows = 0
    with ParquetBehind(path, source.schema) as writer:
        for batch in source.batches():
            writer.write_batch(batch)
            rows += len(batch)
        writer.add_key_value_metadata({_MALFORMED: str(source.malformed_rows)})
        if source.empty_rows:
            writer.add_key_value_metadata({_EMPTY: str(source.empty_rows)})
    return rows


def malformed_rows(path: Path) -> int:
    """Number of rows of the source that could not be split into fields and are not in the snapshot."""
    return int(pq.read_metadata(path).metadata[_MALFORMED])


def empty_rows(path: Path) -> int:
    """Number of rows of the source whose every field is empty, which are no records and are not in the snapshot."""
    return int(pq.read_metadata(path).metadata.get(_EMPTY, 0))


def read_frames(path: Path) -> Iterator[pd.DataFrame]:
    """Read a snapshot or recoded rows one row group at a time, and one ahead; text is categorical, which is faster."""
    return ahead(_frames(path))


def _frames(path: Path) -> Iterator[pd.DataFrame]:
    schema = pq.read_schema(path)
    text = [field.name for field in schema if pa.types.is_string(field.type)]
    footer = pq.read_metadata(path)
    # Each chunk has its own dictionary of texts; otherwise the distinct values of a whole column would accumulate in
    # memory. The footer grows with the table and is read once.
    for group in range(footer.num_row_groups):
        with pq.ParquetFile(path, read_dictionary=text, metadata=footer) as file:
            yield frame_of(file.read_row_group(group, use_threads=False))


def frame_of(table: pa.Table) -> pd.DataFrame:
    """Return rows as a data frame.

    In pandas, integers next to nulls become floats, which do not represent every integer above 2^53 exactly. A column
    with such integers and nulls becomes text, so that a code is the same in every chunk.
    """
    for place, field in enumerate(table.schema):
        column = table.column(place)
        if pa.types.is_integer(field.type) and column.null_count and _exceeds_floats(column):
            table = table.set_column(place, field.name, column.cast(pa.string()))
    return table.to_pandas()


def _exceeds_floats(column: pa.ChunkedArray) -> bool:
    """Whether integers are too large for floats to represent exactly."""
    ends = pc.min_max(column)
    return any(end is not None and abs(end) > _LARGEST_FLOAT for end in (ends["min"].as_py(), ends["max"].as_py()))


class CodesWriter:
    """Writes codes in row groups of a given size.

    Args:
        path: path of the file.
        domain: the values that the codes stand for.
        group_rows: rows per row group; by default, each call writes one row group.
        of_people: whether the place of the first row of each row's person is written, too.
    """

    def __init__(self, path: Path, domain: Domain, group_rows: int | None = None, *, of_people: bool = False) -> None:
        self.rows = 0
        self._group_rows = group_rows
        self._waiting = np.empty((0, len(domain)), domain.code_type)
        self._first_rows = np.empty(0, np.int64)
        self._schema = _codes_schema(domain, of_people=of_people)
        # Codes are data: the footer must not contain statistics of them.
        self._writer = ParquetBehind(path, self._schema, write_statistics=False)

    def __enter__(self) -> Self:
        """Start writing."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write the incomplete row group, and close the file."""
        try:
            if kind is None and len(self._waiting):
                self._write_group(self._waiting, self._first_rows)
        finally:
            self._writer.__exit__(kind, error, trace)

    def write(self, codes: Codes, first_rows: NDArray[np.int64] | None = None) -> None:
        """Add rows.

        Args:
            codes: shape (rows, m).
            first_rows: places of the first rows of their people, shape (rows,); if people are written.
        """
        self.rows += len(codes)
        first = np.empty(0, np.int64) if first_rows is None else first_rows
        if self._group_rows is None:
            self._write_group(codes, first)
            return
        waiting, people = np.concatenate([self._waiting, codes]), np.concatenate([self._first_rows, first])
        full = len(waiting) - len(waiting) % self._group_rows
        for start in range(0, full, self._group_rows):
            group = slice(start, start + self._group_rows)
            self._write_group(waiting[group], people[group])
        self._waiting, self._first_rows = waiting[full:], people[full:]

    def _write_group(self, codes: Codes, first_rows: NDArray[np.int64]) -> None:
        types = [field.type.to_pandas_dtype() for field in self._schema]
        columns = [pa.array(np.ascontiguousarray(column, kind)) for column, kind in zip(codes.T, types, strict=False)]
        people = [pa.array(first_rows)] if PERSON in self._schema.names else []
        self._writer.write_batch(pa.RecordBatch.from_arrays([*columns, *people], schema=self._schema))


def write_codes(path: Path, domain: Domain, chunks: Iterable[Codes]) -> int:
    """Write codes, one row group per chunk.

    Args:
        path: path of the file.
        domain: the values that the codes stand for.
        chunks: codes, shape (rows, m) each.

    Returns:
        Number of rows.
    """
    with CodesWriter(path, domain) as writer:
        for codes in chunks:
            writer.write(codes)
    return writer.rows


def _rows_in(path: Path) -> int:
    """Number of rows in a file."""
    return int(pq.read_metadata(path).num_rows)


def row_groups(path: Path) -> int:
    """Number of row groups in a file."""
    return int(pq.read_metadata(path).num_row_groups)


def read_codes(path: Path, domain: Domain, groups: range | None = None) -> Iterator[Codes]:
    """Read codes one row group at a time.

    Args:
        path: path of the file.
        domain: the values that the codes stand for.
        groups: numbers of the row groups; all by default.

    Yields:
        Codes, shape (rows, m), contiguous by row.

    Raises:
        InvalidInput: the file does not contain codes of that domain.
    """
    with pq.ParquetFile(path) as file:
        if not any(file.schema_arrow.equals(_codes_schema(domain, of_people=people)) for people in (False, True)):
            raise InvalidInput(
                f"{path.name} must hold codes of the attributes {', '.join(domain.names)}, and does not."
            )
        for group in range(file.num_row_groups) if groups is None else groups:
            table = file.read_row_group(group, columns=list(domain.names), use_threads=False)
            codes = np.empty((len(table), len(domain)), domain.code_type)
            for column, values in enumerate(table.columns):
                codes[:, column] = values.to_numpy()
            yield codes


def read_first_rows(path: Path) -> NDArray[np.int64]:
    """Read the place of the first row of each row's person, shape (rows,), from codes that have it."""
    with pq.ParquetFile(path) as file:
        return np.asarray(file.read(columns=[PERSON]).column(PERSON).to_numpy(), np.int64)


def load_codes(path: Path, domain: Domain, limit: int | None = None) -> Codes:
    """Read all codes, or the first ones.

    Args:
        path: path of the file.
        domain: the values that the codes stand for.
        limit: the largest number of rows.

    Returns:
        Codes, shape (rows, m), contiguous by row.
    """
    held = _rows_in(path)
    codes = np.empty((held if limit is None else min(held, limit), len(domain)), domain.code_type)
    filled = 0
    for chunk in read_codes(path, domain):
        taken = chunk[: len(codes) - filled]
        codes[filled : filled + len(taken)] = taken
        filled += len(taken)
        if filled == len(codes):
            break
    return codes


def encode(frame: pd.DataFrame, domain: Domain) -> Codes:
    """Replace values by their codes.

    Args:
        frame: rows with one column per attribute; every value is in the domain.
        domain: the values that the codes stand for.

    Returns:
        Codes, shape (rows, m), contiguous by row.

    Raises:
        InvalidInput: a value lies outside the domain.
    """
    codes = np.empty((len(frame), len(domain)), domain.code_type)
    for column, attribute in enumerate(domain.attributes):
        if attribute.bins is None:
            found = pd.Index(attribute.values).get_indexer(frame[attribute.name])
        else:
            found = attribute.bins_of(frame[attribute.name].to_numpy(np.float64))
        if (found < 0).any():
            raise InvalidInput(f"the values of {attribute.name} must lie in the domain, and some do not.")
        codes[:, column] = found
    return codes


def codes_of_column(column: pa.Array, attribute: Attribute) -> NDArray[np.int64]:
    """Replace the values of a column of a released Parquet table by their codes.

    Args:
        column: the column.
        attribute: the values that the codes stand for.

    Returns:
        Codes, shape (rows,).

    Raises:
        InvalidInput: a value lies outside the domain.
    """
    encoded = column.dictionary_encode("encode")
    distinct = encoded.dictionary
    if attribute.is_boolean:
        distinct = pc.if_else(distinct, TRUE, FALSE)
    if attribute.missing is not None:
        distinct = distinct.fill_null(attribute.missing)
    own = encode(distinct.to_pandas().to_frame(attribute.name), Domain((attribute,)))[:, 0]
    return np.asarray(own[encoded.indices.to_numpy()], np.int64)


def decode(codes: Codes, domain: Domain) -> pd.DataFrame:
    """Replace codes by their values: the table in the format of the input.

    Args:
        codes: shape (rows, m).
        domain: the values that the codes stand for.

    Returns:
        One column per attribute, with the attribute's own type; for an attribute with bins, the first number of each
        bin.
    """
    columns = zip(domain.attributes, codes.T, strict=True)
    return pd.DataFrame({attribute.name: pd.Index(attribute.values).take(column) for attribute, column in columns})


def _codes_schema(domain: Domain, *, of_people: bool = False) -> pa.Schema:
    """The schema of a file of codes."""
    people = [(PERSON, pa.int64())] if of_people else []
    return pa.schema([*((each.name, pa.from_numpy_dtype(each.code_type)) for each in domain.attributes), *people])
