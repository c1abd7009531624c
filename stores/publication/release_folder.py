"""The public folder of a release: staged, checked and moved into place as a whole, or not created at all.

The content of the statement and the choice of what may be public are decided elsewhere.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from deniable.foundation.csv_text import CsvText
from deniable.foundation.domain import Attribute, Codes, Domain
from deniable.foundation.errors import Refused
from deniable.record.released_table import TableFindings, check_parquet, codes_of_texts, in_batches, is_text_of
from deniable.samplers.within_bins import WithinBins
from stores.tables.overlapped import ParquetBehind
from stores.tables.tables import decode
from stores.vault.disk import flush_to_disk

PARQUET = "synthetic.parquet"
CSV = "synthetic.csv"
SCHEMA = "schema.json"
PUBLIC_FILE = 0o644
PUBLIC_FOLDER = 0o755
_CHECKED_ROWS = 100_000
_DAY_S = 24 * 60 * 60


def write_table(folder: Path, domain: Domain, chunks: Iterable[Codes], within: WithinBins | None = None) -> int:
    """Write the synthetic records in the format of the input, as Parquet and as CSV, one chunk at a time.

    Args:
        folder: the folder for both files.
        domain: the values that the codes stand for.
        chunks: codes, shape (rows, m) each.
        within: draws the numbers of attributes with bins; needed if there are any.

    Returns:
        Number of records.
    """
    if within is None and any(attribute.bins is not None for attribute in domain.attributes):
        raise ValueError("a table with bins needs what draws the numbers of the bins")
    written = CsvText(domain, pa)
    # The schema of pandas, with types and metadata, for readers that use pandas.
    example = decode(np.zeros((1, len(domain)), domain.code_type), domain)
    example = example.assign(**{of.name: np.zeros(1, bool) for of in domain.attributes if of.is_boolean})
    schema = pa.Schema.from_pandas(example, preserve_index=False)
    values = [pa.array(of.stored, schema.field(of.name).type) for of in domain.attributes]
    rows = 0
    with (
        (folder / CSV).open("wb") as text,
        ParquetBehind(folder / PARQUET, schema, compression="zstd") as writer,
    ):
        text.write(written.header)
        for chunk, codes in enumerate(chunks):
            numbers = {} if within is None else within.numbers(codes, chunk)
            columns = [
                pa.array(np.ascontiguousarray(numbers.get(number, column))) for number, column in enumerate(codes.T)
            ]
            text.write(written.of_codes(columns))
            table = [
                _without_missing(those, domain.attributes[number]) if number in numbers else of.take(those)
                for number, (of, those) in enumerate(zip(values, columns, strict=True))
            ]
            writer.write_batch(pa.RecordBatch.from_arrays(table, schema=schema))
            rows += len(codes)
    return rows


def _without_missing(numbers: pa.Array, attribute: Attribute) -> pa.Array:
    """Drawn numbers, with null in place of the number that stands for a missing one."""
    if attribute.missing is None:
        return numbers
    return pc.if_else(pc.equal(numbers, attribute.missing), pa.scalar(None, numbers.type), numbers)


def write_document(path: Path, value: Any) -> None:
    """Write a JSON document."""
    path.write_text(json.dumps(value, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def check_files(folder: Path, files: Sequence[str]) -> None:
    """Check that a staged release has its files; the content of its tables is not checked.

    Args:
        folder: the staged release.
        files: names of the required files; there must be no others.

    Raises:
        Refused: a file is missing, empty or not expected.
    """
    found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*")}
    if missing := sorted(set(files) - set(found)):
        raise Refused(f"a release must be complete, got one without {', '.join(missing)}; nothing was published.")
    if strangers := sorted(set(found) - set(files)):
        raise Refused(
            f"a release must contain only its files, got {', '.join(strangers)} as well; nothing was published."
        )
    if empty := sorted(name for name, path in found.items() if path.is_symlink() or path.stat().st_size == 0):
        raise Refused(
            f"the files of a release must have content, got none in {', '.join(empty)}; nothing was published."
        )


def check_tables(folder: Path, domain: Domain, records: int) -> None:
    """Check that both tables of a staged release are valid and complete.

    Args:
        folder: the staged release.
        domain: the values that may appear.
        records: the required number of records.

    Raises:
        Refused: a value lies outside the domain; columns or records are missing.
    """
    with (folder / PARQUET).open("rb") as parquet, (folder / CSV).open("rb") as text:
        holds = check_parquet(parquet, domain, pq) == TableFindings(records)
        if holds and is_text_of(text, parquet, domain, pq):
            return
    # Reading both tables again gives the exact error message.
    _check_records(PARQUET, _read_parquet(folder / PARQUET), domain, records, as_text=False)
    _check_records(CSV, _read_csv(folder / CSV), domain, records, as_text=True)


def _check_records(
    file_name: str, chunks: Iterable[pd.DataFrame], domain: Domain, records: int, *, as_text: bool
) -> None:
    """Check that a table has the domain's columns, no value outside the domain, and all of its records."""
    seen = 0
    allowed = {attribute.name: _allowed(attribute, as_text=as_text) for attribute in domain.attributes}
    for chunk in chunks:
        seen += len(chunk)
        if tuple(chunk.columns) != domain.names:
            raise Refused(f"{file_name} must have the columns of the schema, in order; nothing was published.")
        for name, is_allowed in allowed.items():
            if not is_allowed(chunk[name]):
                raise Refused(f"{file_name} must stay inside the domain, and {name} does not; nothing was published.")
    if seen != records:
        raise Refused(f"{file_name} must contain {records} records, got {seen}; nothing was published.")


def _allowed(attribute: Attribute, *, as_text: bool) -> Callable[["pd.Series[Any]"], bool]:
    """Tests whether all values are ones that an attribute may take, unchanged or as written in CSV."""
    if attribute.bins is not None:
        return lambda column: bool((codes_of_texts(attribute, _fields(column)) >= 0).all())
    listed = pd.Series(attribute.written) if as_text else pd.Series(attribute.stored)
    return lambda column: bool(column.isin(listed).all())


def _fields(column: "pd.Series[Any]") -> list[str]:
    """The values of a column as CSV has them."""
    return ["" if pd.isna(value) else str(value) for value in column]


def _read_parquet(path: Path) -> Iterator[pd.DataFrame]:
    return (batch.to_pandas() for batch in in_batches(pq.ParquetFile(path), _CHECKED_ROWS))


def _read_csv(path: Path) -> Iterator[pd.DataFrame]:
    with pd.read_csv(path, dtype=str, keep_default_na=False, chunksize=_CHECKED_ROWS) as chunks:
        yield from chunks


def publish_folder(staged: Path, destination: Path) -> None:
    """Move a checked release into place: flush everything to disk, then rename once.

    Raises:
        Refused: a release of that name exists; a published release is never overwritten.
    """
    if destination.exists():
        raise Refused(
            f"a release must have a new name, got {destination.name}, which is already published; choose another name."
        )
    destination.parent.mkdir(parents=True, exist_ok=True)
    for path in staged.iterdir():
        path.chmod(PUBLIC_FILE)
        _round_time(path)
        flush_to_disk(path)
    staged.chmod(PUBLIC_FOLDER)
    _round_time(staged)
    flush_to_disk(staged)
    staged.rename(destination)
    flush_to_disk(destination.parent)


def _round_time(path: Path) -> None:
    """Set a file's time to the start of the day: the duration of a release depends on the data."""
    day = int(path.stat().st_mtime) // _DAY_S * _DAY_S
    os.utime(path, (day, day))
