"""The names of a table's columns, and nothing else in the table."""

import csv
import gzip
import io
import zlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from deniable.foundation.errors import InvalidInput
from schemas.regular_files import require_regular

_LONGEST_ROW = 4 << 20


def column_names(path: Path) -> list[str]:
    """Read the names of the columns: the first row of a CSV file, or the schema of a Parquet file.

    Args:
        path: the table; compressed or not.

    Raises:
        InvalidInput: there is no such file, or it is not a table.
    """
    require_regular(path, "the source")
    if not path.is_file():
        raise InvalidInput(f"the source must be a file, and {path} does not exist; correct its path.")
    try:
        if path.suffix in {".parquet", ".pq"}:
            return list(pq.read_schema(path).names)
        opened = gzip.open if path.suffix == ".gz" else Path.open
        with opened(path, "rb") as stream:
            text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
            names = next(csv.reader(iter(lambda: text.readline(_LONGEST_ROW), ""), skipinitialspace=True), [])
    except (pa.ArrowException, OSError, EOFError, zlib.error, ValueError, csv.Error):
        names = []
    if not names:
        raise InvalidInput(f"the source must begin with a row that names its columns, and {path} does not; check it.")
    return [name.strip() for name in names]
