"""The kinds of files that are read as sources, one line each: what opens them.

Their names and the entries that a spec may declare of them are in schemas.spec.source_kinds.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from schemas.spec.source_kinds import (
    ARROW,
    JSON_LINES,
    PARQUET,
    SPREADSHEET,
    STATISTICS,
    TEXT,
    SourceKind,
    kind_of_source,
)
from stores.tables.sources.arrow_files import ArrowFile
from stores.tables.sources.contract import TableFile
from stores.tables.sources.dialects import usual_dialect
from stores.tables.sources.fixed_width import FixedWidthTable
from stores.tables.sources.json_lines import JsonLines
from stores.tables.sources.parquet_files import ParquetTable
from stores.tables.sources.spreadsheets import Spreadsheet
from stores.tables.sources.statistics_files import StatisticsFile
from stores.tables.sources.text_tables import CsvTable

FILE_KINDS: Final[Mapping[SourceKind, Callable[..., TableFile]]] = {
    PARQUET: ParquetTable,
    ARROW: ArrowFile,
    JSON_LINES: JsonLines,
    STATISTICS: StatisticsFile,
    SPREADSHEET: Spreadsheet,
}
"""What opens a file of a kind, given its path, its name in messages, and the entries of its kind that a spec states."""


def open_file(
    path: Path,
    name: str | None = None,
    declared: Mapping[str, Any] | None = None,
    numbers: Collection[str] = (),
) -> TableFile:
    """Open a file of a known kind; its columns are then named.

    Args:
        path: its path.
        name: its name in messages; by default its path.
        declared: the entries of a spec's source that declare how it is written.
        numbers: columns of numbers, which in a table of text may have separators.

    Raises:
        InvalidInput: it is not what its name says.
    """
    kind = kind_of_source(path.name) or TEXT
    stated = {entry: value for entry, value in (declared or {}).items() if entry in kind.entries}
    if kind is TEXT:
        columns = stated.pop("columns", None)
        dialect = replace(usual_dialect(path), **stated)
        if columns is not None:
            return FixedWidthTable(path, name or str(path), columns, dialect, numbers)
        return CsvTable(path, name or str(path), dialect, numbers)
    return FILE_KINDS[kind](path, name or str(path), **stated)
