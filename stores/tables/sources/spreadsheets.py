"""Spreadsheets: a sheet of a file of Excel or LibreOffice, read by python-calamine. All cells are text.

The first row that is not empty names the columns, unless the spec's source skips rows. A sheet has at most 1,048,576
rows, and the library holds it in memory. Errors of formulas are empty cells.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from itertools import islice
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from deniable.foundation.errors import InvalidInput
from schemas.source_libraries import library_for
from stores.tables.sources.contract import reading, require_different

_LIBRARY: Final = "python_calamine"
_MOST_LINES: Final = 60
_MOST_SHEETS: Final = 50


class Spreadsheet:
    """A sheet of a spreadsheet.

    Args:
        path: its path.
        name: its name in messages.
        sheet: the sheet, by its name or its number from 1.
        skip_rows: the number of rows above the one that names the columns.
        unit_rows: the number of rows below it that are no records, such as units.
    """

    malformed_rows = 0

    def __init__(self, path: Path, name: str, *, sheet: int | str = 1, skip_rows: int = 0, unit_rows: int = 0) -> None:
        self.name = name
        self.empty_rows = 0
        self._skip_rows, self._unit_rows = skip_rows, unit_rows
        with reading(name), _opened(path, name) as book:
            self._sheet = _sheet_of(book, sheet, name)
        self._names = next(self._rows(), ())
        if not any(self._names):
            raise InvalidInput(
                f"the sheet of the source {name} must name its columns, and is empty; check which it is."
            )
        require_different(name, self._names)
        self.types = {named: pa.string() for named in self._names if named}

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Read some columns, so many rows at a time."""
        places = [self._names.index(name) for name in columns]
        records = islice(self._rows(), 1 + self._unit_rows, None)
        while batch := list(islice(records, rows)):
            arrays = [pa.array([row[place] or None for row in batch], pa.string()) for place in places]
            yield pa.RecordBatch.from_arrays(arrays, names=list(columns))

    def _rows(self) -> Iterator[tuple[str, ...]]:
        """The rows with any content, from the one that names the columns; the empty ones between them are counted."""
        empty = named = 0
        for row in islice(_cells(self._sheet), self._skip_rows, None):
            if any(row):
                # Empty rows at the end of a sheet are formatting.
                self.empty_rows += empty if named else 0
                empty, named = 0, 1
                yield row
            else:
                empty += 1


@dataclass(frozen=True)
class SeenInSheets:
    """Where a spreadsheet names columns.

    Attributes:
        entries: the entries of a spec's source that declare it; none if it is the usual place.
        names: the names there.
        words: the place, in words.
    """

    entries: Mapping[str, int]
    names: tuple[str, ...]
    words: str


def seen_in_sheets(path: Path, name: str, wanted: Sequence[str]) -> SeenInSheets | None:
    """The place at which a spreadsheet names the most of the wanted columns.

    Args:
        path: its path.
        name: its name in messages.
        wanted: names of columns.

    Returns:
        What was seen; None if no row near the top of a sheet names one of the columns.
    """
    best: tuple[int, SeenInSheets] | None = None
    with reading(name), _opened(path, name) as book:
        for number in range(1, 1 + min(len(book.sheet_names), _MOST_SHEETS)):
            is_first = True
            for above, row in enumerate(islice(_cells(_sheet_of(book, number, name)), _MOST_LINES)):
                found = len(set(wanted).intersection(row))
                if found and (best is None or found > best[0]):
                    entries = ({"sheet": number} if number > 1 else {}) | ({} if is_first else {"skip_rows": above})
                    where = f"row {above + 1}" if number == 1 else f"row {above + 1} of sheet {number}"
                    named = tuple(cell for cell in row if cell)
                    columns = "1 column" if len(named) == 1 else f"{len(named)} columns"
                    words = f"{where} names {columns}"
                    best = found, SeenInSheets(entries, named, words)
                is_first = is_first and not any(row)
    return None if best is None else best[1]


def _opened(path: Path, name: str) -> Any:
    library = library_for(f"the source {name}", _LIBRARY)
    try:
        return library.load_workbook(str(path))
    except library.PasswordError:
        raise InvalidInput(f"the source {name} must have no password, and has one; save it without.") from None
    except library.CalamineError:
        raise InvalidInput(
            f"the source {name} must be a complete spreadsheet, as its name says, and is not; save it again."
        ) from None


def _sheet_of(book: Any, sheet: int | str, name: str) -> Any:
    library = library_for(f"the source {name}", _LIBRARY)
    try:
        return book.get_sheet_by_name(sheet) if isinstance(sheet, str) else book.get_sheet_by_index(sheet - 1)
    except (library.CalamineError, IndexError):
        count = len(book.sheet_names)
        raise InvalidInput(
            f"the source {name} must have the sheet {sheet} that its spec states, and has "
            f"{'1 sheet' if count == 1 else f'{count} sheets'}; correct `sheet`."
        ) from None


def _cells(sheet: Any) -> Iterator[tuple[str, ...]]:
    return (tuple(map(_text, row)) for row in sheet.iter_rows())


def _text(cell: Any) -> str:
    """A cell as text: whole numbers without a decimal point, dates as ISO 8601 writes them."""
    if isinstance(cell, bool):
        return str(cell)
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, datetime):
        return cell.date().isoformat() if cell.time() == time() else cell.isoformat()
    if isinstance(cell, date | time):
        return cell.isoformat()
    return "" if cell is None else str(cell).strip()
