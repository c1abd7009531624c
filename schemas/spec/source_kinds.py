"""The kinds of files that a source may be, one line each: how their names end, and what a spec may declare of them.

How they are read does not belong here: stores.tables.sources.kinds opens them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from deniable.foundation.spec_values import Strict
from schemas.plain_text import Line

_WIDEST_LINE = 1 << 20
_MOST_DECIMALS = 15


class FixedColumn(Strict):
    """A column of a table of text without separators.

    Attributes:
        name: its name.
        start: the position of its first character in a line, from 1.
        width: the number of its characters.
        decimals: how many of its last digits are decimals, if no decimal point is written.
    """

    name: Line
    start: int = Field(ge=1, le=_WIDEST_LINE)
    width: int = Field(ge=1, le=_WIDEST_LINE)
    decimals: int = Field(default=0, ge=0, le=_MOST_DECIMALS)

    @model_serializer(mode="wrap")
    def _without_what_is_usual(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        entries: dict[str, Any] = handler(self)
        return {name: own for name, own in entries.items() if name != "decimals" or own}


@dataclass(frozen=True)
class SourceKind:
    """A kind of files.

    Attributes:
        words: what such a file is.
        suffixes: how the names of its files end.
        entries: the entries of a spec's source that declare how it is written.
    """

    words: str
    suffixes: tuple[str, ...]
    entries: tuple[str, ...] = ()


_OF_TEXT: Final = ("delimiter", "quote", "encoding", "skip_rows", "unit_rows", "decimal", "thousands", "columns")
_OF_SHEETS: Final = ("sheet", "skip_rows", "unit_rows")

_TEXTS: Final = tuple(
    f"{ending}{packed}" for ending in (".csv", ".tsv", ".txt", ".dat", ".asc", ".fwf") for packed in ("", ".gz")
)
FIXED_WIDTH: Final = (".dat", ".asc", ".fwf")
"""Usual endings of names of tables of text without separators."""

TEXT: Final = SourceKind("a table of text", _TEXTS, _OF_TEXT)
PARQUET: Final = SourceKind("a Parquet file", (".parquet", ".pq"))
ARROW: Final = SourceKind("a file of Arrow or Feather", (".feather", ".arrow", ".ipc"))
JSON_LINES: Final = SourceKind("a file of JSON lines", (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz"))
STATISTICS: Final = SourceKind(
    "a file of Stata, SPSS or SAS", (".dta", ".sav", ".zsav", ".por", ".sas7bdat", ".xpt"), ("encoding",)
)
SPREADSHEET: Final = SourceKind("a spreadsheet", (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"), _OF_SHEETS)
ZIP: Final = SourceKind("a ZIP file", (".zip",), tuple(dict.fromkeys((*_OF_TEXT, *_OF_SHEETS))))

SOURCE_KINDS: Final = (
    TEXT,
    PARQUET,
    ARROW,
    JSON_LINES,
    STATISTICS,
    SPREADSHEET,
    ZIP,
)
DECLARED: Final = ZIP.entries
"""All entries that declare how a file is written."""
TABLE_SUFFIXES: Final = tuple(suffix for kind in SOURCE_KINDS for suffix in kind.suffixes)


def kind_of_source(place: str) -> SourceKind | None:
    """The kind of a file of that name; None if it is none that is known."""
    return next((kind for kind in SOURCE_KINDS if is_of(kind, place)), None)


def is_of(kind: SourceKind, place: str) -> bool:
    """Whether a file of that name is of a kind; letters may be capitals, as in PEOPLE.SAV."""
    return place.endswith(kind.suffixes) or place.lower().endswith(_plain(kind))


def kinds_in_words() -> Iterator[str]:
    """The endings of names, without those of compressed files."""
    for kind in SOURCE_KINDS:
        yield from _plain(kind)


def _plain(kind: SourceKind) -> tuple[str, ...]:
    return tuple(suffix for suffix in kind.suffixes if not suffix.endswith(".gz"))
