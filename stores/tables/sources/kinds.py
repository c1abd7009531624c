"""The kinds of files that are read as sources, one line each: how their names end, and what opens them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from schemas.spec.release_spec import PARQUET_SUFFIXES, TEXT_SUFFIXES
from stores.tables.sources.contract import TableFile
from stores.tables.sources.parquet_files import ParquetTable
from stores.tables.sources.text_tables import CsvTable


@dataclass(frozen=True)
class FileKind:
    """A kind of files.

    Attributes:
        suffixes: how the names of its files end.
        open: opens a file, given its path and its name in messages; its columns are then named.
    """

    suffixes: tuple[str, ...]
    open: Callable[[Path, str], TableFile]


FILE_KINDS: Final = (
    FileKind(TEXT_SUFFIXES, CsvTable),
    FileKind(PARQUET_SUFFIXES, ParquetTable),
)


def open_file(path: Path, name: str | None = None) -> TableFile:
    """Open a file of a known kind.

    Args:
        path: its path.
        name: its name in messages; by default its path.

    Raises:
        InvalidInput: it is not what its name says.
    """
    found = next((kind for kind in FILE_KINDS if path.name.endswith(kind.suffixes)), FILE_KINDS[0])
    return found.open(path, name or str(path))
