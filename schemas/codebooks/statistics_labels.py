"""Reads the description in a file of Stata, SPSS or SAS as a codebook: labels, measurement levels, codes for missing.

No record is read. Values are those that have labels, never those that only occur in the records, and no such file
states a range: a second codebook, or a discovery, does.
"""

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from schemas.codebooks.codebook import Codebook, Entry, Kind, Variable, one_line
from schemas.codebooks.value_lists import number
from schemas.statistics_programs.description import DescribedColumn, described_columns

_WHOLE = {"int8", "int16", "int32"}


def read_statistics(path: Path, catalog: Path | None = None) -> Codebook:
    """Read the description in a file.

    Args:
        path: the file.
        catalog: SAS's catalog of formats, which has the labels of values.

    Raises:
        InvalidInput: it cannot be read.
    """
    book = Codebook()
    for place, column in enumerate(described_columns(path, f"the codebook {path}", catalog=catalog), 1):
        book.add(_variable(column), f"variable {place}")
    return book


def _variable(column: DescribedColumn) -> Variable:
    # Of numbers, only a typed missing value such as .a has a letter.
    codes = [(code, label) for code, label in column.labels.items() if column.is_text or not isinstance(code, str)]
    entries = tuple(Entry(value=_code(code), label=one_line(label)) for code, label in codes)
    missing = tuple(map(_code, column.missing))
    is_scale = _is_scale(column, entries, missing)
    decimals = None if column.is_text or entries or column.clock is not None else column.decimals
    # SPSS and Stata show two decimals unless they are told otherwise, so that a number of decimals above 0 says little.
    return Variable(
        name=column.name,
        kind=_kind(column, is_scale=is_scale),
        label=one_line(column.label),
        entries=() if is_scale else entries,
        # Labels of a scale name what is no amount, such as a refusal.
        also=entries if is_scale else (),
        missing=missing,
        step=Decimal(1) if decimals == 0 else None,
        whole=True if decimals == 0 or column.type in _WHOLE else None,
    )


def _is_scale(column: DescribedColumn, entries: Sequence[Entry], missing: Sequence[str]) -> bool:
    """Whether labels name special codes of a column of numbers, rather than its values."""
    if column.is_text or not entries:
        return False
    named = [entry for entry in entries if entry.value not in missing]
    are_below = all((number(entry.value) or 0) < 0 for entry in named)
    return column.measure == "scale" or (column.measure == "unknown" and (are_below or len(named) == 1))


def _kind(column: DescribedColumn, *, is_scale: bool) -> Kind | None:
    if column.clock is not None:
        return "date"
    if is_scale or column.measure == "scale":
        return "numeric"
    if column.measure == "ordinal":
        return "ordered"
    if column.measure == "nominal" or column.labels:
        return "nominal"
    return None if column.is_text else "numeric"


def _code(value: Any) -> str:
    """A code as text; a whole number without a decimal point."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
